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
from memolith.text.segmentation import sentences
from memolith.text.statements.grammar import Attribute, Grammar, Mark
from memolith.text.statements.vocabulary import (
    AGE_STEP,
    OCCUPATIONS,
    get_number_words,
    parse_number,
)

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
    former_value: str | None = None
    manner: str | None = None
    marks: frozenset[Mark] = frozenset()
    is_weak: bool = False
    is_event: bool = False
    has_more: bool = False
    is_exclusive: bool = True
    is_multiple: bool = False
    is_fixed: bool = False
    anchors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _PreparedSentence:
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
class ParsedText:
    """What a text says, as far as it is a plain statement.

    Attributes:
        statements: What it may state: one plain thing, by each pattern that matches all of it.
        before: Sentences that were true before, where it says that something is over: "I live in
            Oslo" for "I no longer live in Oslo". Of several, all are ways to say the same.
    """

    statements: tuple[Statement, ...] = ()
    negated_sentences: tuple[str, ...] = ()


def parse_text(text: str) -> ParsedText:
    """Return what a text says.

    Nothing where it is more than one sentence, asks, quotes, is not sure, speaks of another time,
    or says what nothing is known of.
    """
    plain = _prepare_text(text)
    return ParsedText(
        tuple(found for grammar, each in plain for found in _match_patterns(each, grammar, None)),
        tuple(found for grammar, each in plain for found in _find_ended_statements(each, grammar)),
    )


def parse_statements(
    text: str, attributes: AbstractSet[str] | None = None
) -> tuple[Statement, ...]:
    """Return what a text may state, as `told` does; only of attributes of these names."""
    return tuple(
        found
        for grammar, each in _prepare_text(text)
        for found in _match_patterns(each, grammar, attributes)
    )


def search_terms(parsed: ParsedText) -> tuple[tuple[frozenset[str], ...], ...]:
    """Return how to find what a text may restate or change, by keyword.

    Returns:
        Ways to find it: for each, groups of terms, of each of which one stands in a text that
        is meant. None for a text that states nothing.
    """
    stated = [
        *parsed.statements,
        *(each for past in parsed.negated_sentences for each in parse_statements(past)),
    ]
    ways = dict.fromkeys(_get_search_groups(each) for each in stated)
    ways |= dict.fromkeys(
        tuple(frozenset({term}) for term in terms(past)) for past in parsed.negated_sentences
    )
    return tuple(way for way in ways if way)


def _get_search_groups(statement: Statement) -> tuple[frozenset[str], ...]:
    subject = () if statement.subject in {"user", "we"} else terms(statement.subject)
    groups = [frozenset({term}) for term in subject]
    words = statement.anchors | _get_shared_value_words(statement.kind, statement.value)
    anchors = frozenset(term for word in words for term in terms(word))
    return (*groups, anchors) if anchors else tuple(groups)


_OCCUPATION_WORDS = {word for group in OCCUPATIONS for name in group for word in name.split()} | {
    *("work", "works", "working", "job", "profession", "occupation", "became", "promoted"),
    *("arbeite", "arbeitet", "geworden"),
}


def _get_shared_value_words(kind: str, value: str) -> set[str]:
    """Return words of a value that stand in sentences with another value too."""
    if kind == "count":
        thing = value.rpartition(" ")[2]
        return {thing, "child", "children"} if thing.startswith("child") else {thing}
    if kind == "occupation":
        return _OCCUPATION_WORDS
    return _get_age_words(value) if kind == "age" else set()


def _get_age_words(value: str) -> set[str]:
    """Return the words and figures of an age and of those shortly before it."""
    years = parse_number(value)
    if years is None:
        return set()
    return {
        "age",
        *(word for age in range(years - AGE_STEP, years + 1) for word in get_number_words(age)),
    }


@lru_cache(maxsize=1)
def load_grammars() -> tuple[Grammar, ...]:
    """Return the grammars of every language there is a file for, by code."""
    names = (module.name for module in iter_modules(statements.__path__))
    modules = (import_module(f"{statements.__name__}.{name}") for name in names)
    values = (getattr(module, "GRAMMAR", None) for module in modules)
    return tuple(sorted((v for v in values if isinstance(v, Grammar)), key=lambda v: v.language))


def _match_patterns(
    prepared: _PreparedSentence, grammar: Grammar, attributes: AbstractSet[str] | None
) -> Iterator[Statement]:
    if _is_blocked(prepared.text, grammar):
        return
    begun = (slot for slot, part in _compile_slots(grammar.language) if part.match(prepared.text))
    for pattern in _get_patterns_starting_with(grammar.language, frozenset(begun)):
        if attributes is None or pattern.attribute.name in attributes:
            match = pattern.regex.fullmatch(prepared.text)
            if match is not None:
                yield from _build_statements(match, pattern, prepared.marks, grammar)


def _find_ended_statements(prepared: _PreparedSentence, grammar: Grammar) -> Iterator[str]:
    if Mark.STILL in prepared.marks or "," in prepared.text:
        return
    for regex, pasts in _compile_endings(grammar.language):
        if match := regex.fullmatch(prepared.text):
            said = [
                past.format(**match.groupdict(), **forms)
                for forms in _get_verb_forms(match["v"])
                for past in pasts
            ]
            yield from dict.fromkeys(said)


def _prepare_text(text: str) -> list[tuple[Grammar, _PreparedSentence]]:
    """Return a text as each grammar reads it that may; nothing where `told` has nothing."""
    if len(text) > MAX_CHARS or _NOT_NOW.search(text) or len(sentences(text)) != 1:
        return []
    words = _WORD.findall(text.lower())
    sentence = unicodedata.normalize("NFC", text).translate(_QUOTES).strip().rstrip(".!").strip()
    prepared = [
        (grammar, _prepare_sentence(sentence, grammar))
        for grammar in load_grammars()
        if not grammar.required_words or not grammar.required_words.isdisjoint(words)
    ]
    return [(grammar, each) for grammar, each in prepared if each is not None]


def _prepare_sentence(plain: str, grammar: Grammar) -> _PreparedSentence | None:
    """Return a sentence in plain spelling, without introduction and marking words."""
    marks: set[Mark] = set()
    for _ in range(_OPENINGS):
        whole = plain
        for regex, mark in _compile_openings(grammar.language):
            if (match := regex.match(plain)) and match.end() < len(plain):
                plain = plain[match.end() :]
                marks |= {mark} if mark else set()
        if plain == whole:
            break
    if _NO_STATEMENT.search(_CLOCK.sub("", plain)):
        return None
    plain = _lowercase_start(plain, grammar)
    for regex, spelling in _compile_spellings(grammar.language):
        plain = regex.sub(spelling, plain)
    for regex, found in _compile_adverbs(grammar.language):
        plain, times = regex.subn("", plain)
        marks |= {found} if times else set()
    return _PreparedSentence(
        " ".join(plain.split()).replace(" ,", ",").strip(" ,"), frozenset(marks)
    )


def _lowercase_start(plain: str, grammar: Grammar) -> str:
    """Return a sentence whose first word is in lower case where it is no name, but for "I"."""
    first, blank, rest = plain.partition(" ")
    if first in {"i", "I"} or first.startswith(("i'", "I'")):
        return f"I{first[1:]}{blank}{rest}"
    lower = first.lower()
    return f"{lower}{blank}{rest}" if first.capitalize() in grammar.non_names else plain


def _is_blocked(plain: str, grammar: Grammar) -> bool:
    words = _WORD.findall(plain)
    return any(
        word in grammar.blocking_words for word in (*words, *(word.lower() for word in words[:1]))
    )


def _build_statements(
    match: re.Match[str], pattern: _Pattern, marks: frozenset[Mark], grammar: Grammar
) -> Iterator[Statement]:
    attribute, groups = pattern.attribute, match.groupdict()
    subject = _get_subject(groups.get("s") or "", grammar)
    if subject is None:
        return
    detail = grammar.canonical_details.get(
        (groups.get("a") or "").lower(), (groups.get("a") or "").lower()
    )
    yield Statement(
        subject=subject,
        attribute=f"{attribute.name}: {detail}" if detail else attribute.name,
        kind=attribute.value,
        value=match["v"],
        former_value=groups.get("w"),
        manner=groups.get("how"),
        marks=marks | {Mark.NOW} if pattern.is_event else marks,
        is_weak=pattern.weak,
        is_event=pattern.is_event,
        has_more=bool(groups.get("more")),
        is_exclusive=attribute.is_exclusive and _is_exclusive(subject, attribute, grammar),
        is_multiple=attribute.is_multiple or _is_one_of(subject, grammar.several, grammar),
        is_fixed=attribute.is_fixed,
        anchors=attribute.anchors | frozenset(detail.split()),
    )


def _get_subject(name: str, grammar: Grammar) -> str | None:
    """Return who is meant, in one spelling; None where it is no name after all."""
    if name.split(" ", maxsplit=1)[0] in grammar.non_names and name != "I":
        return None
    lower = name.lower()
    if lower in grammar.user_subjects:
        return "user"
    if lower in grammar.group_subjects:
        return "we"
    return lower.removesuffix("'s").removesuffix("'")


def _is_exclusive(subject: str, attribute: Attribute, grammar: Grammar) -> bool:
    words = subject.split(" ")
    if attribute.is_about_thing:
        return words[0] in grammar.determiners and _is_one_thing(words, grammar)
    return not _is_one_of(subject, grammar.several | grammar.in_turn, grammar)


def _is_one_of(subject: str, relations: frozenset[str], grammar: Grammar) -> bool:
    """Tell whether somebody is named by a relation alone, which another may have too."""
    words = subject.split(" ")
    is_relation = words[0] in grammar.possessives and words[-1] in relations
    return is_relation and words[1] not in grammar.superlatives


_BARE_THING_WORDS = len(("the", "meeting"))


def _is_one_thing(words: list[str], grammar: Grammar) -> bool:
    """Tell whether a named thing takes place once, and there is no other of that name."""
    at = next((at for at, word in enumerate(words) if word in grammar.joining_words), len(words))
    head = words[at - 1]
    if head in grammar.named_once:
        return at < len(words) and words[0] in grammar.definite_determiners
    return head in grammar.one_off and (
        head not in grammar.frequent or len(words) > _BARE_THING_WORDS
    )


def _get_verb_forms(verb: str) -> Iterator[dict[str, str]]:
    """Yield forms of a verb with what follows it: in the third person, and without -ing.

    What the verb was without -ing is guessed: a wrong guess is a sentence that nobody has said.
    """
    first, blank, rest = verb.partition(" ")
    stem = first.removesuffix("ing")
    doubled = _DOUBLED.match(stem)
    for base in (stem, f"{stem}e", *([doubled[1]] if doubled else [])):
        yield {"third": f"{_get_third_person(first)}{blank}{rest}", "base": f"{base}{blank}{rest}",
               "base_third": f"{_get_third_person(base)}{blank}{rest}"}  # fmt: skip


def _get_third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "o")) else f"{verb}s"


_DOUBLED = re.compile(r"(.*[^aeiou][aeiou]([bdgmnprt]))\2$")


def _compile_pattern(pattern: str, grammar: Grammar) -> re.Pattern[str]:
    for slot, regex in grammar.slots.items():
        pattern = pattern.replace(f"{{{slot}}}", regex)
    return re.compile(pattern.replace("{V}", "(?P<v>.+?)").replace("{W}", "(?P<w>.+?)"))


def _get_grammar(language: str) -> Grammar:
    return next(grammar for grammar in load_grammars() if grammar.language == language)


@lru_cache(maxsize=8)
def _compile_patterns(language: str) -> tuple[_Pattern, ...]:
    grammar = _get_grammar(language)
    return tuple(
        _Pattern(
            _compile_pattern(f"{pattern}{grammar.recency_pattern if is_event else ''}", grammar),
            attribute,
            _get_slot(pattern, grammar),
            weak=weak,
            is_event=is_event,
        )
        for attribute in grammar.attributes
        for patterns, weak, is_event in (
            (attribute.sentences, False, False),
            (attribute.weak_sentences, True, False),
            (attribute.change_sentences, False, True),
        )
        for pattern in patterns
    )


@lru_cache(maxsize=64)
def _get_patterns_starting_with(language: str, slots: frozenset[str]) -> tuple[_Pattern, ...]:
    """Return the patterns of sentences that may begin with any of these parts, or with none."""
    patterns = _compile_patterns(language)
    return tuple(each for each in patterns if each.slot is None or each.slot in slots)


def _get_slot(pattern: str, grammar: Grammar) -> str | None:
    begun = _SLOT.match(pattern)
    return begun[1] if begun and begun[1] in grammar.slots else None


@lru_cache(maxsize=8)
def _compile_slots(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the parts that patterns begin with: a sentence begins with few of them."""
    slots = sorted({pattern.slot for pattern in _compile_patterns(language) if pattern.slot})
    return tuple((slot, _compile_pattern(f"{{{slot}}}", _get_grammar(language))) for slot in slots)


@lru_cache(maxsize=8)
def _compile_endings(language: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    grammar = _get_grammar(language)
    return tuple(
        (re.compile(f"{regex}{grammar.recency_pattern}"), pasts) for regex, pasts in grammar.endings
    )


@lru_cache(maxsize=8)
def _compile_openings(language: str) -> tuple[tuple[re.Pattern[str], Mark | None], ...]:
    openings = _get_grammar(language).openings
    return tuple((re.compile(regex, re.IGNORECASE), mark) for regex, mark in openings)


@lru_cache(maxsize=8)
def _compile_spellings(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(regex), new) for regex, new in _get_grammar(language).spellings)


@lru_cache(maxsize=8)
def _compile_adverbs(language: str) -> tuple[tuple[re.Pattern[str], Mark], ...]:
    adverbs = _get_grammar(language).adverbs
    return tuple((re.compile(rf"(?<![\w-]){regex}(?![\w-])"), mark) for regex, mark in adverbs)
