"""Exporting all records of an owner and importing them into another store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memolith import Memolith, Message, OwnerMemory
from memolith.domain.memories import State
from memolith.domain.messages import Role
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import MemoryRecord, Record, SessionEnd
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter


@pytest.fixture
def records(alice: OwnerMemory, clock: SettableClock) -> list[Record]:
    alice.log([Message("Bob", "The key is blue", external_id="D1:1")], session="s1")
    alice.end_session("s1")
    clock.advance(timedelta(days=1))
    alice.learn("My name is Alice and I live in Oslo", "Nice to meet you", session="s2")
    old = alice.remember("Works at NASA", key="job")
    clock.advance(timedelta(days=1))
    alice.remember("Works at ESA", key="job")
    alice.forget(old.id)
    clock.advance(timedelta(days=1))
    alice.restore(old.id)
    return list(alice.export())


def alice_in_another_store(clock: SettableClock) -> OwnerMemory:
    other = Memolith.open(":memory:", embedder=HashingEmbedder(), clock=clock, tokens=WordCounter())
    return other.owner("alice")


def test_import_of_an_export_restores_all_records(
    records: list[Record], clock: SettableClock
) -> None:
    other = alice_in_another_store(clock)
    taken = other.import_(records)
    assert list(other.export()) == records
    assert (taken.messages, taken.memories, taken.duplicates_skipped, taken.keys_dropped) == (
        3,
        2,
        0,
        (),
    )


def test_import_preserves_the_end_of_a_session(records: list[Record], clock: SettableClock) -> None:
    (ending,) = [record for record in records if isinstance(record, SessionEnd)]
    other = alice_in_another_store(clock)
    other.import_(records)
    assert other.sessions()[0].ended_at == ending.at


def test_second_import_adds_nothing(records: list[Record], alice: OwnerMemory) -> None:
    taken = alice.import_(records)
    assert (taken.messages, taken.memories, taken.duplicates_skipped) == (0, 0, 5)
    assert list(alice.export()) == records


def test_imported_messages_are_appended_to_an_existing_session(
    records: list[Record], clock: SettableClock
) -> None:
    other = alice_in_another_store(clock)
    other.log([Message("Carol", "Hello")], session="s1")
    other.import_(records)
    spoken = [(each.sequence, each.content) for each in other.messages("s1")]
    assert spoken == [(1, "Hello"), (2, "The key is blue")]


def test_message_with_a_known_external_id_is_skipped(
    records: list[Record], clock: SettableClock
) -> None:
    other = alice_in_another_store(clock)
    other.log([Message("Bob", "The key is blue", external_id="D1:1")], session="s1")
    assert other.import_(records).duplicates_skipped == 1
    assert len(other.messages("s1")) == 1


def test_import_does_not_learn_from_messages(records: list[Record], clock: SettableClock) -> None:
    messages = [record for record in records if isinstance(record, Message)]
    assert any(message.role is Role.USER for message in messages)
    other = alice_in_another_store(clock)
    other.import_(messages)
    assert other.stats().total_count == 0


def test_import_preserves_recall_at_past_times(
    records: list[Record], alice: OwnerMemory, clock: SettableClock
) -> None:
    other = alice_in_another_store(clock)
    other.import_(records)
    (job,) = [r for r in records if isinstance(r, MemoryRecord) and r.memory.key == "job"]
    for version in job.history.versions:
        then = version.valid_from + timedelta(minutes=1)
        here = alice.recall("Where does she work?", as_of=then, touch=False)
        assert other.recall("Where does she work?", as_of=then, touch=False) == here


def test_import_counts_redactions_of_new_records(
    records: list[Record], clock: SettableClock
) -> None:
    token = "gh~p_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj".replace("~", "")
    with_secrets: list[Record] = []
    for record in records:
        if isinstance(record, Message):
            with_secrets.append(replace(record, content=f"{record.content} {token} {token}"))
        elif isinstance(record, MemoryRecord) and record.memory.key == "job":
            versions = tuple(
                replace(each, memory=replace(each.memory, content=f"Has [REDACTED] and {token}"))
                for each in record.history.versions
            )
            with_secrets.append(
                MemoryRecord(versions[-1].memory, replace(record.history, versions=versions))
            )
    other = alice_in_another_store(clock)
    assert other.import_(with_secrets).redactions == 3 * 2 + 3
    assert other.import_(with_secrets).redactions == 0
    assert other.import_([ImportedMemory(content=f"Uses {token}")]).redactions == 1


def test_record_repeated_in_one_import_is_stored_once(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    alice.remember("Likes tea", tags=["drinks"], importance=0.9)
    changed = alice.remember("Lives in Oslo")
    alice.remember("Owns a cat", happened_at=clock.now() - timedelta(days=9))
    clock.advance(timedelta(days=1))
    alice.update(changed.id, "Lives in Rome")
    records = list(alice.export())
    other = alice_in_another_store(clock)
    taken = other.import_([*records, *records])
    assert (taken.memories, taken.duplicates_skipped) == (3, 3)
    assert list(other.export()) == records
    asked = ("tea", "Where does she live?", "cat")
    found = [[memory.id for memory in alice.recall(each).memories] for each in asked]
    assert [[memory.id for memory in other.recall(each).memories] for each in asked] == found


def supersede_one(alice: OwnerMemory, clock: SettableClock) -> tuple[Record, Record]:
    old, new = alice.remember("Works at NASA"), alice.remember("Works at ESA")
    clock.advance(timedelta(days=1))
    alice.supersede(old.id, new.id)
    first, second = alice.export()
    return first, second


def test_reference_to_a_missing_successor_is_dropped(
    alice: OwnerMemory, clock: SettableClock, tmp_path: Path
) -> None:
    old, _ = supersede_one(alice, clock)
    assert isinstance(old, MemoryRecord)
    with Memolith.open(
        tmp_path / "m.db", embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as memory:
        other = memory.owner("alice")
        assert other.import_([old]).memories == 1
        taken = other.get(old.memory.id)
        assert (taken.state, taken.superseded_by) == (State.SUPERSEDED, None)
        assert memory.verify().findings == ()


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_successor_may_come_before_or_after_in_an_import(
    alice: OwnerMemory, clock: SettableClock, places: tuple[int, int]
) -> None:
    records = supersede_one(alice, clock)
    other = alice_in_another_store(clock)
    other.import_([records[place] for place in places])
    assert list(other.export()) == list(records)


def test_repeated_import_links_a_successor_imported_later(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    old, new = supersede_one(alice, clock)
    other = alice_in_another_store(clock)
    for record in (old, new, old):
        other.import_([record])
    assert list(other.export()) == [old, new]


def test_repeated_import_does_not_overwrite_later_changes(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    old, new = supersede_one(alice, clock)
    assert isinstance(old, MemoryRecord)
    other = alice_in_another_store(clock)
    other.import_([old])
    clock.advance(timedelta(days=1))
    other.restore(old.memory.id)
    before = other.get(old.memory.id)
    other.import_([new, old])
    assert other.get(old.memory.id) == before
