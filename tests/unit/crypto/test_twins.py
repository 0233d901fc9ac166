"""Copies of a store: the same keys under an id of their own, each to be removed alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.adapters.crypto.configured import ConfiguredCiphers
from memolith.adapters.crypto.master import KeyFile
from memolith.adapters.crypto.plain import PlainCipher
from memolith.adapters.crypto.ring import KeyRing
from memolith.adapters.crypto.xchacha import KeyRingCiphers, XChaChaCipher
from memolith.errors import KeyUnavailable
from memolith.ports.cipher import KeyCopying, Place, Twinning

from .conftest import Rings

PLACE = Place("alice", "0190-record", "content", 3)


@pytest.fixture
def cipher(rings: Rings) -> XChaChaCipher:
    return KeyRingCiphers(rings()).new()


def copied(cipher: XChaChaCipher, ring: KeyRing) -> XChaChaCipher:
    twin = KeyRingCiphers(ring).twin(cipher)
    twin.take_keys("alice", cipher)
    return twin


def other_ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "other" / "ring", KeyFile(tmp_path / "other" / "key"))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_twin_opens_what_the_other_seals_and_finds_it_again(
    rings: Rings, cipher: XChaChaCipher, tmp_path: Path, *, elsewhere: bool
) -> None:
    first = cipher.version("alice")
    sealed = cipher.of("alice", first).seal(b"rain", PLACE)
    ring = other_ring(tmp_path) if elsewhere else rings()
    made = copied(cipher, ring)
    again = KeyRingCiphers(ring).known(made.name, made.store_id, made.check)
    assert again.store_id != cipher.store_id
    assert again.check != cipher.check
    for twin in (made, again, copied(made, rings())):  # a copy's copy too
        own = twin.of("alice", first)
        assert own.open(sealed, PLACE) == b"rain"
        assert own.digest("key", b"tea") == cipher.of("alice", first).digest("key", b"tea")
        assert own.term("tea") == cipher.of("alice", first).term("tea")
        assert twin.tombstone("bob") == cipher.tombstone("bob")
        assert cipher.of("alice", first).open(own.seal(b"sun", PLACE), PLACE) == b"sun"


def test_either_store_loses_its_keys_alone(rings: Rings, cipher: XChaChaCipher) -> None:
    cipher.version("alice")
    twin, third = copied(cipher, rings()), copied(cipher, rings())
    twin.erase("alice")
    with pytest.raises(KeyUnavailable, match="erased"):
        KeyRingCiphers(rings()).known(twin.name, twin.store_id, twin.check).of("alice", 1)
    assert cipher.of("alice", 1).term("rain") == third.of("alice", 1).term("rain")
    cipher.forget_store()
    with pytest.raises(KeyUnavailable):
        KeyRingCiphers(rings()).known(cipher.name, cipher.store_id, cipher.check)
    known = KeyRingCiphers(rings()).known(third.name, third.store_id, third.check)
    assert known.versions("alice") == [1]


def test_keys_are_taken_anew_where_there_are_more(rings: Rings, cipher: XChaChaCipher) -> None:
    cipher.version("alice")
    twin = copied(cipher, rings())
    cipher.add_version("alice")
    cipher.drop_before("alice", 2)
    twin.take_keys("alice", cipher)
    twin.take_keys("alice", cipher)
    twin.take_keys("nobody", cipher)
    assert twin.versions("alice") == [1, 2]
    assert twin.versions("nobody") == []
    assert twin.of("alice", 2).term("rain") == cipher.of("alice", 2).term("rain")
    cipher.erase("alice")
    cipher.version("alice")
    twin.erase("alice")
    twin.take_keys("alice", cipher)
    assert twin.versions("alice") == [3]


def test_a_plain_store_has_a_plain_twin(rings: Rings, cipher: XChaChaCipher) -> None:
    for encrypt in (True, False):
        ciphers = ConfiguredCiphers(rings, encrypt=encrypt)
        assert isinstance(ciphers, Twinning)
        assert ciphers.twin(PlainCipher()).name == PlainCipher.name
        assert ciphers.twin(cipher).name == cipher.name
    assert not isinstance(PlainCipher(), KeyCopying)
    with pytest.raises(KeyUnavailable):
        PlainCipher().twin(cipher)
    with pytest.raises(KeyUnavailable):
        KeyRingCiphers(rings()).twin(PlainCipher())
    with pytest.raises(KeyUnavailable):
        cipher.take_keys("alice", PlainCipher())
