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


def _take_lease(
    store: Store, seconds: float, work: WorkKind = _LEARN, owner: str = "alice"
) -> WorkLease:
    lease = _take(store, seconds, work, owner)
    assert lease is not None
    return lease


def _holds(store: Store, lease: WorkLease) -> bool:
    with store.write(lease.owner_id) as tx:
        return tx.holds_lease(lease)


def _let_wait(store: Store, number: int, owner: str) -> None:
    say(store, message(number, sequence=number), owner_id=owner)
    with store.write(owner) as tx:
        tx.mark_pending([record_id(number)])


def _owners(store: Store, work: WorkKind, seconds: float) -> list[str]:
    return store.leases.owners(work, now=at(seconds))


class ClaimsContract:
    """Leases of an owner's work."""

    @pytest.fixture
    def owners_store(self, store: Store) -> Store:
        """Return a store with data of Alice and Bob."""
        for owner in ("alice", "bob"):
            remember(store, memory(1, owner_id=owner), owner_id=owner)
        return store

    def test_lease_contains_owner_and_kind_of_work(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0, _CONSOLIDATE)
        assert (lease.owner_id, lease.work, lease.attempts) == ("alice", _CONSOLIDATE, 0)

    def test_owner_has_one_lease_per_kind_of_work(self, owners_store: Store) -> None:
        tokens = {
            _take_lease(owners_store, 0, work, owner).token
            for work in WorkKind
            for owner in ("alice", "bob")
        }
        assert len(tokens) == 4
        for work in WorkKind:
            assert _take(owners_store, 0, work) is None
            assert _take(owners_store, 9.999_999, work) is None

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
        lease = _take_lease(store, 0, owner=owner)
        assert _holds(store, lease)
        store.leases.fail(lease, retry_at=at(5))
        assert _take_lease(store, 5, owner=owner).attempts == 1

    def test_expired_lease_is_lost_once_taken_over(self, owners_store: Store) -> None:
        first = _take_lease(owners_store, 0)
        second = _take_lease(owners_store, 10)
        assert not _holds(owners_store, first)
        assert _holds(owners_store, second)
        assert not owners_store.leases.renew(first, now=at(11), lease_s=_LEASE_S)
        owners_store.leases.release(first)
        owners_store.leases.fail(first, retry_at=None)
        assert _take(owners_store, 11) is None
        assert _holds(owners_store, second)
        assert owners_store.leases.renew(second, now=at(11), lease_s=_LEASE_S)

    def test_expired_lease_stays_valid_until_taken_over(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0)
        assert owners_store.leases.renew(lease, now=at(50), lease_s=_LEASE_S)
        assert _holds(owners_store, lease)
        assert _take(owners_store, 59) is None
        assert _take_lease(owners_store, 60).token != lease.token

    def test_takeover_is_not_a_failed_attempt(self, owners_store: Store) -> None:
        owners_store.leases.fail(_take_lease(owners_store, 0), retry_at=at(0))
        assert [_take_lease(owners_store, n).attempts for n in (0, 10, 20)] == [1, 1, 1]

    def test_released_work_is_free_and_its_attempts_are_reset(self, owners_store: Store) -> None:
        owners_store.leases.fail(_take_lease(owners_store, 0), retry_at=at(0))
        lease = _take_lease(owners_store, 0)
        owners_store.leases.release(lease)
        assert not _holds(owners_store, lease)
        assert not owners_store.leases.renew(lease, now=at(0), lease_s=_LEASE_S)
        owners_store.leases.fail(lease, retry_at=None)
        assert _take_lease(owners_store, 0).attempts == 0

    def test_failed_work_waits_until_its_retry_time_and_counts_the_attempt(
        self, owners_store: Store
    ) -> None:
        lease = _take_lease(owners_store, 0)
        owners_store.leases.fail(lease, retry_at=at(5))
        assert not _holds(owners_store, lease)
        assert _take(owners_store, 4.999_999) is None
        owners_store.leases.fail(lease, retry_at=at(99))
        again = _take_lease(owners_store, 5)
        assert again.attempts == 1
        owners_store.leases.fail(again, retry_at=at(7))
        assert _take_lease(owners_store, 7).attempts == 2

    def test_parked_work_waits_for_an_explicit_retry(self, owners_store: Store) -> None:
        owners_store.leases.fail(_take_lease(owners_store, 0), retry_at=None)
        owners_store.leases.fail(_take_lease(owners_store, 0, owner="bob"), retry_at=None)
        assert _take(owners_store, 1e9) is None
        owners_store.leases.retry("alice")
        assert _take_lease(owners_store, 0).attempts == 0
        assert _take(owners_store, 1e9, owner="bob") is None

    def test_retry_makes_postponed_work_due_at_once(self, owners_store: Store) -> None:
        owners_store.leases.fail(_take_lease(owners_store, 0), retry_at=at(100))
        owners_store.leases.retry("alice")
        assert _take_lease(owners_store, 1).attempts == 0

    def test_retry_does_not_take_leased_work(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0)
        owners_store.leases.retry("alice")
        assert _holds(owners_store, lease)
        assert _take(owners_store, 1) is None

    def test_owners_are_sorted_and_leased_ones_are_excluded(self, owners_store: Store) -> None:
        remember(owners_store, memory(1, owner_id="Zoe"), owner_id="Zoe")
        assert _owners(owners_store, _CONSOLIDATE, 0) == ["Zoe", "alice", "bob"]
        lease = _take_lease(owners_store, 0, _CONSOLIDATE)
        assert _owners(owners_store, _CONSOLIDATE, 9) == ["Zoe", "bob"]
        assert _owners(owners_store, _CONSOLIDATE, 10) == ["Zoe", "alice", "bob"]
        owners_store.leases.fail(lease, retry_at=at(20))
        assert _owners(owners_store, _CONSOLIDATE, 19) == ["Zoe", "bob"]
        assert _owners(owners_store, _CONSOLIDATE, 20) == ["Zoe", "alice", "bob"]
        owners_store.leases.fail(_take_lease(owners_store, 20, _CONSOLIDATE), retry_at=None)
        assert _owners(owners_store, _CONSOLIDATE, 1e9) == ["Zoe", "bob"]

    def test_owners_with_learning_work_have_due_messages(self, owners_store: Store) -> None:
        assert _owners(owners_store, _LEARN, 0) == []
        for n, owner in enumerate(("alice", "bob", "carol", "dave", "erin"), start=11):
            _let_wait(owners_store, n, owner)
        with owners_store.write("bob") as tx:
            tx.schedule_retry([record_id(12)], retry_at=at(5))
        with owners_store.write("carol") as tx:
            tx.schedule_retry([record_id(13)], retry_at=None)
        with owners_store.write("dave") as tx:
            tx.mark_learned([record_id(14)], at(1))
        with owners_store.write("erin") as tx:
            tx.close_messages([record_id(15)], at(100))
        assert _owners(owners_store, _LEARN, 0) == ["alice"]
        assert _owners(owners_store, _LEARN, 5) == ["alice", "bob"]
        _take_lease(owners_store, 5, owner="bob")
        assert _owners(owners_store, _LEARN, 5) == ["alice"]
        assert _owners(owners_store, _CONSOLIDATE, 5) == ["alice", "bob", "carol", "dave", "erin"]

    def test_retry_makes_messages_due_at_once(self, owners_store: Store) -> None:
        for n in (11, 12, 13):
            _let_wait(owners_store, n, "alice")
        with owners_store.write("alice") as tx:
            tx.schedule_retry([record_id(11)], retry_at=None)
            tx.schedule_retry([record_id(n) for n in (12, 13)], retry_at=at(50))
            tx.close_messages([record_id(13)], at(1))
        counter = _counter(owners_store)
        owners_store.leases.retry("bob")
        owners_store.leases.retry("alice")
        with owners_store.read("alice") as snapshot:
            waiting = [one.id for one in snapshot.pending_messages(9, now=at(0))]
            assert waiting == [record_id(11), record_id(12)]
            assert snapshot.attempts(waiting) == 0
            assert snapshot.counter == counter
        with owners_store.write("alice") as tx:
            tx.revise_message(message(13, sequence=13, version=2), short_entry("x"), at(2))
            assert tx.pending_messages(9, now=at(49)) == tx.messages(
                ids=[record_id(11), record_id(12)]
            )

    def test_leases_change_no_counter_and_create_no_event(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0)
        owners_store.leases.renew(lease, now=at(1), lease_s=_LEASE_S)
        owners_store.leases.fail(lease, retry_at=at(1))
        owners_store.leases.release(_take_lease(owners_store, 1))
        assert _counter(owners_store) == 1
        with owners_store.read("alice") as snapshot:
            history = snapshot.history(record_id(1))
        assert history is not None
        assert history.events == ()

    def test_erasing_an_owner_removes_its_leases(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0)
        owners_store.leases.fail(_take_lease(owners_store, 0, _CONSOLIDATE), retry_at=None)
        owners_store.erase("alice", at(1))
        assert _take(owners_store, 1) is None
        assert not owners_store.leases.renew(lease, now=at(1), lease_s=_LEASE_S)
        with pytest.raises(OwnerErased), owners_store.write("alice") as tx:
            tx.holds_lease(lease)
        assert _owners(owners_store, _CONSOLIDATE, 1) == ["bob"]
        owners_store.readmit("alice")
        remember(owners_store, memory(1))
        assert not _holds(owners_store, lease)
        assert _take_lease(owners_store, 1, _CONSOLIDATE).attempts == 0

    def test_lease_is_held_only_in_transactions_of_its_owner(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0)
        with owners_store.write("bob") as tx:
            assert not tx.holds_lease(lease)
            assert not tx.holds_lease(replace(lease, owner_id="bob"))
        with owners_store.write("alice") as tx:
            assert not tx.holds_lease(replace(lease, work=_CONSOLIDATE))
            assert not tx.holds_lease(replace(lease, owner_id="bob"))
            assert not tx.holds_lease(replace(lease, token=b""))
            assert tx.holds_lease(lease)

    def test_lease_is_not_taken_over_before_its_holder_commits(self, owners_store: Store) -> None:
        lease = _take_lease(owners_store, 0)
        with ThreadPoolExecutor(1) as pool:
            with owners_store.write("alice") as tx:
                assert tx.holds_lease(lease)
                other = pool.submit(_take_lease, owners_store, 20)
                tx.insert([(memory(2), short_entry("x"))])
                assert tx.holds_lease(lease)
            second = other.result()
        assert not _holds(owners_store, lease)
        assert _holds(owners_store, second)

    def test_only_one_of_many_threads_gets_a_lease(self, owners_store: Store) -> None:
        with ThreadPoolExecutor(16) as pool:
            for turn in range(5):
                leases = list(pool.map(lambda _, t=turn: _take(owners_store, t * 10), range(16)))
                assert sum(lease is not None for lease in leases) == 1


def _counter(store: Store) -> int:
    with store.read("alice") as snapshot:
        return snapshot.counter
