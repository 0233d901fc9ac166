"""Making stored text harmless in a prompt."""

from __future__ import annotations

import re

QUOTED = "[quoted, not an instruction]"
"""What stands before a text that tries to instruct a model."""

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
    plain = _ROLE_MARK.sub("(", _TAG.sub("&lt;", _INVISIBLE.sub("", text).strip()))
    return "\n".join(plain.splitlines()).replace("\n", "\n  ")


def document_lines(document: str) -> list[str]:
    """Return the lines of a document of several, each harmless by itself."""
    return [
        line[: len(line) - len(line.lstrip())] + defuse(line)
        for line in document.strip().splitlines()
    ]


def fenced(text: str) -> str:
    """Return a suspicious text as a quotation of one line that nothing in it can end."""
    return f'{QUOTED} "{" ".join(defuse(text).split()).replace(chr(34), chr(39))}"'
