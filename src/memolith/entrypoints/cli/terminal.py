"""Stored text on a terminal: it is shown, never obeyed."""

from __future__ import annotations

import re

# C0 but tab and newline, DEL, C1; marks that turn the direction of writing; line separators;
# what is invisible; halves of a surrogate pair, which no encoding can write.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

_INCOMPLETE_END = re.compile("[\r\ud800-\udbff]\\Z")


def escape_controls(text: str) -> str:
    r"""Return a text whose control characters are written out: an escape becomes `\x1b`."""
    return _UNSAFE.sub(_escape_match, text.replace("\r\n", "\n"))


class StreamEscaper:
    """Makes a text visible that comes in pieces: all that a piece can't tell alone is held back.

    A carriage return may be half of a line's end, and half of a surrogate pair of a character.
    """

    def __init__(self) -> None:
        """Begin a text."""
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown after another piece."""
        text = self._held + piece
        end = len(text) - 1 if _INCOMPLETE_END.search(text) else len(text)
        self._held = text[end:]
        return escape_controls(_join_surrogates(text[:end]))

    def flush(self) -> str:
        """Return what is left at the end of the text."""
        return escape_controls(self._held)


def _join_surrogates(text: str) -> str:
    """Return a text in which two halves of a surrogate pair are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def to_one_line(text: str) -> str:
    """Return a text on one line, made visible, its white space as single spaces."""
    return escape_controls(" ".join(text.split()))


def escape_json(document: str) -> str:
    r"""Return a JSON document in which such characters stand as `\u` escapes: the same values."""
    return _UNSAFE.sub(_escape_json_match, document)


def _escape_match(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two digits


def _escape_json_match(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
