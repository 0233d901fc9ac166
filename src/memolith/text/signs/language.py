"""What one language's data file holds."""

from __future__ import annotations

from dataclasses import dataclass


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
