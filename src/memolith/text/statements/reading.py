"""Reading statements out of sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from memolith.text import statements
from memolith.text.analysis import terms
from memolith.text.sentences import sentences
from memolith.text.statements.language import Attribute, Grammar, Mark
from memolith.text.statements.numbers import AGE_STEP, names_of, number
from memolith.text.statements.vocabulary import OCCUPATIONS

MAX_CHARS = 160
"""A longer sentence says more than one plain thing. A guess."""

_OPENINGS = 3
"""How many words of introduction are taken off, at most: "Oh, by the way, actually, …"."""

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "`": "'", "‑": "-", "–": "-"})
_NO_STATEMENT = re.compile(r'[?"“”„«»;:()\[\]{}<>|\n…]|\.\.')
_CLOCK = re.compile(r"(?<=\d):(?=\d)")
_NOT_NOW = re.compile(
    r"\b(?:for|until|till|right|by|up to|just|since) now\b|(?<!from )\bnow (?:and|that|on)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'’-]+")
_SLOT = re.compile(r"\{(\w+)\} ")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says, where it says one plain thing.

    Attributes:
        subject: Who or what it is about, in lower case; "user" for the user.
        attribute: What is said of it.
        kind: The kind of its value.
        value: The value, as it stands.
        former: The value that it had before, where that is said.
        how: The way of saying it, where that may matter.
        marks: How it stands to what was said before.
        weak: Whether it may be so for a time only.
        is_event: Whether it says that something became so.
        says_more: Whether it says more than the value.
        alone: Whether another value by itself means that it has changed.
        several: Whether there may be several at a time, even where it is said to have become so.
        fixed: Whether it never changes, so that another value must be a correction.
        anchors: Words of which one stands in each sentence that says the attribute.
    """

    subject: str
    attribute: str
    kind: str
    value: str
    former: str | None = None
    how: str | None = None
    marks: frozenset[Mark] = frozenset()
    weak: bool = False
    is_event: bool = False
    says_more: bool = False
    alone: bool = True
    several: bool = False
    fixed: bool = False
    anchors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A sentence without what stands around a statement."""

    text: str
    marks: frozenset[Mark]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A sentence that says an attribute; `slot` is the part that it begins with, if any."""

    regex: re.Pattern[str]
    attribute: Attribute
    slot: str | None = None
    weak: bool = False
    is_event: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a text says, as far as it is a plain statement.

    Attributes:
        statements: What it may state: one plain thing, by each pattern that matches all of it.
        before: Sentences that were true before, where it says that something is over: "I live in
            Oslo" for "I no longer live in Oslo". Of several, all are ways to say the same.
    """

    statements: tuple[Statement, ...] = ()
    before: tuple[str, ...] = ()


def told(text: str) -> Told:
    """Return what a text says.

    Nothing where it is more than one sentence, asks, quotes, is not sure, speaks of another time,
    or says what nothing is known of.
    """
    plain = _plain(text)
    return Told(
        tuple(found for grammar, each in plain for found in _read(each, grammar, None)),
        tuple(found for grammar, each in plain for found in _ended(each, grammar)),
    )


def read(text: str, among: AbstractSet[str] | None = None) -> tuple[Statement, ...]:
    """Return what a text may state, as `told` does; only of attributes of these names."""
    return tuple(found for grammar, each in _plain(text) for found in _read(each, grammar, among))


def search_terms(said: Told) -> tuple[tuple[frozenset[str], ...], ...]:
    """Return how to find what a text may restate or change, by keyword.

    Returns:
        Ways to find it: for each, groups of terms, of each of which one stands in a text that
        is meant. None for a text that states nothing.
    """
    stated = [*said.statements, *(each for past in said.before for each in read(past))]
    ways = dict.fromkeys(_way(each) for each in stated)
    ways |= dict.fromkeys(tuple(frozenset({term}) for term in terms(past)) for past in said.before)
    return tuple(way for way in ways if way)


def _way(statement: Statement) -> tuple[frozenset[str], ...]:
    subject = () if statement.subject in {"user", "we"} else terms(statement.subject)
    groups = [frozenset({term}) for term in subject]
    words = statement.anchors | _of_value(statement.kind, statement.value)
    anchors = frozenset(term for word in words for term in terms(word))
    return (*groups, anchors) if anchors else tuple(groups)


_OF_OCCUPATIONS = {word for group in OCCUPATIONS for name in group for word in name.split()} | {
    *("work", "works", "working", "job", "profession", "occupation", "became", "promoted"),
    *("arbeite", "arbeitet", "geworden"),
}


def _of_value(kind: str, value: str) -> set[str]:
    """Return words of a value that stand in sentences with another value too."""
    if kind == "count":
        thing = value.rpartition(" ")[2]
        return {thing, "child", "children"} if thing.startswith("child") else {thing}
    if kind == "occupation":
        return _OF_OCCUPATIONS
    return _ages(value) if kind == "age" else set()


def _ages(value: str) -> set[str]:
    """Return the words and figures of an age and of those shortly before it."""
    years = number(value)
    if years is None:
        return set()
    return {"age", *(word for age in range(years - AGE_STEP, years + 1) for word in names_of(age))}


@lru_cache(maxsize=1)
def grammars() -> tuple[Grammar, ...]:
    """Return the grammars of every language there is a file for, by code."""
    names = (module.name for module in iter_modules(statements.__path__))
    modules = (import_module(f"{statements.__name__}.{name}") for name in names)
    values = (getattr(module, "GRAMMAR", None) for module in modules)
    return tuple(sorted((v for v in values if isinstance(v, Grammar)), key=lambda v: v.language))


def _read(
    prepared: _Prepared, grammar: Grammar, among: AbstractSet[str] | None
) -> Iterator[Statement]:
    if _blocked(prepared.text, grammar):
        return
    begun = (slot for slot, part in _parts(grammar.language) if part.match(prepared.text))
    for pattern in _begun_with(grammar.language, frozenset(begun)):
        if among is None or pattern.attribute.name in among:
            match = pattern.regex.fullmatch(prepared.text)
            if match is not None:
                yield from _stated(match, pattern, prepared.marks, grammar)


def _ended(prepared: _Prepared, grammar: Grammar) -> Iterator[str]:
    if Mark.STILL in prepared.marks or "," in prepared.text:
        return
    for regex, pasts in _endings(grammar.language):
        if match := regex.fullmatch(prepared.text):
            said = [
                past.format(**match.groupdict(), **forms)
                for forms in _forms(match["v"])
                for past in pasts
            ]
            yield from dict.fromkeys(said)


def _plain(text: str) -> list[tuple[Grammar, _Prepared]]:
    """Return a text as each grammar reads it that may; nothing where `told` has nothing."""
    if len(text) > MAX_CHARS or _NOT_NOW.search(text) or len(sentences(text)) != 1:
        return []
    words = _WORD.findall(text.lower())
    sentence = unicodedata.normalize("NFC", text).translate(_QUOTES).strip().rstrip(".!").strip()
    prepared = [
        (grammar, _prepared(sentence, grammar))
        for grammar in grammars()
        if not grammar.needed or not grammar.needed.isdisjoint(words)
    ]
    return [(grammar, each) for grammar, each in prepared if each is not None]


def _prepared(plain: str, grammar: Grammar) -> _Prepared | None:
    """Return a sentence in plain spelling, without introduction and marking words."""
    marks: set[Mark] = set()
    for _ in range(_OPENINGS):
        whole = plain
        for regex, mark in _openings(grammar.language):
            if (match := regex.match(plain)) and match.end() < len(plain):
                plain = plain[match.end() :]
                marks |= {mark} if mark else set()
        if plain == whole:
            break
    if _NO_STATEMENT.search(_CLOCK.sub("", plain)):
        return None
    plain = _begun(plain, grammar)
    for regex, spelling in _spellings(grammar.language):
        plain = regex.sub(spelling, plain)
    for regex, found in _adverbs(grammar.language):
        plain, times = regex.subn("", plain)
        marks |= {found} if times else set()
    return _Prepared(" ".join(plain.split()).replace(" ,", ",").strip(" ,"), frozenset(marks))


def _begun(plain: str, grammar: Grammar) -> str:
    """Return a sentence whose first word is in lower case where it is no name, but for "I"."""
    first, blank, rest = plain.partition(" ")
    if first in {"i", "I"} or first.startswith(("i'", "I'")):
        return f"I{first[1:]}{blank}{rest}"
    lower = first.lower()
    return f"{lower}{blank}{rest}" if first.capitalize() in grammar.no_names else plain


def _blocked(plain: str, grammar: Grammar) -> bool:
    words = _WORD.findall(plain)
    return any(word in grammar.blocked for word in (*words, *(word.lower() for word in words[:1])))


def _stated(
    match: re.Match[str], pattern: _Pattern, marks: frozenset[Mark], grammar: Grammar
) -> Iterator[Statement]:
    attribute, groups = pattern.attribute, match.groupdict()
    subject = _subject(groups.get("s") or "", grammar)
    if subject is None:
        return
    detail = grammar.same.get((groups.get("a") or "").lower(), (groups.get("a") or "").lower())
    yield Statement(
        subject=subject,
        attribute=f"{attribute.name}: {detail}" if detail else attribute.name,
        kind=attribute.value,
        value=match["v"],
        former=groups.get("w"),
        how=groups.get("how"),
        marks=marks | {Mark.NOW} if pattern.is_event else marks,
        weak=pattern.weak,
        is_event=pattern.is_event,
        says_more=bool(groups.get("more")),
        alone=attribute.alone and _is_alone(subject, attribute, grammar),
        several=attribute.several or _is_one_of(subject, grammar.several, grammar),
        fixed=attribute.fixed,
        anchors=attribute.anchors | frozenset(detail.split()),
    )


def _subject(name: str, grammar: Grammar) -> str | None:
    """Return who is meant, in one spelling; None where it is no name after all."""
    if name.split(" ", maxsplit=1)[0] in grammar.no_names and name != "I":
        return None
    lower = name.lower()
    if lower in grammar.user:
        return "user"
    if lower in grammar.ours:
        return "we"
    return lower.removesuffix("'s").removesuffix("'")


def _is_alone(subject: str, attribute: Attribute, grammar: Grammar) -> bool:
    words = subject.split(" ")
    if attribute.by_thing:
        return words[0] in grammar.determiners and _is_one_thing(words, grammar)
    return not _is_one_of(subject, grammar.several | grammar.in_turn, grammar)


def _is_one_of(subject: str, relations: frozenset[str], grammar: Grammar) -> bool:
    """Tell whether somebody is named by a relation alone, which another may have too."""
    words = subject.split(" ")
    is_relation = words[0] in grammar.mine and words[-1] in relations
    return is_relation and words[1] not in grammar.superlatives


_BARE = len(("the", "meeting"))


def _is_one_thing(words: list[str], grammar: Grammar) -> bool:
    """Tell whether a named thing takes place once, and there is no other of that name."""
    at = next((at for at, word in enumerate(words) if word in grammar.joining), len(words))
    head = words[at - 1]
    if head in grammar.named_once:
        return at < len(words) and words[0] in grammar.determined
    return head in grammar.one_off and (head not in grammar.frequent or len(words) > _BARE)


def _forms(verb: str) -> Iterator[dict[str, str]]:
    """Yield forms of a verb with what follows it: in the third person, and without -ing.

    What the verb was without -ing is guessed: a wrong guess is a sentence that nobody has said.
    """
    first, blank, rest = verb.partition(" ")
    stem = first.removesuffix("ing")
    doubled = _DOUBLED.match(stem)
    for base in (stem, f"{stem}e", *([doubled[1]] if doubled else [])):
        yield {"third": f"{_third(first)}{blank}{rest}", "base": f"{base}{blank}{rest}",
               "base_third": f"{_third(base)}{blank}{rest}"}  # fmt: skip


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "o")) else f"{verb}s"


_DOUBLED = re.compile(r"(.*[^aeiou][aeiou]([bdgmnprt]))\2$")


def _compiled(pattern: str, grammar: Grammar) -> re.Pattern[str]:
    for slot, regex in grammar.slots.items():
        pattern = pattern.replace(f"{{{slot}}}", regex)
    return re.compile(pattern.replace("{V}", "(?P<v>.+?)").replace("{W}", "(?P<w>.+?)"))


def _grammar(language: str) -> Grammar:
    return next(grammar for grammar in grammars() if grammar.language == language)


@lru_cache(maxsize=8)
def _patterns(language: str) -> tuple[_Pattern, ...]:
    grammar = _grammar(language)
    return tuple(
        _Pattern(
            _compiled(f"{pattern}{grammar.lately if is_event else ''}", grammar),
            attribute,
            _slot(pattern, grammar),
            weak=weak,
            is_event=is_event,
        )
        for attribute in grammar.attributes
        for patterns, weak, is_event in (
            (attribute.says, False, False),
            (attribute.weak, True, False),
            (attribute.becomes, False, True),
        )
        for pattern in patterns
    )


@lru_cache(maxsize=64)
def _begun_with(language: str, slots: frozenset[str]) -> tuple[_Pattern, ...]:
    """Return the patterns of sentences that may begin with any of these parts, or with none."""
    patterns = _patterns(language)
    return tuple(each for each in patterns if each.slot is None or each.slot in slots)


def _slot(pattern: str, grammar: Grammar) -> str | None:
    begun = _SLOT.match(pattern)
    return begun[1] if begun and begun[1] in grammar.slots else None


@lru_cache(maxsize=8)
def _parts(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the parts that patterns begin with: a sentence begins with few of them."""
    slots = sorted({pattern.slot for pattern in _patterns(language) if pattern.slot})
    return tuple((slot, _compiled(f"{{{slot}}}", _grammar(language))) for slot in slots)


@lru_cache(maxsize=8)
def _endings(language: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    grammar = _grammar(language)
    return tuple(
        (re.compile(f"{regex}{grammar.lately}"), pasts) for regex, pasts in grammar.endings
    )


@lru_cache(maxsize=8)
def _openings(language: str) -> tuple[tuple[re.Pattern[str], Mark | None], ...]:
    openings = _grammar(language).openings
    return tuple((re.compile(regex, re.IGNORECASE), mark) for regex, mark in openings)


@lru_cache(maxsize=8)
def _spellings(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(regex), new) for regex, new in _grammar(language).spelled)


@lru_cache(maxsize=8)
def _adverbs(language: str) -> tuple[tuple[re.Pattern[str], Mark], ...]:
    adverbs = _grammar(language).adverbs
    return tuple((re.compile(rf"(?<![\w-]){regex}(?![\w-])"), mark) for regex, mark in adverbs)
