"""The key ring: creation, access by master key, and rotation."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile, Passphrase, ProvidedKey
from memolith.adapters.crypto.primitives import generate_key
from memolith.adapters.postgres.dsn import session
from memolith.adapters.postgres.key_storage import PostgresKeyStorage
from memolith.errors import KeyUnavailable
from support.postgres import own
from support.processes import killed

from .conftest import Rings

OWNER = b"digest of alice."

OPEN_RING = """
import sys
from pathlib import Path
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.postgres.dsn import parse_dsn
from memolith.adapters.postgres.key_storage import PostgresKeyStorage
key, where, schema = sys.argv[1:]
place = PostgresKeyStorage(parse_dsn(where, schema, 10)) if schema else Path(where)
ring = KeyRing(place, KeyFile(Path(key)))
"""
"""Code with which a test program opens the ring of the test."""


@pytest.fixture(params=["file", "database"])
def rings(request: pytest.FixtureRequest) -> Rings:
    found: Rings = request.getfixturevalue(f"{request.param}_rings")
    return found


@pytest.fixture
def arguments(request: pytest.FixtureRequest, rings: Rings, key_file: KeyFile) -> list[str]:
    """Return the location of the ring as program arguments."""
    place = rings().storage
    if isinstance(place, PostgresKeyStorage):
        return [str(key_file.path), request.getfixturevalue("postgres_url"), own("ring")]
    return [str(key_file.path), str(place), ""]


def read_files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_reopened_ring_returns_same_keys(rings: Rings) -> None:
    store, key = rings().add_store()
    version = rings().ensure(store, OWNER)
    first = rings().get_data_key(store, OWNER, version)
    assert first is not None
    assert len(first) == 32
    assert rings().get_data_key(store, OWNER, version) == first
    assert rings().get_store_key(store) == key


def test_only_file_owner_can_read_key_and_ring(file_rings: Rings, key_file: KeyFile) -> None:
    file_rings().add_store()
    for path in key_file.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file.path.parent.stat().st_mode) == 0o700


def test_ring_contains_no_plain_key_or_owner(rings: Rings, key_file: KeyFile) -> None:
    store, key = rings().add_store()
    version = rings().ensure(store, OWNER)
    data_key = rings().get_data_key(store, OWNER, version)
    assert data_key is not None
    place, (_, rows) = rings().storage, rings().export_contents()
    content = b"".join(
        value if isinstance(value, bytes) else b""
        for row in (*rows.ring, *rows.stores, *rows.owners)
        for value in row
    )
    content += b"" if isinstance(place, PostgresKeyStorage) else Path(str(place)).read_bytes()
    master = bytes.fromhex(key_file.path.read_text())
    assert not any(secret in content for secret in (key, data_key, master, master.hex().encode()))


def test_ring_without_master_key_is_refused_and_unchanged(rings: Rings, key_file: KeyFile) -> None:
    store, _ = rings().add_store()
    key_file.path.unlink()
    before = read_files(key_file.path.parent)
    for use in (rings().add_store, lambda: rings().get_store_key(store)):
        with pytest.raises(KeyUnavailable, match="the key file is missing"):
            use()
    assert read_files(key_file.path.parent) == before


def test_wrong_master_key_is_refused_and_changes_nothing(rings: Rings, key_file: KeyFile) -> None:
    store, _ = rings().add_store()
    rings().ensure(store, OWNER)
    key_file.path.write_text(generate_key().hex())
    before = read_files(key_file.path.parent)
    for use in (
        rings().add_store,
        lambda: rings().get_store_key(store),
        lambda: rings().get_data_key(store, OWNER, 1),
        lambda: rings().add(store, OWNER),
        rings().rotate,
    ):
        with pytest.raises(KeyUnavailable, match="does not match the key ring"):
            use()
    assert read_files(key_file.path.parent) == before


def test_reading_missing_ring_does_not_create_it(rings: Rings, tmp_path: Path) -> None:
    with pytest.raises(KeyUnavailable, match="the key ring is missing"):
        rings().get_store_key(b"0" * 16)
    assert list(tmp_path.iterdir()) == []


def test_damaged_ring_is_reported(rings: Rings) -> None:
    store, _ = rings().add_store()
    place = rings().storage
    if isinstance(place, PostgresKeyStorage):
        with session(place._location) as raw:
            raw.execute("ALTER TABLE stores DROP COLUMN wrapped")
    else:
        Path(str(place)).write_bytes(b"no ring" * 1_000)
    with pytest.raises(KeyUnavailable, match="cannot be read"):
        rings().get_store_key(store)


def test_wrapped_key_copied_to_another_owner_is_rejected(rings: Rings) -> None:
    store, _ = rings().add_store()
    rings().ensure(store, OWNER)
    rings().ensure(store, b"digest of bob...")
    with rings().storage.write() as ring:
        ring.run(
            "UPDATE owners SET wrapped = (SELECT wrapped FROM owners WHERE owner = ?1)"
            " WHERE owner <> ?1",
            (OWNER,),
        )
    assert rings().get_data_key(store, OWNER, 1)
    with pytest.raises(KeyUnavailable, match="damaged"):
        rings().get_data_key(store, b"digest of bob...", 1)


def test_existing_key_file_is_used(rings: Rings, key_file: KeyFile) -> None:
    key_file.path.parent.mkdir()
    key_file.path.write_text(generate_key().hex())
    key_file.path.chmod(0o600)
    given = key_file.path.read_text()
    store, _ = rings().add_store()
    assert key_file.path.read_text() == given
    assert rings(ProvidedKey(bytes.fromhex(given))).get_store_key(store)


def test_passphrase_opens_ring_created_with_it(rings: Rings, key_file: KeyFile) -> None:
    store, key = rings(Passphrase("Sesam, öffne dich")).add_store()
    assert rings(Passphrase("Sesam, öffne dich")).get_store_key(store) == key
    with pytest.raises(KeyUnavailable, match="the key does not match"):
        rings(Passphrase("Sesam, oeffne dich")).get_store_key(store)
    assert not key_file.path.exists()


def test_concurrent_threads_get_same_key(rings: Rings) -> None:
    store, _ = rings().add_store()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: rings().ensure(store, OWNER), range(16)))
    assert found == {1}


def test_concurrent_processes_share_one_ring(rings: Rings, arguments: list[str]) -> None:
    program = OPEN_RING + "sys.stdin.read(); print(ring.add_store()[0].hex()); ring.close()"
    command = [sys.executable, "-c", program, *arguments]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)
    ]
    stores = [bytes.fromhex(each.communicate()[0].decode()) for each in started]
    assert len(set(stores)) == 3
    assert all(rings().get_store_key(store) for store in stores)


def test_erased_owners_keys_are_never_restored(rings: Rings) -> None:
    store, _ = rings().add_store()
    rings().ensure(store, OWNER)
    rings().ensure(store, b"digest of bob...")
    rings().erase(store, OWNER)
    assert rings().get_data_key(store, OWNER, 1) is None
    assert rings().versions(store, OWNER) == []
    assert rings().get_data_key(store, b"digest of bob...", 1)
    assert rings().ensure(store, OWNER) == 2


def test_removing_store_keeps_keys_of_other_stores(rings: Rings) -> None:
    first, _ = rings().add_store()
    second, key = rings().add_store()
    rings().ensure(first, OWNER)
    rings().remove_store(first)
    assert rings().get_store_key(first) is None
    assert rings().get_data_key(first, OWNER, 1) is None
    assert rings().get_store_key(second) == key


def test_empty_ring_accepts_new_store_without_old_key(rings: Rings, key_file: KeyFile) -> None:
    first, _ = rings().add_store()
    key_file.path.unlink()
    rings().remove_store(first)
    second, key = rings().add_store()
    assert rings().get_store_key(second) == key


def test_master_key_rotation_preserves_every_key(rings: Rings, key_file: KeyFile) -> None:
    other_process = rings()
    store, key = other_process.add_store()
    rings().ensure(store, OWNER)
    data_key = rings().get_data_key(store, OWNER, 1)
    old = key_file.path.read_text()
    rings().rotate()
    assert key_file.path.read_text() != old
    assert not key_file.next_key_path.exists()
    for ring in (rings(), other_process):
        assert ring.get_store_key(store) == key
        assert ring.get_data_key(store, OWNER, 1) == data_key
    with pytest.raises(KeyUnavailable):
        rings(ProvidedKey(bytes.fromhex(old))).get_store_key(store)


def test_rotation_replaces_key_file_with_passphrase(rings: Rings) -> None:
    store, key = rings().add_store()
    rings().rotate(Passphrase("new"))
    assert rings(Passphrase("new")).get_store_key(store) == key
    with pytest.raises(KeyUnavailable):
        rings().get_store_key(store)


def test_uncommitted_rotation_is_discarded(rings: Rings, key_file: KeyFile) -> None:
    store, key = rings().add_store()
    key_file.next_key_path.write_text(generate_key().hex())
    key_file.next_key_path.chmod(0o600)
    assert rings().get_store_key(store) == key
    assert not key_file.next_key_path.exists()


def test_interrupted_rotation_is_completed(rings: Rings, key_file: KeyFile) -> None:
    store, key = rings().add_store()
    old = key_file.path.read_text()
    rings().rotate()
    new = key_file.path.read_text()
    key_file.next_key_path.write_text(new)
    key_file.next_key_path.chmod(0o600)
    key_file.path.write_text(old)
    assert rings().get_store_key(store) == key
    assert key_file.path.read_text() == new
    assert not key_file.next_key_path.exists()


ROTATE_FOREVER = """
print("ready", flush=True)
while True:
    ring.rotate()
"""


def check_killed_rotation(rings: Rings, arguments: list[str], after_s: float) -> None:
    store, key = rings().add_store()
    rings().ensure(store, OWNER)
    data_key = rings().get_data_key(store, OWNER, 1)
    killed(["-c", OPEN_RING + ROTATE_FOREVER, *arguments], after_s)
    assert rings().get_store_key(store) == key
    assert rings().get_data_key(store, OWNER, 1) == data_key
    rings().rotate()
    assert rings().get_store_key(store) == key


@pytest.mark.parametrize("after_s", [0.003, 0.011, 0.024])
def test_ring_opens_after_killed_rotation(
    rings: Rings, arguments: list[str], after_s: float
) -> None:
    check_killed_rotation(rings, arguments, after_s)


@pytest.mark.soak
@pytest.mark.parametrize("trial", range(50))
def test_ring_opens_after_rotation_killed_at_50_moments(
    rings: Rings, arguments: list[str], trial: int
) -> None:
    check_killed_rotation(rings, arguments, trial * 0.00173)


def test_repr_contains_no_key(rings: Rings, key_file: KeyFile) -> None:
    ring = rings(Passphrase("open sesame"))
    store, key = ring.add_store()
    shown = repr([ring, ring.source, ProvidedKey(key), key_file, store])
    assert key.hex() not in shown
    assert repr(key) not in shown
    assert "sesame" not in shown


def test_key_readable_by_others_is_warned_about_once(
    rings: Rings, key_file: KeyFile, caplog: pytest.LogCaptureFixture
) -> None:
    store, _ = rings().add_store()
    key_file.path.chmod(0o644)
    for _ in range(3):
        rings().get_store_key(store)
    (record,) = caplog.records
    assert "chmod 600" in record.getMessage()
    assert str(key_file.path) in record.getMessage()


def test_ring_is_created_on_file_system_without_links(
    rings: Rings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_from: object, _to: object) -> None:
        raise PermissionError("links are not supported")

    monkeypatch.setattr(os, "link", refuse)
    store, key = rings().add_store()
    assert rings().get_store_key(store) == key


def test_ring_at_another_path_does_not_know_store(
    file_rings: Rings, key_file: KeyFile, tmp_path: Path
) -> None:
    store, _ = file_rings().add_store()
    other = KeyRing(tmp_path / "other.ring", key_file)
    other.add_store()
    assert other.get_store_key(store) is None
