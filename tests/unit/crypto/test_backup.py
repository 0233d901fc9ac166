"""A backup of the keys restores the same keys."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memolith.adapters.crypto.key_backup import back_up_keys, needs_passphrase, restore_keys
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile, Passphrase
from memolith.errors import Conflict, KeyUnavailable

from .conftest import CHEAP, Rings

OWNER = b"digest of alice."


@pytest.fixture(params=["file", "database"])
def rings(request: pytest.FixtureRequest) -> Rings:
    found: Rings = request.getfixturevalue(f"{request.param}_rings")
    return found


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_restored_keys_match_backup(rings: Rings, tmp_path: Path, passphrase: str | None) -> None:
    store, key = rings().add_store()
    rings().ensure(store, OWNER)
    target, elsewhere = tmp_path / "keys.json", KeyFile(tmp_path / "elsewhere" / "key")
    back_up_keys(rings(), target, passphrase, CHEAP)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert needs_passphrase(target) == (passphrase is not None)
    ring = KeyRing(tmp_path / "elsewhere" / "ring", elsewhere)
    restore_keys(target, passphrase, ring, elsewhere)
    assert ring.get_store_key(store) == key
    assert ring.get_data_key(store, OWNER, 1) == rings().get_data_key(store, OWNER, 1)


@pytest.mark.parametrize("first", ["file_rings", "database_rings"])
def test_ring_moves_between_file_and_database(
    first: str, request: pytest.FixtureRequest, key_file: KeyFile
) -> None:
    other = {"file_rings": "database_rings", "database_rings": "file_rings"}[first]
    source: Rings = request.getfixturevalue(first)
    target: Rings = request.getfixturevalue(other)
    passphrase = Passphrase("correct horse")
    store, key = source(passphrase).add_store()
    source(passphrase).ensure(store, OWNER)
    source(passphrase).erase(store, OWNER)
    source(passphrase).ensure(store, OWNER)
    target().restore(source(passphrase).export_contents()[1])
    assert target(passphrase).get_store_key(store) == key
    assert target(passphrase).versions(store, OWNER) == [2]
    assert target(passphrase).is_erased(store, OWNER, 1)
    assert target(passphrase).get_data_key(store, OWNER, 2) == source(passphrase).get_data_key(
        store, OWNER, 2
    )
    with pytest.raises(KeyUnavailable, match="key ring already exists"):
        target().restore(source(passphrase).export_contents()[1])
    assert not key_file.path.exists()


def test_backup_with_passphrase_contains_no_plain_key(
    rings: Rings, key_file: KeyFile, tmp_path: Path
) -> None:
    rings().add_store()
    target = tmp_path / "keys.json"
    back_up_keys(rings(), target, "correct horse", CHEAP)
    content = target.read_bytes()
    assert key_file.path.read_bytes().strip() not in content
    assert b"horse" not in content
    ring = KeyRing(tmp_path / "other", KeyFile(tmp_path / "key"))
    for wrong in (None, "incorrect horse"):
        with pytest.raises(KeyUnavailable, match="passphrase"):
            restore_keys(target, wrong, ring, KeyFile(tmp_path / "key"))
    assert not ring.storage.exists()


def test_existing_backup_and_keys_are_not_overwritten(
    rings: Rings, key_file: KeyFile, tmp_path: Path
) -> None:
    rings().add_store()
    target = tmp_path / "keys.json"
    back_up_keys(rings(), target, None)
    with pytest.raises(Conflict, match="file already exists"):
        back_up_keys(rings(), target, None)
    before = rings().export_contents(), key_file.path.read_bytes()
    with pytest.raises(Conflict, match="keys already"):
        restore_keys(target, None, rings(), key_file)
    assert (rings().export_contents(), key_file.path.read_bytes()) == before


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'{"format": "other", "keys": ""}'])
def test_other_file_is_rejected_as_key_backup(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(KeyUnavailable, match="not a key backup"):
        needs_passphrase(file)
