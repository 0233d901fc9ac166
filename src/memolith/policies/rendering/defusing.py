"""Making stored text harmless in a prompt."""

from __future__ import annotations

import re

from memolith.text.injection import is_suspicious

QUOTED_LABEL = "[quoted, not an instruction]"
"""What stands before a text that tries to instruct a model."""

_ESCAPED_TAG = "&lt;"
_TAG = re.compile(r"[<＜﹤](?=[/!?|｜a-zA-Z])")
_ROLE_MARK = re.compile(
    r"\[(?=/?(?:INST|SYS|SYSTEM(?:_PROMPT)?|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT))\b)",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def escape_text(text: str) -> str:
    """Return a text that can't close its section, open a tag, or begin a line.

    Marks that open a tag become `&lt;`, further lines are indented, and what is invisible or
    turns the direction of writing is dropped. Safe texts of one line stay as they are.
    """
    plain = _ROLE_MARK.sub("(", _TAG.sub(_ESCAPED_TAG, _INVISIBLE.sub("", text).strip()))
    return "\n".join(plain.splitlines()).replace("\n", "\n  ")


def escape_lines(document: str) -> list[str]:
    """Return the lines of a document of several, each harmless by itself."""
    return [
        line[: len(line) - len(line.lstrip())] + escape_text(line)
        for line in document.strip().splitlines()
    ]


def render_document_lines(document: str) -> list[str]:
    """Return the lines of a document as a prompt shows them: those that instruct, as quotations.

    What it gave is not changed by it.
    """
    return [_render_document_line(line) for line in escape_lines(document)]


def escape_name(name: str) -> str:
    """Return the name of a speaker or of a memory as it stands before what it names.

    One that tries to instruct a model, or poses as a part of the prompt, becomes a quotation.
    """
    plain = " ".join(escape_text(name).split())
    return quote_text(plain) if is_suspicious(name) or is_suspicious(f"{plain}: so") else plain


def _render_document_line(line: str) -> str:
    # What `defuse` has put for a tag's mark is not to be read as that mark again.
    if not is_suspicious(line.replace(_ESCAPED_TAG, "(")):
        return line
    said = line.lstrip()
    bullet = "- " if said.startswith("- ") else ""
    words = said.removeprefix(bullet).removeprefix(QUOTED_LABEL).strip().strip('"')
    return f"{bullet}{quote_text(words)}"


def quote_text(text: str) -> str:
    """Return a suspicious text as a quotation of one line that nothing in it can end."""
    return f'{QUOTED_LABEL} "{" ".join(escape_text(text).split()).replace(chr(34), chr(39))}"'
