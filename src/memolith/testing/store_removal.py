"""Store contract: purge, erasure, memory statistics and strengths; see `store_contract`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memolith.domain.memories import Action, Event, Link, Source, State
from memolith.domain.recall import SearchFilter
from memolith.errors import InvalidInput, NotFound, OwnerErased
from memolith.ports.store import Snapshot, Store
from memolith.testing.builders import at, memory, message, record_id, short_entry, vector
from memolith.testing.store_records import ALL, remember, say
from memolith.testing.store_search import NOW

_NOW = SearchFilter(now=at(99))


def _fill(store: Store, owner: str = "alice") -> None:
    """Store three messages in a session, the second with two versions, and two memories of them."""
    sources = (Source(record_id(11)), Source(record_id(12)))
    with store.write(owner) as tx:
        said = [message(n, f"said {n}", sequence=n - 10) for n in (11, 12, 13)]
        tx.log("s1", [(each, short_entry(each.content, 1)) for each in said])
        kept = memory(1, "tea", owner_id=owner, sources=sources, tags=("a",), key="drink")
        tx.insert([(kept, short_entry("tea", 1)), (memory(2, owner_id=owner), short_entry("cup"))])
        tx.link([Link(record_id(1), record_id(2), "near")])
        tx.record([Event(record_id(1), Action.REMEMBERED, at(1), "user", 1)])
    with store.write(owner) as tx:
        other = message(12, "less", sequence=2, version=2)
        tx.revise_message(other, short_entry("less", 2), at(20))


def _words(snapshot: Snapshot) -> set[str]:
    """Return the keywords that a search finds, now or as of any time."""
    words = ("tea", "cup", "said", "less", "new", "11", "12", "13")
    scopes = (_NOW, SearchFilter(now=at(99), as_of=at(15)))
    return {
        word
        for word in words
        if any(len(snapshot.postings([word], scope).passages) for scope in scopes)
    }


class RemovalContract:
    """Purging records and rewriting messages."""

    def test_purged_memory_leaves_no_trace(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            tx.purge([record_id(1), record_id(77)])
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(1)]) == []
            assert snapshot.history(record_id(1)) is None
            assert snapshot.find_by_key("drink") is None
            assert snapshot.find_by_content("tea") == []
            assert snapshot.derived_memories([record_id(11)]) == {}
            assert "tea" not in _words(snapshot)
            near = snapshot.nearest(
                vector(1), 9, SearchFilter(now=at(99), kinds=frozenset({"fact"}))
            )
            assert record_id(1) not in snapshot.items(near).record_id
        with store.write("alice") as tx:
            again = memory(1, "tea", key="drink", tags=("b",))
            tx.insert([(again, short_entry("tea"))])
        with store.read("alice") as snapshot:
            assert snapshot.history(record_id(1)).events == ()  # type: ignore[union-attr] # None would fail too
            page = snapshot.page(
                states=frozenset(State), kinds=None, tags=("a",), limit=9, cursor=None
            )
            assert page.memories == ()

    def test_references_to_purged_records_are_removed(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            sources = (Source(record_id(1), "memory"), Source(record_id(13)))
            tx.insert([(memory(3, sources=sources), short_entry("x"))])
            gone = memory(2, state=State.SUPERSEDED, superseded_by=record_id(1))
            tx.amend(gone)
            tx.purge([record_id(1), record_id(11)])
        with store.read("alice") as snapshot:
            two, three = snapshot.memories([record_id(2), record_id(3)])
            assert (two.state, two.superseded_by) == (State.SUPERSEDED, None)
            assert three.sources == (Source(record_id(13)),)

    def test_purged_message_leaves_a_gap_in_the_sequence(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            tx.purge([record_id(13), record_id(12)])
            assert tx.next_sequence("s1") == 4
        with store.read("alice") as snapshot:
            assert [each.id for each in snapshot.messages()] == [record_id(11)]
            assert snapshot.message_revisions([record_id(12), record_id(13)]) == {}
            (session,) = snapshot.sessions()
            assert (session.messages, session.last_at) == (1, at(11))
            assert _words(snapshot) == {"tea", "cup", "said", "11"}
            assert snapshot.find_adjacent_message(record_id(11), 1) is None
        with store.write("alice") as tx:
            tx.purge([record_id(11)])
        with store.read("alice") as snapshot:
            assert snapshot.sessions() == []

    def test_speaker_without_messages_is_not_a_participant(self, store: Store) -> None:
        speakers = ("Ann", "Bob", "Ann", "Cid")
        said = [message(n, sequence=n, speaker=who) for n, who in enumerate(speakers, start=1)]
        with store.write("alice") as tx:
            tx.log("s1", [(each, short_entry("x")) for each in said])
            other = message(4, sequence=4, speaker="Dan", version=2)
            tx.revise_message(other, short_entry("y"), at(20))
        with store.write("alice") as tx:
            tx.purge([record_id(2), record_id(1)])
        with store.read("alice") as snapshot:
            assert [one.name for one in snapshot.participants()] == ["Ann", "Cid", "Dan"]
        with store.write("alice") as tx:
            tx.purge([record_id(4), record_id(3)])
            assert tx.participants() == []
            tx.log("s1", [(message(5, sequence=5, speaker="Bob"), short_entry("x"))])
            assert [one.name for one in tx.participants()] == ["Bob"]

    def test_removed_session_is_gone_with_its_messages(self, store: Store) -> None:
        _fill(store)
        _fill(store, "bob")
        with store.write("alice") as tx:
            kept = message(21, "other", sequence=1, session_id="s2", speaker="Bob")
            tx.log("s2", [(kept, short_entry("new"))])
            tx.remove_sessions(["s1", "s3", "s1"])
        with store.read("alice") as snapshot:
            assert [one.id for one in snapshot.sessions()] == ["s2"]
            assert [one.id for one in snapshot.messages()] == [record_id(21)]
            assert snapshot.message_revisions([record_id(12)]) == {}
            assert [one.name for one in snapshot.participants()] == ["Bob"]
            assert _words(snapshot) == {"tea", "cup", "new"}
            (first,) = snapshot.memories([record_id(1)])
            assert first.sources == ()
        with store.read("bob") as snapshot:
            assert [one.id for one in snapshot.sessions()] == ["s1"]
            assert _words(snapshot) == {"tea", "cup", "said", "less", "11", "12", "13"}

    def test_memories_outlive_their_session(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            source = (Source(record_id(1), "memory"), Source(record_id(12)))
            both = memory(3, "pot", session_id="s1", sources=source)
            tx.insert(
                [(both, short_entry("pot", 1)), (memory(4, session_id="s2"), short_entry(""))]
            )
            new = replace(both, content="new", version=2, updated_at=at(30))
            tx.revise(new, short_entry("new", 1))
        with store.write("alice") as tx:
            tx.remove_sessions(["s1", "s2"])
            assert [one.session_id for one in tx.memories([record_id(3), record_id(4)])] == [
                None,
                None,
            ]
        with store.read("alice") as snapshot:
            history = snapshot.history(record_id(3))
            assert history is not None
            for version in history.versions:
                assert version.memory.session_id is None
                assert version.memory.sources == (Source(record_id(1), "memory"),)
            assert snapshot.memory_stats(states=frozenset(State)).session.tolist() == [-1] * 4
            scope = SearchFilter(now=at(99), session_id="s1")
            assert len(snapshot.nearest(vector(1), 9, scope)) == 0
            assert len(snapshot.nearest(vector(1), 9, _NOW)) == 2

    def test_session_id_can_be_reused_after_removal(self, store: Store) -> None:
        _fill(store)
        with store.read("alice") as snapshot:
            (old,) = snapshot.sessions()
        with store.write("alice") as tx:
            tx.remove_sessions(["s1"])
            assert tx.next_sequence("s1") == 1
            tx.log("s1", [(message(31, sequence=1), short_entry("new"))])
        with store.read("alice") as snapshot:
            (new,) = snapshot.sessions()
            assert (new.id, new.messages) == ("s1", 1)
            assert new.number != old.number

    def test_removing_no_session_changes_nothing(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            tx.remove_sessions([])
            tx.remove_sessions(["s2", "a\0b"])
        with store.read("alice") as snapshot:
            assert snapshot.counter == 2

    def test_records_of_other_owners_are_kept(self, store: Store) -> None:
        _fill(store)
        _fill(store, "bob")
        with store.write("alice") as tx:
            tx.purge([record_id(n) for n in (1, 2, 11, 12, 13)])
        with store.read("bob") as snapshot:
            assert _words(snapshot) == {"tea", "cup", "said", "less", "11", "12", "13"}
            assert len(snapshot.memories([record_id(1), record_id(2)])) == 2
            assert snapshot.derived_memories([record_id(11)]).keys() == {record_id(11)}

    def test_message_revisions_are_all_versions_with_their_times(self, store: Store) -> None:
        _fill(store)
        with store.read("alice") as snapshot:
            first, second = snapshot.message_revisions([record_id(12), record_id(77)])[
                record_id(12)
            ]
            assert (first.message.content, first.valid_from, first.valid_to) == (
                "said 12",
                at(12),
                at(20),
            )
            assert (second.message.content, second.valid_to) == ("less", None)
            assert snapshot.find_adjacent_message(record_id(12), -1) == record_id(11)
            assert snapshot.find_adjacent_message(record_id(12), 1) == record_id(13)
            assert snapshot.find_adjacent_message(record_id(11), -1) is None

    def test_rewritten_versions_keep_times_and_sequence(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            versions = [
                each.message for each in tx.message_revisions([record_id(12)])[record_id(12)]
            ]
            new = [message(12, "new", sequence=9, version=each.version) for each in versions]
            tx.rewrite_message(record_id(12), [(each, short_entry("new", 3)) for each in new])
        with store.read("alice") as snapshot:
            both = snapshot.message_revisions([record_id(12)])[record_id(12)]
            assert [(each.message.content, each.message.sequence) for each in both] == [
                ("new", 2),
                ("new", 2),
            ]
            assert [each.valid_from for each in both] == [at(12), at(20)]
            assert _words(snapshot) == {"tea", "cup", "said", "new", "11", "13"}

    def test_omitted_version_is_removed(self, store: Store) -> None:
        _fill(store)
        with store.write("alice") as tx:
            first = message(12, "new", sequence=2)
            tx.rewrite_message(record_id(12), [(first, short_entry("new"))])
        with store.read("alice") as snapshot:
            assert snapshot.messages(ids=[record_id(12)]) == []
            then = snapshot.messages(ids=[record_id(12)], as_of=at(15))
            assert [each.content for each in then] == ["new"]
            assert snapshot.original_messages([record_id(12)])[0].version == 1

    def test_missing_message_or_version_cannot_be_rewritten(self, store: Store) -> None:
        _fill(store)
        entry = short_entry("new")
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.rewrite_message(record_id(77), [(message(77, sequence=1), entry)])
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.rewrite_message(record_id(12), [(message(12, sequence=2, version=3), entry)])
        with pytest.raises(InvalidInput), store.write("alice") as tx:
            tx.rewrite_message(record_id(12), [])
        with store.read("alice") as snapshot:
            assert "new" not in _words(snapshot)

    def test_failed_purge_is_rolled_back(self, store: Store) -> None:
        _fill(store)
        with pytest.raises(ZeroDivisionError), store.write("alice") as tx:
            tx.purge([record_id(1), record_id(12)])
            raise ZeroDivisionError
        with store.read("alice") as snapshot:
            assert _words(snapshot) == {"tea", "cup", "said", "less", "11", "12", "13"}


class ErasureContract:
    """Erasing owners."""

    def test_erased_owner_has_no_data_and_is_not_listed(self, store: Store) -> None:
        _fill(store)
        _fill(store, "bob")
        assert store.erase("alice", at(50))
        assert store.owners() == ["bob"]
        assert store.compact()
        with store.read("alice") as snapshot:
            assert snapshot.counter == 0
            assert snapshot.messages() == []
            assert _words(snapshot) == set()
        with store.read("bob") as snapshot:
            assert "tea" in _words(snapshot)

    def test_writes_for_an_erased_owner_are_rejected(self, store: Store) -> None:
        _fill(store)
        store.erase("alice", at(50))
        assert store.is_erased("alice")
        assert not store.is_erased("bob")
        with pytest.raises(OwnerErased), store.write("alice"):
            pass
        store.record_access("alice", {record_id(1): (1, at(60))})
        assert store.owners() == []

    def test_erase_is_idempotent(self, store: Store) -> None:
        _fill(store)
        assert store.erase("alice", at(50))
        assert not store.erase("alice", at(51))
        assert not store.erase("carol", at(52))
        assert store.is_erased("carol")

    def test_readmitted_owner_starts_empty(self, store: Store) -> None:
        _fill(store)
        store.erase("alice", at(50))
        assert store.readmit("alice")
        assert not store.readmit("alice")
        with store.read("alice") as snapshot:
            assert _words(snapshot) == set()
        _fill(store)
        with store.read("alice") as snapshot:
            assert "tea" in _words(snapshot)


# --- Memory statistics and strengths


_ACTIVE = frozenset({State.ACTIVE})


def _micros(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1_000_000)


class UpkeepContract:
    """Memory statistics and strengths."""

    def test_memory_stats_contain_all_inputs_of_decay(self, store: Store) -> None:
        one = memory(
            1,
            kind="preference",
            importance=0.1 + 0.2,
            strength=1 / 3,
            access_count=7,
            accessed_at=at(50),
            expires_at=at(1e6),
            updated_at=at(40),
            happened_at=at(-9),
            session_id="s1",
        )
        remember(store, one, memory(2, state=State.FADED, session_id="s2"))
        say(store, message(9, sequence=1))
        with store.read("alice") as snapshot:
            got = snapshot.memory_stats(states=ALL)
            numbers = snapshot.item_numbers([record_id(1)], NOW)
            (session,) = snapshot.sessions()
        assert got.number.tolist()[:1] == numbers.tolist()
        assert list(got.id) == [record_id(1), record_id(2)]
        assert list(got.kind) == ["preference", "fact"]
        assert list(got.state) == [State.ACTIVE, State.FADED]
        assert got.importance.tolist() == [0.1 + 0.2, 0.5]
        assert got.strength.tolist() == [1 / 3, 0.5]
        assert got.access_count.tolist() == [7, 0]
        assert got.used_at.tolist() == [_micros(50), _micros(2)]
        assert got.created_at.tolist() == [_micros(1), _micros(2)]
        assert got.updated_at.tolist() == [_micros(40), _micros(2)]
        assert got.expires_at.tolist() == [_micros(1e6), -1]
        assert got.session[0] == session.number
        assert got.session[1] not in (session.number, -1)

    def test_memory_stats_are_oldest_first_by_creation_then_id(self, store: Store) -> None:
        for number, created in ((2, 5), (9, 1), (7, 5), (3, 9), (1, 5)):
            remember(store, memory(number, created_at=at(created)))
        with store.read("alice") as snapshot:
            got = snapshot.memory_stats(states=ALL)
        assert list(got.id) == [record_id(n) for n in (9, 1, 2, 7, 3)]
        assert got.session.tolist() == [-1] * 5

    def test_memory_stats_are_limited_to_the_given_states(self, store: Store) -> None:
        remember(store, *(memory(n, state=state) for n, state in enumerate(State, start=1)))
        remember(store, memory(1, owner_id="bob"), owner_id="bob")
        with store.read("alice") as snapshot:
            for n, state in enumerate(State, start=1):
                assert list(snapshot.memory_stats(states=frozenset({state})).id) == [record_id(n)]
            some = snapshot.memory_stats(states=frozenset({State.FADED, State.EVICTED}))
            assert set(some.state) == {State.FADED, State.EVICTED}
            assert len(snapshot.memory_stats(states=frozenset()).number) == 0
        with store.read("nobody") as snapshot:
            assert snapshot.memory_stats(states=ALL).strength.dtype == np.float64

    def test_transaction_sees_its_own_writes_in_memory_stats(self, store: Store) -> None:
        remember(store, memory(1), memory(2))
        with store.write("alice") as tx:
            tx.insert([(memory(3), short_entry("x"))])
            tx.amend(memory(2, state=State.EXPIRED, updated_at=at(60)))
            tx.revise(memory(1, version=2, importance=0.9, updated_at=at(70)), short_entry("y"))
            tx.set_strengths([record_id(3)], [0.25])
            got = tx.memory_stats(states=_ACTIVE)
        assert list(got.id) == [record_id(1), record_id(3)]
        assert got.importance.tolist() == [0.9, 0.5]
        assert got.strength.tolist() == [0.5, 0.25]
        assert got.updated_at.tolist() == [_micros(70), _micros(3)]
        with store.read("alice") as snapshot:
            assert snapshot.memory_stats(states=_ACTIVE).number.tolist() == got.number.tolist()
            numbers = snapshot.item_numbers([record_id(1), record_id(3)], NOW)
        assert got.number.tolist() == numbers.tolist()

    def test_strengths_are_stored_and_nothing_else_changes(self, store: Store) -> None:
        remember(store, memory(1, "tea", key="k", tags=("a",)), memory(2), memory(3))
        remember(store, memory(2, owner_id="bob"), owner_id="bob")
        strengths = [0.1 + 0.2, 1 / 3, 5e-324, 1.0]
        with store.write("alice") as tx:
            tx.set_strengths([record_id(n) for n in (2, 1, 9, 3)], strengths)
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(n) for n in (1, 2, 3)]) == [
                memory(1, "tea", key="k", tags=("a",), strength=1 / 3),
                memory(2, strength=0.1 + 0.2),
                memory(3, strength=1.0),
            ]
            assert snapshot.counter == 1
            history = snapshot.history(record_id(1))
        assert history is not None
        assert (len(history.versions), history.events) == (1, ())
        with store.read("bob") as snapshot:
            assert snapshot.memory_stats(states=ALL).strength.tolist() == [0.5]

    @pytest.mark.parametrize("id_", ["", "?", record_id(9), record_id(0xA).upper()])
    def test_strengths_of_missing_memories_are_ignored(self, store: Store, id_: str) -> None:
        remember(store, memory(0xA))
        with store.write("alice") as tx:
            tx.set_strengths([id_, record_id(0xA), record_id(0xA)], [0.1, 0.2, 0.3])
            tx.set_strengths([], [])
        with store.write("nobody") as tx:
            tx.set_strengths([record_id(1)], [0.1])
        with store.read("alice") as snapshot:
            assert snapshot.memory_stats(states=ALL).strength.tolist() == [0.3]
        assert store.owners() == ["alice"]

    def test_strengths_are_rolled_back_with_the_transaction(self, store: Store) -> None:
        remember(store, memory(1))
        with pytest.raises(ZeroDivisionError), store.write("alice") as tx:
            tx.set_strengths([record_id(1)], [0.1])
            raise ZeroDivisionError
        with store.read("alice") as snapshot:
            assert snapshot.memory_stats(states=ALL).strength.tolist() == [0.5]
