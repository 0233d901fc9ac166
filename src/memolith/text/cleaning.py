"""Clean text before it is stored, as a whole or as a stream."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from memolith.errors import InvalidInput
from memolith.text.segmentation import code_blocks

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BLANK_LINES = re.compile(r"\n{3,}")

# The only characters of combining class 0 with a decomposition that begins with a combining mark.
_TIBETAN_VOWELS = str.maketrans(
    {"\u0f73": "\u0f71\u0f72", "\u0f75": "\u0f71\u0f74", "\u0f81": "\u0f71\u0f80"}
)
# Longer than any run of marks in real text: Unicode's stream-safe format allows 30.
_LONG_RUN_OF_MARKS = re.compile(rb"[^\x00]{31,}")


def clean(text: str, *, field: str = "content", limit: int | None = None) -> str:
    """Return the stored form of a text. Idempotent.

    Line ends become newlines. Control characters except tabs are removed, and lone surrogates
    become U+FFFD. The text is normalised to NFC, and stripped. Outside of fenced code, three or
    more newlines become two. Nothing else changes.

    Args:
        text: The text that a caller passed.
        field: The name of the argument, for the error.
        limit: Maximum length of the result, in characters.

    Raises:
        InvalidInput: The value is not text, has no visible characters, or exceeds the limit.
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
    """Return a text cleaned like `clean`, without checks."""
    return _collapse_blank_lines(_compose(_normalise_characters(text)).strip())


def _normalise_characters(text: str) -> str:
    if not text.isascii() and _SURROGATE.search(text):
        # Surrogate pairs are combined into their character, as in JSON escapes.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", _LINE_END.sub("\n", text))


def _compose(text: str) -> str:
    """Return the NFC form, in linear time."""
    return text if text.isascii() else unicodedata.normalize("NFC", _reorder_marks(text))


def _reorder_marks(text: str) -> str:
    """Return an equivalent text with long runs of combining marks in canonical order.

    CPython sorts a run by insertion, in quadratic time: half an hour for a hostile megabyte of
    marks. A sorted run is cheap.
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
    """Return whether a text has more than spaces and invisible format characters."""
    return any(not c.isspace() and unicodedata.category(c) != "Cf" for c in text)


# --- Streams


SEGMENT_CHARS = 256_000
"""Approximate size of a segment, in characters. A guess: large enough to make cuts cheap."""

MAX_SEGMENT_CHARS = 1_000_000
"""A segment of this size is cut even without a blank line outside of code. Equals the maximum
length of a text that is not streamed."""

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_ANY_SPACE = re.compile(r"\s(?=\S*$)")


def clean_stream(
    pieces: Iterable[str],
    *,
    segment_chars: int = SEGMENT_CHARS,
    longest_chars: int = MAX_SEGMENT_CHARS,
) -> Iterator[str]:
    """Yield the cleaned text in segments, with bounded memory.

    The joined segments equal the cleaned text, except for white space. Segments end at blank lines
    outside of fenced code, so that each can be screened by itself.

    Args:
        pieces: The text, in pieces of any size.
        segment_chars: Approximate size of a segment.
        longest_chars: Maximum size of a segment without such a blank line.

    Raises:
        InvalidInput: A piece is not text.
    """
    has_output = False
    for raw in _split_segments(pieces, segment_chars, longest_chars):
        if segment := clean_text(raw):
            yield f"\n\n{segment}" if has_output else segment
            has_output = True


def _split_segments(pieces: Iterable[str], segment_chars: int, longest_chars: int) -> Iterator[str]:
    """Yield the text in segments to be cleaned.

    After a failed search for a cut, the next search waits for another segment's worth of text.
    Otherwise many small pieces would make the search quadratic.
    """
    buffer: list[str] = []
    size, min_size = 0, segment_chars
    for piece in _split_slices(pieces, longest_chars):
        buffer.append(piece)
        size += len(piece)
        if size < min_size:
            continue
        text = "".join(buffer)
        while len(text) >= segment_chars and (cut := _find_cut(text, longest_chars)):
            yield text[:cut]
            text = text[cut:]
        buffer, size = [text], len(text)
        min_size = segment_chars if size < segment_chars else size + segment_chars
    yield "".join(buffer)


def _split_slices(pieces: Iterable[str], longest_chars: int) -> Iterator[str]:
    for piece in pieces:
        if not isinstance(piece, str):
            raise InvalidInput("text", f"must be text, not {type(piece).__name__}")
        yield from (piece[at : at + longest_chars] for at in range(0, len(piece), longest_chars))


def _find_cut(text: str, longest_chars: int) -> int:
    """Return the last possible cut of the buffered text, or 0 if there is none yet."""
    code = code_blocks(text)
    for blank in reversed(list(_BLANK_LINE.finditer(text, 1))):
        if not any(block.start <= blank.start() < block.end for block in code):
            return blank.end()
    if len(text) < longest_chars:
        return 0
    white_space = _ANY_SPACE.search(text, longest_chars // 2, longest_chars)
    return white_space.end() if white_space else longest_chars
