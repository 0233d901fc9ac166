"""Types of the grammars that each language module defines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class Mark(StrEnum):
    """Relations of a sentence to earlier statements."""

    NOW = "now"
    """A change: "now", "moved to", "my new …"."""
    CORRECTED = "corrected"
    """A correction of an earlier statement: "actually", "correction"."""
    STILL = "still"
    """No change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute with one value at a time, and the sentences that state it.

    Each sentence is a regular expression for a whole sentence, with slots: `{S}` is the subject,
    `{P}` a possessive, `{T}` a named thing. `{V}` is the value and `{W}` the former value. The
    group `a` distinguishes attributes of one kind ("boss", "dentist"). The group `how` captures
    wordings that may differ in meaning ("at", "for"), and the group `more` additional information.

    Attributes:
        name: The name of the attribute.
        value: The kind of its values: see `policies.supersession.relation`.
        sentences: Sentences that state a lasting fact.
        weak_sentences: Sentences that may be temporary ("I am living in …").
        change_sentences: Sentences that state a change.
        is_exclusive: Whether another value alone implies a change; otherwise it takes a mark.
        is_multiple: Whether several values may hold at once, so that only a sentence with the
            former value ends it.
        is_fixed: Whether it never changes, so that another value must be a correction.
        is_about_thing: Whether another value implies a change only for things that take place once.
        anchors: Each sentence contains one of these words. Empty if the subject or the group `a` is
            specific enough.
    """

    name: str
    value: str
    sentences: tuple[str, ...] = ()
    weak_sentences: tuple[str, ...] = ()
    change_sentences: tuple[str, ...] = ()
    is_exclusive: bool = True
    is_multiple: bool = False
    is_fixed: bool = False
    is_about_thing: bool = False
    anchors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The statements of one language. Patterns are regular expressions.

    Attributes:
        language: ISO 639-1 code.
        attributes: The attributes with one value.
        slots: Patterns of `{S}`, `{P}`, `{T}` and the language's own slots.
        spellings: Pairs of a pattern and its replacement: contractions, spellings.
        openings: Introductory phrases, with the mark that they imply.
        adverbs: Words that imply a mark anywhere in the sentence.
        required_words: Each statement contains one of these words; empty disables the check.
        blocking_words: Words that never occur in simple statements.
        recency_pattern: Optional ending of a sentence about a change, for a recent time.
        endings: Pairs of a sentence that ends a fact, and alternative wordings of that fact;
            `{third}`, `{base}` and `{base_third}` are forms of the verb.
        user_subjects: Subjects that mean the user.
        group_subjects: Subjects that mean the user and others.
        non_names: Capitalised words that are no names.
        one_off: Nouns of things that take place once, if the context identifies them.
        named_once: Those of them that are unique only with one of `definite_determiners` and a
            complement ("with", "to", "about").
        frequent: Those of them that are frequent, and need another word to be unique.
        determiners: First words of a named thing.
        definite_determiners: Determiners that refer to a unique thing.
        joining_words: Words between a thing and its complement ("with", "to", "about").
        possessives: Words before the user's relations.
        superlatives: Words that make one of several relations unique.
        several: Relations that a person may have several of, so that "my sister" is ambiguous.
        in_turn: Relations that may change, so that "my boss" may be another person.
        canonical_details: Canonical form of each value of the group `a` with synonyms.
    """

    language: str
    attributes: tuple[Attribute, ...]
    slots: Mapping[str, str]
    spellings: tuple[tuple[str, str], ...] = ()
    openings: tuple[tuple[str, Mark | None], ...] = ()
    adverbs: tuple[tuple[str, Mark], ...] = ()
    required_words: frozenset[str] = frozenset()
    blocking_words: frozenset[str] = frozenset()
    recency_pattern: str = ""
    endings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    user_subjects: frozenset[str] = frozenset()
    group_subjects: frozenset[str] = frozenset()
    non_names: frozenset[str] = frozenset()
    one_off: frozenset[str] = frozenset()
    named_once: frozenset[str] = frozenset()
    frequent: frozenset[str] = frozenset()
    determiners: frozenset[str] = frozenset()
    definite_determiners: frozenset[str] = frozenset()
    joining_words: frozenset[str] = frozenset()
    possessives: frozenset[str] = frozenset()
    superlatives: frozenset[str] = frozenset()
    several: frozenset[str] = frozenset()
    in_turn: frozenset[str] = frozenset()
    canonical_details: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
