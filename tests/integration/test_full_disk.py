"""A disk that is full: what was acknowledged stays, what failed is not half there.

And reading goes on, also for who opens the store only then.
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


def opened(store: Path, keys: Path | None = None) -> Memolith:
    """Open a store; encrypted, where there is a folder for keys."""
    return Memolith.open(
        store,
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        clock=SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC)),
        cipher=KeyRingCiphers(ring_in(keys)) if keys else PlainCipher(),
    )


def told(memory: Memolith, owner: str = "alice") -> set[str]:
    return {one.content for one in memory.list(owner=owner, limit=1_000).memories}


def text(number: int) -> str:
    return f"Fact {number} is about {'abcdefghij'[number % 10]}{number} and what it is good for."


def check(error: MemolithError, *contents: str) -> None:
    """See that an error is clear and tells nothing of what is stored."""
    assert str(error).startswith(FULL)
    assert not any(content in str(error) for content in contents)


def _writes_until_the_disk_is_full(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 2_500)
    with opened(disk / "memory.db", folder / "keys") as memory:
        alice = memory.owner("alice")
        kept: list[str] = []
        try:
            while True:
                alice.remember(text(len(kept)), key=f"key {len(kept)}")
                kept.append(text(len(kept)))
        except StoreUnavailable as error:
            failed = len(kept)
            check(error, text(failed))
        assert failed > 20
        _is_whole(memory, kept)
        with pytest.raises(StoreUnavailable):
            alice.remember(text(failed))
        _is_whole(memory, kept)
        resize(disk, 4_000)
        alice.remember(text(failed))
        _is_whole(memory, [*kept, text(failed)])
    with opened(disk / "memory.db", folder / "keys") as memory:
        _is_whole(memory, [*kept, text(failed)])


def _is_whole(memory: Memolith, kept: list[str]) -> None:
    alice = memory.owner("alice")
    assert told(memory) == set(kept)
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
    "update": lambda alice: alice.update(_of("hobby", alice), "Sings in a choir " * 30),
    "forget": lambda alice: alice.forget(_of("job", alice)),
    "purge": lambda alice: alice.purge(_of("job", alice)),
    "supersede": lambda alice: alice.supersede(_of("job", alice), _of("hobby", alice)),
    "end_session": lambda alice: alice.end_session("s"),
}


def _of(key: str, alice: OwnerMemory) -> str:
    return next(one.id for one in alice.list().memories if one.key == key)


def _writes_all_or_nothing_with_little_room(folder: Path) -> None:
    """Each write with no room, and with a little more each time, until it finds enough."""
    mount_tmpfs(folder, 3_000)
    with opened(folder / "memory.db") as memory:
        for name, write in EVERY_WRITE.items():
            failures = 0
            alice = memory.owner(f"alice who does {name}")
            alice.learn("I work at NASA. I moved to Oslo.", "I see.", session="s")
            alice.remember("Works at NASA", key="job")
            alice.remember("Plays the cello", key="hobby")
            for room in (*range(0, 64, 8), *range(64, 256, 32)):
                before = list(alice.export()), alice.stats()
                # An empty log: what is free is all the room that there is.
                memory._app.store.compact()
                try:
                    with filled(folder, but_for_kilobytes=room):
                        write(alice)
                except StoreUnavailable as error:
                    check(error, "boat", "bees", "Rome", "Line", "choir", "NASA")
                    failures += 1
                    assert (list(alice.export()), alice.stats()) == before
                    assert alice.recall("cello", touch=False).memories
                else:
                    break
            else:
                pytest.fail(f"{name} never found room")
            assert failures, name
        assert memory.verify().findings == ()


def _opens_on_a_full_disk(folder: Path) -> None:
    mount_tmpfs(folder, 2_000)
    store, keys = folder / "memory.db", folder / "keys"
    with opened(store, keys) as memory:
        memory.remember(text(1), owner="alice")
    with filled(folder), opened(store, keys) as memory, opened(store, keys) as second:
        assert told(memory) == told(second) == {text(1)}
        assert memory.recall(text(1), owner="alice").memories  # its use is not counted
        assert memory.verify().findings == ()
        with pytest.raises(StoreUnavailable) as refused:
            memory.remember(text(2), owner="alice")
        check(refused.value, text(2))
        assert told(memory) == {text(1)}
        (folder / "filler").write_bytes(b"")
        memory.remember(text(2), owner="alice")
        assert told(memory) == told(second) == {text(1), text(2)}
        second.remember(text(3), owner="alice")
        assert told(memory) == {text(1), text(2), text(3)}
    with opened(store, keys) as memory:
        assert told(memory) == {text(1), text(2), text(3)}
        assert memory.verify().findings == ()


def _begins_on_a_full_disk(folder: Path) -> None:
    mount_tmpfs(folder, 2_000)
    store, keys = folder / "memory.db", folder / "keys"
    for room in (0, 4, 8, 16, 32, 48, 64, 96, 128):
        with filled(folder, but_for_kilobytes=room):
            try:
                opened(store, keys).close()
            except StoreUnavailable as error:
                check(error)
            else:
                break
    assert room > 16
    with opened(store, keys) as memory:
        memory.remember(text(1), owner="alice")
        assert told(memory) == {text(1)}
        assert memory.verify().findings == ()


def _loses_no_key(folder: Path) -> None:
    keys = folder / "keys"
    keys.mkdir()
    mount_tmpfs(keys, 1_000)
    with opened(folder / "memory.db", keys) as memory:
        for owner in ("alice", "bob"):
            memory.remember(text(1), owner=owner)
        with filled(keys):
            for write in (
                lambda: memory.remember(text(2), owner="carol"),
                lambda: memory.rotate_key("alice"),
                lambda: ring_in(keys).rotate(),
                lambda: back_up_keys(ring_in(keys), keys / "backup.json", None),
                lambda: opened(folder / "another.db", keys),
            ):
                with pytest.raises(StoreUnavailable) as refused:
                    write()
                check(refused.value, text(2))
            assert memory.owners() == ["alice", "bob"]
            memory.remember(text(3), owner="alice")
        assert sorted(each.name for each in keys.iterdir()) == ["key", "key.ring"]
    with opened(folder / "memory.db", keys) as memory:
        assert told(memory) == {text(1), text(3)}
        assert told(memory, "bob") == {text(1)}
        memory.remember(text(2), owner="carol")
        memory.rotate_key("alice")
        ring_in(keys).rotate()
        back_up_keys(ring_in(keys), keys / "backup.json", None)
        with filled(folder / "keys"), pytest.raises(StoreUnavailable):
            restore_keys(
                keys / "backup.json", None, ring_in(keys / "2"), KeyFile(keys / "2" / "key")
            )
    with opened(folder / "memory.db", keys) as memory:
        assert [told(memory, owner) for owner in memory.owners()] == [
            {text(1), text(3)},
            {text(1)},
            {text(2)},
        ]
        assert memory.verify().findings == ()


def _backs_up_whole_or_not_at_all(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 2_000)
    target = disk / "backup.db"
    with opened(folder / "memory.db") as memory:
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
    with opened(disk / "back.db") as memory:
        assert told(memory) == {text(1), text(2)}


class _WithoutModel(DefaultEngineFactory):
    def engine(self, loaded: LoadedSettings, **_: object) -> Memolith:
        return opened(Path(loaded.settings.store))


def _imports_in_whole_batches(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 2_500)
    store, lines = disk / "memory.db", folder / "lines.jsonl"
    said = [{"content": text(n), "session": f"s{n // 10}", "id": f"m{n}"} for n in range(400)]
    lines.write_text("\n".join(map(json.dumps, said)))

    def run() -> Result:
        command = ["import", "jsonl", str(lines), "--owner", "alice", "--store", str(store)]
        return CliRunner().invoke(cli, command, obj=_WithoutModel())

    stopped = run()
    assert stopped.exit_code == 10
    *_, kept, last = stopped.stderr.splitlines()
    assert last == f"memolith: {FULL}{store}"
    taken = int(re.findall(r"stopped after (\d+) messages", kept)[0])
    with opened(store) as memory:
        alice = memory.owner("alice")
        there = [
            each.content for session in alice.sessions() for each in alice.messages(session.id)
        ]
        assert there == [text(n) for n in range(taken)]
        assert memory.verify().findings == ()
    resize(disk, 16_000)
    assert run().exit_code == 0
    with opened(store) as memory:
        assert memory.stats(owner="alice").messages == len(said)
        assert memory.verify().findings == ()


@pytest.mark.parametrize(
    "body",
    [
        _writes_until_the_disk_is_full,
        _writes_all_or_nothing_with_little_room,
        _opens_on_a_full_disk,
        _begins_on_a_full_disk,
        _loses_no_key,
        _backs_up_whole_or_not_at_all,
        _imports_in_whole_batches,
    ],
    ids=lambda body: body.__name__.strip("_"),
)
def test_who_meets_a_full_disk(tmp_path: Path, body: Callable[[Path], None]) -> None:
    run_apart(body, tmp_path)
