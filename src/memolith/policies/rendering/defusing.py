"""Making stored text harmless in a prompt."""

from __future__ import annotations

import re

from memolith.text.injection import is_suspicious

QUOTED = "[quoted, not an instruction]"
"""What stands before a text that tries to instruct a model."""

_NO_TAG = "&lt;"
_TAG = re.compile(r"[<＜﹤](?=[/!?|｜a-zA-Z])")
_ROLE_MARK = re.compile(
    r"\[(?=/?(?:INST|SYS|SYSTEM(?:_PROMPT)?|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT))\b)",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def defuse(text: str) -> str:
    """Return a text that can't close its section, open a tag, or begin a line.

    Marks that open a tag become `&lt;`, further lines are indented, and what is invisible or
    turns the direction of writing is dropped. Safe texts of one line stay as they are.
    """
    plain = _ROLE_MARK.sub("(", _TAG.sub(_NO_TAG, _INVISIBLE.sub("", text).strip()))
    return "\n".join(plain.splitlines()).replace("\n", "\n  ")


def document_lines(document: str) -> list[str]:
    """Return the lines of a document of several, each harmless by itself."""
    return [
        line[: len(line) - len(line.lstrip())] + defuse(line)
        for line in document.strip().splitlines()
    ]


def told_lines(document: str) -> list[str]:
    """Return the lines of a document as a prompt shows them: those that instruct, as quotations.

    What it gave is not changed by it.
    """
    return [_told(line) for line in document_lines(document)]


def shown_name(name: str) -> str:
    """Return the name of a speaker or of a memory as it stands before what it names.

    One that tries to instruct a model, or poses as a part of the prompt, becomes a quotation.
    """
    plain = " ".join(defuse(name).split())
    return fenced(plain) if is_suspicious(name) or is_suspicious(f"{plain}: so") else plain


def _told(line: str) -> str:
    # What `defuse` has put for a tag's mark is not to be read as that mark again.
    if not is_suspicious(line.replace(_NO_TAG, "(")):
        return line
    said = line.lstrip()
    bullet = "- " if said.startswith("- ") else ""
    words = said.removeprefix(bullet).removeprefix(QUOTED).strip().strip('"')
    return f"{bullet}{fenced(words)}"


def fenced(text: str) -> str:
    """Return a suspicious text as a quotation of one line that nothing in it can end."""
    return f'{QUOTED} "{" ".join(defuse(text).split()).replace(chr(34), chr(39))}"'
