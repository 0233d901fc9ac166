"""A program that re-embeds a store in small steps, or uses the store meanwhile.

python -m support.durability.reembedding_process STORE KEY PAUSE_S     re-embed
python -m support.durability.reembedding_process STORE KEY             remember and recall
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from time import sleep

import numpy as np
from numpy.typing import NDArray

from memolith import Memolith
from memolith.admin import reembed
from memolith.errors import WrongEmbeddingModel
from memolith.ports.models import TextRole
from memolith.testing.fakes import HashingEmbedder
from support.stores import ciphers, opened

DIMENSION = 48
FEW = 7
"""Passages per step: few, so that kills fall between steps."""

NEIGHBOUR = "neighbour"


class Turned(HashingEmbedder):
    """A different model from the stores' usual one, with an optional delay."""

    def __init__(self, pause_s: float = 0.0) -> None:
        super().__init__(DIMENSION, "turned")
        self._pause_s = pause_s

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        sleep(self._pause_s)
        return super().embed(texts, role=role)


def tell(what: object) -> None:
    """Report a value to the parent process."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def remade(
    store: str, key: str, pause_s: float = 0.0, embedder: Turned | None = None
) -> reembed.ReembedResult:
    """Re-embed a store in small steps."""
    reembed.BATCH_SIZE = FEW
    return Memolith.reembed(store, embedder=embedder or Turned(pause_s), cipher=ciphers(key))


def use(store: str, key: str) -> int:
    """Remember and recall until the model changes; return the number of new memories."""
    with opened(store, key) as memory:
        for number in count():
            if number == 1:
                tell("begun")
            said = f"Thing {number} of the neighbour is kept on shelf {number % 9}"
            try:
                memory.remember(said, owner=NEIGHBOUR)
                found = memory.recall(said, owner=NEIGHBOUR).memories
            except WrongEmbeddingModel as refused:
                return number if refused.is_changed else -1
            assert said in [each.content for each in found]
    raise AssertionError


if __name__ == "__main__":
    if sys.argv[3:]:
        tell("begun")
        tell(remade(sys.argv[1], sys.argv[2], float(sys.argv[3])).vectors_created)
    else:
        tell(use(sys.argv[1], sys.argv[2]))
