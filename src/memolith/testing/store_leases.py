"""Store contract: leases of work; see `memolith.ports.work`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memolith.domain.owners import WorkKind
from memolith.errors import OwnerErased
from memolith.ports.store import Store
from memolith.ports.work import WorkLease
from memolith.testing.builders import at, memory, message, record_id, short_entry
from memolith.testing.store_records import HOSTILE, remember, say

_LEASE_S = 10.0
_LEARN, _CONSOLIDATE = WorkKind.LEARN, WorkKind.CONSOLIDATE


def _take(
    store: Store, seconds: float, work: WorkKind = _LEARN, owner: str = "alice"
) -> WorkLease | None:
    return store.leases.acquire(owner, work, now=at(seconds), lease_s=_LEASE_S)


def _taken(
    store: Store, seconds: float, work: WorkKind = _LEARN, owner: str = "alice"
) -> WorkLease:
    claim = _take(store, seconds, work, owner)
    assert claim is not None
    return claim


def _holds(store: Store, claim: WorkLease) -> bool:
    with store.write(claim.owner_id) as tx:
        return tx.holds_lease(claim)


def _let_wait(store: Store, number: int, owner: str) -> None:
    say(store, message(number, sequence=number), owner_id=owner)
    with store.write(owner) as tx:
        tx.mark_pending([record_id(number)])


def _owners(store: Store, work: WorkKind, seconds: float) -> list[str]:
    return store.leases.owners(work, now=at(seconds))


class ClaimsContract:
    """Leases of an owner's work."""

    @pytest.fixture
    def settled(self, store: Store) -> Store:
        """Return a store with data of Alice and Bob."""
        for owner in ("alice", "bob"):
            remember(store, memory(1, owner_id=owner), owner_id=owner)
        return store

    def test_lease_contains_owner_and_kind_of_work(self, settled: Store) -> None:
        claim = _taken(settled, 0, _CONSOLIDATE)
        assert (claim.owner_id, claim.work, claim.attempts) == ("alice", _CONSOLIDATE, 0)

    def test_owner_has_one_lease_per_kind_of_work(self, settled: Store) -> None:
        tokens = {
            _taken(settled, 0, work, owner).token for work in WorkKind for owner in ("alice", "bob")
        }
        assert len(tokens) == 4
        for work in WorkKind:
            assert _take(settled, 0, work) is None
            assert _take(settled, 9.999_999, work) is None

    @pytest.mark.parametrize("owner", ["nobody", *HOSTILE])
    def test_owner_without_data_has_no_work(self, store: Store, owner: str) -> None:
        assert _take(store, 0, owner=owner) is None
        assert _owners(store, _CONSOLIDATE, 0) == []
        store.leases.retry(owner)
        assert store.owners() == []

    @pytest.mark.parametrize("owner", HOSTILE)
    def test_work_of_any_owner_id_can_be_leased(self, store: Store, owner: str) -> None:
        _let_wait(store, 1, owner)
        assert _owners(store, _LEARN, 0) == [owner]
        claim = _taken(store, 0, owner=owner)
        assert _holds(store, claim)
        store.leases.fail(claim, retry_at=at(5))
        assert _taken(store, 5, owner=owner).attempts == 1

    def test_expired_lease_is_lost_once_taken_over(self, settled: Store) -> None:
        first = _taken(settled, 0)
        second = _taken(settled, 10)
        assert not _holds(settled, first)
        assert _holds(settled, second)
        assert not settled.leases.renew(first, now=at(11), lease_s=_LEASE_S)
        settled.leases.release(first)
        settled.leases.fail(first, retry_at=None)
        assert _take(settled, 11) is None
        assert _holds(settled, second)
        assert settled.leases.renew(second, now=at(11), lease_s=_LEASE_S)

    def test_expired_lease_stays_valid_until_taken_over(self, settled: Store) -> None:
        claim = _taken(settled, 0)
        assert settled.leases.renew(claim, now=at(50), lease_s=_LEASE_S)
        assert _holds(settled, claim)
        assert _take(settled, 59) is None
        assert _taken(settled, 60).token != claim.token

    def test_takeover_is_not_a_failed_attempt(self, settled: Store) -> None:
        settled.leases.fail(_taken(settled, 0), retry_at=at(0))
        assert [_taken(settled, n).attempts for n in (0, 10, 20)] == [1, 1, 1]

    def test_released_work_is_free_and_its_attempts_are_reset(self, settled: Store) -> None:
        settled.leases.fail(_taken(settled, 0), retry_at=at(0))
        claim = _taken(settled, 0)
        settled.leases.release(claim)
        assert not _holds(settled, claim)
        assert not settled.leases.renew(claim, now=at(0), lease_s=_LEASE_S)
        settled.leases.fail(claim, retry_at=None)
        assert _taken(settled, 0).attempts == 0

    def test_failed_work_waits_until_its_retry_time_and_counts_the_attempt(
        self, settled: Store
    ) -> None:
        claim = _taken(settled, 0)
        settled.leases.fail(claim, retry_at=at(5))
        assert not _holds(settled, claim)
        assert _take(settled, 4.999_999) is None
        settled.leases.fail(claim, retry_at=at(99))
        again = _taken(settled, 5)
        assert again.attempts == 1
        settled.leases.fail(again, retry_at=at(7))
        assert _taken(settled, 7).attempts == 2

    def test_parked_work_waits_for_an_explicit_retry(self, settled: Store) -> None:
        settled.leases.fail(_taken(settled, 0), retry_at=None)
        settled.leases.fail(_taken(settled, 0, owner="bob"), retry_at=None)
        assert _take(settled, 1e9) is None
        settled.leases.retry("alice")
        assert _taken(settled, 0).attempts == 0
        assert _take(settled, 1e9, owner="bob") is None

    def test_retry_makes_postponed_work_due_at_once(self, settled: Store) -> None:
        settled.leases.fail(_taken(settled, 0), retry_at=at(100))
        settled.leases.retry("alice")
        assert _taken(settled, 1).attempts == 0

    def test_retry_does_not_take_leased_work(self, settled: Store) -> None:
        claim = _taken(settled, 0)
        settled.leases.retry("alice")
        assert _holds(settled, claim)
        assert _take(settled, 1) is None

    def test_owners_are_sorted_and_leased_ones_are_excluded(self, settled: Store) -> None:
        remember(settled, memory(1, owner_id="Zoe"), owner_id="Zoe")
        assert _owners(settled, _CONSOLIDATE, 0) == ["Zoe", "alice", "bob"]
        claim = _taken(settled, 0, _CONSOLIDATE)
        assert _owners(settled, _CONSOLIDATE, 9) == ["Zoe", "bob"]
        assert _owners(settled, _CONSOLIDATE, 10) == ["Zoe", "alice", "bob"]
        settled.leases.fail(claim, retry_at=at(20))
        assert _owners(settled, _CONSOLIDATE, 19) == ["Zoe", "bob"]
        assert _owners(settled, _CONSOLIDATE, 20) == ["Zoe", "alice", "bob"]
        settled.leases.fail(_taken(settled, 20, _CONSOLIDATE), retry_at=None)
        assert _owners(settled, _CONSOLIDATE, 1e9) == ["Zoe", "bob"]

    def test_owners_with_learning_work_have_due_messages(self, settled: Store) -> None:
        assert _owners(settled, _LEARN, 0) == []
        for n, owner in enumerate(("alice", "bob", "carol", "dave", "erin"), start=11):
            _let_wait(settled, n, owner)
        with settled.write("bob") as tx:
            tx.schedule_retry([record_id(12)], retry_at=at(5))
        with settled.write("carol") as tx:
            tx.schedule_retry([record_id(13)], retry_at=None)
        with settled.write("dave") as tx:
            tx.mark_learned([record_id(14)], at(1))
        with settled.write("erin") as tx:
            tx.close_messages([record_id(15)], at(100))
        assert _owners(settled, _LEARN, 0) == ["alice"]
        assert _owners(settled, _LEARN, 5) == ["alice", "bob"]
        _taken(settled, 5, owner="bob")
        assert _owners(settled, _LEARN, 5) == ["alice"]
        assert _owners(settled, _CONSOLIDATE, 5) == ["alice", "bob", "carol", "dave", "erin"]

    def test_retry_makes_messages_due_at_once(self, settled: Store) -> None:
        for n in (11, 12, 13):
            _let_wait(settled, n, "alice")
        with settled.write("alice") as tx:
            tx.schedule_retry([record_id(11)], retry_at=None)
            tx.schedule_retry([record_id(n) for n in (12, 13)], retry_at=at(50))
            tx.close_messages([record_id(13)], at(1))
        counter = _counter(settled)
        settled.leases.retry("bob")
        settled.leases.retry("alice")
        with settled.read("alice") as snapshot:
            waiting = [one.id for one in snapshot.pending_messages(9, now=at(0))]
            assert waiting == [record_id(11), record_id(12)]
            assert snapshot.attempts(waiting) == 0
            assert snapshot.counter == counter
        with settled.write("alice") as tx:
            tx.revise_message(message(13, sequence=13, version=2), short_entry("x"), at(2))
            assert tx.pending_messages(9, now=at(49)) == tx.messages(
                ids=[record_id(11), record_id(12)]
            )

    def test_leases_change_no_counter_and_create_no_event(self, settled: Store) -> None:
        claim = _taken(settled, 0)
        settled.leases.renew(claim, now=at(1), lease_s=_LEASE_S)
        settled.leases.fail(claim, retry_at=at(1))
        settled.leases.release(_taken(settled, 1))
        assert _counter(settled) == 1
        with settled.read("alice") as snapshot:
            history = snapshot.history(record_id(1))
        assert history is not None
        assert history.events == ()

    def test_erasing_an_owner_removes_its_leases(self, settled: Store) -> None:
        claim = _taken(settled, 0)
        settled.leases.fail(_taken(settled, 0, _CONSOLIDATE), retry_at=None)
        settled.erase("alice", at(1))
        assert _take(settled, 1) is None
        assert not settled.leases.renew(claim, now=at(1), lease_s=_LEASE_S)
        with pytest.raises(OwnerErased), settled.write("alice") as tx:
            tx.holds_lease(claim)
        assert _owners(settled, _CONSOLIDATE, 1) == ["bob"]
        settled.readmit("alice")
        remember(settled, memory(1))
        assert not _holds(settled, claim)
        assert _taken(settled, 1, _CONSOLIDATE).attempts == 0

    def test_lease_is_held_only_in_transactions_of_its_owner(self, settled: Store) -> None:
        claim = _taken(settled, 0)
        with settled.write("bob") as tx:
            assert not tx.holds_lease(claim)
            assert not tx.holds_lease(replace(claim, owner_id="bob"))
        with settled.write("alice") as tx:
            assert not tx.holds_lease(replace(claim, work=_CONSOLIDATE))
            assert not tx.holds_lease(replace(claim, owner_id="bob"))
            assert not tx.holds_lease(replace(claim, token=b""))
            assert tx.holds_lease(claim)

    def test_lease_is_not_taken_over_before_its_holder_commits(self, settled: Store) -> None:
        claim = _taken(settled, 0)
        with ThreadPoolExecutor(1) as pool:
            with settled.write("alice") as tx:
                assert tx.holds_lease(claim)
                other = pool.submit(_taken, settled, 20)
                tx.insert([(memory(2), short_entry("x"))])
                assert tx.holds_lease(claim)
            second = other.result()
        assert not _holds(settled, claim)
        assert _holds(settled, second)

    def test_only_one_of_many_threads_gets_a_lease(self, settled: Store) -> None:
        with ThreadPoolExecutor(16) as pool:
            for turn in range(5):
                found = list(pool.map(lambda _, t=turn: _take(settled, t * 10), range(16)))
                assert sum(claim is not None for claim in found) == 1


def _counter(store: Store) -> int:
    with store.read("alice") as snapshot:
        return snapshot.counter
