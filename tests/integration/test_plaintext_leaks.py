"""No stored word appears in a file or log after any operation; no data leaves the process."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corpora.hostile import HOSTILE
from memolith import Memolith, Message
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.sqlite.connections import Connection
from memolith.domain.messages import Role
from memolith.errors import InvalidInput, ServiceFailed, WrongEmbeddingModel
from memolith.import_export.files import open_rereadable
from memolith.ports.models import TextRole
from memolith.testing.fakes import SettableClock, WordCounter
from support.plaintext_search import Opener, RecordingEmbedder, bytes_of, found_in
from support.random_words import Words

pytestmark = pytest.mark.sqlite


@dataclass(slots=True)
class Scenario:
    """A store whose texts consist of made-up words, and all operations on it."""

    memory: Memolith
    words: Words

    def steps(self, target: Path) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield each operation with its name, in an order in which all succeed."""
        alice, words = self.memory.owner("alice"), self.words
        stored = [alice.remember(words.text(9), key=words.word(), tags=[words.word()])]
        stored += [alice.remember(words.text(20)) for _ in range(20)]
        said = words.word().capitalize()
        yield "learn", lambda: alice.learn(f"My name is {said}. I like {words.text(3)}.", said)
        yield "log", lambda: alice.log([Message(words.word(), words.text(9), Role.PARTICIPANT)])
        yield "a long text", lambda: alice.log([Message(None, words.text(500), Role.USER)])
        yield "withheld", lambda: alice.remember(f"{HOSTILE[0]} {words.text(3)}", origin="tool")
        yield "approve", lambda: alice.approve(alice.review()[0].id)
        yield "update", lambda: alice.update(stored[0].id, words.text(9), tags=[words.word()])
        yield "recall", lambda: alice.recall(f"{words.all[0]} {words.text(3)}", trace=True)
        yield "keywords", lambda: alice.recall(words.all[9], mode="keyword")
        yield "context", lambda: alice.context(words.text(5))
        yield "supersede", lambda: alice.supersede(stored[1].id, stored[2].id)
        yield "forget", lambda: alice.forget(stored[3].id)
        yield "restore", lambda: alice.restore(stored[3].id)
        yield "list", lambda: alice.list(state="all", tags=[words.word()])
        yield "refused", lambda: expect_refusal(lambda: alice.remember(words.text(9), kind="none"))
        yield "too long", lambda: expect_refusal(lambda: alice.remember(words.text(900)))
        yield "export", lambda: list(alice.export())
        yield "import", lambda: self.memory.import_(list(alice.export()), owner="bob")
        yield "verify", lambda: self.memory.verify(repair=True)
        yield "flush", self.memory.flush
        yield "rotate", lambda: self.memory.rotate_key("alice")
        yield "purge", lambda: alice.purge(stored[4].id)
        yield "backup", lambda: self.memory.backup(target)
        yield "erase", lambda: self.memory.erase("bob")


def expect_refusal(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        call()


def overlapping_blocks(content: bytes) -> set[bytes]:
    """Split a file into blocks that overlap by one word, so that each is searched only once."""
    return {content[start : start + 4096 + 16] for start in range(0, len(content), 4096)}


def forbid_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each attempt to create a temporary file fail."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))


def test_no_operation_leaks_a_stored_word_to_files_or_logs(
    opened: Opener,
    path: Path,
    ring: KeyRing,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbid_temporary_files(path.parent, monkeypatch)
    caplog.set_level(logging.DEBUG)
    words, folders = Words(11), (path.parent, Path(str(ring.storage)).parent)
    backup = path.with_name("backup.db")
    done, seen = [], set[bytes]()

    def look(after: str) -> None:
        done.append(after)
        for folder in folders:
            for name, content in bytes_of(folder).items():
                fresh = overlapping_blocks(content) - seen
                seen.update(fresh)
                assert not found_in(b" ".join(fresh), words.all), (after, name)

    with opened() as memory:
        for name, step in Scenario(memory, words).steps(backup):
            step()
            look(name)
        assert {each.name for each in path.parent.iterdir()} > {"memory.db-wal", "memory.db-shm"}
    ring.rotate()
    look("a new master key")
    Memolith.restore_backup(backup, path, force=True, cipher=KeyRingCiphers(ring))
    look("restore-backup")
    with opened() as memory:
        assert memory.recall(words.all[0], owner="alice").memories
    printed = capsys.readouterr()
    assert not found_in(f"{caplog.text}{printed.out}{printed.err}".encode(), words.all)
    assert len(done) > 20
    assert len(words.all) > 1_500


def test_piped_import_is_not_buffered_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_temporary_files(tmp_path, monkeypatch)

    class Pipe:
        """The part of standard input that `memolith import jsonl -` uses."""

        def seekable(self) -> bool:
            return False

        def read(self) -> bytes:
            return b"x" * (1 << 25)

    with open_rereadable(Pipe()) as file:  # type: ignore[arg-type]
        assert len(file.read()) == 1 << 25
        file.seek(0)
        assert file.read(3) == b"xxx"


def test_sqlite_stores_temporary_tables_in_memory(path: Path) -> None:
    path.parent.mkdir()
    assert Connection(path, 1.0).rows("PRAGMA temp_store") == [(2,)]


NETWORKED = """
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith("socket.") else None)
from click.testing import CliRunner
from memolith import Memolith
from memolith.cli.main import cli
with Memolith.open(sys.argv[1]) as memory:
    memory.learn("I live in Oslo.", "Nice.", owner="alice")
    assert memory.recall("where do I live?", owner="alice").memories
    memory.backup(sys.argv[1] + ".copy")
done = CliRunner().invoke(cli, ["--store", sys.argv[1], "stats"])
sys.exit(f"{seen}" if seen else 0)
"""


def test_default_configuration_opens_no_sockets(tmp_path: Path) -> None:
    """Use the local model and no configuration."""
    command = [sys.executable, "-c", NETWORKED, str(tmp_path / "memory.db")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_embedding_runtime_writes_no_telemetry_files(tmp_path: Path) -> None:
    """By default, ONNX Runtime writes a device id and queued events to the cache folder."""
    program = (
        "import sys; from memolith import Memolith\n"
        "with Memolith.open(sys.argv[1]) as memory: memory.remember('Lives in Oslo', owner='a')"
    )
    homes = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    unset = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "memory.db")],
        check=True,
        timeout=100,
        env={**unset, **{name: str(tmp_path / "home") for name in homes}},
    )
    files = {file.name for file in (tmp_path / "home").rglob("*") if file.is_file()}
    assert files == {"memory_encryption.key", "memory_encryption.key.ring"}


class Service(RecordingEmbedder):
    """A remote embedder that returns a preset answer."""

    def __init__(self, answer: object = None, name: str = "far away") -> None:
        super().__init__()
        self._name = name
        self.answer = answer

    @property
    def name(self) -> str:
        return self._name

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        vectors = super().embed(texts, role=role)
        return vectors if self.answer is None else self.answer  # type: ignore[return-value]


def test_embedder_receives_only_texts_and_speakers(
    path: Path, ring: KeyRing, clock: SettableClock
) -> None:
    service = Service()
    with Memolith.open(
        path, embedder=service, clock=clock, tokens=WordCounter(), cipher=KeyRingCiphers(ring)
    ) as memory:
        alice = memory.owner("owner of it")
        stored = alice.remember("Lives in Oslo", key="their key", tags=["their tag"], session="s1")
        alice.log([Message("Bob", "The mill turns", external_id="their id")], session="s2")
        alice.recall("which mill?", tags=["their tag"], session="s2", kinds=["fact"])
        alice.update(stored.id, "Lives in Bergen", key="other key")
    assert set(service.seen) == {"Lives in Oslo", "Bob: The mill turns", "which mill?"} | {
        "Lives in Bergen"
    }


@pytest.mark.parametrize(
    "answer",
    ["no vectors", [[1.0]], np.full((1, 384), np.nan), np.zeros((0, 384)), np.full((1, 384), 1e39)],
    ids=["text", "short", "not numbers", "none", "too large"],
)
def test_invalid_embedder_response_changes_nothing(
    path: Path, ring: KeyRing, answer: object
) -> None:
    service = Service()
    options: dict[str, Any] = {"embedder": service, "tokens": WordCounter()}
    with Memolith.open(path, cipher=KeyRingCiphers(ring), **options) as memory:
        memory.remember("Lives in Oslo", owner="alice")
        before = list(memory.export(owner="alice"))
        service.answer = answer
        for use in (
            lambda: memory.remember("Lives in Bergen", owner="alice"),
            lambda: memory.learn("I live in Bergen.", "Nice.", owner="alice"),
            lambda: memory.recall("Bergen", owner="alice"),
        ):
            with pytest.raises(ServiceFailed, match="far away: returned"):
                use()
        assert list(memory.export(owner="alice")) == before
        assert memory.recall("Oslo", owner="alice", mode="keyword").memories


def test_store_of_another_embedding_model_is_refused(path: Path, ring: KeyRing) -> None:
    options: dict[str, Any] = {"tokens": WordCounter(), "cipher": KeyRingCiphers(ring)}
    with Memolith.open(path, embedder=Service(), **options) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    with pytest.raises(WrongEmbeddingModel, match="far away"):
        Memolith.open(path, embedder=Service(name="nearer"), **options)
