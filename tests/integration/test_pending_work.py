"""Pending background work survives other operations on the store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith, Message, OwnerMemory
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sql.tables import OWNED_TABLES
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag, WorkKind
from memolith.ports.service import ModelUsage
from memolith.ports.store import Store
from memolith.testing.fakes import SettableClock
from support.databases import SQLITE, rows
from support.plaintext_search import Opener

_KINDS = frozenset({"fact", "identity", "preference"})


def store_of(memory: Memolith) -> Store:
    return memory._app.store


def add_work(memory: Memolith, clock: SettableClock, owner: str = "alice") -> list[str]:
    """Add background work of every kind for an owner; return the ids of the messages."""
    said = [Message("Alice", f"I live in Oslo. It rained {n} times.") for n in range(5)]
    ids = [one.id for one in memory.log(said, owner=owner, session="s1").messages]
    memory.remember("Likes tea", owner=owner)
    now, store = clock.now(), store_of(memory)
    with store.write(owner) as tx:
        tx.mark_pending(ids)
        tx.mark_learned(ids[:1], now)
        tx.schedule_retry(ids[1:2], retry_at=now + timedelta(hours=1))
        tx.schedule_retry(ids[2:3], retry_at=None)
        tx.mark_summarised(ids[:3], now)
        tx.add_mark(
            [tx.memories_without_mark(ProcessingFlag.INCORPORATED, _KINDS)[0].id],
            ProcessingFlag.INCORPORATED,
        )
        tx.set_progress("s1", ConsolidationProgress(3, 1, now))
    for work in WorkKind:
        claim = store.leases.acquire(owner, work, now=now, lease_s=60)
        assert claim is not None
        if work is WorkKind.CONSOLIDATE:
            store.leases.fail(claim, retry_at=None)
    store.usage.add(owner, "extract", ModelUsage(1, 2, 3), at=now)
    return ids


def work_state(memory: Memolith, clock: SettableClock, owner: str = "alice") -> dict[str, Any]:
    """Return the state of all background work of an owner."""
    now, store = clock.now(), store_of(memory)
    later = now + timedelta(hours=1)
    with store.read(owner) as snapshot:
        return {
            "waiting": [one.id for one in snapshot.pending_messages(99, now=now)],
            "later": [one.id for one in snapshot.pending_messages(99, now=later)],
            "attempts": snapshot.attempts([one.id for one in snapshot.messages()]),
            "unsummarised": [one.id for one in snapshot.unsummarised_messages()],
            "unmarked": [
                one.id
                for one in snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, _KINDS)
            ],
            "progress": snapshot.progress("s1"),
            "backlog": snapshot.pending_work(),
            "claimed": [owner in store.leases.owners(work, now=now) for work in WorkKind],
            "usage": store.usage.get_usage(owner, now),
        }


def waiting(alice: OwnerMemory, memory: Memolith, clock: SettableClock) -> list[str]:
    state: list[str] = work_state(memory, clock, alice.owner_id)["waiting"]
    return state


def test_forgotten_message_is_not_pending_until_restored(
    memory: Memolith, alice: OwnerMemory, clock: SettableClock
) -> None:
    ids = add_work(memory, clock)
    before = work_state(memory, clock)
    for id_ in ids:
        alice.forget(id_)
    assert waiting(alice, memory, clock) == []
    assert work_state(memory, clock)["backlog"].dead_letters == 0
    for id_ in ids:
        alice.restore(id_)
    assert work_state(memory, clock) == before


def test_pending_message_omits_a_forgotten_sentence(
    memory: Memolith, alice: OwnerMemory, clock: SettableClock
) -> None:
    learned = alice.learn("I prefer tea to coffee. It rains here.", "Noted.")
    with store_of(memory).write("alice") as tx:
        tx.mark_pending([learned.messages[0].id])
    alice.forget(learned.memories[0].id)
    with store_of(memory).read("alice") as snapshot:
        (left,) = snapshot.pending_messages(9, now=clock.now())
    assert left.content == "It rains here."


def test_messages_removed_by_purge_or_retention_are_not_pending(
    memory: Memolith, alice: OwnerMemory, clock: SettableClock
) -> None:
    ids = add_work(memory, clock)
    alice.purge(ids[3])
    assert waiting(alice, memory, clock) == ids[4:]
    clock.advance(timedelta(days=400))
    memory.retain(days=100)
    state = work_state(memory, clock)
    assert (state["later"], state["unsummarised"]) == ([], [])
    assert (state["backlog"].pending_messages, state["backlog"].dead_letters) == (0, 0)
    assert state["progress"] == ConsolidationProgress()


def test_switching_the_profile_and_back_preserves_work(
    memory: Memolith, alice: OwnerMemory, clock: SettableClock
) -> None:
    add_work(memory, clock)
    before = work_state(memory, clock)
    alice.switch_profile("tiers")
    alice.switch_profile("standard")
    assert work_state(memory, clock) == before


def test_imported_messages_are_not_pending(
    memory: Memolith, alice: OwnerMemory, clock: SettableClock
) -> None:
    add_work(memory, clock)
    memory.import_(list(alice.export()), owner="bob")
    state = work_state(memory, clock, "bob")
    assert state["waiting"] == state["later"] == []
    assert len(state["unsummarised"]) == 5
    assert state["usage"] == {}


def test_key_rotation_preserves_work(opened: Opener, clock: SettableClock) -> None:
    with opened() as memory:
        add_work(memory, clock)
        before = work_state(memory, clock)
        memory.rotate_key("alice")
        assert work_state(memory, clock) == before
    with opened() as memory:
        assert work_state(memory, clock) == before
        assert memory.verify().findings == ()


@pytest.mark.sqlite
def test_backup_contains_work(opened: Opener, path: Path, clock: SettableClock) -> None:
    kept = path.with_name("kept.db")
    with opened() as memory:
        ids = add_work(memory, clock)
        before = work_state(memory, clock)
        memory.backup(kept)
        with store_of(memory).write("alice") as tx:
            tx.mark_learned(ids, clock.now())
    with opened(kept) as memory:
        assert work_state(memory, clock) == before


TABLES = (
    "SELECT t.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c"
    " WHERE c.name = 'owner_id' AND t.name <> 'owners'"
)
"""Selects the tables with owner rows in SQLite; another test checks the list for PostgreSQL."""


@pytest.mark.parametrize("encrypted", [False, True])
def test_erasing_an_owner_deletes_rows_in_all_tables(
    opened: Opener, path: Path, clock: SettableClock, database: str, *, encrypted: bool
) -> None:
    with opened(cipher=None if encrypted else PlainCipher()) as memory:
        for owner in ("alice", "bob"):
            add_work(memory, clock, owner)
        before = work_state(memory, clock, "bob")
        memory.erase("alice")
        assert work_state(memory, clock, "bob") == before
        assert memory.verify().findings == ()
    tables = rows(path, TABLES) if database == SQLITE else [(name,) for name in OWNED_TABLES]
    left = {
        table: rows(path, f"SELECT DISTINCT owner_id = 2 FROM {table}")  # noqa: S608
        for (table,) in tables
    }
    assert {"claims", "usage", "messages", "sessions"} < left.keys()
    assert all(found in ([(True,)], []) for found in left.values()), left
    assert left["claims"] == left["usage"] == [(True,)]
