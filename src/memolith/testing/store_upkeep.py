"""What a store's contract says of looking after memories; see `memolith.ports.upkeep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from memolith.domain.memories import State
from memolith.testing.builders import at, memory, message, record_id, short_entry
from memolith.testing.store_records import ALL, remember, say
from memolith.testing.store_search import NOW

if TYPE_CHECKING:
    from memolith.ports.store import Store

_ACTIVE = frozenset({State.ACTIVE})


def _micros(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1_000_000)


class UpkeepContract:
    """How memories stand, and what is left of them."""

    def test_vitals_say_all_that_decides_whether_a_memory_lives_on(self, store: Store) -> None:
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

    def test_vitals_come_oldest_first_by_creation_then_id(self, store: Store) -> None:
        for number, created in ((2, 5), (9, 1), (7, 5), (3, 9), (1, 5)):
            remember(store, memory(number, created_at=at(created)))
        with store.read("alice") as snapshot:
            got = snapshot.memory_stats(states=ALL)
        assert list(got.id) == [record_id(n) for n in (9, 1, 2, 7, 3)]
        assert got.session.tolist() == [-1] * 5

    def test_vitals_are_of_the_states_asked_for(self, store: Store) -> None:
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

    def test_a_transaction_sees_its_own_writes_in_vitals(self, store: Store) -> None:
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
    def test_strengths_of_what_is_not_there_are_left_out(self, store: Store, id_: str) -> None:
        remember(store, memory(0xA))
        with store.write("alice") as tx:
            tx.set_strengths([id_, record_id(0xA), record_id(0xA)], [0.1, 0.2, 0.3])
            tx.set_strengths([], [])
        with store.write("nobody") as tx:
            tx.set_strengths([record_id(1)], [0.1])
        with store.read("alice") as snapshot:
            assert snapshot.memory_stats(states=ALL).strength.tolist() == [0.3]
        assert store.owners() == ["alice"]

    def test_strengths_stay_as_they_were_where_the_transaction_fails(self, store: Store) -> None:
        remember(store, memory(1))
        with pytest.raises(ZeroDivisionError), store.write("alice") as tx:
            tx.set_strengths([record_id(1)], [0.1])
            raise ZeroDivisionError
        with store.read("alice") as snapshot:
            assert snapshot.memory_stats(states=ALL).strength.tolist() == [0.5]
