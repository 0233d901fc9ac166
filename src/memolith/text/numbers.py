"""Parse the numbers in a text into a uniform notation, so that texts can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SMALL_NUMBER_WORDS = (
    "zero",
    "one",
    "two zwei twice zweimal zwo",
    "three drei thrice dreimal",
    "four vier",
    "five fünf",
    "six sechs",
    "seven sieben",
    "eight acht",
    "nine neun",
    "ten zehn",
    "eleven elf",
    "twelve zwölf dozen dutzend",
    "thirteen dreizehn",
    "fourteen vierzehn",
    "fifteen fünfzehn",
    "sixteen sechzehn",
    "seventeen siebzehn",
    "eighteen achtzehn",
    "nineteen neunzehn",
)
_TENS_WORDS = (
    "twenty zwanzig",
    "thirty dreißig",
    "forty vierzig",
    "fifty fünfzig",
    "sixty sechzig",
    "seventy siebzig",
    "eighty achtzig",
    "ninety neunzig",
)
NUMBER_WORD_VALUES = {
    **{word: number for number, words in enumerate(_SMALL_NUMBER_WORDS) for word in words.split()},
    **{word: 10 * n for n, words in enumerate(_TENS_WORDS, start=2) for word in words.split()},
}
"""Number words up to ninety, with their values."""

LARGE_NUMBER_VALUES = {
    **dict.fromkeys(("hundred", "hundert"), 100),
    **dict.fromkeys(("k", "thousand", "tausend"), 1_000),
    **dict.fromkeys(("million", "millionen", "mio"), 1_000_000),
    **dict.fromkeys(("billion", "milliarde", "milliarden"), 1_000_000_000),
}
"""Words that multiply the number before them."""

_DIGITS = re.compile(
    rf"(?P<plain>\d+(?:[.,:’']\d+)*)"
    rf"(?:\s?(?P<large>{'|'.join(sorted(LARGE_NUMBER_VALUES, reverse=True))})\b)?"
)
_GROUPS = re.compile(r"\d{1,3}(?:[.,’']\d{3})+")
_DECIMAL = re.compile(r"\d{1,15}(?:[.,]\d{1,15})?")
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_DOTTED_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d\d)?\d\d")
_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN = re.compile(r"[\s-]+|\s+(?:and|und)\s+")
_ONE, _TEN, _TWENTY, _HUNDRED = 1, 10, 20, 100
_MAX_NUMBER = 10**15


def parse_numbers(text: str) -> frozenset[str]:
    """Return the numbers in a text: "1,000", "1.000", "1k" and "a thousand" are "1000".

    Leading zeros, signs, units and currencies are ignored. The parts of a date or time are separate
    numbers; a version ("5.3.0") is one. "One" and "ein" are ignored, because they are rarely used
    as numbers.
    """
    lower = text.lower()
    numbers = {number for match in _DIGITS.finditer(lower) for number in _parse_digits(match)}
    return frozenset(numbers.union(_parse_words(_DIGITS.sub(" ", lower))))


def _parse_digits(match: re.Match[str]) -> Iterator[str]:
    plain, large = match["plain"], match["large"]
    if _GROUPS.fullmatch(plain):
        plain = re.sub(r"\D", "", plain)
    if large and _DECIMAL.fullmatch(plain):
        yield f"{float(plain.replace(',', '.')) * LARGE_NUMBER_VALUES[large]:.15g}"
    elif _DECIMAL.fullmatch(plain):
        yield plain.replace(",", ".").lstrip("0") or "0"
    elif _VERSION.fullmatch(plain) and not _DOTTED_DATE.fullmatch(plain):
        yield plain
    else:
        yield from (part.lstrip("0") or "0" for part in re.split(r"\D", plain))


def _parse_words(lower: str) -> Iterator[str]:
    """Yield the values of number words."""
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(lower):
        is_next = _BETWEEN.fullmatch(lower, end, match.start()) is not None
        if match[0] in {"and", "und"}:
            continue
        if run and not (is_next and _is_number_word(match[0])):
            yield from _combine_words(run)
            run = []
        if _is_number_word(match[0]):
            run.append(match[0])
        end = match.end()
    yield from _combine_words(run)


def _is_number_word(word: str) -> bool:
    return word in NUMBER_WORD_VALUES or (word in LARGE_NUMBER_VALUES and word != "k")


def _combine_words(run: Sequence[str]) -> Iterator[str]:
    """Yield the numbers from a run of number words: "twenty five", "two hundred and fifty"."""
    number: int | None = None
    for word in run:
        if word in LARGE_NUMBER_VALUES:
            number = min((number or 1) * LARGE_NUMBER_VALUES[word], _MAX_NUMBER)
        elif number is not None and _can_combine(number, NUMBER_WORD_VALUES[word]):
            number += NUMBER_WORD_VALUES[word]
        else:
            if number not in {None, _ONE}:
                yield str(number)
            number = NUMBER_WORD_VALUES[word]
    if number not in {None, _ONE}:
        yield str(number)


def _can_combine(number: int, addend: int) -> bool:
    """Return whether a small number extends another: the 5 of 25, the 50 of 250."""
    if number % _HUNDRED == 0:
        return number >= _HUNDRED and 0 < addend < _HUNDRED
    return number % _HUNDRED >= _TWENTY and number % _TEN == 0 and 0 < addend < _TEN
