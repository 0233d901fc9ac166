"""What a store's contract says of the base memory; see `memolith.ports.base_memory`."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from memolith.domain.base_memory import BaseMemory
from memolith.domain.memories import Source
from memolith.errors import InvalidInput, NotFound
from memolith.testing.builders import at, memory, message, record_id
from memolith.testing.store_records import HOSTILE, remember, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.ports.store import Store


def _write(
    store: Store, content: str, seconds: float, *, sources: Sequence[Source] = (), owner: str = ""
) -> None:
    with store.write(owner or "alice") as tx:
        tx.set_base_memory(content, sources=sources, at=at(seconds))


class BaseMemoryContract:
    """The living document of an owner."""

    def test_there_is_no_base_memory_at_first(self, store: Store) -> None:
        remember(store, memory(1))
        with store.read("alice") as snapshot:
            assert snapshot.base_memory() is None
            assert snapshot.base_memory(as_of=at(5)) is None
            assert snapshot.base_memories() == []

    def test_a_new_base_memory_closes_the_old_one_and_keeps_it(self, store: Store) -> None:
        sources = (Source(record_id(7), "memory"), Source(record_id(8), "message", "D1:1"))
        _write(store, "likes tea", 10, sources=sources)
        _write(store, "likes coffee", 20)
        first = BaseMemory("likes tea", 1, at(10), at(20), sources)
        second = BaseMemory("likes coffee", 2, at(20))
        with store.read("alice") as snapshot:
            assert snapshot.base_memory() == second
            assert snapshot.base_memories() == [first, second]
            assert snapshot.counter == 2

    def test_the_base_memory_as_of_an_instant_is_the_one_valid_then(self, store: Store) -> None:
        for seconds in (10, 20, 30):
            _write(store, f"at {seconds}", seconds)
        with store.read("alice") as snapshot:
            then = [snapshot.base_memory(as_of=at(n)) for n in (9, 10, 19, 20, 99)]
        assert [one and one.content for one in then] == [None, "at 10", "at 10", "at 20", "at 30"]

    def test_a_base_memory_never_begins_before_the_one_before(self, store: Store) -> None:
        _write(store, "first", 20)
        _write(store, "second", 10)
        with store.read("alice") as snapshot:
            first, second = snapshot.base_memories()
            then = snapshot.base_memory(as_of=at(20))
        assert (first.valid_from, first.valid_to, second.valid_from) == (at(20), at(20), at(20))
        assert then == second

    def test_a_base_memorys_times_come_back_in_utc(self, store: Store) -> None:
        zone = timezone(timedelta(hours=2))
        with store.write("alice") as tx:
            tx.set_base_memory("x", sources=(), at=at(5).astimezone(zone))
        with store.read("alice") as snapshot:
            (only,) = snapshot.base_memories()
        assert only.valid_from == at(5)
        assert only.valid_from.utcoffset() == timedelta(0)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_base_memory_comes_back_and_is_its_owners_own(
        self, store: Store, text: str
    ) -> None:
        _write(store, text, 1, owner=text)
        _write(store, "other", 1, owner="bob")
        for owner, expected in ((text, text), ("bob", "other")):
            with store.read(owner) as snapshot:
                assert [one.content for one in snapshot.base_memories()] == [expected]
        with store.read("carol") as snapshot:
            assert snapshot.base_memory() is None

    def test_a_transaction_sees_its_own_base_memory(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.set_base_memory("first", sources=(), at=at(1))
            tx.set_base_memory("second", sources=(), at=at(2))
            seen = tx.base_memory()
            assert seen is not None
            assert seen.content == "second"
            assert len(tx.base_memories()) == 2

    def test_a_source_of_the_base_memory_is_a_uuid(self, store: Store) -> None:
        with pytest.raises(InvalidInput), store.write("alice") as tx:
            tx.set_base_memory("x", sources=(Source("?"),), at=at(1))
        assert store.owners() == []

    def test_what_is_purged_is_no_source_of_a_base_memory(self, store: Store) -> None:
        remember(store, memory(1))
        say(store, message(2, sequence=1), message(3, sequence=2))
        sources = (Source(record_id(1), "memory"), Source(record_id(2)), Source(record_id(3)))
        _write(store, "old", 5, sources=sources)
        _write(store, "new", 6, sources=sources)
        with store.write("alice") as tx:
            tx.purge([record_id(1), record_id(2)])
        with store.read("alice") as snapshot:
            left = [one.sources for one in snapshot.base_memories()]
        assert left == [(Source(record_id(3)),)] * 2

    def test_what_a_base_memory_said_can_be_replaced_for_good(self, store: Store) -> None:
        source = (Source(record_id(7), "memory"),)
        for seconds in (10, 20, 30):
            _write(store, f"at {seconds}", seconds, sources=source)
        with store.write("alice") as tx:
            tx.rewrite_base_memory({1: "less", 3: "new"})
        with store.write("alice") as tx:
            tx.rewrite_base_memory({})
        with store.read("alice") as snapshot:
            assert snapshot.base_memories() == [
                BaseMemory("less", 1, at(10), at(20), source),
                BaseMemory("at 20", 2, at(20), at(30), source),
                BaseMemory("new", 3, at(30), None, source),
            ]
            assert snapshot.counter == 4

    def test_a_version_that_is_not_there_cant_be_replaced(self, store: Store) -> None:
        _write(store, "first", 10)
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.rewrite_base_memory({1: "less", 2: "new"})
        with store.read("alice") as snapshot:
            assert [one.content for one in snapshot.base_memories()] == ["first"]

    def test_an_erased_owners_base_memory_is_gone(self, store: Store) -> None:
        _write(store, "first", 10)
        store.erase("alice", at(20))
        with store.read("alice") as snapshot:
            assert snapshot.base_memories() == []
