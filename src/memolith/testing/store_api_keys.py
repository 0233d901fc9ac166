"""What a store's contract says of its callers' keys; see `memolith.ports.api_keys`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from memolith.errors import Conflict
from memolith.ports.api_keys import ApiKey, KeyRole
from memolith.testing.builders import at
from memolith.testing.store_records import HOSTILE

if TYPE_CHECKING:
    from memolith.ports.store import Store

_ALICE = ApiKey("phone", KeyRole.OWNER, "alice", at(0))
_SERVICE = ApiKey("proxy", KeyRole.SERVICE, None, at(1))


class ApiKeysContract:
    """The keys by which callers are known."""

    def test_a_key_is_found_by_its_digest_alone(self, store: Store) -> None:
        assert store.api_keys.find(b"a" * 32) is None
        store.api_keys.add(_ALICE, b"a" * 32)
        store.api_keys.add(_SERVICE, b"b" * 32)
        assert store.api_keys.find(b"a" * 32) == _ALICE
        assert store.api_keys.find(b"b" * 32) == _SERVICE
        assert store.api_keys.find(b"a" * 31) is None
        assert store.api_keys.find(b"") is None

    def test_all_are_listed_oldest_first(self, store: Store) -> None:
        store.api_keys.add(_SERVICE, b"b")
        store.api_keys.add(_ALICE, b"a")
        other = replace(_ALICE, name="laptop")
        store.api_keys.add(other, b"c")
        assert store.api_keys.all() == [other, _ALICE, _SERVICE]

    def test_a_revoked_key_says_when(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        assert store.api_keys.revoke("phone", at(9))
        assert store.api_keys.find(b"a") == replace(_ALICE, revoked_at=at(9))
        assert not store.api_keys.revoke("phone", at(10))
        assert not store.api_keys.revoke("nothing", at(10))
        assert store.api_keys.find(b"a") == replace(_ALICE, revoked_at=at(9))

    def test_a_name_is_free_again_once_its_key_is_revoked(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        with pytest.raises(Conflict):
            store.api_keys.add(replace(_SERVICE, name="phone"), b"b")
        store.api_keys.revoke("phone", at(9))
        store.api_keys.add(replace(_ALICE, created_at=at(10)), b"b")
        assert [key.revoked_at for key in store.api_keys.all()] == [at(9), None]

    def test_a_digest_is_of_one_key(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        with pytest.raises(Conflict):
            store.api_keys.add(_SERVICE, b"a")
        assert store.api_keys.all() == [_ALICE]

    def test_times_are_given_in_utc(self, store: Store) -> None:
        there = timezone(timedelta(hours=5))
        store.api_keys.add(replace(_ALICE, created_at=at(0).astimezone(there)), b"a")
        store.api_keys.revoke("phone", at(9).astimezone(there))
        (key,) = store.api_keys.all()
        assert key.revoked_at is not None
        assert key.created_at.utcoffset() == key.revoked_at.utcoffset() == timedelta(0)

    def test_erasing_an_owner_removes_their_keys_and_no_others(self, store: Store) -> None:
        store.api_keys.add(_ALICE, b"a")
        store.api_keys.add(replace(_ALICE, name="bob's", owner="bob"), b"b")
        store.api_keys.add(_SERVICE, b"c")
        store.erase("alice", at(5))
        assert [key.name for key in store.api_keys.all()] == ["bob's", "proxy"]

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_name_and_owner_will_do(self, store: Store, text: str) -> None:
        key = ApiKey(text, KeyRole.OWNER, text, at(0))
        store.api_keys.add(key, text.encode())
        assert store.api_keys.find(text.encode()) == key
        assert store.api_keys.revoke(text, at(1))
