"""Sealing: bound to its place, keyed by owner and version."""

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
def test_what_was_sealed_opens_at_its_place(plain: bytes) -> None:
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
        # Joined without lengths, these would be the same bytes as PLACE.
        replace(PLACE, owner_id="alice0190", record="-record"),
    ],
)
def test_a_ciphertext_does_not_open_elsewhere(elsewhere: EncryptionContext) -> None:
    sealed = ALICE.encrypt(b"it is raining", PLACE)
    with pytest.raises(StoreDamaged):
        ALICE.decrypt(sealed, elsewhere)


def test_a_ciphertext_does_not_open_with_another_key_or_in_another_store() -> None:
    sealed = ALICE.encrypt(b"it is raining", PLACE)
    for other in (BOB, XChaChaOwnerCipher(b"t" * 16, b"a" * 32)):
        with pytest.raises(StoreDamaged) as refused:
            other.decrypt(sealed, PLACE)
        assert "raining" not in str(refused.value)


@given(at=st.integers(0, OVERHEAD_BYTES + 4), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(at: int, flip: int) -> None:
    sealed = bytearray(ALICE.encrypt(b"words", PLACE))
    sealed[at] ^= flip
    with pytest.raises(StoreDamaged):
        ALICE.decrypt(bytes(sealed), PLACE)


@check_each("short", [b"", b"\x01", b"\x01" * 40])
def test_what_is_too_short_is_refused(short: bytes) -> None:
    with pytest.raises(StoreDamaged):
        ALICE.decrypt(short, PLACE)


def test_the_same_text_is_never_sealed_alike() -> None:
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


def test_vectors_come_back_and_are_each_owners_own() -> None:
    vectors = np.random.default_rng(4).integers(-127, 128, (3, 383)).astype(np.int8)
    hidden = ALICE.encrypt_vectors(vectors)
    assert (ALICE.decrypt_vectors(hidden, 383) == vectors).all()
    assert hidden != BOB.encrypt_vectors(vectors)
    for wrong in ([*hidden[:1], hidden[1][:-1]], BOB.encrypt_vectors(vectors)):
        with pytest.raises(StoreDamaged):
            ALICE.decrypt_vectors(wrong, 383)


def test_no_vectors_are_shown_as_none() -> None:
    assert ALICE.decrypt_vectors([], 384).shape == (0, 384)


def test_a_store_is_known_again_by_id_and_check(rings: Rings, cipher: XChaChaCipher) -> None:
    version = cipher.ensure_key_version("alice")
    sealed = cipher.get_owner_cipher("alice", version).encrypt(b"words", PLACE)
    again = KeyRingCiphers(rings()).load(cipher.name, cipher.store_id, cipher.key_check)
    assert again.get_owner_cipher("alice", version).decrypt(sealed, PLACE) == b"words"
    assert again.tombstone("alice") == cipher.tombstone("alice")
    assert again.tombstone("alice") != again.tombstone("bob")


def test_a_store_of_another_ring_or_another_cipher_is_refused(
    rings: Rings, cipher: XChaChaCipher
) -> None:
    ciphers = KeyRingCiphers(rings())
    for name, store_id, check in (
        ("plain", cipher.store_id, cipher.key_check),
        (cipher.name, bytes(16), cipher.key_check),
        (cipher.name, cipher.store_id, bytes(16)),
    ):
        with pytest.raises(KeyUnavailable):
            ciphers.load(name, store_id, check)


def test_an_erased_owner_is_shut_and_others_open(rings: Rings, cipher: XChaChaCipher) -> None:
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


def test_an_owners_key_is_rotated_by_adding_one_and_removing_the_other(
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


def test_the_first_ring_is_announced_once(rings: Rings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    KeyRingCiphers(rings()).create()
    KeyRingCiphers(rings()).create()
    (record,) = caplog.records
    assert "back them up" in record.getMessage()


def test_nothing_of_a_key_is_in_a_repr(cipher: XChaChaCipher) -> None:
    assert repr(ALICE) == "XChaChaOwner(…)"
    assert "aaaa" not in repr(ALICE)
    assert cipher.store_id.hex() in repr(cipher)
