"""The thresholds of the local model, and examples of the source systems with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corpora.thresholds.cases import cases
from corpora.thresholds.fitting import fitted, measured
from memolith import Memolith
from memolith.adapters.models.local import LocalEmbedder
from memolith.policies.embedding_models import FITTED_THRESHOLDS


def test_threshold_table_equals_the_fit() -> None:
    embedder = LocalEmbedder()
    assert fitted(measured(embedder, cases())) == FITTED_THRESHOLDS[embedder.name]


@pytest.fixture
def companion() -> Iterator[Memolith]:
    with Memolith.open(":memory:", profile="companion") as memory:
        yield memory


def test_companion_recalls_learned_facts(companion: Memolith) -> None:
    alice = companion.owner("alice")
    alice.learn("My name is Alice and I live in Oslo", "Nice to meet you!")
    for question in ("What is my name?", "Where do I live?"):
        assert "My name is Alice and I live in Oslo" in alice.context(question)
    assert alice.context("How do I bake a chocolate cake?") == ""


def test_companion_merges_near_duplicates(companion: Memolith) -> None:
    alice = companion.owner("alice")
    first = alice.remember("User prefers dark mode", kind="preference", importance=0.5)
    second = alice.remember("The user prefers to use dark mode", kind="preference", importance=0.8)
    assert second.id == first.id
    assert second.content == "User prefers dark mode\nThe user prefers to use dark mode"
    assert second.importance == 0.8
    alice.remember("The user prefers tea to coffee", kind="preference")
    assert alice.stats().total_count == 2


@pytest.fixture
def tiers() -> Iterator[Memolith]:
    with Memolith.open(":memory:", profile="tiers") as memory:
        yield memory


def test_tiers_recalls_name_and_replaces_restated_memory(tiers: Memolith) -> None:
    alex = tiers.owner("alex")
    alex.remember("The user's name is Alex", kind="personal")
    alex.remember("The user works at NASA", kind="personal")
    found = alex.recall("Do you remember my name?").memories
    assert found[0].content == "The user's name is Alex"
    again = alex.remember("The name of the user is Alex", kind="personal")
    assert alex.stats().total_count == 2
    assert alex.context("What is the user called?").startswith("[Relevant memories]\n- ")
    assert again.content in alex.context("What is the user called?")
