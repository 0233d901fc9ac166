"""Cleaning: the form in which every text is stored."""

from __future__ import annotations

import re
import unicodedata

from memolith.errors import InvalidInput
from memolith.text.code import code_blocks

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BLANK_LINES = re.compile(r"\n{3,}")

# The only characters of combining class 0 whose decomposition begins with a combining mark.
_TIBETAN_VOWELS = str.maketrans(
    {"\u0f73": "\u0f71\u0f72", "\u0f75": "\u0f71\u0f74", "\u0f81": "\u0f71\u0f80"}
)
# Longer than any run of marks in real writing: Unicode's stream-safe format allows 30.
_LONG_RUN_OF_MARKS = re.compile(rb"[^\x00]{31,}")


def clean(text: str, *, field: str = "content", limit: int | None = None) -> str:
    """Return a text as it is stored; cleaning it again changes nothing.

    Line ends become newlines, other control characters but the tab go, what is no character
    (a lone surrogate) becomes U+FFFD, the form is NFC, three or more newlines become two outside
    fenced code, and the ends are stripped. Nothing else changes.

    Args:
        text: What a caller passed.
        field: The argument's name, for the error.
        limit: The most characters the result may have.

    Raises:
        InvalidInput: No text, nothing visible in it, or longer than the limit.
    """
    if not isinstance(text, str):
        raise InvalidInput(field, f"must be text, not {type(text).__name__}")
    plain = clean_text(text)
    if not _is_visible(plain):
        raise InvalidInput(field, "is empty")
    if limit is not None and len(plain) > limit:
        raise InvalidInput(field, f"is {len(plain):,} characters long; the limit is {limit:,}")
    return plain


def clean_text(text: str) -> str:
    """Return a text as `clean` does, whatever comes out."""
    return _collapse_blank_lines(_compose(_normalise_characters(text)).strip())


def _normalise_characters(text: str) -> str:
    if not text.isascii() and _SURROGATE.search(text):
        # Two halves that belong together make their character, as in JSON's escapes.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", _LINE_END.sub("\n", text))


def _compose(text: str) -> str:
    """Return the NFC form, in linear time."""
    return text if text.isascii() else unicodedata.normalize("NFC", _reorder_marks(text))


def _reorder_marks(text: str) -> str:
    """Return an equivalent text whose long runs of combining marks stand in canonical order.

    CPython orders a run by insertion: quadratic, half an hour for a hostile megabyte of marks.
    A run that is in order already costs it nothing.
    """
    text = text.translate(_TIBETAN_VOWELS)
    pieces: list[str] = []
    end = 0
    for run in _LONG_RUN_OF_MARKS.finditer(bytes(map(unicodedata.combining, text))):
        marks = "".join(map(_decompose, text[run.start() : run.end()]))
        pieces += [text[end : run.start()], *sorted(marks, key=unicodedata.combining)]
        end = run.end()
    return "".join([*pieces, text[end:]]) if pieces else text


def _decompose(mark: str) -> str:
    return unicodedata.normalize("NFD", mark)


def _collapse_blank_lines(text: str) -> str:
    if "\n\n\n" not in text:
        return text
    pieces: list[str] = []
    end = 0
    for block in code_blocks(text):
        pieces += [_BLANK_LINES.sub("\n\n", text[end : block.start]), block.extract(text)]
        end = block.end
    pieces.append(_BLANK_LINES.sub("\n\n", text[end:]))
    return "".join(pieces)


def _is_visible(text: str) -> bool:
    """Tell whether anything is left beside spaces and invisible format characters."""
    return any(not c.isspace() and unicodedata.category(c) != "Cf" for c in text)
