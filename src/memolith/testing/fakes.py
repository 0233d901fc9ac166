"""A clock that stands until it is moved."""

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
    """A `Clock` that tells the time it was given."""

    def __init__(self, now: datetime) -> None:
        """Take the time, with its zone."""
        self._now = now

    def now(self) -> datetime:
        """Return the time it stands at."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move it."""
        self._now += by


# --- An embedder without a model, for tests and for measuring everything else


_NAME = "hashing"
_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Gives texts that share words near vectors: each word has a fixed random direction.

    Deterministic on every machine. Knows nothing of meaning: "cat" and "kitten" are as far
    apart as any two words.
    """

    def __init__(self, dimension: int = 384, name: str = _NAME) -> None:
        """Make an embedder of vectors of that length; under another name, it is another model."""
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
    """Counts words and marks as tokens: near to word pieces, and needs no model."""

    _piece = re.compile(r"\w{1,8}|[^\w\s]")

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of pieces of each text."""
        return [len(self._piece.findall(text)) for text in texts]


# --- An arbitrator that says what a test tells it to


class ScriptedArbitrator:
    """Gives its answers in turn; with none left it fails.

    Attributes:
        asked: What it was asked: the known text and the new one.
    """

    def __init__(self, answers: Sequence[Verdict] = ()) -> None:
        """Give these answers."""
        self.asked: list[tuple[str, str]] = []
        self._answers = list(answers)

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the next answer.

        Raises:
            ServiceFailed: There is none left.
        """
        self.asked.append((existing, candidate))
        if not self._answers:
            raise ServiceFailed("scripted arbitrator", "has no answer left")
        return self._answers.pop(0)
