"""Fakes: a settable clock, a hashing embedder, a word counter and a scripted arbitrator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from memolith.errors import ServiceFailed
from memolith.policies.merging import Verdict
from memolith.ports.models import TextRole


class SettableClock:
    """A `Clock` that only moves when set."""

    def __init__(self, now: datetime) -> None:
        """Set the time, which must have a time zone."""
        self._now = now

    def now(self) -> datetime:
        """Return the set time."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Advance the clock."""
        self._now += by


# --- Embedder and token counter


_NAME = "hashing"
_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """An embedder that gives texts with common words similar vectors.

    Each word has a fixed random direction, the same on every machine. There is no notion of
    meaning: "cat" and "kitten" are as dissimilar as any two words.
    """

    def __init__(self, dimension: int = 384, name: str = _NAME) -> None:
        """Set the length of vectors; another name makes it another model."""
        self._dimension = dimension
        self._name = name
        self._directions: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return the normalised sum of the directions of each text's words."""
        del role
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.lower()) or [text]:
                vectors[row] += self._direction(word)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def _direction(self, word: str) -> NDArray[np.float32]:
        found = self._directions.get(word)
        if found is None:
            named = word if self._name == _NAME else f"{self._name} {word}"
            seed = int.from_bytes(blake2b(named.encode(), digest_size=8).digest(), "big")
            found = np.random.default_rng(seed).standard_normal(self._dimension, dtype=np.float32)
            self._directions[word] = found
        return found


class WordCounter:
    """Counts words and punctuation marks: close to word pieces, without a model."""

    _piece = re.compile(r"\w{1,8}|[^\w\s]")

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(self._piece.findall(text)) for text in texts]


# --- Arbitrator


class ScriptedArbitrator:
    """An arbitrator that returns prepared answers in order and then fails.

    Attributes:
        asked: The pairs it was asked about: known and new text.
    """

    def __init__(self, answers: Sequence[Verdict] = ()) -> None:
        """Set the answers."""
        self.asked: list[tuple[str, str]] = []
        self._answers = list(answers)

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the next answer.

        Raises:
            ServiceFailed: No answer is left.
        """
        self.asked.append((existing, candidate))
        if not self._answers:
            raise ServiceFailed("scripted arbitrator", "has no answer left")
        return self._answers.pop(0)
