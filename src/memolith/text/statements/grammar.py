"""What one language's data file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class Mark(StrEnum):
    """What a sentence says of how it stands to what was said before."""

    NOW = "now"
    """It has become so: "now", "moved to", "my new …"."""
    CORRECTED = "corrected"
    """What was said before was wrong: "actually", "correction"."""
    STILL = "still"
    """Nothing has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """Something that has one value at a time, and the sentences that say it.

    A sentence is a regular expression for a whole one, in which `{S}` stands for who does
    something, `{P}` for whose it is, `{T}` for a named thing, `{V}` for the value and `{W}` for
    the value that it had before. A group `a` tells attributes of one kind apart ("boss",
    "dentist"), a group `how` the ways of saying it that need not be about the same ("at", "for"),
    and a group `more` what is said besides.

    Attributes:
        name: What it is called.
        value: The kind of its values: see `policies.changing.values`.
        says: Sentences that say how things are.
        weak: Sentences that may be about a time only ("I am living in …").
        becomes: Sentences that say that something has become so.
        alone: Whether another value by itself means that it has changed; else it takes a mark.
        several: Whether one has several at a time, so that only a sentence that names the old
            value says that it has gone.
        fixed: Whether it never changes, so that another value must be a correction.
        by_thing: Whether another value by itself means a change only of things that take place
            once.
        anchors: Words of which one stands in each of the sentences; none where the subject or
            the group `a` say enough.
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
    """What a language's statements look like. Patterns are regular expressions.

    Attributes:
        language: ISO 639-1 code.
        attributes: What is known to have one value.
        slots: What `{S}`, `{P}`, `{T}` and the language's own parts of sentences stand for.
        spelled: Pairs of a pattern and what it is read as: contractions, spellings.
        openings: What may stand before a sentence, and what it marks it as.
        adverbs: Words that mark a sentence, wherever they stand in it.
        needed: Words of which one stands in each of its statements; empty: not looked at.
        blocked: Words with one of which a sentence is no plain statement.
        lately: What may stand behind a sentence that says that something has become so, or is
            over, and says that it was just now.
        endings: Pairs of a sentence that says that something is over, and the sentences of which
            one was said when it was not; `{ing}` there stands for forms of a verb.
        user: Subjects that are the user.
        ours: Subjects that are the user with others.
        no_names: Capitalised words that are no names.
        one_off: Nouns of things that take place once, where the words around name which.
        frequent: Such nouns of which there are many: they must be told apart by any word.
        named_once: Such nouns that stand for one thing only with one of `determined` before
            them, and with what it is with, to, about.
        determiners: What a named thing begins with.
        determined: Those of them with which only one can be meant.
        joining: Words that stand between a thing and what it is with, to, about.
        mine: What stands before the user's relations.
        several: Relations of which one may have several at a time, so that "my sister" may be
            another.
        in_turn: Relations of which one may have another one later, so that "my boss" may be
            another.
        superlatives: What stands before one of several where only one can be meant.
        same: What a group `a` is read as, where there are several words for it.
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
