"""Rare situations: each has one correct outcome or a clear error."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from memolith import Memolith, Message, OwnerMemory, State
from memolith.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from memolith.services.access import AccessCounter
from memolith.testing.fakes import SettableClock


def test_supersede_requires_two_active_memories(
    alice: OwnerMemory,
) -> None:
    a, b = (alice.remember(text).id for text in ("One fish", "Two fish"))
    alice.forget(a)
    with pytest.raises(Conflict, match="forgotten, not active"):
        alice.supersede(a, b)
    with pytest.raises(Conflict, match="forgotten, not active"):
        alice.supersede(b, a)


def test_supersession_chain_length_is_limited(alice: OwnerMemory) -> None:
    ids = [alice.remember(f"Fish number {number}").id for number in range(13)]
    for old, new in pairwise(ids[:-1]):
        alice.supersede(old, new)
    with pytest.raises(Conflict, match="longer than 10"):
        alice.supersede(ids[-1], ids[0])


def test_invalid_updates_and_expiries_are_rejected(
    alice: OwnerMemory,
) -> None:
    a, b = (alice.remember(text).id for text in ("One fish", "Two fish"))
    alice.supersede(a, b)
    with pytest.raises(NotFound, match="active memory"):
        alice.update(a, "Three fish")
    with pytest.raises(InvalidInput, match="only one"):
        alice.remember("x", expires_in="1d", expires_at=datetime(2030, 1, 1, tzinfo=UTC))
    alice.remember("Four fish")
    with pytest.raises(Conflict, match="already has that content"):
        alice.update(b, "Four fish")


def test_message_of_forgotten_memory_is_restored_with_the_memory(alice: OwnerMemory) -> None:
    learned = alice.learn("I like tea.")
    message, memory = learned.messages[0].id, learned.memories[0].id
    alice.forget(memory)
    with pytest.raises(Conflict, match=memory):
        alice.restore(message)
    alice.restore(memory)
    with pytest.raises(Conflict, match="not forgotten"):
        alice.restore(message)


def test_two_forgotten_sentences_are_restored_in_any_order(alice: OwnerMemory) -> None:
    learned = alice.learn("I like tea. I live in Oslo. The sky is blue.")
    message = learned.messages[0]
    first, second = (memory.id for memory in learned.memories)
    alice.forget(first)
    alice.forget(second)
    assert alice.message(message.id).content == "The sky is blue."
    alice.restore(first)
    assert alice.message(message.id).content == "I like tea. The sky is blue."
    alice.restore(second)
    assert alice.message(message.id).content == message.content


def test_restored_expired_memory_has_no_expiry(alice: OwnerMemory, clock: SettableClock) -> None:
    stored = alice.remember("The code word is heron", expires_in="1h")
    alice.forget(stored.id)
    clock.advance(timedelta(days=1))
    alice.restore(stored.id)
    restored = alice.get(stored.id)
    assert (restored.state, restored.expires_at) == (State.ACTIVE, None)
    assert [one.id for one in alice.recall("heron").memories] == [stored.id]


def test_list_filters_by_state_kind_and_tags(alice: OwnerMemory) -> None:
    kept = alice.remember("One fish", kind="fact", tags=["sea"])
    gone = alice.remember("Two fish", kind="event", tags=["sea"])
    alice.forget(gone.id)
    assert [one.id for one in alice.list().memories] == [kept.id]
    assert [one.id for one in alice.list(state="forgotten").memories] == [gone.id]
    assert [one.id for one in alice.list(state="all", kind="event").memories] == [gone.id]
    assert len(alice.list(state="all", tags=["sea"]).memories) == 2
    for options, field in (({"state": "lost"}, "state"), ({"kind": "opinion"}, "kind")):
        with pytest.raises(InvalidInput) as caught:
            alice.list(**options)  # type: ignore[arg-type]
        assert caught.value.field == field


def test_duplicate_external_id_in_one_call_is_skipped(alice: OwnerMemory) -> None:
    learned = alice.log(
        [Message("Bob", "x", external_id="1"), Message("Bob", "y", external_id="1")]
    )
    assert [message.content for message in learned.messages] == ["x"]
    assert learned.duplicates_skipped == 1
    with pytest.raises(InvalidInput, match=r"messages\[0\]"):
        alice.log(["text"])  # type: ignore[list-item]
    assert alice.log([]).messages == ()


@pytest.mark.local
def test_engine_lists_owners(memory: Memolith, alice: OwnerMemory) -> None:
    assert memory.owners() == []
    alice.remember("x")
    memory.remember("y", owner="bob")
    assert memory.owners() == ["alice", "bob"]
    assert repr(alice) == "OwnerMemory('alice')"


def test_failed_access_count_is_logged_and_recall_succeeds(
    memory: Memolith,
    alice: OwnerMemory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    alice.remember("Likes green tea")

    def full(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(memory._app.store, "record_access", full)
    with caplog.at_level(logging.WARNING):
        assert len(alice.recall("tea").memories) == 1
        memory.flush()
    assert "could not record 1 recalls: StoreUnavailable" in caplog.text
    assert "tea" not in caplog.text


def test_access_counter_writes_on_close(memory: Memolith, alice: OwnerMemory) -> None:
    stored = alice.remember("Likes green tea")
    touches = AccessCounter(memory._app.store, SettableClock(datetime(2026, 5, 1, tzinfo=UTC)))
    touches.add("alice", [])
    touches.add("alice", [stored.id, stored.id])
    touches.close()
    touches.close()
    assert alice.get(stored.id).access_count == 2


@pytest.mark.parametrize("name", ["profile", "embedder", "reranker", "arbitrator"])
def test_invalid_open_arguments_are_rejected(name: str) -> None:
    options: dict[str, Any] = {name: 3}
    with pytest.raises(InvalidInput, match=name):
        Memolith.open(":memory:", **options)
