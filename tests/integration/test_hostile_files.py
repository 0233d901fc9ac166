from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from memolith import Memolith
from memolith.adapters.sqlite.store import SqliteStore
from memolith.config import load
from memolith.errors import InvalidConfiguration, InvalidInput, ServiceFailed
from memolith.evals.datasets import read_locomo
from memolith.import_export import chats
from memolith.import_export.files import iter_conversation_files
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.rows import check_each

pytestmark = pytest.mark.sqlite


def conversation(**changes: object) -> dict[str, object]:
    message = {
        "id": "m1",
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["I live in Oslo"]},
    }
    nodes = {"a": {"message": message, "parent": None}}
    return {"conversation_id": "c1", "mapping": nodes, "current_node": "a"} | changes


def read(data: bytes) -> list[str]:
    contents = []
    for name, file in iter_conversation_files(io.BytesIO(data), "export"):
        for transcript in chats.read_chatgpt(file, name):
            contents += [message.content for message in transcript.messages]
    return contents


def test_number_with_thousands_of_digits_raises_clear_error() -> None:
    with pytest.raises(InvalidInput, match="export:1: contains a number with too many digits"):
        read(b"[" + b"9" * 5_000 + b"]")


def test_conversation_without_its_current_message_is_read() -> None:
    assert read(json.dumps([conversation(current_node="gone")]).encode()) == ["I live in Oslo"]


def test_zip_bomb_raises_clear_error() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b'["' + b"a" * 30_000_000 + b'"]')
    assert len(packed.getvalue()) < 100_000
    with pytest.raises(InvalidInput, match="an element of more than 16,000,000 characters"):
        read(packed.getvalue())


def test_archive_damaged_anywhere_raises_clear_error() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([conversation()]))
    whole = packed.getvalue()
    assert read(whole) == ["I live in Oslo"]
    refused = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        try:
            read(bytes(damaged))
        except InvalidInput:
            refused += 1
    assert refused > len(whole) // 4


@pytest.mark.parametrize("name", ["session_01", "session_١", "session_" + "9" * 5_000])
def test_invalid_session_name_is_ignored(tmp_path: Path, name: str) -> None:
    file = tmp_path / "locomo.json"
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hello"}]
    sample = {"sample_id": "s", "conversation": {name: turns}, "qa": []}
    file.write_text(json.dumps([sample]))
    assert read_locomo(file)[0].sessions == ()


@pytest.mark.parametrize("value", ["[" * 50_000, "9" * 5_000])
def test_unparsable_configuration_raises_clear_error(tmp_path: Path, value: str) -> None:
    file = tmp_path / "memolith.toml"
    file.write_text(f"[memory]\nstore = {value}\n")
    with pytest.raises(InvalidConfiguration):
        load(file)


@check_each("path", ["a\0b", "\udcff.db", "~nobody-of-that-name/x.db", b"x.db", 5])
def test_invalid_path_raises_clear_error(path: object) -> None:
    with pytest.raises(InvalidConfiguration, match="store"):
        Memolith.open(path, embedder=HashingEmbedder(), tokens=WordCounter())  # type: ignore[arg-type]
    with pytest.raises(InvalidConfiguration, match="store"):
        load(overrides={"store": path})


class Ragged(HashingEmbedder):
    def embed(self, texts: object, *, role: object) -> np.ndarray:
        del texts, role
        return [[1.0] * size for size in range(1, 3)]  # type: ignore[return-value]


def test_invalid_vector_list_raises_service_failure(tmp_path: Path) -> None:
    with Memolith.open(tmp_path / "m.db", embedder=Ragged(), tokens=WordCounter()) as memory:
        with pytest.raises(ServiceFailed, match="no list of vectors"):
            memory.remember("I live in Oslo", owner="alice")
        assert memory.stats(owner="alice").total_count == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_accepted(tmp_path: Path, closed: str) -> None:
    program = "from memolith.cli.main import main; main()"
    command = f'"{sys.executable}" -c "{program}" --store "{tmp_path}/m.db" stats {closed}'
    Memolith.open(tmp_path / "m.db", embedder=HashingEmbedder()).close()
    assert subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0


def test_interrupt_is_raised_during_unfinished_write(tmp_path: Path) -> None:
    config = load(env={}, overrides={"busy_timeout_s": 0.1})
    memory = Memolith.open(tmp_path / "m.db", embedder=HashingEmbedder(), config=config)
    store = memory._app.store
    assert isinstance(store, SqliteStore)
    assert store._connections._writer_semaphore.acquire(0)
    with pytest.raises(KeyboardInterrupt), memory:
        raise KeyboardInterrupt
    store._connections._writer_semaphore.release()
    memory.close()


def test_vector_with_nan_is_rejected_and_nothing_stored(
    tmp_path: Path,
) -> None:
    with Memolith.open(
        tmp_path / "memory.db",
        embedder=lambda texts: [[float("nan")] * 4 for _ in texts],
        tokens=WordCounter(),
    ) as memory:
        with pytest.raises(ServiceFailed, match="not finite"):
            memory.remember("x", owner="alice")
        assert memory.owners() == []


def test_embedder_exception_propagates_and_nothing_is_stored(tmp_path: Path) -> None:
    def broken(texts: list[str]) -> list[list[float]]:
        raise TimeoutError(len(texts))

    with Memolith.open(tmp_path / "memory.db", embedder=broken, tokens=WordCounter()) as memory:
        with pytest.raises(TimeoutError):
            memory.remember("x", owner="alice")
        assert memory.owners() == []


def test_empty_path_is_rejected() -> None:
    with pytest.raises(InvalidConfiguration, match="empty"):
        Memolith.open("")
