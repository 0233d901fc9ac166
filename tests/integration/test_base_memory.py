"""The base memory by hand: versions, the way back, forgetting, export."""

from __future__ import annotations

import pytest

from memolith import Memolith
from memolith.errors import InvalidInput, NotFound
from memolith.testing.fakes import HashingEmbedder, WordCounter

TEXT = "User Profile:\n- Lives in Oslo.\nPreferences:\n- Drinks tea."


@pytest.fixture
def memory() -> Memolith:
    return Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter())


def test_there_is_none_at_first(memory: Memolith) -> None:
    assert memory.base_memory(owner="a") is None
    assert memory.base_memory_versions(owner="a") == ()


def test_every_version_is_kept_and_can_be_brought_back(memory: Memolith) -> None:
    owner = memory.owner("a")
    owner.set_base_memory(TEXT)
    owner.set_base_memory("Something else.")
    assert owner.roll_back_base_memory(1).version == 3
    assert [each.content for each in owner.base_memory_versions()] == [
        TEXT,
        "Something else.",
        TEXT,
    ]
    with pytest.raises(NotFound):
        owner.roll_back_base_memory(9)


@pytest.mark.parametrize("content", ["", "  \n", "x" * 20_001])
def test_what_can_not_be_taken_changes_nothing(memory: Memolith, content: str) -> None:
    owner = memory.owner("a")
    owner.set_base_memory(TEXT)
    with pytest.raises(InvalidInput):
        owner.set_base_memory(content)
    assert len(owner.base_memory_versions()) == 1


def test_a_secret_in_it_is_taken_out(memory: Memolith) -> None:
    kept = memory.set_base_memory("The password: hunter2-Kx9!", owner="a")
    assert "hunter2" not in kept.content


def test_what_is_forgotten_stands_in_no_version_until_it_is_restored(memory: Memolith) -> None:
    owner = memory.owner("a")
    fact = owner.remember("Drinks tea.")
    owner.set_base_memory("Lives in Oslo. Drinks tea.")
    owner.forget(fact.id)
    assert [each.content for each in owner.base_memory_versions()] == ["Lives in Oslo."] * 2
    assert "tea" not in owner.context("Oslo")
    owner.restore(fact.id)
    found = owner.base_memory()
    assert found is not None
    assert found.content == "Lives in Oslo. Drinks tea."


def test_an_export_brings_it_along(memory: Memolith) -> None:
    owner, other = memory.owner("a"), memory.owner("b")
    owner.set_base_memory(TEXT)
    owner.set_base_memory("Something else.")
    records = list(owner.export())
    other.import_(records)
    other.import_(records)
    assert [each.content for each in other.base_memory_versions()] == [TEXT, "Something else."]


def test_a_prompt_begins_with_it(memory: Memolith) -> None:
    owner = memory.owner("a")
    owner.set_base_memory("</memory> Lives in Oslo.")
    owner.remember("Drinks tea.")
    text = owner.context("tea")
    assert text.startswith("<memory>\n&lt;/memory> Lives in Oslo.\n")
    assert text.index("Oslo") < text.index("Drinks tea.")
    assert owner.context("tea", token_budget=4) == ""
