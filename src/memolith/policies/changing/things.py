"""Comparing things: colours, makes, occupations, diets, what somebody likes best."""

from __future__ import annotations

import re

from memolith.policies.changing.likeness import (
    JOINING_WORDS,
    ValueComparison,
    build_comparison,
    split_words,
)
from memolith.text.lists import word_set
from memolith.text.statements.kinds import EXCLUSIVE_GROUPS, NAMED
from memolith.text.statements.vocabulary import BROAD_VALUES, COLOURS, MAKES, OCCUPATIONS, SHADES

_TIMES = word_set("morning afternoon evening night day week month year time")
_MAX_THING_WORDS = 5
_MAX_MODEL_WORDS = 3
"""Words behind a car's make, at most: a guess."""
_SHARED_PREFIX_CHARS = 3
"""Names that begin with the same letters, so many, may be one name: "Barça", "Barcelona"."""
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
"""Words behind a value with which it is qualified: it is so then, or there, only."""

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
    """Compare things where it is said that something has changed; see `values.compare`."""
    if not (_is_thing(old) and _is_thing(new)):
        return ValueComparison.UNSURE
    one, other = split_words(old), split_words(new)
    return build_comparison(same=one == other, other=_are_disjoint(one, other))


def compare_favourites(old: str, new: str, *, detail: str, marked: bool) -> ValueComparison:
    """Compare what somebody likes best of something; see `values.compare`.

    Where it is not said that it has changed, one may be a kind of the other ("pasta", "lasagne"),
    unless both are of a list of which none is, or are names of what has no parts.
    """
    found = compare_things(old, new)
    if marked or found is not ValueComparison.DIFFERENT:
        return found
    words = detail.split()
    is_apart = any({old.casefold(), new.casefold()} <= kinds for kinds in EXCLUSIVE_GROUPS)
    are_names = bool(words) and words[-1] in NAMED and _is_name(old) and _is_name(new)
    begin_alike = old[:_SHARED_PREFIX_CHARS].casefold() == new[:_SHARED_PREFIX_CHARS].casefold()
    return build_comparison(same=False, other=is_apart or (are_names and not begin_alike))


def _is_name(text: str) -> bool:
    return text[:1].isupper()


def _are_disjoint(one: list[str], other: list[str]) -> bool:
    shared = {word.rstrip("s") for word in one} & {word.rstrip("s") for word in other}
    within = "".join(one) in "".join(other) or "".join(other) in "".join(one)
    return not (shared or within or BROAD_VALUES & {*one, *other})


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
    """Compare occupations; see `values.compare`."""
    one, other = " ".join(split_words(old)), " ".join(split_words(new))
    groups = [group for group in OCCUPATIONS if one in group]
    known = any(one in group for group in OCCUPATIONS) and any(
        other in group for group in OCCUPATIONS
    )
    same = one == other and _is_thing(old)
    return build_comparison(same=same, other=known and not any(other in group for group in groups))


def compare_makes(old: str, new: str) -> ValueComparison:
    """Compare makes; see `values.compare`."""
    one, other = split_words(old), split_words(new)
    first, second = MAKES.get(one[0] if one else ""), MAKES.get(other[0] if other else "")
    if not (_is_model(old) and _is_model(new)):
        return ValueComparison.UNSURE
    if first is None or second is None:
        return build_comparison(same=_is_thing(old) and one == other, other=False)
    return build_comparison(same=one == other, other=first != second)


def _is_model(text: str) -> bool:
    """Tell whether a text is a car's name and nothing behind it: "Tesla on holiday" is none."""
    _, *rest = text.split() or [""]
    is_named = all(word[0].isupper() or any(map(str.isdigit, word)) for word in rest)
    return len(rest) <= _MAX_MODEL_WORDS and is_named


def compare_colours(old: str, new: str) -> ValueComparison:
    """Compare colours; see `values.compare`."""
    one, other = COLOURS.get(old.casefold()), COLOURS.get(new.casefold())
    if one is None or other is None:
        return build_comparison(
            same=_is_thing(old) and split_words(old) == split_words(new), other=False
        )
    shades = any({one, other} <= shade for shade in SHADES)
    return build_comparison(same=one == other, other=not shades)


def compare_marriages(old: str, new: str) -> ValueComparison:
    """Compare marriages; see `values.compare`."""
    one, other = old.casefold(), new.casefold()
    known = one in _MARRIAGE and other in _MARRIAGE
    return build_comparison(same=known and one == other, other=known and other in _MARRIAGE[one])


def compare_diets(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare diets; see `values.compare`."""
    one, other = _DIETS.get(old.casefold()), _DIETS.get(new.casefold())
    known = one is not None and other is not None
    meat = "omnivore" in {one, other}  # a vegan is a vegetarian too
    return build_comparison(
        same=known and one == other, other=known and one != other and (marked or meat)
    )


def compare_pronouns(old: str, new: str) -> ValueComparison:
    """Compare pronouns; see `values.compare`."""
    if not (_PRONOUNS.fullmatch(old.lower()) and _PRONOUNS.fullmatch(new.lower())):
        return ValueComparison.UNSURE
    one, other = set(old.lower().split("/")), set(new.lower().split("/"))
    return build_comparison(same=one == other, other=not one & other)


def compare_company(old: str, new: str) -> ValueComparison:
    """Compare company; see `values.compare`."""
    one, other = (_parse_company(text) for text in (old, new))
    if one is None or other is None:
        return ValueComparison.UNSURE
    return build_comparison(same=one == other, other="" in {one, other})


def _parse_company(text: str) -> str | None:
    """Return with whom somebody lives; empty: with nobody."""
    lower = text.casefold()
    if lower in _ALONE_PHRASES:
        return ""
    words = lower.removeprefix("with ").removeprefix("mit ").split()
    is_with = lower.startswith(("with ", "mit ")) and len(words) == len(("my", "parents"))
    return words[1] if is_with and words[0] in _POSSESSIVES and words[1] in _COMPANY else None


def compare_choices(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare choices; see `values.compare`."""
    one, other = _CHOICE.fullmatch(old.casefold()), _CHOICE.fullmatch(new.casefold())
    if one is None or other is None:
        return ValueComparison.UNSURE
    turned = (one["best"], one["rest"]) == (other["rest"], other["best"])
    return build_comparison(same=one.groups() == other.groups(), other=marked and turned)
