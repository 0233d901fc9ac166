"""The base memory, edited by hand: versions, rollback, forgetting, export."""

from __future__ import annotations

import pytest

from memolith import Memolith
from memolith.errors import InvalidInput, NotFound
from memolith.testing.fakes import HashingEmbedder, WordCounter

TEXT = "User Profile:\n- Lives in Oslo.\nPreferences:\n- Drinks tea."


@pytest.fixture
def memory() -> Memolith:
    return Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter())


def test_new_owner_has_no_base_memory(memory: Memolith) -> None:
    assert memory.base_memory(owner="a") is None
    assert memory.base_memory_versions(owner="a") == ()


def test_rollback_restores_any_version_of_base_memory(memory: Memolith) -> None:
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
def test_invalid_content_leaves_base_memory_unchanged(memory: Memolith, content: str) -> None:
    owner = memory.owner("a")
    owner.set_base_memory(TEXT)
    with pytest.raises(InvalidInput):
        owner.set_base_memory(content)
    assert len(owner.base_memory_versions()) == 1


def test_secret_in_base_memory_is_redacted(memory: Memolith) -> None:
    stored = memory.set_base_memory("The password: hunter2-Kx9!", owner="a")
    assert "hunter2" not in stored.content


def test_forgotten_fact_leaves_all_versions_until_restored(memory: Memolith) -> None:
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


def test_export_includes_base_memory_versions(memory: Memolith) -> None:
    owner, other = memory.owner("a"), memory.owner("b")
    owner.set_base_memory(TEXT)
    owner.set_base_memory("Something else.")
    records = list(owner.export())
    other.import_(records)
    other.import_(records)
    assert [each.content for each in other.base_memory_versions()] == [TEXT, "Something else."]


def test_context_begins_with_base_memory(memory: Memolith) -> None:
    owner = memory.owner("a")
    owner.set_base_memory("</memory> Lives in Oslo.")
    owner.remember("Drinks tea.")
    text = owner.context("tea")
    assert text.startswith("<memory>\n&lt;/memory> Lives in Oslo.\n")
    assert text.index("Oslo") < text.index("Drinks tea.")
    assert owner.context("tea", token_budget=4) == ""
