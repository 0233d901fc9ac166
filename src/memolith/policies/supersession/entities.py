"""Compare values that are names or things: people, places, organisations, colours and others."""

from __future__ import annotations

import re
from enum import StrEnum

from memolith.text.lexicon.language import word_set
from memolith.text.statements.places import find_place, is_disjoint, is_same_level, is_same_place
from memolith.text.statements.vocabulary import (
    BROAD_VALUES,
    COLOURS,
    EXCLUSIVE_GROUPS,
    FIRST_NAMES,
    MAKES,
    NAMED,
    NON_PERSON_WORDS,
    OCCUPATIONS,
    ORGANISATIONS,
    SHADES,
    SHORT_NAMES,
)

_VALUE_WORD = re.compile(r"[\w'&+-]+")
_VALUE_ARTICLES = word_set("a an the")

JOINING_WORDS = word_set("and or with in at on for und oder mit")
"""Words that join or qualify values."""


class ValueComparison(StrEnum):
    """The result of comparing two values."""

    SAME = "same"
    DIFFERENT = "other"
    UNSURE = "unsure"


def build_comparison(*, same: bool, other: bool) -> ValueComparison:
    """Return the result of a comparison; `same` takes precedence."""
    if same:
        return ValueComparison.SAME
    return ValueComparison.DIFFERENT if other else ValueComparison.UNSURE


def split_words(text: str) -> list[str]:
    """Return the words of a value, casefolded, without articles."""
    return [word for word in _VALUE_WORD.findall(text.casefold()) if word not in _VALUE_ARTICLES]


# --- Names of people


_PERSON_NAME = re.compile(r"(?:[A-ZÀ-ÖØ-Þ][\w'’.-]*|von|van|de|der|den|la|bin|al)")
_TITLES = word_set("dr dr. prof prof. mr mr. mrs mrs. ms ms. professor herr frau doctor")
_MAX_NAME_WORDS = 4


def is_person(text: str) -> bool:
    """Return whether a text may be a person's name and nothing else."""
    words = text.split()
    return (
        0 < len(words) <= _MAX_NAME_WORDS
        and words[0][0].isupper()
        and all(_PERSON_NAME.fullmatch(word) for word in words)
        and NON_PERSON_WORDS.isdisjoint(word.casefold() for word in words)
    )


def are_different_people(old: str, new: str) -> bool:
    """Return whether two names of the same form must denote different people.

    "Karen" and "Dr. Smith" may be the same person, as may "Bob" and "Robert", or "Kat" and
    "Katharina".
    """
    one, other = _split_name(old), _split_name(new)
    if len(one) != len(other) or _is_titled(old) != _is_titled(new):
        return False
    pairs = list(zip(one, other, strict=True))
    if len(one) > 1 and one[-1] == other[-1]:  # same family name: compare first names
        pairs = pairs[:1]
    return all(first != second and not _may_be_short(first, second) for first, second in pairs)


def is_unambiguous_name(name: str) -> bool:
    """Return whether it is known which part of a name is given, by a title or first name."""
    return _is_titled(name) or _split_name(name)[0] in FIRST_NAMES


def are_different_full_names(old: str, new: str, *, is_change: bool) -> bool:
    """Return whether somebody has changed their name.

    A different first name may be the other half of the old name, and so may a second first name,
    unless the sentence states a change.
    """
    one, other = set(_split_name(old)), set(_split_name(new))
    if one <= other or other <= one:
        return False
    if is_change:
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
    """Return whether one name may be short for the other; most share the first letter."""
    return one[0] == other[0] or any({one, other} <= names for names in SHORT_NAMES)


# --- Places, organisations, schools, people


_NAME_PARTICLES = word_set("of the & de du la der die das des am")
_PLACE_PARTICLES = word_set("of the upon de del la le les am an der den im und y do da dos saint")
"""Lowercase words in names of places: "Stratford upon Avon"."""

_MIN_INITIALS = 2
_ORGANISATION_PARTS = word_set(
    """
    department faculty institute office division team lab laboratory centre center branch campus
    airport airfield valley street hill wharf park plaza tower mall station heathrow gatwick jfk
    headquarters store shop clinic ward library unit section chair group agency plant factory
    """
)
"""Parts of organisations, or names that members use for them."""


def compare_places(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare places; see `relation.compare`."""
    one, other = find_place(_strip_region(old)), find_place(_strip_region(new))
    is_clear = is_change or is_same_level(_strip_region(old), _strip_region(new))
    if one is None or other is None:
        is_name = _is_all_names(_strip_region(old)) and "," not in old
        return build_comparison(same=is_name and split_words(old) == split_words(new), other=False)
    return build_comparison(
        same=is_same_place(one, other), other=is_clear and is_disjoint(one, other)
    )


def _is_all_names(text: str) -> bool:
    """Return whether a text is only a name; "Bergen next year" is not."""
    words = text.removeprefix("the ").split()
    return bool(words) and all(
        word[0].isupper() or (at > 0 and word in _PLACE_PARTICLES) for at, word in enumerate(words)
    )


def _strip_region(name: str) -> str:
    """Return a place without the region after it, if it is known to lie there."""
    city, comma, region = name.partition(", ")
    if not comma:
        return name
    inner, outer = find_place(city), find_place(region)
    is_inside = inner is not None and outer is not None and not is_disjoint(inner, outer)
    return city if is_inside else name


def compare_organisations(old: str, new: str) -> ValueComparison:
    """Compare organisations; see `relation.compare`."""
    if not (_is_organisation(old) and _is_organisation(new)):
        return ValueComparison.UNSURE
    one, other = split_words(old), split_words(new)
    return build_comparison(
        same=old.casefold() == new.casefold() or one == other,
        other=_are_different_organisations(one, other),
    )


def compare_schools(old: str, new: str) -> ValueComparison:
    """Compare schools; see `relation.compare`."""
    is_place = find_place(old) is not None or find_place(new) is not None  # "I go to Rome"
    if is_place or not (_is_named(old) and _is_named(new)):
        return ValueComparison.UNSURE
    one, other = split_words(old), split_words(new)
    return build_comparison(same=one == other, other=_are_different_organisations(one, other))


def _are_different_organisations(one: list[str], other: list[str]) -> bool:
    """Return whether two names share nothing, neither as initials nor as parts."""
    if not one or not other:
        return False
    shares = set(one) & set(other) - _NAME_PARTICLES or _is_prefix_pair(one[0], other[0])
    are_synonyms = any({" ".join(one), " ".join(other)} <= group for group in ORGANISATIONS)
    return not (
        shares or are_synonyms or _is_abbreviation(one, other) or _is_abbreviation(other, one)
    )


def _is_prefix_pair(one: str, other: str) -> bool:
    """Return whether one word is a prefix of the other: "Google", "Googleplex"."""
    return one.startswith(other) or other.startswith(one)


def _is_abbreviation(short: list[str], long: list[str]) -> bool:
    if len(short) != 1 or len(long) < _MIN_INITIALS:
        return False
    initials = "".join(word[0] for word in long)
    short_initials = "".join(word[0] for word in long if word not in _NAME_PARTICLES)
    return short[0] in {initials, short_initials} or any(word.startswith(short[0]) for word in long)


def _is_organisation(text: str) -> bool:
    words = split_words(text)
    is_first_name = len(words) == 1 and words[0] in FIRST_NAMES
    return _is_named(text) and find_place(text) is None and not is_first_name


def _is_named(text: str) -> bool:
    words = text.removeprefix("the ").split()
    is_name = bool(words) and words[0][0].isupper() and "," not in text
    return (
        is_name
        and all(word[0].isupper() or word[0].isdigit() or word in _NAME_PARTICLES for word in words)
        and not (NON_PERSON_WORDS | _ORGANISATION_PARTS) & set(split_words(text))
    )


def compare_people(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare people by name; see `relation.compare`."""
    if not (is_person(old) and is_person(new)):
        return ValueComparison.UNSURE
    is_other = are_different_people(old, new) and (
        is_change or (is_unambiguous_name(old) and is_unambiguous_name(new))
    )
    return build_comparison(same=split_words(old) == split_words(new), other=is_other)


def compare_nicknames(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare nicknames; see `relation.compare`."""
    del is_change
    return compare_people(old, new, is_change=True)


def compare_full_names(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare full names; see `relation.compare`."""
    if not (is_person(old) and is_person(new)):
        return ValueComparison.UNSURE
    return build_comparison(
        same=split_words(old) == split_words(new),
        other=are_different_full_names(old, new, is_change=is_change),
    )


# --- Things: colours, makes, occupations, diets, favourites


_TIMES = word_set("morning afternoon evening night day week month year time")
_MAX_THING_WORDS = 5
_MAX_MODEL_WORDS = 3
"""Maximum number of words after a car's make. A guess."""
_SHARED_PREFIX_CHARS = 3
"""Names with this many equal first letters may be the same: "Barça", "Barcelona"."""
_NO_THINGS = word_set(
    """
    yesterday today tomorrow last next not no to from my your his her their our it this that one
    ones by over under very really quite
    more less most least better best when where what who now always
    """
)
_QUALIFIERS = word_set(
    """
    as back one two days per each every once twice someday some day days weeks months years summer
    winter since from during until till while between among according near outside inside after
    before again well plus also too lol haha online abroad elsewhere remotely part-time full-time
    hardly never ever of-course about because if but than then soon later
    """
)
"""Words after a value that qualify it: it holds only at some times or places."""

_MARRIAGE = {
    "single": {"married", "engaged", "in a relationship"},
    "married": {"single", "divorced", "widowed", "engaged"},
    "engaged": {"single", "married"},
    "divorced": {"married"},
    "widowed": {"married"},
    "in a relationship": {"single"},
    "ledig": {"verheiratet", "verlobt"},
    "verheiratet": {"ledig", "geschieden", "verwitwet", "verlobt"},
    "verlobt": {"ledig", "verheiratet"},
    "geschieden": {"verheiratet"},
    "verwitwet": {"verheiratet"},
}
_DIETS = {
    "vegetarian": "vegetarian", "vegan": "vegan", "pescatarian": "pescatarian",
    "omnivore": "omnivore", "meat eater": "omnivore", "meat-eater": "omnivore",
    "vegetarier": "vegetarian", "vegetarierin": "vegetarian", "vegetarisch": "vegetarian",
    "veganer": "vegan", "veganerin": "vegan",
}  # fmt: skip
_PRONOUN = "he|him|his|she|her|hers|they|them|theirs|xe|xem|ze|zir|it|its|any"
_PRONOUNS = re.compile(rf"(?:{_PRONOUN})(?:/(?:{_PRONOUN}))+")
_ALONE_PHRASES = frozenset({"alone", "on my own", "by myself", "allein", "alleine"})
_POSSESSIVES = word_set("my meinen meiner meinem")
_COMPANY = word_set(
    """
    wife husband girlfriend boyfriend partner fiancé fiancée parents mother father
    eltern frau mann freundin freund mutter vater
    """
)
_CHOICE = re.compile(r"(?P<best>[\w -]+?) (?:to|over) (?P<rest>[\w -]+)")


def compare_things(old: str, new: str) -> ValueComparison:
    """Compare things, given an explicit change; see `relation.compare`."""
    if not (_is_thing(old) and _is_thing(new)):
        return ValueComparison.UNSURE
    one, other = split_words(old), split_words(new)
    return build_comparison(same=one == other, other=_are_disjoint(one, other))


def compare_favourites(old: str, new: str, *, detail: str, is_change: bool) -> ValueComparison:
    """Compare favourites; see `relation.compare`.

    Without an explicit change, one may be a kind of the other ("pasta", "lasagne"). They differ
    only if both are in a list of exclusive values, or are names of things without parts.
    """
    comparison = compare_things(old, new)
    if is_change or comparison is not ValueComparison.DIFFERENT:
        return comparison
    words = detail.split()
    is_apart = any({old.casefold(), new.casefold()} <= kinds for kinds in EXCLUSIVE_GROUPS)
    are_names = bool(words) and words[-1] in NAMED and _is_name(old) and _is_name(new)
    begin_alike = old[:_SHARED_PREFIX_CHARS].casefold() == new[:_SHARED_PREFIX_CHARS].casefold()
    return build_comparison(same=False, other=is_apart or (are_names and not begin_alike))


def _is_name(text: str) -> bool:
    return text[:1].isupper()


def _are_disjoint(one: list[str], other: list[str]) -> bool:
    shared = {word.rstrip("s") for word in one} & {word.rstrip("s") for word in other}
    is_contained = "".join(one) in "".join(other) or "".join(other) in "".join(one)
    return not (shared or is_contained or BROAD_VALUES & {*one, *other})


def _is_thing(text: str) -> bool:
    words = split_words(text)
    return (
        0 < len(words) <= _MAX_THING_WORDS
        and "," not in text
        and set(words).isdisjoint(JOINING_WORDS | _TIMES | _NO_THINGS)
        and _QUALIFIERS.isdisjoint(words[1:])
        and not (len(words) > 1 and words[-1].endswith("ly"))
    )


def compare_occupations(old: str, new: str) -> ValueComparison:
    """Compare occupations; see `relation.compare`."""
    one, other = " ".join(split_words(old)), " ".join(split_words(new))
    groups = [group for group in OCCUPATIONS if one in group]
    are_known = any(one in group for group in OCCUPATIONS) and any(
        other in group for group in OCCUPATIONS
    )
    same = one == other and _is_thing(old)
    return build_comparison(
        same=same, other=are_known and not any(other in group for group in groups)
    )


def compare_makes(old: str, new: str) -> ValueComparison:
    """Compare car makes; see `relation.compare`."""
    one, other = split_words(old), split_words(new)
    first, second = MAKES.get(one[0] if one else ""), MAKES.get(other[0] if other else "")
    if not (_is_model(old) and _is_model(new)):
        return ValueComparison.UNSURE
    if first is None or second is None:
        return build_comparison(same=_is_thing(old) and one == other, other=False)
    return build_comparison(same=one == other, other=first != second)


def _is_model(text: str) -> bool:
    """Return whether a text is only a car's name; "Tesla on holiday" is not."""
    _, *rest = text.split() or [""]
    is_named = all(word[0].isupper() or any(map(str.isdigit, word)) for word in rest)
    return len(rest) <= _MAX_MODEL_WORDS and is_named


def compare_colours(old: str, new: str) -> ValueComparison:
    """Compare colours; see `relation.compare`."""
    one, other = COLOURS.get(old.casefold()), COLOURS.get(new.casefold())
    if one is None or other is None:
        return build_comparison(
            same=_is_thing(old) and split_words(old) == split_words(new), other=False
        )
    shades = any({one, other} <= shade for shade in SHADES)
    return build_comparison(same=one == other, other=not shades)


def compare_marriages(old: str, new: str) -> ValueComparison:
    """Compare marital statuses; see `relation.compare`."""
    one, other = old.casefold(), new.casefold()
    are_known = one in _MARRIAGE and other in _MARRIAGE
    return build_comparison(
        same=are_known and one == other, other=are_known and other in _MARRIAGE[one]
    )


def compare_diets(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare diets; see `relation.compare`."""
    one, other = _DIETS.get(old.casefold()), _DIETS.get(new.casefold())
    are_known = one is not None and other is not None
    eats_meat = "omnivore" in {one, other}  # a vegan is also a vegetarian
    return build_comparison(
        same=are_known and one == other,
        other=are_known and one != other and (is_change or eats_meat),
    )


def compare_pronouns(old: str, new: str) -> ValueComparison:
    """Compare pronouns; see `relation.compare`."""
    if not (_PRONOUNS.fullmatch(old.lower()) and _PRONOUNS.fullmatch(new.lower())):
        return ValueComparison.UNSURE
    one, other = set(old.lower().split("/")), set(new.lower().split("/"))
    return build_comparison(same=one == other, other=not one & other)


def compare_company(old: str, new: str) -> ValueComparison:
    """Compare whom somebody lives with; see `relation.compare`."""
    one, other = (_parse_company(text) for text in (old, new))
    if one is None or other is None:
        return ValueComparison.UNSURE
    return build_comparison(same=one == other, other="" in {one, other})


def _parse_company(text: str) -> str | None:
    """Return whom somebody lives with; "" for nobody, None if unknown."""
    lower = text.casefold()
    if lower in _ALONE_PHRASES:
        return ""
    words = lower.removeprefix("with ").removeprefix("mit ").split()
    is_accompanied = lower.startswith(("with ", "mit ")) and len(words) == len(("my", "parents"))
    return (
        words[1] if is_accompanied and words[0] in _POSSESSIVES and words[1] in _COMPANY else None
    )


def compare_choices(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare choices between two things; see `relation.compare`."""
    one, other = _CHOICE.fullmatch(old.casefold()), _CHOICE.fullmatch(new.casefold())
    if one is None or other is None:
        return ValueComparison.UNSURE
    is_reversed = (one["best"], one["rest"]) == (other["rest"], other["best"])
    return build_comparison(same=one.groups() == other.groups(), other=is_change and is_reversed)
