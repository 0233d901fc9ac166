"""Clones of a store's keys under another store ID, each removable on its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.adapters.crypto.ciphers import ConfiguredCiphers, PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers, XChaChaCipher
from memolith.errors import KeyUnavailable
from memolith.ports.cipher import EncryptionContext, SupportsClone, SupportsKeyCopy

from .conftest import Rings

PLACE = EncryptionContext("alice", "0190-record", "content", 3)


@pytest.fixture
def cipher(rings: Rings) -> XChaChaCipher:
    return KeyRingCiphers(rings()).create()


def clone_with_keys(cipher: XChaChaCipher, ring: KeyRing) -> XChaChaCipher:
    twin = KeyRingCiphers(ring).clone(cipher)
    twin.copy_keys("alice", cipher)
    return twin


def open_other_ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "other" / "ring", KeyFile(tmp_path / "other" / "key"))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_clone_and_original_decrypt_each_others_data(
    rings: Rings, cipher: XChaChaCipher, tmp_path: Path, *, elsewhere: bool
) -> None:
    first = cipher.ensure_key_version("alice")
    sealed = cipher.get_owner_cipher("alice", first).encrypt(b"rain", PLACE)
    ring = open_other_ring(tmp_path) if elsewhere else rings()
    made = clone_with_keys(cipher, ring)
    again = KeyRingCiphers(ring).load(made.name, made.store_id, made.key_check)
    assert again.store_id != cipher.store_id
    assert again.key_check != cipher.key_check
    for twin in (made, again, clone_with_keys(made, rings())):  # includes a clone of a clone
        own = twin.get_owner_cipher("alice", first)
        assert own.decrypt(sealed, PLACE) == b"rain"
        assert own.digest("key", b"tea") == cipher.get_owner_cipher("alice", first).digest(
            "key", b"tea"
        )
        assert own.digest_term("tea") == cipher.get_owner_cipher("alice", first).digest_term("tea")
        assert twin.tombstone("bob") == cipher.tombstone("bob")
        assert (
            cipher.get_owner_cipher("alice", first).decrypt(own.encrypt(b"sun", PLACE), PLACE)
            == b"sun"
        )


def test_deleting_one_stores_keys_leaves_other_stores(rings: Rings, cipher: XChaChaCipher) -> None:
    cipher.ensure_key_version("alice")
    twin, third = clone_with_keys(cipher, rings()), clone_with_keys(cipher, rings())
    twin.erase("alice")
    with pytest.raises(KeyUnavailable, match="erased"):
        KeyRingCiphers(rings()).load(twin.name, twin.store_id, twin.key_check).get_owner_cipher(
            "alice", 1
        )
    assert cipher.get_owner_cipher("alice", 1).digest_term("rain") == third.get_owner_cipher(
        "alice", 1
    ).digest_term("rain")
    cipher.delete_store_keys()
    with pytest.raises(KeyUnavailable):
        KeyRingCiphers(rings()).load(cipher.name, cipher.store_id, cipher.key_check)
    known = KeyRingCiphers(rings()).load(third.name, third.store_id, third.key_check)
    assert known.key_versions("alice") == [1]


def test_copying_keys_adds_only_missing_versions(rings: Rings, cipher: XChaChaCipher) -> None:
    cipher.ensure_key_version("alice")
    twin = clone_with_keys(cipher, rings())
    cipher.add_key_version("alice")
    cipher.delete_keys_before("alice", 2)
    twin.copy_keys("alice", cipher)
    twin.copy_keys("alice", cipher)
    twin.copy_keys("nobody", cipher)
    assert twin.key_versions("alice") == [1, 2]
    assert twin.key_versions("nobody") == []
    assert twin.get_owner_cipher("alice", 2).digest_term("rain") == cipher.get_owner_cipher(
        "alice", 2
    ).digest_term("rain")
    cipher.erase("alice")
    cipher.ensure_key_version("alice")
    twin.erase("alice")
    twin.copy_keys("alice", cipher)
    assert twin.key_versions("alice") == [3]


def test_plain_store_has_plain_clone(rings: Rings, cipher: XChaChaCipher) -> None:
    for encrypt in (True, False):
        ciphers = ConfiguredCiphers(rings, encrypt=encrypt)
        assert isinstance(ciphers, SupportsClone)
        assert ciphers.clone(PlainCipher()).name == PlainCipher.name
        assert ciphers.clone(cipher).name == cipher.name
    assert not isinstance(PlainCipher(), SupportsKeyCopy)
    with pytest.raises(KeyUnavailable):
        PlainCipher().clone(cipher)
    with pytest.raises(KeyUnavailable):
        KeyRingCiphers(rings()).clone(PlainCipher())
    with pytest.raises(KeyUnavailable):
        cipher.copy_keys("alice", PlainCipher())
