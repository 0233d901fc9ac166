"""Random words that do not occur in programs or tables by chance."""

from __future__ import annotations

import random

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


class Words:
    """Generates and records words that are almost certainly new."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - reproducible
        self.all: list[str] = []

    def word(self) -> str:
        pairs = (self._random.choice(CONSONANTS) + self._random.choice(VOWELS) for _ in range(5))
        self.all.append("".join(pairs))
        return self.all[-1]

    def text(self, length: int) -> str:
        return " ".join(self.word() for _ in range(length))
