"""Audit reports on the quality of an owner's memories."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memolith import AsyncMemolith, Memolith, OwnerMemory
from memolith.domain.reports import Audit, AuditEntry
from memolith.errors import InvalidInput
from memolith.services.audit import SemanticComparison, audit_memories
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter


def store_examples(owner: OwnerMemory) -> dict[str, str]:
    """Store two good memories and one of each kind of junk; return their ids by label."""
    texts = {
        "tea": ("Likes tea in the morning", "user"),
        "filler": ("Thank you so much!", "assistant"),
        "fragment": ("They moved there", "tool"),
        "echo": ("You mentioned that you live in Oslo.", "assistant"),
    }
    ids = {name: owner.remember(text, origin=origin).id for name, (text, origin) in texts.items()}
    for name, text, key in (("home", "Lives in Oslo", "a"), ("duplicate", "lives in Oslo!", "b")):
        ids[name] = owner.remember(text, key=key).id
    return ids


def junk_ids(audit: Audit) -> set[str]:
    shares = (audit.duplicates, audit.fragments, audit.filler, audit.echoes)
    return {id_ for share in shares for id_ in share.ids}


def test_owner_without_memories_has_no_junk(alice: OwnerMemory) -> None:
    audit = alice.audit()
    assert (audit.memories, audit.junk, audit.rate) == (0, 0, 0.0)
    assert audit.filler.examples == ()


def test_audit_reports_each_kind_of_junk(memory: Memolith, alice: OwnerMemory) -> None:
    ids = store_examples(alice)
    memory.owner("bob").remember("Hello!")
    audit = alice.audit(examples=1)
    assert audit.memories == 6
    assert audit.junk == 4
    assert audit.rate == pytest.approx(4 / 6)
    for share, name in [
        (audit.filler, "filler"),
        (audit.fragments, "fragment"),
        (audit.echoes, "echo"),
        (audit.duplicates, "duplicate"),
    ]:
        assert share.ids == (ids[name],)
        assert [each.id for each in share.examples] == [ids[name]]
    (example,) = audit.duplicates.examples
    assert (example.duplicate_of, example.text) == (ids["home"], "lives in Oslo!")


def test_audit_skips_forgotten_memories(alice: OwnerMemory) -> None:
    ids = store_examples(alice)
    for name in ("filler", "fragment", "echo"):
        alice.forget(ids[name])
    assert junk_ids(alice.audit()) == {ids["duplicate"]}


def test_near_duplicates_are_reported_but_not_as_junk(alice: OwnerMemory) -> None:
    words = "The quick brown fox jumps over the lazy dog near the old river bank at noon"
    first = alice.remember(words)
    second = alice.remember(words.replace("noon", "night"))
    audit = alice.audit()
    assert audit.junk == 0
    assert audit.near is not None
    assert audit.compared == 2
    (example,) = audit.near.examples
    assert (example.id, example.duplicate_of) == (second.id, first.id)
    assert example.similarity is not None
    assert 0.85 <= example.similarity < 1
    assert alice.audit(near=False).near is None


def test_assistant_paraphrase_of_user_is_an_echo(alice: OwnerMemory) -> None:
    words = "old clocks and radios from flea markets in the workshop behind the house in {}".format
    original = alice.remember(f"On most Sundays I repair {words('Leipzig')}")
    again = alice.remember(
        f"On most Sundays the user repairs {words('Leipzig')}", origin="assistant"
    )
    other = alice.remember(f"On most Sundays the user repairs {words('Graz')}", origin="assistant")
    audit = alice.audit()
    assert audit.echoes.ids == (again.id,)
    assert audit.echoes.examples[0].duplicate_of == original.id
    assert other.id not in junk_ids(audit)


def test_audit_embeds_nothing(tmp_path: Path, clock: SettableClock) -> None:
    embedder = HashingEmbedder()
    with Memolith.open(
        tmp_path / "m.db", profile="timeline", embedder=embedder, clock=clock, tokens=WordCounter()
    ) as memory:
        memory.remember("Lives in Oslo", key="home", owner="alice")
        assert memory.audit(owner="alice").compared == 0


def test_audit_changes_nothing(alice: OwnerMemory) -> None:
    store_examples(alice)
    before = list(alice.export())
    alice.audit()
    assert list(alice.export()) == before


def test_negative_number_of_examples_is_rejected(alice: OwnerMemory) -> None:
    store_examples(alice)
    assert alice.audit(examples=0).filler.examples == ()
    with pytest.raises(InvalidInput, match="examples"):
        alice.audit(examples=-1)


def test_learning_skips_filler(alice: OwnerMemory) -> None:
    alice.learn("Hi there! I love it! Always here to help.", "Great! How can I help you today?")
    alice.learn("I love hiking. Never had a chance to visit it.", "Nice!")
    audit = alice.audit()
    assert (audit.memories, audit.junk) == (1, 0)


async def _count_filler(path: Path, clock: SettableClock) -> int:
    async with await AsyncMemolith.open(
        path, embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as memory:
        await memory.remember("Hello!", owner="alice")
        return (await memory.audit(owner="alice")).filler.count


def test_audit_can_be_awaited(tmp_path: Path, clock: SettableClock) -> None:
    assert asyncio.run(_count_filler(tmp_path / "m.db", clock)) == 1


def test_audit_compares_texts_outside_a_store() -> None:
    entries = [
        AuditEntry("1", "Likes green tea and cake"),
        AuditEntry("2", "Likes tea, green, and cake"),
    ]
    audit = audit_memories(entries, SemanticComparison.from_embedder(HashingEmbedder()))
    assert audit.near is not None
    assert audit.near.ids == ("2",)
