"""Numbers up to 99, in figures and words, English and German."""

from __future__ import annotations

from memolith.text.statements.vocabulary import TENS_VALUES, UNIT_VALUES

AGE_STEP = 10
"""By how many years somebody may have grown older where it is said that time has passed: a guess;
more is rather a slip, or somebody else."""

_TEN = 10
_HYPHEN = "-"


def parse_number(text: str) -> int | None:
    """Return what a text says in figures ("34") or words ("thirty-four"); None: no number."""
    lower = text.casefold()
    if lower.isdecimal():
        return int(lower)
    first, _, rest = lower.replace(_HYPHEN, " ").partition(" ")
    unit = UNIT_VALUES.get(rest, 0)
    if first in TENS_VALUES and (not rest or 0 < unit < _TEN):
        return TENS_VALUES[first] + unit
    return UNIT_VALUES.get(lower)


def get_number_words(value: int) -> set[str]:
    """Return the figures of a number, and the words of which its name is made."""
    tens, unit = divmod(value, _TEN)
    parts = {tens * _TEN, unit, value}
    words = {
        word
        for numbers in (UNIT_VALUES, TENS_VALUES)
        for word, each in numbers.items()
        if each in parts
    }
    return {str(value), *(word for word in words if value)}
