"""A full disk: acknowledged writes persist, failed writes are rolled back.

Reads continue, also for a process that opens the store afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memolith import Memolith, Message, OwnerMemory
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_backup import back_up_keys, restore_keys
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.cli.context import DefaultEngineFactory
from memolith.cli.main import cli
from memolith.config import LoadedSettings
from memolith.domain.recall import SearchMode
from memolith.errors import MemolithError, StoreUnavailable
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.mount_namespace import filled, mount_tmpfs, resize, run_apart

pytestmark = pytest.mark.sqlite

NO_ROOM = r"full|No space left"
FULL = "the disk is full: "


def ring_in(folder: Path) -> KeyRing:
    return KeyRing(folder / "key.ring", KeyFile(folder / "key"))


def open_store(store: Path, keys: Path | None = None) -> Memolith:
    """Open a store; it is encrypted if a folder for keys is given."""
    return Memolith.open(
        store,
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        clock=SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC)),
        cipher=KeyRingCiphers(ring_in(keys)) if keys else PlainCipher(),
    )


def list_contents(memory: Memolith, owner: str = "alice") -> set[str]:
    return {one.content for one in memory.list(owner=owner, limit=1_000).memories}


def text(number: int) -> str:
    return f"Fact {number} is about {'abcdefghij'[number % 10]}{number} and what it is good for."


def check_error(error: MemolithError, *contents: str) -> None:
    """Check that an error is clear and contains no stored content."""
    assert str(error).startswith(FULL)
    assert not any(content in str(error) for content in contents)


def _write_until_disk_is_full(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 2_500)
    with open_store(disk / "memory.db", folder / "keys") as memory:
        alice = memory.owner("alice")
        kept: list[str] = []
        try:
            while True:
                alice.remember(text(len(kept)), key=f"key {len(kept)}")
                kept.append(text(len(kept)))
        except StoreUnavailable as error:
            failed = len(kept)
            check_error(error, text(failed))
        assert failed > 20
        _check_memories(memory, kept)
        with pytest.raises(StoreUnavailable):
            alice.remember(text(failed))
        _check_memories(memory, kept)
        resize(disk, 4_000)
        alice.remember(text(failed))
        _check_memories(memory, [*kept, text(failed)])
    with open_store(disk / "memory.db", folder / "keys") as memory:
        _check_memories(memory, [*kept, text(failed)])


def _check_memories(memory: Memolith, kept: list[str]) -> None:
    alice = memory.owner("alice")
    assert list_contents(memory) == set(kept)
    modes: tuple[SearchMode, ...] = ("vector", "keyword")
    for content in kept[:3] + kept[-3:]:
        for mode in modes:
            found = alice.recall(content, mode=mode, top_k=3, touch=False)
            assert content in [one.content for one in found.memories]
    assert memory.verify().findings == ()


EVERY_WRITE: dict[str, Callable[[OwnerMemory], object]] = {
    "remember": lambda alice: alice.remember("Owns a boat " * 50, key="boat", tags=["a", "b"]),
    "rewrite": lambda alice: alice.remember("Keeps bees " * 50, key="hobby"),
    "learn": lambda alice: alice.learn("I live in Rome. I like tea. " * 20, "I see." * 100),
    "log": lambda alice: alice.log([Message("Bob", f"Line {n} " * 30) for n in range(20)]),
    "update": lambda alice: alice.update(_id_of_key("hobby", alice), "Sings in a choir " * 30),
    "forget": lambda alice: alice.forget(_id_of_key("job", alice)),
    "purge": lambda alice: alice.purge(_id_of_key("job", alice)),
    "supersede": lambda alice: alice.supersede(
        _id_of_key("job", alice), _id_of_key("hobby", alice)
    ),
    "end_session": lambda alice: alice.end_session("s"),
}


def _id_of_key(key: str, alice: OwnerMemory) -> str:
    return next(one.id for one in alice.list().memories if one.key == key)


def _write_all_or_nothing_with_little_room(folder: Path) -> None:
    """Try each write with no free space, then with slightly more, until it succeeds."""
    mount_tmpfs(folder, 3_000)
    with open_store(folder / "memory.db") as memory:
        for name, write in EVERY_WRITE.items():
            failures = 0
            alice = memory.owner(f"alice who does {name}")
            alice.learn("I work at NASA. I moved to Oslo.", "I see.", session="s")
            alice.remember("Works at NASA", key="job")
            alice.remember("Plays the cello", key="hobby")
            for room in (*range(0, 64, 8), *range(64, 256, 32)):
                before = list(alice.export()), alice.stats()
                # Empty the write-ahead log: only the free space of the disk is left.
                memory._app.store.compact()
                try:
                    with filled(folder, but_for_kilobytes=room):
                        write(alice)
                except StoreUnavailable as error:
                    check_error(error, "boat", "bees", "Rome", "Line", "choir", "NASA")
                    failures += 1
                    assert (list(alice.export()), alice.stats()) == before
                    assert alice.recall("cello", touch=False).memories
                else:
                    break
            else:
                pytest.fail(f"{name} never found room")
            assert failures, name
        assert memory.verify().findings == ()


def _open_on_full_disk(folder: Path) -> None:
    mount_tmpfs(folder, 2_000)
    store, keys = folder / "memory.db", folder / "keys"
    with open_store(store, keys) as memory:
        memory.remember(text(1), owner="alice")
    with filled(folder), open_store(store, keys) as memory, open_store(store, keys) as second:
        assert list_contents(memory) == list_contents(second) == {text(1)}
        assert memory.recall(text(1), owner="alice").memories  # the access is not counted
        assert memory.verify().findings == ()
        with pytest.raises(StoreUnavailable) as refused:
            memory.remember(text(2), owner="alice")
        check_error(refused.value, text(2))
        assert list_contents(memory) == {text(1)}
        (folder / "filler").write_bytes(b"")
        memory.remember(text(2), owner="alice")
        assert list_contents(memory) == list_contents(second) == {text(1), text(2)}
        second.remember(text(3), owner="alice")
        assert list_contents(memory) == {text(1), text(2), text(3)}
    with open_store(store, keys) as memory:
        assert list_contents(memory) == {text(1), text(2), text(3)}
        assert memory.verify().findings == ()


def _create_store_on_full_disk(folder: Path) -> None:
    mount_tmpfs(folder, 2_000)
    store, keys = folder / "memory.db", folder / "keys"
    for room in (0, 4, 8, 16, 32, 48, 64, 96, 128):
        with filled(folder, but_for_kilobytes=room):
            try:
                open_store(store, keys).close()
            except StoreUnavailable as error:
                check_error(error)
            else:
                break
    assert room > 16
    with open_store(store, keys) as memory:
        memory.remember(text(1), owner="alice")
        assert list_contents(memory) == {text(1)}
        assert memory.verify().findings == ()


def _preserve_keys(folder: Path) -> None:
    keys = folder / "keys"
    keys.mkdir()
    mount_tmpfs(keys, 1_000)
    with open_store(folder / "memory.db", keys) as memory:
        for owner in ("alice", "bob"):
            memory.remember(text(1), owner=owner)
        with filled(keys):
            for write in (
                lambda: memory.remember(text(2), owner="carol"),
                lambda: memory.rotate_key("alice"),
                lambda: ring_in(keys).rotate(),
                lambda: back_up_keys(ring_in(keys), keys / "backup.json", None),
                lambda: open_store(folder / "another.db", keys),
            ):
                with pytest.raises(StoreUnavailable) as refused:
                    write()
                check_error(refused.value, text(2))
            assert memory.owners() == ["alice", "bob"]
            memory.remember(text(3), owner="alice")
        assert sorted(each.name for each in keys.iterdir()) == ["key", "key.ring"]
    with open_store(folder / "memory.db", keys) as memory:
        assert list_contents(memory) == {text(1), text(3)}
        assert list_contents(memory, "bob") == {text(1)}
        memory.remember(text(2), owner="carol")
        memory.rotate_key("alice")
        ring_in(keys).rotate()
        back_up_keys(ring_in(keys), keys / "backup.json", None)
        with filled(folder / "keys"), pytest.raises(StoreUnavailable):
            restore_keys(
                keys / "backup.json", None, ring_in(keys / "2"), KeyFile(keys / "2" / "key")
            )
    with open_store(folder / "memory.db", keys) as memory:
        assert [list_contents(memory, owner) for owner in memory.owners()] == [
            {text(1), text(3)},
            {text(1)},
            {text(2)},
        ]
        assert memory.verify().findings == ()


def _back_up_completely_or_not_at_all(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 2_000)
    target = disk / "backup.db"
    with open_store(folder / "memory.db") as memory:
        memory.remember(text(1), owner="alice")
        memory.backup(target)
        memory.remember(text(2), owner="alice")
        first = target.read_bytes()
        with filled(disk):
            with pytest.raises(StoreUnavailable, match=NO_ROOM):
                memory.backup(target, overwrite=True)
            assert target.read_bytes() == first
            assert sorted(each.name for each in disk.iterdir()) == ["backup.db", "filler"]
        memory.backup(target, overwrite=True)
    with filled(disk), pytest.raises(StoreUnavailable, match=NO_ROOM):
        Memolith.restore_backup(target, disk / "back.db", cipher=PlainCipher())
    assert sorted(each.name for each in disk.iterdir()) == ["backup.db"]
    Memolith.restore_backup(target, disk / "back.db", cipher=PlainCipher())
    with open_store(disk / "back.db") as memory:
        assert list_contents(memory) == {text(1), text(2)}


class _WithoutModel(DefaultEngineFactory):
    def engine(self, loaded: LoadedSettings, **_: object) -> Memolith:
        return open_store(Path(loaded.settings.store))


def _import_in_complete_batches(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 2_500)
    store, lines = disk / "memory.db", folder / "lines.jsonl"
    messages = [{"content": text(n), "session": f"s{n // 10}", "id": f"m{n}"} for n in range(400)]
    lines.write_text("\n".join(map(json.dumps, messages)))

    def run() -> Result:
        command = ["import", "jsonl", str(lines), "--owner", "alice", "--store", str(store)]
        return CliRunner().invoke(cli, command, obj=_WithoutModel())

    stopped = run()
    assert stopped.exit_code == 10
    *_, kept, last = stopped.stderr.splitlines()
    assert last == f"memolith: {FULL}{store}"
    taken = int(re.findall(r"stopped after (\d+) messages", kept)[0])
    with open_store(store) as memory:
        alice = memory.owner("alice")
        there = [
            each.content for session in alice.sessions() for each in alice.messages(session.id)
        ]
        assert there == [text(n) for n in range(taken)]
        assert memory.verify().findings == ()
    resize(disk, 16_000)
    assert run().exit_code == 0
    with open_store(store) as memory:
        assert memory.stats(owner="alice").messages == len(messages)
        assert memory.verify().findings == ()


@pytest.mark.parametrize(
    "body",
    [
        _write_until_disk_is_full,
        _write_all_or_nothing_with_little_room,
        _open_on_full_disk,
        _create_store_on_full_disk,
        _preserve_keys,
        _back_up_completely_or_not_at_all,
        _import_in_complete_batches,
    ],
    ids=lambda body: body.__name__.strip("_"),
)
def test_full_disk_leaves_data_intact(tmp_path: Path, body: Callable[[Path], None]) -> None:
    run_apart(body, tmp_path)
