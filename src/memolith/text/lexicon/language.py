"""Types of the word lists that each language module defines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list separated by white space."""
    return frozenset(words.split())


# --- Cues


class CueKind(StrEnum):
    """Kinds of information that a phrase indicates."""

    NAMING = "naming"
    """The user gives the assistant a name."""
    IDENTITY = "identity"
    """The user's identity, home or occupation."""
    CORRECTION = "correction"
    """A correction, or something that must not be forgotten."""
    PREFERENCE = "preference"
    """A preference or a standing instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """The cues of one language.

    A phrase consists of words with single spaces, in any case, with straight apostrophes. "#"
    matches a number, and "*" at the end of a word any ending. "^" before a phrase requires the
    start of a clause. Words with "!" at the end of a phrase must not follow it. Phrases match whole
    words, with any white space between them.

    Attributes:
        language: ISO 639-1 code.
        naming: Phrases of this `CueKind`, as for the next three attributes.
        identity: …
        correction: …
        preference: …
        fillers: Optional words, up to two, after the first word of a phrase.
        exceptions: Phrases that are no cues, although they begin like one or contain one.
        question_words: Words that make a clause a question, or part of one; "*" as above.
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


# --- Discourse markers


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscourseMarkers:
    """The words of one language that mark habits, the present, and statements of fact.

    Phrases use the syntax of `Cues`; other words are single and lower case.

    Attributes:
        language: ISO 639-1 code.
        habits: Phrases for habits of the speaker, in addition to the preference cues.
        habit_exceptions: Phrases that are no habits, although they begin like one.
        current: Phrases that refer to the present or to this session.
        events: Phrases that date an event, so that the sentence is no lasting fact.
        event_tense_pattern: A case-sensitive regular expression for tenses of events.
        chatter: Phrases of sentences that state nothing, although they look like statements.
        contractions: Contractions with their expanded forms.
        predicates: Verbs that form a statement after any subject.
        ambiguous_predicates: Verbs that form a statement only after a pronoun or a plural;
            elsewhere they may be nouns.
        pronouns: Possible subjects of `ambiguous_predicates`.
        being: Forms of "to be", which are also predicates.
        past_being: Past forms of "to be". They state facts about others, and only before
            `past_complements`.
        past_complements: See `past_being`.
        transient_states: States that pass: after a form of "to be" they are no lasting fact.
        past_predicates: Past forms that state facts about others ("invented"), but events about the
            speaker.
        speakers: People present; with `past_being` and `past_predicates` they mark events.
        non_subjects: Words that alone are no subject of a fact.
        vague_subjects: The same, if a form of "to be" follows.
        noun_markers: Words after which a verb of `predicates` is a noun.
        adverbs: Words that may separate a verb from its subject or complement.
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


# --- Filler


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerLexicon:
    """The phrases of one language that carry no information.

    Regular expressions are for lower-case words with single spaces, and no punctuation except "'":
    "i'd be happy to help". All lists are guesses at frequent phrases.

    Attributes:
        language: ISO 639-1 code.
        phrases: Patterns of filler by type; a whole sentence may consist of them.
        reply_openings: Openings of assistant replies without facts.
        recollection_openings: Openings with which an assistant repeats known facts.
        instruction_openings: Openings of text that a program, not a user, sends to a model.
        incomplete_endings: Words that end no sentence.
        short_incomplete_endings: Words that end no sentence of up to four words, unless one of
            `question_words` or `being` precedes.
        incomplete_texts: Patterns of whole texts that end before their point.
        question_words: Words after which one of `short_incomplete_endings` may end a sentence: "who
            he is".
        being: Forms of "to be": "the heating is on".
        continuation_words: Lower-case words that begin no sentence.
        subjects: Opening words that refer to a person named before.
        vague_openings: Openings that refer to something said before.
        objects: Final words that refer to something said before.
        determiners: Opening words of a sentence or of a mere part of one.
        predicate_pattern: A regular expression of words that may be a verb.
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
