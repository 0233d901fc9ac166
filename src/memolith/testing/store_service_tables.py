"""Store contract: API keys, usage, idempotent responses and jobs; see `memolith.ports.service`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from memolith.errors import Conflict
from memolith.ports.service import ApiKey, KeyRole, ModelUsage, StoredResponse
from memolith.ports.store import Store
from memolith.ports.work import JobLease
from memolith.testing.builders import at, memory, record_id
from memolith.testing.store_records import HOSTILE, remember

_ALICE = ApiKey("phone", KeyRole.OWNER, "alice", at(0))
_SERVICE = ApiKey("proxy", KeyRole.SERVICE, None, at(1))


class ApiKeysContract:
    """API keys."""

    def test_api_key_is_found_only_by_its_digest(self, store: Store) -> None:
        assert store.api_keys.find(b"a" * 32) is None
        store.api_keys.add(_ALICE, b"a" * 32)
        store.api_keys.add(_SERVICE, b"b" * 32)
        assert store.api_keys.find(b"a" * 32) == _ALICE
        assert store.api_keys.find(b"b" * 32) == _SERVICE
        assert store.api_keys.find(b"a" * 31) is None
        assert store.api_keys.find(b"") is None

    def test_api_keys_are_listed_oldest_first(self, store: Store) -> None:
        store.api_keys.add(_SERVICE, b"b")
        store.api_keys.add(_ALICE, b"a")
        other = replace(_ALICE, name="laptop")
        store.api_keys.add(other, b"c")
        assert store.api_keys.all() == [other, _ALICE, _SERVICE]

    def test_revoked_api_key_has_its_revocation_time(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        assert store.api_keys.revoke("phone", at(9))
        assert store.api_keys.find(b"a") == replace(_ALICE, revoked_at=at(9))
        assert not store.api_keys.revoke("phone", at(10))
        assert not store.api_keys.revoke("nothing", at(10))
        assert store.api_keys.find(b"a") == replace(_ALICE, revoked_at=at(9))

    def test_name_of_a_revoked_api_key_can_be_reused(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        with pytest.raises(Conflict):
            store.api_keys.add(replace(_SERVICE, name="phone"), b"b")
        store.api_keys.revoke("phone", at(9))
        store.api_keys.add(replace(_ALICE, created_at=at(10)), b"b")
        assert [key.revoked_at for key in store.api_keys.all()] == [at(9), None]

    def test_digest_is_unique(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        with pytest.raises(Conflict):
            store.api_keys.add(_SERVICE, b"a")
        assert store.api_keys.all() == [_ALICE]

    def test_api_key_times_are_in_utc(self, store: Store) -> None:
        there = timezone(timedelta(hours=5))
        store.api_keys.add(replace(_ALICE, created_at=at(0).astimezone(there)), b"a")
        store.api_keys.revoke("phone", at(9).astimezone(there))
        (key,) = store.api_keys.all()
        assert key.revoked_at is not None
        assert key.created_at.utcoffset() == key.revoked_at.utcoffset() == timedelta(0)

    def test_erasing_an_owner_removes_only_its_api_keys(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        store.api_keys.add(replace(_ALICE, name="bob's", owner="bob"), b"b")
        store.api_keys.add(_SERVICE, b"c")
        store.erase("alice", at(5))
        assert [key.name for key in store.api_keys.all()] == ["bob's", "proxy"]

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_api_key_name_and_owner_is_accepted(self, store: Store, text: str) -> None:
        key = ApiKey(text, KeyRole.OWNER, text, at(0))
        store.api_keys.add(key, text.encode())
        assert store.api_keys.find(text.encode()) == key
        assert store.api_keys.revoke(text, at(1))


# --- Usage


_HOUR_S = 3_600
_BEFORE = at(-1e9)


class UsageContract:
    """Usage of models by owner."""

    @pytest.fixture
    def spending(self, store: Store) -> Store:
        """Return a store with data of Alice and Bob."""
        for owner in ("alice", "bob"):
            remember(store, memory(1, owner_id=owner), owner_id=owner)
        return store

    def test_usage_is_empty_initially(self, spending: Store) -> None:
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

    def test_usage_is_reported_from_a_given_hour(self, spending: Store) -> None:
        for n in range(3):
            spending.usage.add("alice", "extract", ModelUsage(1, 10**n, 0), at=at(n * _HOUR_S + n))
        tokens = [
            {p: s.input_tokens for p, s in spending.usage.get_usage("alice", at(seconds)).items()}
            for seconds in (-1, 0, _HOUR_S - 1, _HOUR_S, 2 * _HOUR_S, 3 * _HOUR_S)
        ]
        assert tokens == [{"extract": total} for total in (111, 111, 111, 110, 100)] + [{}]

    def test_usage_hours_are_in_utc(self, spending: Store) -> None:
        there = timezone(timedelta(hours=5, minutes=30))
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(0).astimezone(there))
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(_HOUR_S - 1))
        assert spending.usage.get_usage("alice", at(_HOUR_S - 1))["extract"].calls == 2
        assert spending.usage.get_usage("alice", at(_HOUR_S).astimezone(there)) == {}

    def test_usage_of_owners_without_data_is_not_recorded(self, store: Store) -> None:
        store.usage.add("nobody", "extract", ModelUsage(1, 1, 1), at=at(0))
        assert store.usage.get_usage("nobody", _BEFORE) == {}
        assert store.owners() == []

    def test_usage_of_erased_owners_is_removed(self, spending: Store) -> None:
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(0))
        spending.erase("alice", at(1))
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(2))
        assert spending.usage.get_usage("alice", _BEFORE) == {}
        spending.readmit("alice")
        remember(spending, memory(1))
        assert spending.usage.get_usage("alice", _BEFORE) == {}

    def test_usage_changes_no_counter_and_creates_no_event(self, spending: Store) -> None:
        spending.usage.add("alice", "extract", ModelUsage(1, 1, 1), at=at(0))
        with spending.read("alice") as snapshot:
            assert snapshot.counter == 1
            history = snapshot.history(record_id(1))
        assert history is not None
        assert (len(history.versions), history.events) == (1, ())

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_owner_and_purpose_is_accepted(self, store: Store, text: str) -> None:
        remember(store, memory(1, owner_id=text), owner_id=text)
        store.usage.add(text, text, ModelUsage(1, 2**40, 3), at=at(0))
        assert store.usage.get_usage(text, at(0)) == {text: ModelUsage(1, 2**40, 3)}

    def test_concurrent_counts_are_not_lost(self, spending: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(
                lambda n: spending.usage.add("alice", "extract", ModelUsage(1, n, 0), at=at(n)),
                range(40),
            ):
                pass
        assert spending.usage.get_usage("alice", at(0)) == {
            "extract": ModelUsage(40, sum(range(40)), 0)
        }


# --- Idempotent responses


_REPLY = StoredResponse(201, b'{"id": 1}')
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)


class IdempotencyContract:
    """Idempotent requests."""

    def test_completed_request_returns_its_stored_response(self, store: Store) -> None:
        assert store.idempotency.begin("alice", "k", b"request", now=at(0)) is None
        store.idempotency.finish("alice", "k", _REPLY)
        assert store.idempotency.begin("alice", "k", b"request", now=at(1)) == _REPLY
        assert store.idempotency.begin("alice", "k", b"request", now=at(2)) == _REPLY

    def test_idempotency_key_belongs_to_one_request(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        with pytest.raises(Conflict):
            store.idempotency.begin("alice", "k", b"another", now=at(1))
        assert store.idempotency.begin("alice", "l", b"another", now=at(1)) is None

    def test_idempotency_keys_are_per_owner(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        assert store.idempotency.begin("bob", "k", b"another", now=at(1)) is None
        store.idempotency.abandon("bob", "k")
        assert store.idempotency.begin("alice", "k", b"request", now=at(2)) == _REPLY

    def test_request_in_progress_is_not_repeated(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        with pytest.raises(Conflict):
            store.idempotency.begin("alice", "k", b"request", now=at(59))

    def test_forgotten_response_is_not_returned_and_its_request_not_repeated(
        self, store: Store
    ) -> None:
        for owner in ("alice", "bob"):
            store.idempotency.begin(owner, "k", b"request", now=at(0))
            store.idempotency.finish(owner, "k", _REPLY)
        store.idempotency.begin("alice", "under way", b"request", now=at(0))
        store.idempotency.forget_responses("alice")
        with pytest.raises(Conflict, match="forgotten"):
            store.idempotency.begin("alice", "k", b"request", now=at(1))
        assert store.idempotency.begin("bob", "k", b"request", now=at(1)) == _REPLY
        store.idempotency.finish("alice", "under way", _REPLY)
        assert store.idempotency.begin("alice", "under way", b"request", now=at(1)) == _REPLY

    def test_abandoned_request_is_repeated(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.abandon("alice", "k")
        assert store.idempotency.begin("alice", "k", b"another", now=at(1)) is None

    def test_stale_unfinished_request_is_repeated(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        assert store.idempotency.begin("alice", "k", b"request", now=at(0) + _MINUTE) is None
        with pytest.raises(Conflict):
            store.idempotency.begin("alice", "k", b"request", now=at(1) + _MINUTE)

    def test_completed_request_cannot_be_abandoned(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        store.idempotency.abandon("alice", "k")
        assert store.idempotency.begin("alice", "k", b"request", now=at(1)) == _REPLY

    def test_response_expires_after_a_day(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        assert store.idempotency.begin("alice", "k", b"another", now=at(0) + _DAY) is None

    def test_responses_of_erased_owners_are_removed(self, store: Store) -> None:
        remember(store, memory(1))
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        store.idempotency.begin("alice", "l", b"request", now=at(0))
        store.erase("alice", at(1))
        store.idempotency.finish("alice", "l", _REPLY)
        store.readmit("alice")
        for key in "kl":
            assert store.idempotency.begin("alice", key, b"another", now=at(2)) is None

    def test_only_one_of_concurrent_requests_is_processed(self, store: Store) -> None:
        def send(_: int) -> bool:
            try:
                return store.idempotency.begin("alice", "k", b"request", now=at(0)) is None
            except Conflict:
                return False

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(send, range(16))) == 1

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_idempotency_key_owner_and_body_is_accepted(self, store: Store, text: str) -> None:
        reply = StoredResponse(200, text.encode())
        store.idempotency.begin(text, text, text.encode(), now=at(0))
        store.idempotency.finish(text, text, reply)
        assert store.idempotency.begin(text, text, text.encode(), now=at(1)) == reply


# --- Jobs


_EVERY_S = 100.0
_LEASE_S = 10.0


def _take(store: Store, seconds: float, name: str = "decay") -> JobLease | None:
    return store.jobs.acquire(name, now=at(seconds), every_s=_EVERY_S, lease_s=_LEASE_S)


def _taken(store: Store, seconds: float, name: str = "decay") -> JobLease:
    lease = _take(store, seconds, name)
    assert lease is not None
    return lease


class JobsContract:
    """Leases and state of scheduled jobs."""

    def test_new_job_is_due_without_state(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert (lease.name, lease.state) == ("decay", None)

    def test_job_has_one_holder_at_a_time(self, store: Store) -> None:
        _taken(store, 0)
        assert _take(store, 0) is None
        assert _take(store, 9.9) is None
        assert _taken(store, 0, "expire").name == "expire"

    def test_finished_job_is_due_again_after_its_interval(self, store: Store) -> None:
        assert store.jobs.finish(_taken(store, 0), now=at(5))
        assert _take(store, 6) is None
        assert _take(store, 104.999_999) is None
        assert _taken(store, 105).state is None

    def test_released_job_stays_due_and_keeps_its_state(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "half", now=at(1), lease_s=_LEASE_S)
        store.jobs.release(lease)
        again = _taken(store, 1)
        assert again.state == "half"
        assert again.token != lease.token

    def test_job_lease_can_be_renewed(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "a", now=at(9), lease_s=_LEASE_S)
        assert _take(store, 15) is None
        assert store.jobs.renew(lease, "b", now=at(18), lease_s=_LEASE_S)
        assert _take(store, 25) is None
        assert _taken(store, 28).state == "b"

    def test_expired_job_lease_is_lost_once_taken_over(self, store: Store) -> None:
        first = _taken(store, 0)
        assert store.jobs.renew(first, "half", now=at(1), lease_s=_LEASE_S)
        second = _taken(store, 11)
        assert second.state == "half"
        assert not store.jobs.renew(first, "other", now=at(12), lease_s=_LEASE_S)
        assert not store.jobs.finish(first, now=at(12))
        store.jobs.release(first)
        assert _take(store, 12) is None
        assert store.jobs.renew(second, "more", now=at(12), lease_s=_LEASE_S)
        assert store.jobs.finish(second, now=at(13))

    def test_expired_job_lease_stays_valid_until_taken_over(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "late", now=at(50), lease_s=_LEASE_S)
        assert _take(store, 55) is None
        assert store.jobs.finish(lease, now=at(90))

    def test_finished_job_is_released(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "half", now=at(1), lease_s=_LEASE_S)
        assert store.jobs.finish(lease, now=at(2))
        assert not store.jobs.finish(lease, now=at(3))
        assert not store.jobs.renew(lease, "more", now=at(3), lease_s=_LEASE_S)
        store.jobs.release(lease)
        assert _taken(store, 102).state is None

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_job_name_and_state_is_accepted(self, store: Store, text: str) -> None:
        lease = _taken(store, 0, text)
        assert store.jobs.renew(lease, text, now=at(0), lease_s=_LEASE_S)
        assert _taken(store, 10, text).state == text

    def test_erasing_an_owner_resets_only_job_states(self, store: Store) -> None:
        remember(store, memory(1))
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "alice", now=at(0), lease_s=_LEASE_S)
        store.erase("alice", at(1))
        assert _take(store, 1) is None
        assert _taken(store, 10).state is None

    def test_jobs_create_no_owners(self, store: Store) -> None:
        _taken(store, 0)
        assert store.owners() == []

    def test_only_one_of_many_threads_gets_a_job(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            for turn in range(10):
                found = list(pool.map(lambda _, t=turn: _take(store, 0, f"job {t}"), range(8)))
                assert sum(lease is not None for lease in found) == 1
