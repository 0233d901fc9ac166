"""What an assistant with a body does: the first line of its reply says so."""

from __future__ import annotations

import re
from typing import Final

SPEAK_ACTION: Final = "SPEAK"

_ACTION_LINE = re.compile(r"\s*\**ACTION:\**[ \t]*([A-Z][A-Z_]{0,31})\b\**[ \t]*(?:\r?\n|$)")


def split_action(reply: str) -> tuple[str, str]:
    """Return the action that a reply names in its first line, `ACTION: X`, and the rest.

    Without such a line it is `SPEAK`, and the rest is all of it.
    """
    found = _ACTION_LINE.match(reply)
    if found is None:
        return SPEAK_ACTION, reply.strip()
    return found[1], reply[found.end() :].strip()
