from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memolith import Memolith, Message, OwnerMemory, Role
from memolith.errors import InvalidInput
from memolith.import_export.records import MemoryRecord, SessionEnd
from support.rows import check_each

ID = "018f0000-0000-7000-8000-000000000001"
GOOD = Message(None, "I live in Oslo", Role.USER, datetime(2024, 5, 8, tzinfo=UTC), None, ID, "s")

# Beyond the years 1 to 9999 in UTC: once stored, they could never be read again.
TOO_LATE = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
TOO_EARLY = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))


@check_each(
    "changes",
    [
        {"at": TOO_LATE},
        {"at": TOO_EARLY},
        {"at": datetime(2024, 5, 8)},  # noqa: DTZ001 - the point
        {"at": None},
        {"id": "first"},
        {"id": None},
        {"role": "user"},
        {"role": None},
        {"content": " \x00"},
        {"content": None},
        {"speaker": "a\x00b"},
        {"speaker": 5},
        {"external_id": "\ud800"},
        {"session_id": ""},
    ],
)
def test_import_rejects_unreadable_message(memory: Memolith, changes: dict[str, Any]) -> None:
    alice = memory.owner(repr(changes))
    good = replace(GOOD, id=ID[:-1] + "2", content="I like tea")
    with pytest.raises(InvalidInput, match=r"^records\[1\]"):
        alice.import_([good, replace(GOOD, **changes)])
    assert alice.sessions() == ()
    assert alice.import_([good, GOOD]).messages == 2


@check_each("records", [None, 5, [5], [None], "text"])
def test_import_rejects_invalid_records(alice: OwnerMemory, records: Any) -> None:
    with pytest.raises(InvalidInput, match="records"):
        alice.import_(records)


def test_import_rejects_session_end_out_of_range(alice: OwnerMemory) -> None:
    with pytest.raises(InvalidInput, match="at: is out of range"):
        alice.import_([GOOD, SessionEnd("s", TOO_LATE)])


@check_each(
    "changes",
    [
        {"created_at": TOO_LATE},
        {"accessed_at": TOO_EARLY},
        {"expires_at": TOO_EARLY},
        {"importance": 1e308},
        {"importance": float("nan")},
        {"access_count": -2},
        {"version": 0},
        {"tags": ("",)},
        {"key": "\x00"},
        {"superseded_by": "that"},
        {"content": ""},
    ],
)
def test_import_rejects_memory_with_harmful_values(
    alice: OwnerMemory, changes: dict[str, Any]
) -> None:
    alice.remember("I prefer metric units")
    (record,) = alice.export()
    assert isinstance(record, MemoryRecord)
    other = replace(record, memory=replace(record.memory, id=ID, **changes))
    with pytest.raises(InvalidInput, match=r"^(records\[0\]|tags)"):
        alice.import_([other])
    assert len(alice.recall("metric units").memories) == 1


@check_each(
    "call",
    [
        lambda alice: alice.remember("x", tags=5),
        lambda alice: alice.remember("x", tags=None),
        lambda alice: alice.remember("x", importance=10**5_000),
        lambda alice: alice.recall("x", kinds=5),
        lambda alice: alice.recall("x", kinds=[5, "fact"]),
        lambda alice: alice.recall("x", tags=object()),
        lambda alice: alice.recall("x", top_k=-(10**5_000)),
        lambda alice: alice.list(cursor=5),
        lambda alice: alice.log(None),
        lambda alice: alice.update(ID, expires_in=10**5_000),
    ],
)
def test_argument_of_wrong_type_raises_clear_error(
    alice: OwnerMemory, call: Callable[[Any], object]
) -> None:
    with pytest.raises(InvalidInput):
        call(alice)


def test_numbers_beyond_store_range_are_clamped(alice: OwnerMemory) -> None:
    alice.learn("I live in Oslo")
    assert len(alice.messages(limit=10**30)) == 1
    assert alice.messages(after=10**30) == ()
