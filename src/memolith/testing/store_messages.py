"""Store contract: messages, sessions, participants and the base memory; see `store_contract`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from memolith.domain.memories import BaseMemory, Source
from memolith.domain.messages import Role
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.ports.store import Store
from memolith.testing.builders import at, memory, message, record_id, short_entry
from memolith.testing.store_records import HOSTILE, numbers_of, remember, say


class MessagesContract:
    """Messages, sessions and participants."""

    def test_message_round_trips(self, store: Store) -> None:
        full = message(
            1, "hi", sequence=3, speaker="Bob", role=Role.PARTICIPANT, external_id="D1:3"
        )
        say(store, full)
        with store.read("alice") as snapshot:
            assert snapshot.messages(ids=[record_id(1)]) == [full]

    def test_messages_by_id_are_in_the_requested_order(self, store: Store) -> None:
        say(store, *(message(n, sequence=n) for n in (1, 2, 3)))
        with store.read("alice") as snapshot:
            found = snapshot.messages(ids=[record_id(n) for n in (3, 9, 1, 3)] + ["?"])
            assert numbers_of(found) == [3, 1, 3]
            assert numbers_of(snapshot.messages(ids=[record_id(2), record_id(1)], limit=1)) == [2]
            assert snapshot.messages(ids=[]) == []

    def test_messages_of_a_session_are_ordered_by_sequence(self, store: Store) -> None:
        say(store, message(9, sequence=2), message(8, sequence=5))
        say(store, message(7, sequence=1, session_id="s2"), session_id="s2")
        say(store, message(6, sequence=3), message(5, sequence=7))
        with store.read("alice") as snapshot:
            assert numbers_of(snapshot.messages(session_id="s1")) == [9, 6, 8, 5]
            assert numbers_of(snapshot.messages(session_id="s1", after=2, limit=2)) == [6, 8]
            assert snapshot.messages(session_id="s3") == []

    def test_messages_of_all_sessions_are_in_storage_order(self, store: Store) -> None:
        say(store, message(9, sequence=2), message(3, sequence=1))
        say(store, message(7, sequence=1, session_id="s2"), session_id="s2")
        with store.write("alice") as tx:
            tx.revise_message(message(9, "new", sequence=2, version=2), short_entry("new"), at(99))
        with store.read("alice") as snapshot:
            assert numbers_of(snapshot.messages()) == [9, 3, 7]
            assert numbers_of(snapshot.messages(limit=2)) == [9, 3]

    def test_recent_messages_are_the_last_ones_oldest_first(self, store: Store) -> None:
        say(store, *(message(n, sequence=10 - n) for n in range(1, 5)))
        say(store, message(8, sequence=1, session_id="s2"), session_id="s2")
        say(store, message(9, sequence=20))
        with store.write("alice") as tx:
            tx.close_messages([record_id(3)], at(50))
            tx.revise_message(message(1, "new", sequence=9, version=2), short_entry("new"), at(99))
        with store.read("alice") as snapshot:
            assert numbers_of(snapshot.recent_messages(3)) == [4, 8, 9]
            assert numbers_of(snapshot.recent_messages(99)) == [1, 2, 4, 8, 9]
            assert numbers_of(snapshot.recent_messages(3, session_id="s1")) == [2, 1, 9]
            assert numbers_of(snapshot.recent_messages(3, session_id="s2")) == [8]
            assert snapshot.recent_messages(3, session_id="s3") == []
            assert snapshot.recent_messages(0) == []

    def test_forgotten_message_is_excluded(self, store: Store) -> None:
        say(store, message(1, sequence=1), message(2, sequence=2))
        with store.write("alice") as tx:
            tx.close_messages([record_id(1), record_id(9), "?"], at(50))
        with store.read("alice") as snapshot:
            assert numbers_of(snapshot.messages()) == [2]
            assert numbers_of(snapshot.messages(session_id="s1")) == [2]
            assert snapshot.messages(ids=[record_id(1)]) == []
            assert numbers_of(snapshot.messages(as_of=at(49))) == [1, 2]
            assert numbers_of(snapshot.messages(as_of=at(50))) == [2]

    def test_forgotten_message_is_not_counted(self, store: Store) -> None:
        say(store, message(1, sequence=1), message(2, sequence=2))
        say(store, message(3, sequence=1, session_id="s2"), session_id="s2")
        assert counts(store) == (3, [2, 1])
        with store.write("alice") as tx:
            tx.close_messages([record_id(1), record_id(3)], at(50))
            assert [session.messages for session in tx.sessions()] == [1, 0]
        assert counts(store) == (1, [1, 0])
        with store.write("alice") as tx:
            again = message(3, "said again", sequence=1, session_id="s2", version=2)
            tx.revise_message(again, short_entry("said again"), at(60))
        assert counts(store) == (2, [1, 1])
        with store.write("alice") as tx:
            tx.purge([record_id(1), record_id(2)])
        assert counts(store) == (1, [1])

    def test_messages_as_of_an_instant_have_the_version_valid_then(self, store: Store) -> None:
        first = message(1, "first", sequence=1)
        second = message(1, "second", sequence=1, version=2)
        say(store, first, message(2, sequence=2, said_at=at(70)))
        with store.write("alice") as tx:
            tx.revise_message(second, short_entry("second", 1), at(60))
        with store.read("alice") as snapshot:
            assert snapshot.messages(ids=[first.id]) == [second]
            assert snapshot.messages(ids=[first.id], as_of=at(59)) == [first]
            assert snapshot.messages(ids=[first.id], as_of=at(60)) == [second]
            assert snapshot.messages(session_id="s1", as_of=at(59)) == [first]
            assert numbers_of(snapshot.messages(as_of=at(70), limit=1)) == [1]
            assert snapshot.messages(as_of=at(0)) == []

    def test_originals_have_their_first_content_and_newest_version(self, store: Store) -> None:
        first = message(1, "first", sequence=1, external_id="D1:1")
        say(store, first, message(2, sequence=2))
        with store.write("alice") as tx:
            second = replace(first, content="second", version=2)
            tx.revise_message(second, short_entry("second"), at(60))
            tx.close_messages([record_id(1)], at(70))
        with store.read("alice") as snapshot:
            found = snapshot.original_messages([record_id(2), record_id(9), "?", record_id(1)])
        assert found == [message(2, sequence=2), replace(first, version=2)]

    def test_forgotten_messages_have_their_first_content_in_storage_order(
        self, store: Store
    ) -> None:
        first = message(3, "first", sequence=1)
        say(store, first, message(1, sequence=2), message(2, sequence=3))
        say(store, message(4, sequence=1), owner_id="bob")
        with store.write("alice") as tx:
            assert tx.forgotten_messages() == []
            tx.revise_message(replace(first, content="y", version=2), short_entry("y"), at(60))
            tx.close_messages([record_id(2), record_id(3)], at(70))
            assert tx.forgotten_messages() == [replace(first, version=2), message(2, sequence=3)]
        with store.write("alice") as tx:
            tx.purge([record_id(3)])
            again = message(2, sequence=3, version=2)
            tx.revise_message(again, short_entry("z"), at(80))
        with store.read("alice") as snapshot:
            assert snapshot.forgotten_messages() == []

    def test_forgotten_message_can_be_restored(self, store: Store) -> None:
        say(store, message(1, "said", sequence=1))
        back = message(1, "said", sequence=1, version=2)
        with store.write("alice") as tx:
            tx.close_messages([record_id(1)], at(50))
            tx.revise_message(back, short_entry("said"), at(60))
        with store.read("alice") as snapshot:
            assert snapshot.messages() == [back]
            assert snapshot.messages(as_of=at(55)) == []

    def test_revision_needs_an_existing_message_and_a_higher_version(self, store: Store) -> None:
        say(store, message(1, sequence=1))
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.revise_message(message(2, sequence=1, version=2), short_entry("x"), at(9))
        with pytest.raises(Conflict), store.write("alice") as tx:
            tx.revise_message(message(1, sequence=1), short_entry("x"), at(9))

    def test_only_a_current_message_can_be_reindexed(self, store: Store) -> None:
        say(store, message(1, sequence=1))
        with store.write("alice") as tx:
            tx.close_messages([record_id(1)], at(9))
        for number in (1, 2):
            with pytest.raises(NotFound), store.write("alice") as tx:
                tx.reindex(record_id(number), short_entry("x"))

    def test_messages_are_stored_with_the_given_time(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.log("s1", [(message(1, sequence=1), short_entry("x"))], at=at(100))
        with store.read("alice") as snapshot:
            assert snapshot.messages(as_of=at(99)) == []
            assert snapshot.messages(as_of=at(100)) == [message(1, sequence=1)]

    def test_sequence_is_unique_in_a_session(self, store: Store) -> None:
        say(store, message(1, sequence=1))
        with pytest.raises(Conflict):
            say(store, message(2, sequence=1))
        say(store, message(3, sequence=1, session_id="s2"), session_id="s2")

    def test_external_id_is_unique_in_a_session(self, store: Store) -> None:
        say(store, message(1, sequence=1, external_id="a"), message(2, sequence=2))
        with pytest.raises(Conflict):
            say(store, message(3, sequence=3, external_id="a"))
        say(store, message(4, sequence=1, external_id="a", session_id="s2"), session_id="s2")

    def test_external_ids_are_per_session_and_include_forgotten_messages(
        self, store: Store
    ) -> None:
        say(store, message(1, sequence=1, external_id="a"), message(2, sequence=2))
        say(store, message(3, sequence=1, external_id="b", session_id="s2"), session_id="s2")
        with store.write("alice") as tx:
            tx.close_messages([record_id(1)], at(50))
        with store.read("alice") as snapshot:
            assert snapshot.external_ids("s1", ["b", "a", "c"]) == {"a"}
            assert snapshot.external_ids("s2", ["b", "a"]) == {"b"}
            assert snapshot.external_ids("s3", ["a"]) == set()
            assert snapshot.external_ids("s1", []) == set()

    def test_sessions_are_ordered_by_their_first_message(self, store: Store) -> None:
        remember(store, memory(90, session_id="s0"))
        say(store, message(1, sequence=1, session_id="z"), session_id="z")
        say(store, message(2, sequence=1, session_id="a", said_at=at(-9)), session_id="a")
        say(store, message(3, sequence=2, session_id="z", said_at=at(40)), session_id="z")
        with store.read("alice") as snapshot:
            first, second = snapshot.sessions()
        assert (first.id, first.messages, first.started_at, first.last_at) == (
            "z",
            2,
            at(1),
            at(40),
        )
        assert (second.id, second.messages, second.started_at) == ("a", 1, at(-9))
        assert first.number != second.number

    def test_only_an_existing_session_can_be_ended(self, store: Store) -> None:
        say(store, message(1, sequence=1))
        with store.write("alice") as tx:
            tx.end_session("s1", at(70))
        with store.write("alice") as tx:
            tx.end_session("nowhere", at(70))
        with store.read("alice") as snapshot:
            (session,) = snapshot.sessions()
            assert snapshot.counter == 2
        assert session.ended_at == at(70)

    def test_next_sequence_follows_the_last(self, store: Store) -> None:
        with store.write("alice") as tx:
            assert tx.next_sequence("s1") == 1
            tx.log("s1", [(message(1, sequence=4), short_entry("x"))])
            assert tx.next_sequence("s1") == 5
            tx.close_messages([record_id(1)], at(9))
            assert tx.next_sequence("s1") == 5
            assert tx.next_sequence("s2") == 1

    def test_participants_differ_by_name_and_role(self, store: Store) -> None:
        say(
            store,
            message(1, sequence=1, speaker="Bob", role=Role.PARTICIPANT),
            message(2, sequence=2),
            message(3, sequence=3, role=Role.ASSISTANT),
            message(4, sequence=4, speaker="bob", role=Role.PARTICIPANT),
            message(5, sequence=5, speaker="Bob", role=Role.PARTICIPANT),
        )
        with store.read("alice") as snapshot:
            found = snapshot.participants()
        assert [(one.name, one.role) for one in found] == [
            ("Bob", Role.PARTICIPANT),
            (None, Role.USER),
            (None, Role.ASSISTANT),
            ("bob", Role.PARTICIPANT),
        ]
        assert [one.number for one in found] == sorted({one.number for one in found})

    def test_message_without_role_time_or_sequence_is_rejected(self, store: Store) -> None:
        for bad in (
            message(1, sequence=1, role=None),
            message(1, sequence=1, said_at=None),
            message(1, sequence=0),
            message(1, sequence=2**31),
        ):
            with pytest.raises(InvalidInput):
                say(store, bad)


def counts(store: Store) -> tuple[int, list[int]]:
    """Return the number of messages in total and in each session."""
    with store.read("alice") as snapshot:
        each = [session.messages for session in snapshot.sessions()]
        return snapshot.statistics().messages, each


# --- Base memory


def _write(
    store: Store, content: str, seconds: float, *, sources: Sequence[Source] = (), owner: str = ""
) -> None:
    with store.write(owner or "alice") as tx:
        tx.set_base_memory(content, sources=sources, at=at(seconds))


class BaseMemoryContract:
    """The base memory of an owner."""

    def test_new_owner_has_no_base_memory(self, store: Store) -> None:
        remember(store, memory(1))
        with store.read("alice") as snapshot:
            assert snapshot.base_memory() is None
            assert snapshot.base_memory(as_of=at(5)) is None
            assert snapshot.base_memories() == []

    def test_new_base_memory_closes_and_keeps_the_old_version(self, store: Store) -> None:
        sources = (Source(record_id(7), "memory"), Source(record_id(8), "message", "D1:1"))
        _write(store, "likes tea", 10, sources=sources)
        _write(store, "likes coffee", 20)
        first = BaseMemory("likes tea", 1, at(10), at(20), sources)
        second = BaseMemory("likes coffee", 2, at(20))
        with store.read("alice") as snapshot:
            assert snapshot.base_memory() == second
            assert snapshot.base_memories() == [first, second]
            assert snapshot.counter == 2

    def test_base_memory_as_of_an_instant_is_the_version_valid_then(self, store: Store) -> None:
        for seconds in (10, 20, 30):
            _write(store, f"at {seconds}", seconds)
        with store.read("alice") as snapshot:
            then = [snapshot.base_memory(as_of=at(n)) for n in (9, 10, 19, 20, 99)]
        assert [one and one.content for one in then] == [None, "at 10", "at 10", "at 20", "at 30"]

    def test_base_memory_never_starts_before_its_predecessor(self, store: Store) -> None:
        _write(store, "first", 20)
        _write(store, "second", 10)
        with store.read("alice") as snapshot:
            first, second = snapshot.base_memories()
            then = snapshot.base_memory(as_of=at(20))
        assert (first.valid_from, first.valid_to, second.valid_from) == (at(20), at(20), at(20))
        assert then == second

    def test_base_memory_times_are_in_utc(self, store: Store) -> None:
        zone = timezone(timedelta(hours=2))
        with store.write("alice") as tx:
            tx.set_base_memory("x", sources=(), at=at(5).astimezone(zone))
        with store.read("alice") as snapshot:
            (only,) = snapshot.base_memories()
        assert only.valid_from == at(5)
        assert only.valid_from.utcoffset() == timedelta(0)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_base_memory_round_trips_and_belongs_to_one_owner(
        self, store: Store, text: str
    ) -> None:
        _write(store, text, 1, owner=text)
        _write(store, "other", 1, owner="bob")
        for owner, expected in ((text, text), ("bob", "other")):
            with store.read(owner) as snapshot:
                assert [one.content for one in snapshot.base_memories()] == [expected]
        with store.read("carol") as snapshot:
            assert snapshot.base_memory() is None

    def test_transaction_sees_its_own_base_memory(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.set_base_memory("first", sources=(), at=at(1))
            tx.set_base_memory("second", sources=(), at=at(2))
            seen = tx.base_memory()
            assert seen is not None
            assert seen.content == "second"
            assert len(tx.base_memories()) == 2

    def test_base_memory_source_must_be_a_uuid(self, store: Store) -> None:
        with pytest.raises(InvalidInput), store.write("alice") as tx:
            tx.set_base_memory("x", sources=(Source("?"),), at=at(1))
        assert store.owners() == []

    def test_purged_record_is_removed_from_base_memory_sources(self, store: Store) -> None:
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

    def test_base_memory_content_can_be_rewritten_permanently(self, store: Store) -> None:
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

    def test_missing_base_memory_version_cannot_be_rewritten(self, store: Store) -> None:
        _write(store, "first", 10)
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.rewrite_base_memory({1: "less", 2: "new"})
        with store.read("alice") as snapshot:
            assert [one.content for one in snapshot.base_memories()] == ["first"]

    def test_erasing_an_owner_removes_the_base_memory(self, store: Store) -> None:
        _write(store, "first", 10)
        store.erase("alice", at(20))
        with store.read("alice") as snapshot:
            assert snapshot.base_memories() == []
