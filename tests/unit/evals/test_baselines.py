"""The baseline searches, on a conversation small enough to know the correct order."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith.domain.messages import Message, Role
from memolith.evals.baselines import Baselines
from memolith.evals.datasets import Conversation, DialogueSession, Question
from memolith.ports.models import TextRole

AT = datetime(2024, 5, 1, tzinfo=UTC)
DIRECTIONS = ("boat", "kayak", "bread")


class DirectionEmbedder:
    """An embedder of three words; "boat" and "kayak" share a direction."""

    name = "directions"
    dimension = 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        if role == "document":
            self.texts += texts
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(-1, 2)

    def _vector(self, text: str) -> tuple[float, float]:
        if "boat" in text or "kayak" in text:
            return (1.0, 0.0)
        return (0.0, 1.0) if "bread" in text else (0.0, 0.0)


class WordCounter:
    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def message(id_: str, text: str) -> Message:
    return Message("Ines", text, role=Role.PARTICIPANT, at=AT, external_id=id_)


QUESTION = Question("Who has a boat?", "", "plain", ("m2",), AT)
CONVERSATION = Conversation(
    "c1",
    "ann",
    (
        DialogueSession(
            "s1",
            (
                message("m1", "I baked bread."),
                message("m2", "I paddle my kayak."),
                message("m3", "My boat, that boat!"),
                message("m4", "A boat and bread and flour and yeast and salt."),
            ),
        ),
    ),
    (QUESTION,),
)


def get_order(name: str, k: int = 10) -> list[str]:
    systems = Baselines(DirectionEmbedder(), WordCounter()).systems()
    return [ids[0] for ids in systems[name](CONVERSATION)(QUESTION, k).results]


def test_cosine_finds_similar_meanings() -> None:
    assert get_order("cosine") == ["m2", "m3", "m4", "m1"]


def test_bm25_finds_words_and_prefers_short_texts() -> None:
    assert get_order("bm25", 2) == ["m3", "m4"]


def test_score_sum_combines_both_searches() -> None:
    assert get_order("sum") == ["m3", "m4", "m2", "m1"]


def test_rank_fusion_combines_both_searches() -> None:
    assert get_order("rrf", 1) == ["m3"]


def test_tokens_count_only_returned_messages() -> None:
    systems = Baselines(DirectionEmbedder(), WordCounter()).systems()
    assert systems["bm25"](CONVERSATION)(QUESTION, 1).tokens == 4


def test_conversation_is_embedded_once_for_all_baselines() -> None:
    embedder = DirectionEmbedder()
    for system in Baselines(embedder, WordCounter()).systems().values():
        system(CONVERSATION)
    assert len(embedder.texts) == 4
    assert embedder.texts[0] == "Ines: I baked bread."


@pytest.mark.parametrize("name", ["cosine", "bm25", "sum", "rrf"])
def test_empty_conversation_returns_nothing(name: str) -> None:
    systems = Baselines(DirectionEmbedder(), WordCounter()).systems()
    empty = Conversation("c2", "ann", (), ())
    assert list(systems[name](empty)(QUESTION, 5).results) == []
