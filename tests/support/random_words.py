"""Made-up words, which stand in no program and no table by chance."""

from __future__ import annotations

import random

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


class Words:
    """Gives words that it has not given before, by all likelihood, and keeps them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same in every run
        self.all: list[str] = []

    def word(self) -> str:
        pairs = (self._random.choice(CONSONANTS) + self._random.choice(VOWELS) for _ in range(5))
        self.all.append("".join(pairs))
        return self.all[-1]

    def text(self, length: int) -> str:
        return " ".join(self.word() for _ in range(length))
