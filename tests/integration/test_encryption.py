"""Encryption: contents of the files, key errors and unchanged results."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import ConfiguredCiphers, PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.sql.rekey import ENCRYPTED_COLUMNS
from memolith.adapters.sqlite.schema import MIGRATIONS
from memolith.config import load
from memolith.domain.messages import Message, Role
from memolith.errors import Conflict, KeyUnavailable, StoreDamaged
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.databases import contents, execute
from support.plaintext_search import Opener, bytes_of, found_in, sealed_values
from support.processes import killed
from support.random_words import Words


def fill(memory: Memolith, words: Words, count: int, owner: str = "alice") -> None:
    for n in range(count // 2):
        memory.remember(
            words.text(6),
            owner=owner,
            key=words.word() if n % 3 == 0 else None,
            tags=[words.word()] if n % 2 else [],
        )
    messages = [
        Message(words.word().capitalize(), words.text(8), Role.USER) for _ in range(count // 2)
    ]
    for start in range(0, len(messages), 50):
        memory.log(messages[start : start + 50], owner=owner, session=f"s{start}")


@pytest.mark.sqlite
def test_no_plaintext_of_1000_memories_is_in_any_file(opened: Opener, path: Path) -> None:
    words = Words(1)
    with opened() as memory:
        fill(memory, words, 1_000)
        first = memory.list(owner="alice").memories[0]
        memory.update(first.id, owner="alice", content=words.text(6))
        memory.forget(memory.list(owner="alice").memories[1].id, owner="alice")
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        copy = apsw.Connection(str(path.with_name("backup.db")))
        with copy.backup("main", source, "main") as backup:
            backup.step(-1)
        copy.close()
        source.close()
        while_open = bytes_of(path.parent)
    assert {"memory.db", "memory.db-wal", "memory.db-shm", "backup.db"} <= set(while_open)
    files = {**while_open, **{f"closed {k}": v for k, v in bytes_of(path.parent).items()}}
    assert [name for name, content in files.items() if found_in(content, words.all)] == []


@pytest.mark.sqlite
def test_plaintext_search_finds_words_in_plain_store(opened: Opener, path: Path) -> None:
    words = Words(1)
    with opened(cipher=PlainCipher()) as memory:
        fill(memory, words, 40)
    assert len(found_in(path.read_bytes(), words.all)) == len(set(words.all))


def test_recall_equals_recall_of_plain_store(opened: Opener, path: Path) -> None:
    plain_path = path.with_name("plain.db")
    results = []
    for where, cipher in ((path, None), (plain_path, PlainCipher())):
        words = Words(2)
        with opened(where, cipher) as memory:
            fill(memory, words, 300)
        with opened(where, cipher) as memory:
            asked = random.Random(3)  # noqa: S311
            questions = [" ".join(asked.sample(words.all, 3)) for _ in range(200)]
            results.append(
                [
                    [
                        (one.content, one.score)
                        for one in memory.recall(each, owner="alice", touch=False).memories
                    ]
                    for each in questions
                ]
            )
    assert sum(map(len, results[0])) > 200
    assert results[0] == results[1]


@pytest.mark.sqlite
def test_opening_without_key_explains_and_changes_nothing(
    opened: Opener, path: Path, ring: KeyRing
) -> None:
    with opened() as memory:
        memory.remember("The gate's code is 4711", owner="alice")
    before = bytes_of(path.parent)
    key = Path(str(ring.storage)).with_suffix("")
    for break_it in (
        lambda: key.rename(key.with_name("away")),
        lambda: key.write_text("ab" * 32),
        lambda: Path(str(ring.storage)).rename(Path(str(ring.storage)).with_name("ring away")),
    ):
        break_it()
        with pytest.raises(KeyUnavailable, match=r"memolith key restore FILE.*memolith reset"):
            opened()
        assert bytes_of(path.parent) == before
    assert not Path(str(ring.storage)).exists()


@pytest.mark.sqlite
def test_opening_without_key_preserves_write_ahead_log(
    opened: Opener, path: Path, ring: KeyRing, tmp_path: Path
) -> None:
    with opened() as memory:
        memory.remember("The gate's code is 4711", owner="alice")
        killed = tmp_path / "killed"
        killed.mkdir()
        for name in ("memory.db", "memory.db-wal"):
            (killed / name).write_bytes(path.with_name(name).read_bytes())
    before = bytes_of(killed)
    Path(str(ring.storage)).with_suffix("").unlink()
    with pytest.raises(KeyUnavailable):
        opened(killed / "memory.db")
    after = bytes_of(killed)
    assert {name: after[name] for name in before} == before


@pytest.mark.sqlite
def test_plain_store_stays_plain_when_encryption_is_enabled(
    path: Path, clock: SettableClock
) -> None:
    def open_(*, encrypt: bool) -> Memolith:
        config = load(env={}, overrides={"enable_encryption": encrypt})
        return Memolith.open(
            path, embedder=HashingEmbedder(), clock=clock, tokens=WordCounter(), config=config
        )

    with open_(encrypt=False) as memory:
        memory.remember("The gate's code is 4711", owner="alice")
        assert memory.stats(owner="alice").total_count == 1
    with open_(encrypt=True) as memory:
        assert memory.recall("gate", owner="alice").memories
    assert b"4711" in path.read_bytes()


def test_plain_store_logs_warning_when_encryption_is_enabled(
    opened: Opener, ring: KeyRing, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(cipher=PlainCipher()) as memory:
        memory.remember("The gate's code is 4711", owner="alice")
    for encrypt, warnings in ((False, []), (True, ["this store is not encrypted"])):
        caplog.clear()
        with opened(cipher=ConfiguredCiphers(lambda: ring, encrypt=encrypt)) as memory:
            assert memory.recall("gate", owner="alice").memories
        warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert [each.split(";")[0] for each in warned] == warnings


@pytest.mark.sqlite
def test_encryption_is_enabled_by_default(path: Path, clock: SettableClock) -> None:
    options = {"embedder": HashingEmbedder(), "clock": clock, "tokens": WordCounter()}
    with Memolith.open(path, config=load(env={}), **options) as memory:  # type: ignore[arg-type]
        memory.remember("The gate's code is 4711", owner="alice")
    assert b"4711" not in path.read_bytes()


def tamper(path: Path, statement: str) -> None:
    assert execute(path, statement)


MOVES = {
    "another's": """UPDATE memories SET content =
        (SELECT content FROM memories AS o WHERE o.id <> memories.id)""",
    "another field's": "UPDATE memories SET content = tags",
    "an older version's": """UPDATE memories SET content =
        (SELECT content FROM versions AS v WHERE v.id = memories.id)
        WHERE id IN (SELECT id FROM versions)""",
    "changed": """UPDATE memories SET content =
        CAST(substr(content, 1, length(content) - 1)
        || CASE substr(content, length(content)) WHEN x'00' THEN x'01' ELSE x'00' END AS BLOB)""",
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_moved_or_altered_ciphertext_is_rejected(opened: Opener, path: Path, move: str) -> None:
    with opened() as memory:
        first = memory.remember("The gate's code is 4711", owner="alice", tags=["gate"])
        memory.remember("The cellar's code is 1147", owner="alice", tags=["cellar"])
        memory.update(first.id, owner="alice", content="The gate's code is 4712")
    tamper(path, move)
    with opened() as memory, pytest.raises(StoreDamaged, match="cannot be decrypted") as refused:
        memory.get(first.id, owner="alice")
    assert "4711" not in str(refused.value)


@pytest.mark.sqlite
def test_rows_of_erased_owner_cannot_be_decrypted(opened: Opener, path: Path) -> None:
    with opened() as memory:
        for owner in ("alice", "bob"):
            memory.remember("The gate's code is 4711", owner=owner)
        copy = path.read_bytes(), path.with_name("memory.db-wal").read_bytes()
        memory.erase("alice")
    restored = path.with_name("restored.db")
    restored.write_bytes(copy[0])
    restored.with_name("restored.db-wal").write_bytes(copy[1])
    with opened(restored) as memory:
        assert memory.recall("gate", owner="bob").memories
        for use in (
            lambda: memory.recall("gate", owner="alice"),
            lambda: memory.list(owner="alice"),
            lambda: memory.remember("new", owner="alice"),
        ):
            with pytest.raises(KeyUnavailable, match="erased"):
                use()


@pytest.mark.sqlite
def test_external_message_ids_are_encrypted(opened: Opener, path: Path) -> None:
    messages = [
        Message("Bob", "The mill turns", external_id="zuvefumuga-1"),
        Message("Bob", "I like zebras.", Role.USER, external_id="zuvefumuga-2"),
    ]
    with opened() as memory:
        learned = memory.log(messages, owner="alice", session="s")
        assert learned.memories[0].sources[0].external_id == "zuvefumuga-2"
        assert memory.log(messages, owner="alice", session="s").duplicates_skipped == 2
        assert memory.rotate_key("alice") == 2
        assert memory.log(messages, owner="alice", session="s").duplicates_skipped == 2
        (kept,) = memory.list(owner="alice").memories
        assert kept.sources[0].external_id == "zuvefumuga-2"
        stored = memory.messages("s", owner="alice")
        assert [each.external_id for each in stored] == [each.external_id for each in messages]
        files = bytes_of(path.parent)
    files |= {f"closed {name}": content for name, content in bytes_of(path.parent).items()}
    assert not [name for name, content in files.items() if b"zuvefumuga" in content]


def everything(memory: Memolith, owner: str = "alice") -> list[object]:
    with memory._app.store.read(owner) as snapshot:
        return [*memory.export(owner=owner), *snapshot.base_memories()]


def test_key_rotation_preserves_data_and_replaces_ciphertext(opened: Opener, path: Path) -> None:
    words = Words(4)
    with opened() as memory:
        fill(memory, words, 60)
        keyed = memory.remember("The gate's code is 4711", owner="alice", key="gate", tags=["code"])
        memory.update(keyed.id, owner="alice", content="The gate's code is 4712")
        known = memory.remember("My bicycle is green", owner="alice")
        memory.forget(memory.list(owner="alice").memories[3].id, owner="alice")
        with memory._app.store.write("alice") as tx:
            tx.set_base_memory(words.text(9), sources=(), at=datetime(2026, 1, 2, tzinfo=UTC))
        before = everything(memory)
        asked = [
            (words.all[n], memory.recall(words.all[n], owner="alice", touch=False))
            for n in range(40)
        ]
        encrypted = sealed_values(path)
        assert memory.rotate_key("alice") == 2
        assert everything(memory) == before
        assert not files_containing(path, encrypted)
    with opened() as memory:
        assert everything(memory) == before
        for word, result in asked:
            again = memory.recall(word, owner="alice", touch=False)
            assert [one.id for one in again.memories] == [one.id for one in result.memories]
        tagged = memory.list(owner="alice", tags=["code"]).memories
        assert [one.id for one in tagged] == [keyed.id]
        assert memory.remember("My bicycle is green", owner="alice").id == known.id
        assert memory.forget(key="gate", owner="alice").memories == (keyed.id,)
    assert not encrypted & sealed_values(path)


def check_nothing_old_is_left(opened: Opener, path: Path, seed: int) -> None:
    words = Words(seed)
    with opened() as memory:
        alice = memory.owner("alice")
        fill(memory, words, 200)
        stored = alice.list(limit=100).memories
        for one in stored[::7]:
            alice.update(one.id, words.text(7))
        for one in stored[::9]:
            alice.forget(one.id)
        before = sealed_values(path)
        memory.rotate_key("alice")
        assert not files_containing(path, before)
        before = sealed_values(path)
        for one in stored[::5]:
            assert alice.purge(one.id).compacted
        gone = before - sealed_values(path)
        assert gone
        assert not files_containing(path, gone)


@pytest.mark.sqlite
@pytest.mark.parametrize("seed", range(2))
def test_rotation_and_purge_leave_no_old_ciphertext(opened: Opener, path: Path, seed: int) -> None:
    check_nothing_old_is_left(opened, path, seed)


@pytest.mark.sqlite
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 52))
def test_50_rotations_and_purges_leave_no_old_ciphertext(
    opened: Opener, path: Path, seed: int
) -> None:
    check_nothing_old_is_left(opened, path, seed)


def files_containing(path: Path, values: set[bytes]) -> list[str]:
    """Return the files or tables that contain a value, once for each value."""
    files = contents(path)
    return [name for name, content in files.items() for value in values if value in content]


@pytest.mark.sqlite
def test_rotation_covers_every_blob_column() -> None:
    """New columns must be re-encrypted by key rotation or be listed as exempt."""
    connection = apsw.Connection(":memory:")
    for script in MIGRATIONS:
        connection.execute(script)
    of_bytes = {
        (table, column)
        for table, column in connection.execute(
            "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c"
            " WHERE c.type = 'BLOB'"
        )
    }
    ids = {"id", "record_id", "source_id", "target_id", "memory_id", "superseded_by", "sources"}
    exempt = {
        ("claims", "token"),
        ("jobs", "lease_token"),
        ("tombstones", "digest"),
        ("api_keys", "digest"),
        ("idempotency", "key_digest"),
        ("idempotency", "request_digest"),
        ("idempotency", "response"),
    }
    encrypted = {
        (table, column) for table, columns in ENCRYPTED_COLUMNS.items() for column in columns
    }
    others = {pair for pair in of_bytes if pair[1] not in ids}
    assert encrypted <= of_bytes
    assert others - encrypted <= exempt


def test_key_rotation_of_plain_store_is_rejected(opened: Opener) -> None:
    with opened(cipher=PlainCipher()) as memory:
        memory.remember("The gate's code is 4711", owner="alice")
        with pytest.raises(Conflict, match="not encrypted"):
            memory.rotate_key("alice")


def test_rotation_with_unknown_term_changes_nothing(opened: Opener, path: Path) -> None:
    with opened() as memory:
        memory.remember("The gate's code is 4711", owner="alice")
        before = everything(memory)
    tamper(
        path,
        "UPDATE terms SET term = x'0102030405060708' WHERE term = (SELECT min(term) FROM terms)",
    )
    with opened() as memory:
        with pytest.raises(Conflict, match="match none"):
            memory.rotate_key("alice")
        assert everything(memory) == before


FIRST_START = """
import sys
from pathlib import Path
from memolith import Memolith
from memolith.adapters.crypto.ciphers import ConfiguredCiphers
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.testing.fakes import HashingEmbedder, WordCounter
path, key, number = sys.argv[1:]
ciphers = KeyRingCiphers(KeyRing(Path(key + ".ring"), KeyFile(Path(key))))
options = dict(embedder=HashingEmbedder(), tokens=WordCounter(), cipher=ciphers)
sys.stdin.read()
with Memolith.open(path, **options) as memory:
    memory.remember(f"Process {number} was here", owner="alice")
    memory.remember(f"Process {number} was here", owner=f"owner {number}")
"""


@pytest.mark.sqlite
def test_concurrent_first_starts_share_one_key(opened: Opener, path: Path, ring: KeyRing) -> None:
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                FIRST_START,
                str(path),
                str(Path(str(ring.storage)).with_suffix("")),
                str(n),
            ],
            stdin=subprocess.PIPE,
        )
        for n in range(3)
    ]
    for each in started:
        assert each.stdin is not None
        each.stdin.close()
    assert [each.wait(60) for each in started] == [0, 0, 0]
    with opened() as memory:
        assert memory.list(owner="alice").total == 3
        assert memory.owners() == ["alice", "owner 0", "owner 1", "owner 2"]


ROTATE_FOREVER = (
    FIRST_START.split("sys.stdin.read()", maxsplit=1)[0]
    + """
with Memolith.open(path, **options) as memory:
    print("ready", flush=True)
    while True:
        memory.rotate_key("alice")
"""
)


def check_rotation_killed(opened: Opener, path: Path, ring: KeyRing, after_s: float) -> None:
    words = Words(5)
    with opened() as memory:
        fill(memory, words, 30)
        before = everything(memory)
    arguments = ["-c", ROTATE_FOREVER, str(path), str(Path(str(ring.storage)).with_suffix("")), "0"]
    killed(arguments, after_s)
    with opened() as memory:
        assert everything(memory) == before
        version = memory.rotate_key("alice")
        assert everything(memory) == before
        assert memory.recall(words.all[0], owner="alice", mode="keyword").memories
    store = opened()._app.store
    assert store.cipher.key_versions("alice") == [version]  # type: ignore[attr-defined]
    store.close()


@pytest.mark.sqlite
@pytest.mark.parametrize("after_s", [0.01, 0.043, 0.08])
def test_killed_rotation_is_readable_and_can_be_finished(
    opened: Opener, path: Path, ring: KeyRing, after_s: float
) -> None:
    check_rotation_killed(opened, path, ring, after_s)


@pytest.mark.soak
@pytest.mark.parametrize("trial", range(50))
def test_rotation_killed_at_50_moments_can_be_finished(
    opened: Opener, path: Path, ring: KeyRing, trial: int
) -> None:
    check_rotation_killed(opened, path, ring, 0.005 + trial * 0.0037)
