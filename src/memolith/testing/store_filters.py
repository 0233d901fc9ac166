"""Store contract: search filters; see `store_contract`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.domain.memories import EPISODE, Link, Origin, State, Trait
from memolith.domain.messages import Role
from memolith.ports.store import Store
from memolith.testing.builders import at, memory, message, record_id, short_entry, vector
from memolith.testing.store_records import remember
from memolith.testing.store_search import NOW, added, found, logged, worded


class ScopeContract:
    """Search filters."""

    @pytest.fixture
    def filled(self, store: Store) -> Store:
        """Return a store with five memories and two messages, all about tea."""
        near = short_entry("tea", 1)
        added(
            store,
            (memory(1, tags=("a", "b")), near),
            (memory(2, kind="event", tags=("a",), session_id="s1"), near),
            (memory(3, expires_at=at(500)), near),
            (memory(4, happened_at=at(700)), near),
            (memory(5, state=State.FORGOTTEN), near),
        )
        logged(store, (message(6, sequence=1), near), (message(7, sequence=2), near))
        return store

    @pytest.mark.parametrize(
        ("choice", "expected"),
        [
            ({}, [1, 2, 4, 6, 7]),
            ({"now": at(499)}, [1, 2, 3, 4, 6, 7]),
            ({"now": at(500)}, [1, 2, 4, 6, 7]),
            ({"kinds": frozenset({"fact"})}, [1, 4]),
            ({"kinds": frozenset({"event", EPISODE})}, [2, 6, 7]),
            ({"kinds": frozenset({"nonsense"})}, []),
            ({"kinds": frozenset()}, []),
            ({"session_id": "s1"}, [2, 6, 7]),
            ({"session_id": "s2"}, []),
            ({"tags": ("a",)}, [1, 2]),
            ({"tags": ("b", "a")}, [1]),
            ({"tags": ("c",)}, []),
            ({"since": at(6)}, [4, 6, 7]),
            ({"until": at(6)}, [1, 2]),
            ({"since": at(2), "until": at(7)}, [2, 6]),
            ({"as_of": at(2)}, [1, 2]),
            ({"as_of": at(499)}, [1, 2, 3, 4, 6, 7]),
            ({"as_of": at(500)}, [1, 2, 4, 6, 7]),
            ({"as_of": at(0)}, []),
            ({"as_of": at(499), "kinds": frozenset({"fact"}), "until": at(4)}, [1, 3]),
        ],
    )
    def test_search_respects_the_filter(
        self, filled: Store, choice: dict[str, Any], expected: list[int]
    ) -> None:
        scope = replace(NOW, **choice)
        ids = [record_id(n) for n in range(1, 8)]
        with filled.read("alice") as snapshot:
            assert found(snapshot, scope) == expected
            assert found(snapshot, scope, limit=2) == expected[:2]
            assert worded(snapshot, "tea", scope=scope) == [expected]
            passed = snapshot.item_numbers(ids, scope) >= 0
            within = snapshot.items(snapshot.items_in_scope(scope)).record_id
        assert [n for n, kept in zip(range(1, 8), passed, strict=True) if kept] == expected
        assert within == [record_id(n) for n in expected]

    def test_amended_fields_are_filtered_by_their_new_values(self, filled: Store) -> None:
        with filled.read("alice") as snapshot:
            assert found(snapshot, replace(NOW, tags=("c",))) == []
        with filled.write("alice") as tx:
            tx.amend(memory(1, kind="event", tags=("c",), session_id="s9", happened_at=at(900)))
        with filled.read("alice") as snapshot:
            for choice in (
                {"tags": ("c",)},
                {"session_id": "s9"},
                {"since": at(900)},
            ):
                assert found(snapshot, replace(NOW, **choice)) == [1]
            assert found(snapshot, replace(NOW, kinds=frozenset({"event"}))) == [1, 2]
            assert found(snapshot, replace(NOW, tags=("a",))) == [2]

    def test_current_version_is_found_despite_clock_skew(self, store: Store) -> None:
        remember(store, memory(1, updated_at=at(5_000)))
        with store.read("alice") as snapshot:
            assert found(snapshot) == [1]
            assert found(snapshot, replace(NOW, as_of=at(999))) == []

    def test_old_versions_are_found_only_as_of_their_time(self, store: Store) -> None:
        remember(store, memory(1, "tea"))
        with store.write("alice") as tx:
            tx.revise(memory(1, "pot", version=2, updated_at=at(60)), short_entry("pot", 0, 1))
        then = replace(NOW, as_of=at(59))
        with store.read("alice") as snapshot:
            assert worded(snapshot, "tea", "pot") == [[], [1]]
            assert worded(snapshot, "tea", "pot", scope=then) == [[1], []]
            assert len(snapshot.nearest(vector(1), 9, NOW)) == 1
            assert len(snapshot.nearest(vector(1), 9, then)) == 1

    @pytest.fixture
    def resting(self, store: Store) -> Store:
        """Return a store with a memory in each state, in order; the first is expired."""
        remember(store, memory(1, "tea", expires_at=at(500)))
        for number, state in enumerate(State, start=2):
            tags = ("a",) if state is State.FADED else ()
            remember(store, memory(number, "tea", state=state, tags=tags, expires_at=at(900)))
        return store

    def test_search_can_include_dormant_memories(self, resting: Store) -> None:
        active, superseded, expired, faded, evicted, forgotten = range(2, 8)
        scope = replace(NOW, now=at(600), dormant=True)
        with resting.read("alice") as snapshot:
            assert found(snapshot, replace(scope, dormant=False)) == [active]
            for now in (600, 1_000):
                dormant = replace(scope, now=at(now))
                assert found(snapshot, dormant) == [1, active, expired, faded, evicted]
                assert worded(snapshot, "tea", scope=dormant) == [found(snapshot, dormant)]
            ids = [record_id(n) for n in range(1, 8)]
            numbers = snapshot.item_numbers(ids, scope)
            assert (numbers < 0).tolist() == [n in (superseded, forgotten) for n in range(1, 8)]
            query = vector(1)
            there = numbers[numbers >= 0]
            assert len(snapshot.similarities(query, there).cosine) == len(there)
            assert found(snapshot, replace(scope, tags=("a",))) == [faded]
            assert found(snapshot, replace(scope, kinds=frozenset({"event"}))) == []
            then = replace(scope, as_of=at(99))
            assert found(snapshot, then) == found(snapshot, replace(then, dormant=False))

    def test_only_the_newest_version_of_a_dormant_memory_is_found(self, store: Store) -> None:
        remember(store, memory(1, "tea"))
        with store.write("alice") as tx:
            tx.revise(memory(1, "pot", version=2, updated_at=at(60)), short_entry("pot", 1))
        scope = replace(NOW, dormant=True)
        with store.read("alice") as snapshot:
            assert worded(snapshot, "tea", "pot", scope=scope) == [[], [1]]
        with store.write("alice") as tx:
            tx.amend(memory(1, version=2, state=State.FADED, updated_at=at(70)))
        with store.read("alice") as snapshot:
            assert worded(snapshot, "tea", "pot") == [[], []]
            assert worded(snapshot, "tea", "pot", scope=scope) == [[], [1]]
            assert snapshot.postings(["pot"], scope).document_frequency.tolist() == [0]

    def test_revived_memory_is_found_once_and_forgotten_one_is_not(self, store: Store) -> None:
        remember(store, memory(1, "tea", state=State.EVICTED), memory(2, "tea"))
        scope = replace(NOW, dormant=True)
        with store.read("alice") as snapshot:
            assert found(snapshot, scope) == [1, 2]
        with store.write("alice") as tx:
            tx.revise(memory(1, "tea", version=2, updated_at=at(60)), short_entry("tea", 1))
            tx.amend(memory(2, state=State.EXPIRED, updated_at=at(60)))
        with store.read("alice") as snapshot:
            assert found(snapshot) == [1]
            assert sorted(found(snapshot, scope)) == [1, 2]
        with store.write("alice") as tx:
            tx.amend(memory(2, state=State.FORGOTTEN, updated_at=at(70)))
        with store.read("alice") as snapshot:
            assert found(snapshot, scope) == [1]

    def test_suspicious_items_not_from_the_user_can_be_excluded(self, store: Store) -> None:
        """Only unreviewed items are excluded."""
        plain = short_entry("tea", 1)
        marked = replace(plain, features=replace(plain.features, traits=Trait.SUSPICIOUS))
        traits = Trait.SUSPICIOUS | Trait.REVIEWED | Trait.PLACE
        reviewed = replace(plain, features=replace(plain.features, traits=traits))
        added(
            store,
            (memory(1, origin=Origin.TOOL), plain),
            (memory(2, origin=Origin.TOOL), marked),
            (memory(3, origin=Origin.TOOL), reviewed),
            (memory(4), marked),
        )
        said = ((5, Role.USER), (6, Role.ASSISTANT), (7, Role.PARTICIPANT))
        for sequence, (number, role) in enumerate(said, start=1):
            logged(store, (message(number, sequence=sequence, role=role), marked))
        with store.read("alice") as snapshot:
            assert found(snapshot, NOW) == [1, 2, 3, 4, 5, 6, 7]
            scope = replace(NOW, include_quarantined=False)
            assert found(snapshot, scope) == [1, 3, 4, 5]
            assert worded(snapshot, "tea", scope=scope) == [[1, 3, 4, 5]]
            assert found(snapshot, replace(scope, as_of=at(50))) == [1, 3, 4, 5]
            items = snapshot.items_with_traits(Trait.SUSPICIOUS, scope)
            assert list(snapshot.items(items).record_id) == [record_id(n) for n in (3, 4, 5)]
            assert len(snapshot.items_with_traits(Trait.SUSPICIOUS | Trait.PLACE, NOW)) == 6
            assert snapshot.items_with_traits(Trait.QUESTION, NOW).tolist() == []

    def test_sources_of_an_active_summary_are_hidden(self, store: Store) -> None:
        remember(store, memory(1, compressed=True), memory(2, compressed=True), memory(3))
        remember(store, memory(4, kind="summary", updated_at=at(50)))
        with store.write("alice") as tx:
            tx.link([Link(record_id(4), record_id(n), "summary_of") for n in (1, 3)])
            tx.link([Link(record_id(4), record_id(2), "near")])
        with store.read("alice") as snapshot:
            assert found(snapshot) == [2, 3, 4]
            assert found(snapshot, replace(NOW, include_compressed=True)) == [1, 2, 3, 4]
            assert found(snapshot, replace(NOW, as_of=at(49))) == [1, 2, 3]
        with store.write("alice") as tx:
            tx.amend(memory(4, kind="summary", state=State.FORGOTTEN, updated_at=at(70)))
        with store.read("alice") as snapshot:
            assert found(snapshot) == [1, 2, 3]
            assert found(snapshot, replace(NOW, as_of=at(69))) == [2, 3, 4]

    def test_new_link_affects_the_next_search(self, store: Store) -> None:
        remember(store, memory(1, compressed=True), memory(2))
        with store.read("alice") as snapshot:
            assert found(snapshot) == [1, 2]
        with store.write("alice") as tx:
            tx.link([Link(record_id(2), record_id(1), "summary_of")])
        with store.read("alice") as snapshot:
            assert found(snapshot) == [2]
