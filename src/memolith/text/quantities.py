"""Numbers and dates in a text."""

from __future__ import annotations

import re

from memolith.text.code import mask_code
from memolith.text.lists import word_set
from memolith.text.patterns import NUMBER_WORDS

# Not within a word: "utf8" and "B2B" are names.
_NUMBER = re.compile(r"(?<![^\W_])\d")
_LIST_NUMBER = re.compile(r"^[^\S\n]*\d{1,3}[.)](?=\s)", re.MULTILINE)
_LETTERS = re.compile(r"[^\W\d_]+")

# "May", "March" and "Mai" need a number to be a date, and then the number tells.
_DATE_WORDS = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday january february april june july
    august september october november december
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar jänner februar
    märz juni juli oktober dezember
    """
)
_QUANTITY_WORDS = NUMBER_WORDS | _DATE_WORDS


def has_number_or_date(text: str) -> bool:
    """Tell whether a text holds a number, in figures or words, a weekday or a month.

    Code does not count, nor the numbers of a list's items. "One" and "ein" mostly count nothing.
    """
    prose = _LIST_NUMBER.sub("", mask_code(text))
    return _NUMBER.search(prose) is not None or not _QUANTITY_WORDS.isdisjoint(
        word.lower() for word in _LETTERS.findall(prose)
    )
