"""The rules of the source system of `chunks` for taking in a text, from end to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemon import Mnemon, OwnerMemory
from mnemon.testing.embedders import HashingEmbedder, WordCounter

PARAGRAPHS = tuple(
    f"Engineer number {number} came to Bergen in {1990 + number} and built a bridge there. " * 5
    for number in range(6)
)
TEXT = "\n\n".join(PARAGRAPHS)


class Calls:
    """An embedder's function that keeps what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        return HashingEmbedder().embed(texts, role="document")


@pytest.fixture
def alice(opened: Callable[[str], OwnerMemory]) -> OwnerMemory:
    return opened("chunks")


def fates(alice: OwnerMemory, text: str, **options: str) -> list[str]:
    return [piece.fate for piece in alice.ingest(text, **options).pieces]  # type: ignore[arg-type] # passed on


def test_chunks_are_embedded_in_one_batch_and_what_is_known_never_again() -> None:
    calls = Calls()
    with Mnemon.open(":memory:", profile="chunks", embedder=calls, tokens=WordCounter()) as memory:
        alice = memory.owner("alice")
        assert fates(alice, TEXT) == ["stored"] * 6
        assert [len(batch) for batch in calls.batches if len(batch) > 1] == [6]
        asked = sum(len(batch) for batch in calls.batches)
        assert "stored" not in fates(alice, TEXT)
        assert sum(len(batch) for batch in calls.batches) == asked


def test_the_result_says_of_each_chunk_what_became_of_it_and_why(alice: OwnerMemory) -> None:
    alice.ingest("we walked along the river and looked at the water")
    result = alice.ingest("we walked along the river and looked at the water again")
    [piece] = result.pieces
    assert (piece.fate, piece.memory) == ("dropped", None)
    assert piece.reason
    assert piece.salience == 0.0
    assert piece.novelty is not None
    assert piece.importance == pytest.approx(0.6 * piece.novelty)
    assert (result.kept, result.dropped) == ((), (piece,))


def test_novelty_is_measured_against_what_there_was_before_the_call(alice: OwnerMemory) -> None:
    first, second = alice.ingest(f"{PARAGRAPHS[0]}\n\n{PARAGRAPHS[1]}").pieces
    assert (first.novelty, second.novelty) == (1.0, 1.0)
    [third] = alice.ingest(PARAGRAPHS[2]).pieces
    assert third.novelty is not None
    assert third.novelty < 0.5


def test_a_kind_that_is_given_goes_for_all_chunks(alice: OwnerMemory) -> None:
    result = alice.ingest(TEXT, kind="semantic")
    assert {memory.kind for memory in result.memories} == {"semantic"}


def test_a_stream_becomes_what_the_whole_text_does(
    alice: OwnerMemory, opened: Callable[[str], OwnerMemory]
) -> None:
    pieces: Sequence[str] = [TEXT[at : at + 7] for at in range(0, len(TEXT), 7)]
    streamed = [each for part in alice.ingest_stream(pieces) for each in part.pieces]
    whole = opened("chunks").ingest(TEXT).pieces
    assert [(each.text, each.fate, each.kind) for each in streamed] == [
        (each.text, each.fate, each.kind) for each in whole
    ]
