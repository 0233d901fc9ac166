"""Items: what search sees of a memory's version or of a message, without its content."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag


class Trait(IntFlag):
    """What can be told of a text when it is written, so that ranking need not read it."""

    NONE = 0
    QUESTION = 1
    """Ends in a question mark."""
    TIME_EXPRESSION = 2
    """Says when: a date, a weekday, "yesterday", "last week", "in 2019", …"""
    FIRST_PERSON = 4
    """Uses I, my, we, …"""
    NUMBER = 8
    PLACE = 16
    """Names a place, or says where."""
    PROPER_NOUN = 32
    PREFERENCE = 64
    """A wish, a liking, or a standing instruction ("always use …")."""
    SUSPICIOUS = 128
    """Tries to instruct a model that reads it."""
    REVIEWED = 256
    """Somebody has looked at it, and let it be recalled."""


@dataclass(frozen=True, slots=True)
class Features:
    """What ranking needs to know of a text.

    Attributes:
        traits: The flags that hold of it.
        words: How many words.
        tokens: How many word pieces of the local embedder's tokenizer.
    """

    traits: Trait
    words: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text, in characters: `text[start:end]`."""

    start: int
    end: int

    def extract(self, text: str) -> str:
        """Return the stretch."""
        return text[self.start : self.end]
