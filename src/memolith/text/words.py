"""Split text into words, with their case and surrounding punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Unify quotes, apostrophes and hyphens; a minus sign stays a minus sign.
_SAME_MARKS = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ‚‛＇`´", "'"),
        **dict.fromkeys("“”„‟«»‹›＂", '"'),
        **dict.fromkeys("‐‑–", "-"),
        **dict.fromkeys("—―", " - "),
        **dict.fromkeys("？؟", "? "),
        **dict.fromkeys("！。；「」『』（）《》〈〉【】", " "),
        "…": "...",
        "\ufe0f": "",
    }
)
_WIDE_MARK = re.compile(r"(?<=\d)[，：、](?=\d)|[，：、]")
_GREEK_QUESTION = re.compile("(?<=[\u0370-\u03ff\u1f00-\u1fff]);")
_DOTS_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])\.{3,}(?=[^\W\d_])")
# Han and kana are written without spaces, so each character counts as a word.
_CHARACTER = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_CHUNK = re.compile(r"\S+")

_FACE = re.compile(r"[:;=]['^-]?[()\[\]|/\\DPp]+|\^_?\^|[xX]D")
_FACE_AT_END = re.compile(r"(?<=\w)[:;]['^-]?[()]+$")
_ONLY_PUNCTUATION = re.compile(r"[.,;:!?\"'()،؛।-]+")
_DASH = re.compile(r"-+")
_NUMBER_IN_BRACKETS = re.compile(r"\([^()\w]?\d[\d.,]*[^()\w]?\)")
_LEADING = ('"', "'", "(", "¡", "¿")
_ELISION = re.compile(r"'(?:t(?:is|was|were|ill?)|em|cause|n|bout|round|\d\ds?)\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d\b")
NUMERAL = re.compile(r"[^\w\s]{0,2}\d[\d.,:/]*[^\w\s]?")
"""A number in digits, with an optional sign or currency, and a percent sign or the like."""


@dataclass(slots=True)
class Word:
    """A word or symbol, without the surrounding punctuation.

    Attributes:
        text: The original text, case included.
        starts_sentence: Whether it is the first word of a sentence.
        is_before_punctuation: Whether punctuation follows it.
        is_before_question_mark: Whether a question mark follows it.
    """

    text: str
    starts_sentence: bool = False
    is_before_punctuation: bool = False
    is_before_question_mark: bool = False


def words(text: str) -> list[Word]:
    """Return the words and symbols of a text in order, without punctuation.

    Punctuation means full stops, commas, colons, semicolons, exclamation marks, quotes, round
    brackets and dashes. Marks that may belong to a word stay: a sign, a decimal point, an inch, an
    apostrophe.
    """
    chunks = _CHUNK.findall(_normalise_marks(text))
    result: list[Word] = []
    quotes = _Quotes()
    opens = True
    for at, chunk in enumerate(chunks):
        if chunk.isalnum():
            result.append(Word(chunk, opens))
            opens = False
            continue
        following = chunks[at + 1] if at + 1 < len(chunks) else ""
        for word in _split_words(chunk, following, result, quotes):
            word.starts_sentence = opens
            opens = False
            result.append(word)
        opens = opens or chunk.rstrip("\"')").endswith((".", "!", "?", ":"))
    return result


@dataclass(slots=True)
class _Quotes:
    """Open quotes: inch signs and plural apostrophes look like closing quotes."""

    single: bool = False
    double: bool = False


def _normalise_marks(text: str) -> str:
    text = unicodedata.normalize("NFC", text)
    if not text.isascii():
        text = _GREEK_QUESTION.sub("?", _WIDE_MARK.sub(_narrow_mark, text)).translate(_SAME_MARKS)
        text = _CHARACTER.sub(r" \g<0> ", text)
    return _DOTS_BETWEEN_LETTERS.sub(" ", text)


def _narrow_mark(mark: re.Match[str]) -> str:
    around = (
        mark.string[max(0, mark.start() - 1) : mark.start()],
        mark.string[mark.end() : mark.end() + 1],
    )
    if all(map(str.isdigit, around)):
        return {"，": ",", "：": ":"}.get(mark[0], mark[0])
    return "、" if all(map(str.isnumeric, around)) else " "  # "二、三" is not "二三"


def _split_words(chunk: str, following: str, before: list[Word], quotes: _Quotes) -> Iterator[Word]:
    if not any(map(str.isalnum, chunk)):
        yield from _split_symbols(chunk, following, before)
        return
    face = _FACE_AT_END.search(chunk)
    core = _strip_leading(chunk[: face.start()] if face else chunk, quotes)
    text, asks = _strip_trailing(core, following, quotes)
    yield Word(text, is_before_punctuation=len(text) < len(core), is_before_question_mark=asks)
    if face:
        yield Word(face[0])


def _split_symbols(chunk: str, following: str, before: list[Word]) -> Iterator[Word]:
    """Yield the symbols of a chunk without letters and digits; punctuation marks the last word."""
    core = chunk.rstrip(".,!;") or chunk
    if _FACE.fullmatch(core):
        yield Word(core)
    elif _ONLY_PUNCTUATION.fullmatch(chunk) is None:
        yield Word(core, is_before_punctuation=core != chunk)
    elif _is_possible_sign(chunk, following, before):
        yield Word(chunk)
    elif before:
        before[-1].is_before_punctuation = True
        before[-1].is_before_question_mark = before[-1].is_before_question_mark or "?" in chunk


def _is_possible_sign(chunk: str, following: str, before: list[Word]) -> bool:
    """Return whether a mark between spaces may be a minus, or the colon of "3 : 2"."""
    if chunk not in {"-", ":", "--", "!"} or not _is_operand(following):
        return False
    return chunk == "-" or (bool(before) and _is_operand(before[-1].text))


def _is_operand(text: str) -> bool:
    text = text.rstrip(".,;:!?)\"'").lstrip("(")
    return len(text) == 1 or NUMERAL.fullmatch(text) is not None


def _strip_leading(chunk: str, quotes: _Quotes) -> str:
    """Return a chunk without its leading quotes, brackets and dots."""
    if _NUMBER_IN_BRACKETS.match(chunk):
        return chunk  # in accounting, (5) is -5
    start = 0
    while chunk.startswith(_LEADING, start):
        if chunk[start] == "'":
            quotes.single = quotes.single or _ELISION.match(chunk, start) is None
        quotes.double = quotes.double or chunk[start] == '"'
        start += 1
    dots = len(chunk) - start - len(chunk[start:].lstrip("."))
    return chunk[start + dots :] if dots > 1 else chunk[start:]  # ".NET" keeps its dot


def _strip_trailing(core: str, following: str, quotes: _Quotes) -> tuple[str, bool]:
    """Return a word without trailing punctuation, and whether that had a question mark."""
    asks = False
    brackets = core.count(")") - core.count("(")
    end = len(core)
    while end and _is_punctuation(core, end - 1, following, quotes, brackets):
        mark = core[end - 1]
        asks = asks or mark == "?"
        brackets -= mark == ")"
        quotes.single = quotes.single and mark != "'"
        quotes.double = quotes.double and mark != '"'
        end -= 1
    return core[:end], asks


def _is_punctuation(core: str, at: int, following: str, quotes: _Quotes, brackets: int) -> bool:
    """Return whether the last character of `core[: at + 1]` is punctuation."""
    mark = core[at]
    digit_before = at > 0 and core[at - 1].isdigit()
    if mark in "?;:،؛।":
        return True
    if mark in ".!":
        # "3." may be an ordinal, "3!" a factorial, but not at the end of the text.
        return not (digit_before and following)
    if mark == ",":
        # "2, 5" may be two numbers; "May 5, 2023" is a date.
        return not (digit_before and following[:1].isdigit() and not _YEAR.match(following))
    if mark == '"':
        return quotes.double or not digit_before
    return (mark == "'" and quotes.single) or (mark == ")" and brackets > 0)
