"""The vector search backend is a setting that does not affect results."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from memolith import Memolith, Message, Role
from memolith.adapters.chroma.client import ChromaServer
from memolith.config import LoadedSettings, load
from memolith.errors import InvalidConfiguration, ServiceFailed
from memolith.stores import reset_store
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.chroma import on_server

PLACES = ("kitchen", "garden", "harbour", "library", "cellar", "attic", "market", "school")
THINGS = ("key", "map", "lamp", "letter", "coin", "book", "rope", "clock", "stone", "photo")
QUERIES = ("Where is the key?", "the lamp in the garden", "a book", "harbour rope", "nothing")


def write_config(folder: Path, backend: str) -> LoadedSettings:
    """Return settings of a store in its own folder."""
    lines = [f'store = "{backend}/memory.db"', 'encryption_key_path = "keys/key"']
    own = {
        "memory": ['backend = "memory"'],
        "sqlite-vec": ['backend = "sqlite-vec"'],
        "chroma": ['backend = "chroma"'],
        "server": ['backend = "chroma"', f'chroma_url = "{on_server().url}"'],
        "both": ['backend = "chroma"', 'chroma_url = "http://x"', 'chroma_path = "y"'],
        "no-url": ['backend = "chroma"', 'chroma_url = "127.0.0.1:8000"'],
        "nobody": ['backend = "chroma"', 'chroma_url = "http://127.0.0.1:9"'],
    }[backend]
    file = folder / f"{backend}.toml"
    file.write_text("\n".join(["[memory]", *lines, "[memory.vectors]", *own]) + "\n")
    return load(file, {})


def open_memory(config: LoadedSettings) -> Memolith:
    return Memolith.open(
        config=config,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        clock=SettableClock(datetime(2026, 3, 1, tzinfo=UTC)),
    )


def furnish(memory: Memolith) -> None:
    """Store messages of two owners about the places of things."""
    for owner in ("anna", "bob"):
        said = [
            Message(owner, f"The {thing} of {owner} is in the {place}", role=Role.USER)
            for place in PLACES
            for thing in THINGS
        ]
        memory.log(said, owner=owner, session="s1")
        memory.remember(f"{owner} collects old maps", owner=owner)


def answers(memory: Memolith) -> list[tuple[str, float]]:
    """Return the results of some queries, with scores."""
    return [
        (one.content, one.score.total)
        for query in QUERIES
        for owner in ("anna", "bob")
        for one in memory.recall(query, owner=owner, touch=False).memories
    ]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, float]]:
    with open_memory(write_config(tmp_path_factory.mktemp("memory"), "memory")) as memory:
        furnish(memory)
        return answers(memory)


@pytest.mark.parametrize("backend", ["sqlite-vec", "chroma", "server"])
def test_results_do_not_depend_on_the_vector_backend(
    tmp_path: Path, backend: str, expected: list[tuple[str, float]]
) -> None:
    config = write_config(tmp_path, backend)
    with open_memory(config) as memory:
        furnish(memory)
        assert answers(memory) == expected  # possibly before all vectors are sent
    with open_memory(config) as memory:  # all vectors are sent, since closing waits for that
        assert memory.stats(owner="anna").vectors_pending == 0
        assert answers(memory) == expected
        assert memory.verify().findings == ()
        assert memory.erase("bob").compacted
        assert {one for one, _ in answers(memory)} == {
            one for one, _ in expected if "bob" not in one
        }


@pytest.mark.parametrize("backend", ["chroma", "server"])
def test_reset_deletes_the_vectors_in_chroma(tmp_path: Path, backend: str) -> None:
    config = write_config(tmp_path, backend)
    server = ChromaServer(on_server().url, 30.0)
    before = set(server.names("memolith-"))
    with open_memory(config) as memory:
        furnish(memory)
    if backend == "server":
        assert set(server.names("memolith-")) - before
    assert reset_store(config.settings)
    assert set(server.names("memolith-")) == before
    assert [*Path(config.settings.store).parent.iterdir()] == []
    server.close()


def test_reset_is_refused_while_chroma_is_unreachable(tmp_path: Path) -> None:
    config = write_config(tmp_path, "nobody")
    with open_memory(config) as memory:
        furnish(memory)
        assert memory.stats(owner="anna").vectors_pending == 81
        findings = memory.verify().findings
        assert any("unreachable" in each.detail for each in findings)
    with sqlite(Path(config.settings.store)) as file:  # as if vectors had been sent before
        file.execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('vectors_id', 'x')")
    with pytest.raises(ServiceFailed, match="unreachable"):
        reset_store(config.settings)
    assert Path(config.settings.store).exists()


@pytest.mark.parametrize("backend", ["both", "no-url"])
def test_invalid_settings_are_refused(tmp_path: Path, backend: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"vectors\.chroma"):
        open_memory(write_config(tmp_path, backend))


@pytest.mark.parametrize(
    ("backend", "module", "extra"),
    [
        ("sqlite-vec", "sqlite_vec", "sqlite-vec"),
        ("chroma", "chromadb", "chroma"),
        ("server", "httpx", "chroma-server"),
    ],
)
def test_error_for_a_missing_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, module: str, extra: str
) -> None:
    config = write_config(tmp_path, backend)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(InvalidConfiguration, match=rf"pip install 'memolith\[{extra}\]'"):
        open_memory(config)


def test_repr_of_settings_contains_no_password(tmp_path: Path) -> None:
    config = write_config(tmp_path, "server")
    vectors = replace(config.settings.vectors, chroma_url="http://me:sesame@127.0.0.1:8000")
    assert "sesame" not in repr(vectors)


@contextmanager
def sqlite(path: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as file:
        yield file
