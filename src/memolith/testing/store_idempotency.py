"""What a store's contract says of requests that have a key; see `memolith.ports.idempotency`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from memolith.errors import Conflict
from memolith.ports.idempotency import StoredResponse
from memolith.testing.builders import at, memory
from memolith.testing.store_records import HOSTILE, remember

if TYPE_CHECKING:
    from memolith.ports.store import Store

_REPLY = StoredResponse(201, b'{"id": 1}')
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)


class IdempotencyContract:
    """Requests that are done once."""

    def test_what_was_done_is_answered_as_before(self, store: Store) -> None:
        assert store.idempotency.begin("alice", "k", b"request", now=at(0)) is None
        store.idempotency.finish("alice", "k", _REPLY)
        assert store.idempotency.begin("alice", "k", b"request", now=at(1)) == _REPLY
        assert store.idempotency.begin("alice", "k", b"request", now=at(2)) == _REPLY

    def test_a_key_is_of_one_request(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        with pytest.raises(Conflict):
            store.idempotency.begin("alice", "k", b"another", now=at(1))
        assert store.idempotency.begin("alice", "l", b"another", now=at(1)) is None

    def test_a_key_means_nothing_to_another_owner(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        assert store.idempotency.begin("bob", "k", b"another", now=at(1)) is None
        store.idempotency.abandon("bob", "k")
        assert store.idempotency.begin("alice", "k", b"request", now=at(2)) == _REPLY

    def test_what_is_being_done_is_not_done_twice(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        with pytest.raises(Conflict):
            store.idempotency.begin("alice", "k", b"request", now=at(59))

    def test_a_reply_that_is_forgotten_is_not_told_and_its_request_not_done_again(
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

    def test_what_was_given_up_is_done_again(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.abandon("alice", "k")
        assert store.idempotency.begin("alice", "k", b"another", now=at(1)) is None

    def test_what_was_begun_long_ago_and_never_finished_is_done_again(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        assert store.idempotency.begin("alice", "k", b"request", now=at(0) + _MINUTE) is None
        with pytest.raises(Conflict):
            store.idempotency.begin("alice", "k", b"request", now=at(1) + _MINUTE)

    def test_what_was_done_is_not_given_up(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        store.idempotency.abandon("alice", "k")
        assert store.idempotency.begin("alice", "k", b"request", now=at(1)) == _REPLY

    def test_after_a_day_it_is_forgotten(self, store: Store) -> None:
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        assert store.idempotency.begin("alice", "k", b"another", now=at(0) + _DAY) is None

    def test_nothing_is_kept_of_an_erased_owner(self, store: Store) -> None:
        remember(store, memory(1))
        store.idempotency.begin("alice", "k", b"request", now=at(0))
        store.idempotency.finish("alice", "k", _REPLY)
        store.idempotency.begin("alice", "l", b"request", now=at(0))
        store.erase("alice", at(1))
        store.idempotency.finish("alice", "l", _REPLY)
        store.readmit("alice")
        for key in "kl":
            assert store.idempotency.begin("alice", key, b"another", now=at(2)) is None

    def test_of_many_who_send_it_at_once_one_does_it(self, store: Store) -> None:
        def send(_: int) -> bool:
            try:
                return store.idempotency.begin("alice", "k", b"request", now=at(0)) is None
            except Conflict:
                return False

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(send, range(16))) == 1

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_key_and_owner_and_body_will_do(self, store: Store, text: str) -> None:
        reply = StoredResponse(200, text.encode())
        store.idempotency.begin(text, text, text.encode(), now=at(0))
        store.idempotency.finish(text, text, reply)
        assert store.idempotency.begin(text, text, text.encode(), now=at(1)) == reply
