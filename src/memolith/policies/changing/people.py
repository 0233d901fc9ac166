"""Names of people: whether a text is one, and whether two must be of different people."""

from __future__ import annotations

import re

from memolith.text.lists import word_set
from memolith.text.statements.kinds import FIRST_NAMES
from memolith.text.statements.vocabulary import NON_PERSON_WORDS, SHORT_NAMES

_PERSON_NAME = re.compile(r"(?:[A-ZÀ-ÖØ-Þ][\w'’.-]*|von|van|de|der|den|la|bin|al)")
_TITLES = word_set("dr dr. prof prof. mr mr. mrs mrs. ms ms. professor herr frau doctor")
_MAX_NAME_WORDS = 4


def is_person(text: str) -> bool:
    """Tell whether a text may be a name, and nothing else."""
    words = text.split()
    return (
        0 < len(words) <= _MAX_NAME_WORDS
        and words[0][0].isupper()
        and all(_PERSON_NAME.fullmatch(word) for word in words)
        and NON_PERSON_WORDS.isdisjoint(word.casefold() for word in words)
    )


def are_different_people(old: str, new: str) -> bool:
    """Tell whether two names, of the same form, must be of different people.

    "Karen" and "Dr. Smith" may be one, so may "Bob" and "Robert", "Kat" and "Katharina".
    """
    one, other = _split_name(old), _split_name(new)
    if len(one) != len(other) or _is_titled(old) != _is_titled(new):
        return False
    pairs = list(zip(one, other, strict=True))
    if len(one) > 1 and one[-1] == other[-1]:  # of one family: another first name
        pairs = pairs[:1]
    return all(first != second and not _may_be_short(first, second) for first, second in pairs)


def is_unambiguous_name(name: str) -> bool:
    """Tell whether it is known of a name which part of one it is: with a title, a first name."""
    return _is_titled(name) or _split_name(name)[0] in FIRST_NAMES


def are_different_full_names(old: str, new: str, *, marked: bool) -> bool:
    """Tell whether somebody has another name than before.

    Another first name may be the other half of the old one, and so may a second first name,
    unless it is said that it has changed.
    """
    one, other = set(_split_name(old)), set(_split_name(new))
    if one <= other or other <= one:
        return False
    if marked:
        pairs = zip(_split_name(old), _split_name(new), strict=False)
        is_short = any(a != b and _may_be_short(a, b) for a, b in pairs)
        return len(_split_name(old)) == len(_split_name(new)) and not is_short
    (first, *_), (new_first, *family) = _split_name(old), _split_name(new)
    return (
        len(_split_name(old)) == len(_split_name(new)) > 1
        and first == new_first
        and FIRST_NAMES.isdisjoint({*_split_name(old)[1:], *family})
        and set("-".join(_split_name(old)[1:]).split("-")).isdisjoint("-".join(family).split("-"))
    )


def _split_name(name: str) -> list[str]:
    return [word for word in name.casefold().split() if word not in _TITLES]


def _is_titled(name: str) -> bool:
    return name.casefold().split()[0] in _TITLES


def _may_be_short(one: str, other: str) -> bool:
    """Tell whether one name may be short for the other: short names mostly begin the same."""
    return one[0] == other[0] or any({one, other} <= names for names in SHORT_NAMES)
