"""Lists of words, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list written with white space between them."""
    return frozenset(words.split())


# --- What one language's data file holds


class CueKind(StrEnum):
    """What a phrase is a sign of."""

    NAMING = "naming"
    """The user gives the assistant a name."""
    IDENTITY = "identity"
    """Who the user is, where they live, what they do."""
    CORRECTION = "correction"
    """Something was wrong, or must not be forgotten."""
    PREFERENCE = "preference"
    """What the user likes, or wants done always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """The cues of one language.

    A phrase is words with single blanks, any case, straight apostrophes; "#" stands for a number,
    "*" at a word's end for any ending, "^" before a phrase for the beginning of a clause, and
    "!" before words at its end that must not follow. It matches whole words, with any white space
    between them.

    Attributes:
        language: ISO 639-1 code.
        naming: See `CueKind`, as for the next three.
        identity: …
        correction: …
        preference: …
        fillers: Words that may stand, up to two, after the first word of a phrase.
        exceptions: Phrases that are no cue, though they begin like one or hold one.
        asking: Words that make a clause a question, or part of one; "*" as above.
    """

    language: str
    naming: tuple[str, ...]
    identity: tuple[str, ...]
    correction: tuple[str, ...]
    preference: tuple[str, ...]
    fillers: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    question_words: tuple[str, ...] = ()

    def phrases(self, kind: CueKind) -> tuple[str, ...]:
        """Return the phrases of one kind."""
        return {
            CueKind.NAMING: self.naming,
            CueKind.IDENTITY: self.identity,
            CueKind.CORRECTION: self.correction,
            CueKind.PREFERENCE: self.preference,
        }[kind]


# --- What one language's data file holds


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscourseMarkers:
    """The signs of one language by which a sentence is about a habit, about now, or states a fact.

    Phrases are written as those of `memolith.text.cues.Cues`; all else is single words in small
    letters.

    Attributes:
        language: ISO 639-1 code.
        habits: Phrases by which the speaker says what they always do, beside the cues for
            preferences.
        no_habits: Phrases that are none, though they begin like one.
        now: Phrases that are explicitly about now, or this session.
        events: Phrases that say when something happened or will, so that it is no lasting fact.
        happened: A regular expression, case counting, of tenses in which events are told.
        chatter: Phrases of sentences that state nothing, though they look like it.
        written_out: What contractions stand for.
        predicates: Verbs that may follow any subject, and then state something.
        plain: Verbs that do so after a pronoun or a plural only: elsewhere they may be nouns.
        pronouns: What may stand before `plain`.
        being: Forms of "to be"; they are predicates, too.
        was: Past forms of "to be", which state something of others before `after_was` alone.
        after_was: See `was`.
        passing: What passes: after a form of "to be" it makes no lasting fact.
        told: Past forms in which facts are told of others ("invented"), but of oneself events.
        speakers: Who is present: of them `was` and `told` tell events.
        no_subjects: Words that alone are no subject of a fact.
        vague: Likewise, where a form of "to be" follows.
        before_nouns: Words after which a verb of `predicates` is a noun.
        adverbs: Words that may stand between a verb and what it is about.
    """

    language: str
    habits: tuple[str, ...]
    habit_exceptions: tuple[str, ...]
    current: tuple[str, ...]
    events: tuple[str, ...]
    event_tense_pattern: str
    chatter: tuple[str, ...]
    contractions: tuple[tuple[str, str], ...]
    predicates: frozenset[str]
    ambiguous_predicates: frozenset[str]
    pronouns: frozenset[str]
    being: frozenset[str]
    past_being: frozenset[str]
    past_complements: frozenset[str]
    transient_states: frozenset[str]
    past_predicates: frozenset[str]
    speakers: frozenset[str]
    non_subjects: frozenset[str]
    vague_subjects: frozenset[str]
    noun_markers: frozenset[str]
    adverbs: frozenset[str]


# --- What one language's data file holds


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerLexicon:
    """What a language says without telling anything.

    Regular expressions are for words in small letters with one space between them and no marks
    but "'": "i'd be happy to help". All of it is a guess at what is frequent.

    Attributes:
        language: ISO 639-1 code.
        filler: By a name of what it is, what is said of which a whole sentence may consist.
        replies: Beginnings of an assistant's reply, in which no fact is told.
        recalling: Beginnings by which an assistant tells what it knows already.
        orders: Beginnings of what a program tells a model, not a user.
        unfinished: Words that end no sentence.
        short_of: Words that end none of up to four words, unless one of `asking` or `being` stands
            before.
        lacking: What a whole text may not be, since it stops before what it is to say.
        asking: Words after which one of `short_of` may end a sentence: "who he is".
        being: Forms of "to be": "the heating is on".
        continuing: Words in small letters that begin no sentence.
        subjects: Words for somebody who was named before, that open a sentence.
        vague: How sentences open that speak of something said before.
        objects: Words for something said before, at the end of a sentence.
        determiners: Words that open a sentence or a mere part of one.
        predicate: A regular expression of words that may be a verb.
    """

    language: str
    phrases: Mapping[str, tuple[str, ...]]
    reply_openings: tuple[str, ...]
    recollection_openings: tuple[str, ...]
    instruction_openings: tuple[str, ...]
    incomplete_endings: frozenset[str]
    short_incomplete_endings: frozenset[str]
    incomplete_texts: tuple[str, ...]
    question_words: frozenset[str]
    being: frozenset[str]
    continuation_words: frozenset[str]
    subjects: frozenset[str]
    vague_openings: tuple[str, ...]
    objects: frozenset[str]
    determiners: frozenset[str]
    predicate_pattern: str
