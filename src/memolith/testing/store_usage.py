"""What a store's contract says of what models were asked; see `memolith.ports.usage`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from memolith.ports.usage import ModelUsage
from memolith.testing.builders import at, memory, record_id
from memolith.testing.store_records import HOSTILE, remember

if TYPE_CHECKING:
    from memolith.ports.store import Store

_HOUR_S = 3_600
_BEFORE = at(-1e9)


class UsageContract:
    """What models were asked for an owner."""

    @pytest.fixture
    def spending(self, store: Store) -> Store:
        """Return a store in which Alice and Bob have something."""
        for owner in ("alice", "bob"):
            remember(store, memory(1, owner_id=owner), owner_id=owner)
        return store

    def test_nothing_was_spent_at_first(self, spending: Store) -> None:
        assert spending.usage.get_usage("alice", _BEFORE) == {}
        assert spending.usage.get_usage("nobody", _BEFORE) == {}

    def test_calls_are_counted_by_owner_and_purpose(self, spending: Store) -> None:
        spending.usage.add("alice", "extract", ModelUsage(1, 100, 10), at=at(0))
        spending.usage.add("alice", "extract", ModelUsage(2, 30, 3), at=at(1))
        spending.usage.add("alice", "arbitrate", ModelUsage(1, 5, 0), at=at(2))
        spending.usage.add("bob", "extract", ModelUsage(1, 7, 7), at=at(2))
        found = spending.usage.get_usage("alice", at(0))
        assert found == {"arbitrate": ModelUsage(1, 5, 0), "extract": ModelUsage(3, 130, 13)}
        assert list(found) == ["arbitrate", "extract"]
        assert spending.usage.get_usage("bob", at(0)) == {"extract": ModelUsage(1, 7, 7)}

    def test_what_was_spent_is_asked_from_an_hour_on(self, spending: Store) -> None:
        for n in range(3):
            spending.usage.add("alice", "extract", ModelUsage(1, 10**n, 0), at=at(n * _HOUR_S + n))
        tokens = [
            {p: s.input_tokens for p, s in spending.usage.get_usage("alice", at(seconds)).items()}
            for seconds in (-1, 0, _HOUR_S - 1, _HOUR_S, 2 * _HOUR_S, 3 * _HOUR_S)
        ]
        assert tokens == [{"extract": total} for total in (111, 111, 111, 110, 100)] + [{}]

    def test_hours_are_those_of_utc(self, spending: Store) -> None:
        there = timezone(timedelta(hours=5, minutes=30))
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(0).astimezone(there))
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(_HOUR_S - 1))
        assert spending.usage.get_usage("alice", at(_HOUR_S - 1))["extract"].calls == 2
        assert spending.usage.get_usage("alice", at(_HOUR_S).astimezone(there)) == {}

    def test_nothing_is_kept_of_who_has_nothing_stored(self, store: Store) -> None:
        store.usage.add("nobody", "extract", ModelUsage(1, 1, 1), at=at(0))
        assert store.usage.get_usage("nobody", _BEFORE) == {}
        assert store.owners() == []

    def test_nothing_is_kept_of_who_was_erased(self, spending: Store) -> None:
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(0))
        spending.erase("alice", at(1))
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(2))
        assert spending.usage.get_usage("alice", _BEFORE) == {}
        spending.readmit("alice")
        remember(spending, memory(1))
        assert spending.usage.get_usage("alice", _BEFORE) == {}

    def test_counting_moves_no_counter_and_makes_no_event(self, spending: Store) -> None:
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(0))
        with spending.read("alice") as snapshot:
            assert snapshot.counter == 1
            history = snapshot.history(record_id(1))
        assert history is not None
        assert (len(history.versions), history.events) == (1, ())

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_owner_and_purpose_will_do(self, store: Store, text: str) -> None:
        remember(store, memory(1, owner_id=text), owner_id=text)
        store.usage.add(text, text, ModelUsage(1, 2**40, 3), at=at(0))
        assert store.usage.get_usage(text, at(0)) == {text: ModelUsage(1, 2**40, 3)}

    def test_many_threads_lose_no_count(self, spending: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(
                lambda n: spending.usage.add("alice", "extract", ModelUsage(1, n, 0), at=at(n)),
                range(40),
            ):
                pass
        assert spending.usage.get_usage("alice", at(0)) == {
            "extract": ModelUsage(40, sum(range(40)), 0)
        }
