"""Encryption bound to its context, with keys for each owner and version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.crypto.primitives import OVERHEAD_BYTES
from memolith.adapters.crypto.xchacha import KeyRingCiphers, XChaChaCipher, XChaChaOwnerCipher
from memolith.errors import KeyUnavailable, StoreDamaged
from memolith.ports.cipher import EncryptionContext
from support.rows import check_each

from .conftest import Rings

ALICE = XChaChaOwnerCipher(b"s" * 16, b"a" * 32)
BOB = XChaChaOwnerCipher(b"s" * 16, b"b" * 32)
PLACE = EncryptionContext("alice", "0190-record", "content", 3)


@pytest.fixture
def cipher(rings: Rings) -> XChaChaCipher:
    return KeyRingCiphers(rings()).create()


@given(plain=st.binary(max_size=200))
def test_text_is_decrypted_in_its_own_context(plain: bytes) -> None:
    sealed = ALICE.encrypt(plain, PLACE)
    assert ALICE.decrypt(sealed, PLACE) == plain
    assert len(sealed) == len(plain) + OVERHEAD_BYTES


@check_each(
    "elsewhere",
    [
        replace(PLACE, owner_id="bob"),
        replace(PLACE, record="0190-recorc"),
        replace(PLACE, field="summary"),
        replace(PLACE, version=4),
        # Joined without lengths, these parts would equal the bytes of PLACE.
        replace(PLACE, owner_id="alice0190", record="-record"),
    ],
)
def test_ciphertext_is_rejected_in_another_context(elsewhere: EncryptionContext) -> None:
    sealed = ALICE.encrypt(b"it is raining", PLACE)
    with pytest.raises(StoreDamaged):
        ALICE.decrypt(sealed, elsewhere)


def test_ciphertext_is_rejected_with_another_key_or_store() -> None:
    sealed = ALICE.encrypt(b"it is raining", PLACE)
    for other in (BOB, XChaChaOwnerCipher(b"t" * 16, b"a" * 32)):
        with pytest.raises(StoreDamaged) as refused:
            other.decrypt(sealed, PLACE)
        assert "raining" not in str(refused.value)


@given(at=st.integers(0, OVERHEAD_BYTES + 4), flip=st.integers(1, 255))
def test_changed_byte_is_detected(at: int, flip: int) -> None:
    sealed = bytearray(ALICE.encrypt(b"words", PLACE))
    sealed[at] ^= flip
    with pytest.raises(StoreDamaged):
        ALICE.decrypt(bytes(sealed), PLACE)


@check_each("short", [b"", b"\x01", b"\x01" * 40])
def test_too_short_ciphertext_is_rejected(short: bytes) -> None:
    with pytest.raises(StoreDamaged):
        ALICE.decrypt(short, PLACE)


def test_same_text_never_encrypts_to_same_bytes() -> None:
    assert len({ALICE.encrypt(b"again", PLACE) for _ in range(100)}) == 100


def test_digests_and_terms_are_keyed_by_owner_and_purpose() -> None:
    assert ALICE.digest("key", b"units") == ALICE.digest("key", b"units")
    assert len(ALICE.digest("key", b"units")) == 16
    assert ALICE.digest("key", b"units") != ALICE.digest("tag", b"units")
    assert ALICE.digest("key", b"units") != BOB.digest("key", b"units")
    assert ALICE.digest("ab", b"c") != ALICE.digest("a", b"bc")
    assert len(ALICE.digest_term("rain")) == 8
    assert ALICE.digest_term("rain") == ALICE.digest_term("rain")
    assert ALICE.digest_term("rain") != BOB.digest_term("rain")


def test_vectors_are_decrypted_only_with_owners_key() -> None:
    vectors = np.random.default_rng(4).integers(-127, 128, (3, 383)).astype(np.int8)
    hidden = ALICE.encrypt_vectors(vectors)
    assert (ALICE.decrypt_vectors(hidden, 383) == vectors).all()
    assert hidden != BOB.encrypt_vectors(vectors)
    for wrong in ([*hidden[:1], hidden[1][:-1]], BOB.encrypt_vectors(vectors)):
        with pytest.raises(StoreDamaged):
            ALICE.decrypt_vectors(wrong, 383)


def test_no_vectors_decrypt_to_empty_array() -> None:
    assert ALICE.decrypt_vectors([], 384).shape == (0, 384)


def test_store_is_loaded_by_id_and_key_check(rings: Rings, cipher: XChaChaCipher) -> None:
    version = cipher.ensure_key_version("alice")
    sealed = cipher.get_owner_cipher("alice", version).encrypt(b"words", PLACE)
    again = KeyRingCiphers(rings()).load(cipher.name, cipher.store_id, cipher.key_check)
    assert again.get_owner_cipher("alice", version).decrypt(sealed, PLACE) == b"words"
    assert again.tombstone("alice") == cipher.tombstone("alice")
    assert again.tombstone("alice") != again.tombstone("bob")


def test_store_of_another_ring_or_cipher_is_refused(rings: Rings, cipher: XChaChaCipher) -> None:
    ciphers = KeyRingCiphers(rings())
    for name, store_id, check in (
        ("plain", cipher.store_id, cipher.key_check),
        (cipher.name, bytes(16), cipher.key_check),
        (cipher.name, cipher.store_id, bytes(16)),
    ):
        with pytest.raises(KeyUnavailable):
            ciphers.load(name, store_id, check)


def test_erased_owner_is_refused_and_others_are_not(rings: Rings, cipher: XChaChaCipher) -> None:
    for owner in ("alice", "bob"):
        cipher.get_owner_cipher(owner, cipher.ensure_key_version(owner))
    cipher.erase("alice")
    for each in (
        cipher,
        KeyRingCiphers(rings()).load(cipher.name, cipher.store_id, cipher.key_check),
    ):
        with pytest.raises(KeyUnavailable, match="erased"):
            each.get_owner_cipher("alice", 1)
        assert each.get_owner_cipher("bob", 1).digest_term("rain")


def test_owners_key_is_rotated_by_adding_and_deleting_versions(
    cipher: XChaChaCipher,
) -> None:
    assert cipher.ensure_key_version("alice") == 1
    assert cipher.add_key_version("alice") == 2
    assert cipher.key_versions("alice") == [1, 2]
    sealed = cipher.get_owner_cipher("alice", 2).encrypt(b"words", PLACE)
    with pytest.raises(StoreDamaged):
        cipher.get_owner_cipher("alice", 1).decrypt(sealed, PLACE)
    cipher.delete_keys_before("alice", 2)
    assert cipher.key_versions("alice") == [2]
    with pytest.raises(KeyUnavailable):
        cipher.get_owner_cipher("alice", 1)


def test_new_key_ring_is_announced_once(rings: Rings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    KeyRingCiphers(rings()).create()
    KeyRingCiphers(rings()).create()
    (record,) = caplog.records
    assert "back them up" in record.getMessage()


def test_cipher_repr_contains_no_key(cipher: XChaChaCipher) -> None:
    assert repr(ALICE) == "XChaChaOwner(…)"
    assert "aaaa" not in repr(ALICE)
    assert cipher.store_id.hex() in repr(cipher)
