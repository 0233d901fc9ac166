"""What one language's data file holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
