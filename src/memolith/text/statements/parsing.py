"""Parse sentences into statements, using the grammar of each language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from memolith.text.analysis import terms
from memolith.text.lexicon import load_languages
from memolith.text.segmentation import sentences
from memolith.text.statements.grammar import Attribute, Grammar, Mark
from memolith.text.statements.vocabulary import (
    AGE_STEP,
    OCCUPATIONS,
    get_number_words,
    parse_number,
)

MAX_CHARS = 160
"""Longer sentences state more than one simple fact. A guess."""

_OPENINGS = 3
"""Maximum number of introductory phrases to remove: "Oh, by the way, actually, …"."""

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
    """A simple fact: one attribute of one subject with one value.

    Attributes:
        subject: The subject, in lower case; "user" for the user.
        attribute: The name of the attribute.
        kind: The kind of the value.
        value: The value, as written.
        former_value: The previous value, if the sentence names it.
        manner: The wording, if it may affect the meaning ("at", "for").
        marks: Relations to earlier statements.
        is_weak: Whether it may be temporary.
        is_event: Whether it states a change.
        has_more: Whether it states more than the value.
        is_exclusive: Whether another value alone implies a change.
        is_multiple: Whether several values may hold at once, even after a change.
        is_fixed: Whether it never changes, so that another value must be a correction.
        anchors: Every sentence about the attribute contains one of these words.
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
    """A sentence without introductory phrases and marking words."""

    text: str
    marks: frozenset[Mark]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A sentence that states an attribute; `slot` is the part that it begins with, if any."""

    regex: re.Pattern[str]
    attribute: Attribute
    slot: str | None = None
    weak: bool = False
    is_event: bool = False


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The statements of a text, if it is a single simple sentence.

    Attributes:
        statements: Possible statements, one for each pattern that matches the whole text.
        negated_sentences: Former facts that the text ends: "I live in Oslo" for "I no longer live
            in Oslo". Several sentences are alternative wordings.
    """

    statements: tuple[Statement, ...] = ()
    negated_sentences: tuple[str, ...] = ()


def parse_text(text: str) -> ParsedText:
    """Return the statements of a text.

    Empty if the text has several sentences, is a question, quotation or guess, refers to another
    time, or matches no pattern.
    """
    plain = _prepare_text(text)
    return ParsedText(
        tuple(found for grammar, each in plain for found in _match_patterns(each, grammar, None)),
        tuple(found for grammar, each in plain for found in _find_ended_statements(each, grammar)),
    )


def parse_statements(
    text: str, attributes: AbstractSet[str] | None = None
) -> tuple[Statement, ...]:
    """Return the statements of a text, as `parse_text` does, but only of the named attributes."""
    return tuple(
        found
        for grammar, each in _prepare_text(text)
        for found in _match_patterns(each, grammar, attributes)
    )


def search_terms(parsed: ParsedText) -> tuple[tuple[frozenset[str], ...], ...]:
    """Return keyword queries for texts that this text may restate or change.

    Returns:
        Alternative queries, each a sequence of groups of terms. A matching text contains a term
        of every group. Empty for a text without statements.
    """
    statements = [
        *parsed.statements,
        *(each for past in parsed.negated_sentences for each in parse_statements(past)),
    ]
    groups = dict.fromkeys(_get_search_groups(each) for each in statements)
    groups |= dict.fromkeys(
        tuple(frozenset({term}) for term in terms(past)) for past in parsed.negated_sentences
    )
    return tuple(group for group in groups if group)


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
    """Return words of a value that also occur in statements with other values."""
    if kind == "count":
        noun = value.rpartition(" ")[2]
        return {noun, "child", "children"} if noun.startswith("child") else {noun}
    if kind == "occupation":
        return _OCCUPATION_WORDS
    return _get_age_words(value) if kind == "age" else set()


def _get_age_words(value: str) -> set[str]:
    """Return the words and digits of an age, and of the ages shortly before it."""
    years = parse_number(value)
    if years is None:
        return set()
    return {
        "age",
        *(word for age in range(years - AGE_STEP, years + 1) for word in get_number_words(age)),
    }


@lru_cache(maxsize=1)
def load_grammars() -> tuple[Grammar, ...]:
    """Return the grammars of all languages, ordered by language code."""
    return load_languages(Grammar, "memolith.text.statements")


def _match_patterns(
    prepared: _PreparedSentence, grammar: Grammar, attributes: AbstractSet[str] | None
) -> Iterator[Statement]:
    if _is_blocked(prepared.text, grammar):
        return
    slots = (slot for slot, part in _compile_slots(grammar.language) if part.match(prepared.text))
    for pattern in _get_patterns_starting_with(grammar.language, frozenset(slots)):
        if attributes is None or pattern.attribute.name in attributes:
            match = pattern.regex.fullmatch(prepared.text)
            if match is not None:
                yield from _build_statements(match, pattern, prepared.marks, grammar)


def _find_ended_statements(prepared: _PreparedSentence, grammar: Grammar) -> Iterator[str]:
    if Mark.STILL in prepared.marks or "," in prepared.text:
        return
    for regex, past_forms in _compile_endings(grammar.language):
        if match := regex.fullmatch(prepared.text):
            candidates = [
                past_form.format(**match.groupdict(), **forms)
                for forms in _get_verb_forms(match["v"])
                for past_form in past_forms
            ]
            yield from dict.fromkeys(candidates)


def _prepare_text(text: str) -> list[tuple[Grammar, _PreparedSentence]]:
    """Return the prepared text for each grammar that may match; empty if none can."""
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
    """Return a sentence in normalised spelling, without introductory phrases and marking words."""
    marks: set[Mark] = set()
    for _ in range(_OPENINGS):
        original = plain
        for regex, mark in _compile_openings(grammar.language):
            if (match := regex.match(plain)) and match.end() < len(plain):
                plain = plain[match.end() :]
                marks |= {mark} if mark else set()
        if plain == original:
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
    """Return a sentence with its first word in lower case, unless it is a name or "I"."""
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
    """Return the canonical name of a subject; None if it is no name after all."""
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
    """Return whether the subject is named only by a relation that several people may have."""
    words = subject.split(" ")
    is_relation = words[0] in grammar.possessives and words[-1] in relations
    return is_relation and words[1] not in grammar.superlatives


_BARE_THING_WORDS = len(("the", "meeting"))


def _is_one_thing(words: list[str], grammar: Grammar) -> bool:
    """Return whether a named thing takes place once, and no other has its name."""
    at = next((at for at, word in enumerate(words) if word in grammar.joining_words), len(words))
    head = words[at - 1]
    if head in grammar.named_once:
        return at < len(words) and words[0] in grammar.definite_determiners
    return head in grammar.one_off and (
        head not in grammar.frequent or len(words) > _BARE_THING_WORDS
    )


def _get_verb_forms(verb: str) -> Iterator[dict[str, str]]:
    """Yield forms of a verb, with its complement: in the third person, and without -ing.

    The form without -ing is a guess. A wrong guess is a sentence that nobody said.
    """
    first, blank, rest = verb.partition(" ")
    stem = first.removesuffix("ing")
    double_consonant = _DOUBLED.match(stem)
    for base in (stem, f"{stem}e", *([double_consonant[1]] if double_consonant else [])):
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
    """Return the patterns that begin with one of these slots, or with none."""
    patterns = _compile_patterns(language)
    return tuple(each for each in patterns if each.slot is None or each.slot in slots)


def _get_slot(pattern: str, grammar: Grammar) -> str | None:
    match = _SLOT.match(pattern)
    return match[1] if match and match[1] in grammar.slots else None


@lru_cache(maxsize=8)
def _compile_slots(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the slots that patterns begin with; a sentence matches few of them."""
    slots = sorted({pattern.slot for pattern in _compile_patterns(language) if pattern.slot})
    return tuple((slot, _compile_pattern(f"{{{slot}}}", _get_grammar(language))) for slot in slots)


@lru_cache(maxsize=8)
def _compile_endings(language: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    grammar = _get_grammar(language)
    return tuple(
        (re.compile(f"{regex}{grammar.recency_pattern}"), past_forms)
        for regex, past_forms in grammar.endings
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
