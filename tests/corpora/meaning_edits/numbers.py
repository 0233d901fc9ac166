"""Edits to numbers, dates, clock times and signs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from corpora.meaning_edits.edits import put
from corpora.meaning_edits.words import listed

_ISO: Final = re.compile(r"(?<![\d-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_DOTTED: Final = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4}|\d\d)?(?![\d.])")
_SLASHED: Final = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])")
_CLOCK: Final = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])")
_NUMBER: Final = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)*")
_ORDINAL: Final = re.compile(r"(?<![\w.,])(\d+)(?:st|nd|rd|th)\b")
_VERSION: Final = re.compile(r"\b(?:version|release|python|v)\s?(\d+\.\d+)(?![\w.])", re.IGNORECASE)
_MEASURE: Final = r"(?=\s?(?:°|%|degrees|percent|Grad|Prozent))"
_POSITIVE: Final = re.compile(r"(?<![\w.,:/+\-−])(?=\d+(?:[.,]\d+)?" + _MEASURE + ")")
_SIGN: Final = re.compile(r"(?<![\w)\]}%°.,:/+\-−])(?<![\d%] )([-−+])(?=\d)(?!\d+[ /-]\d)")
_OF_TIME: Final = re.compile(
    r"\s?(?:[ap]\.?m\b|Uhr\b|o['’]clock|\.?\s(?:Jan|Feb|Mar|Mär|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|"
    r"Nov|De[cz]))"
)
_SYMMETRIC: Final = listed("and or to by x times plus und oder bis mal nor")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_LAST_SAFE_DAY: Final = 28  # exists in every month
_LONGEST_MONTH: Final = 31
_MONTHS: Final = 12
_NOON: Final = 12
_PHONE_DIGITS: Final = 7  # longer integers are names, not amounts: a guess


def _next_digit(text: str) -> str:
    """Change the last digit of a number by one."""
    return text[:-1] + ("8" if text[-1] == "9" else str(int(text[-1]) + 1))


def _transposed(text: str) -> str | None:
    """Exchange the first two adjacent digits that differ, without a leading zero."""
    for match in re.finditer(r"(?=(\d)[.,]?(\d))", text):
        first, second = match.span(1)[0], match.span(2)[0]
        if text[first] != text[second] and not (first == 0 and text[second] == "0"):
            digits = list(text)
            digits[first], digits[second] = digits[second], digits[first]
            return "".join(digits)
    return None


def _taken(sentence: str) -> list[tuple[int, int]]:
    """Return the spans of dates and clock times, which are not plain numbers."""
    patterns = (_ISO, _DOTTED, _SLASHED, _CLOCK, _ORDINAL)
    return [match.span() for pattern in patterns for match in pattern.finditer(sentence)]


def _plain(sentence: str) -> Iterator[re.Match[str]]:
    taken = _taken(sentence)
    for match in _NUMBER.finditer(sentence):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            yield match


def _in_row(sentence: str, match: re.Match[str]) -> bool:
    """Return whether a number is one of several groups, as in a phone number."""
    before, after = sentence[: match.start()], sentence[match.end() :]
    return bool(re.search(r"\d[ /-]$", before) or re.match(r"[ /-]\d", after))


def _is_free(sentence: str, match: re.Match[str]) -> bool:
    return not _OF_TIME.match(sentence, match.end()) and not _in_row(sentence, match)


def _is_amount(sentence: str, match: re.Match[str]) -> bool:
    """Return whether a number is a count, rather than a name or a time."""
    text = match.group()
    is_whole = text.isdigit() and text[0] != "0" and len(text) < _PHONE_DIGITS
    return is_whole and _is_free(sentence, match)


def numbers(sentence: str) -> Iterator[str]:
    """Change a digit, exchange two, add a zero, exchange two numbers, or change 1.2 to 1.20."""
    for match in _plain(sentence):
        text = match.group()
        if _YEAR.fullmatch(text):
            continue
        yield put(sentence, *match.span(), _next_digit(text))
        if (transposed := _transposed(text)) is not None:
            yield put(sentence, *match.span(), transposed)
        if _is_amount(sentence, match):
            yield put(sentence, *match.span(), text + "0")
        if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
            yield put(sentence, *match.span(), f"{int(text.replace(',', '')) * 10:,}")
    for match in _VERSION.finditer(sentence):
        yield put(sentence, *match.span(1), match.group(1) + "0")
    yield from _exchanged_numbers(sentence)


def _exchanged_numbers(sentence: str) -> Iterator[str]:
    found = list(_plain(sentence))
    for one, other in pairwise(found):
        words = set(re.findall(r"[^\W\d_]+", sentence[one.end() : other.start()].lower()))
        if words - _SYMMETRIC and one.group() != other.group():
            rest = put(sentence, *other.span(), one.group())
            yield put(rest, *one.span(), other.group())


def decimals(sentence: str) -> Iterator[str]:
    """Drop the decimal point (3.5 to 35), or insert one (35 to 3.5)."""
    for match in _plain(sentence):
        text = match.group()
        if sentence[: match.start()][-1:].isalpha() or not _is_free(sentence, match):
            continue
        if re.fullmatch(r"\d+[.,]\d{1,2}", text):
            yield put(sentence, *match.span(), re.sub(r"[.,]", "", text).lstrip("0") or "00")
        elif re.fullmatch(r"[1-9]\d{1,2}", text) and not text.endswith("0"):
            yield put(sentence, *match.span(), f"{text[:-1]}.{text[-1]}")


def signs(sentence: str) -> Iterator[str]:
    """Remove or invert a sign, or put a minus before a temperature or a percentage."""
    for match in _SIGN.finditer(sentence):
        sign, start = match.group(1), match.start()
        yield put(sentence, start, start + 1, "-" if sign == "+" else "")
        if sign != "+":
            yield put(sentence, start, start + 1, "+")
    for match in _POSITIVE.finditer(sentence):
        yield put(sentence, match.start(), match.start(), "-")


def _other_days(day: int, month: int) -> Iterator[tuple[int, int]]:
    yield (day + 1 if day < _LAST_SAFE_DAY else day - 1), month
    if day <= _LAST_SAFE_DAY:
        yield day, (month + 1 if month < _MONTHS else month - 1)
    if day <= _MONTHS and day != month:
        yield month, day


def _is_date(day: int, month: int) -> bool:
    return 1 <= day <= _LONGEST_MONTH and 1 <= month <= _MONTHS


def _iso_dates(sentence: str) -> Iterator[str]:
    for match in _ISO.finditer(sentence):
        year, month, day = map(int, match.groups())
        if _is_date(day, month):
            for other_day, other_month in _other_days(day, month):
                yield put(sentence, *match.span(), f"{year:04}-{other_month:02}-{other_day:02}")


def _numeric_dates(sentence: str) -> Iterator[str]:
    for pattern, separator in ((_DOTTED, "."), (_SLASHED, "/")):
        for match in pattern.finditer(sentence):
            day, month = int(match.group(1)), int(match.group(2))
            if not _is_date(day, month):
                continue
            width = len(match.group(2))
            end = match.end(2)
            for other_day, other_month in _other_days(day, month):
                new = f"{other_day:0{width}}{separator}{other_month:0{width}}"
                yield put(sentence, match.start(), end, new)


def _ending(number: int) -> str:
    if number % 100 in {11, 12, 13}:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _ordinals(sentence: str) -> Iterator[str]:
    for match in _ORDINAL.finditer(sentence):
        number = int(match.group(1))
        other = number + 1 if number < _LAST_SAFE_DAY else number - 1
        yield put(sentence, *match.span(), f"{other}{_ending(other)}")


def _years(sentence: str) -> Iterator[str]:
    for match in re.finditer(rf"(?<![\d.,]){_YEAR.pattern}(?![\d,]|\.\d)", sentence):
        year = match.group()
        yield put(sentence, *match.span(), _next_digit(year))
        if year[2] != year[3]:
            yield put(sentence, *match.span(), year[:2] + year[3] + year[2])


def dates(sentence: str) -> Iterator[str]:
    """Change the day, the month or the year of a written date, or exchange day and month."""
    rules: tuple[Callable[[str], Iterator[str]], ...]
    rules = (_iso_dates, _numeric_dates, _ordinals, _years)
    for rule in rules:
        yield from rule(sentence)


def clock_times(sentence: str) -> Iterator[str]:
    """Change the hour or the minute of a time such as 6:15 or 18:30."""
    for match in _CLOCK.finditer(sentence):
        hour, minute = match.groups()
        other_hour = int(hour) + 1 if int(hour) < _NOON else int(hour) - 1
        yield put(sentence, *match.span(), f"{other_hour:0{len(hour)}}:{minute}")
        other_minute = (int(minute) + 30) % 60
        yield put(sentence, *match.span(), f"{hour}:{other_minute:02}")
