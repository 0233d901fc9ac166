"""`--owner` isolates: another owner's names give the same results as unknown names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith
from memolith.cli.commands import COMMANDS
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.tenant_isolation import Things, furnish

WORD, OWN_WORD = "zufibolema", "kovadirune"
HOMES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Stores:
    """Two stores with the same content, except that only the first contains Alice's."""

    folder: Path
    alice: Things
    own: Things


@pytest.fixture(scope="module")
def clock() -> SettableClock:
    """Shared by the tests of the module, as the stores are."""
    return SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture(scope="module")
def stores(
    tmp_path_factory: pytest.TempPathFactory, clock: SettableClock, database: str
) -> Iterator[Stores]:
    assert database  # the stores are created once per database
    folder = tmp_path_factory.mktemp("stores")

    def open_store(store: str | Path) -> Memolith:
        return Memolith.open(
            store,
            embedder=HashingEmbedder(),
            tokens=WordCounter(),
            clock=clock,
        )

    with pytest.MonkeyPatch.context() as patch:
        for variable in HOMES:
            patch.setenv(variable, str(folder / "home"))
        with open_store(":memory:") as model:
            own = furnish(model.owner("bob"), OWN_WORD)
        with open_store(folder / "with.db") as first, open_store(folder / "without.db") as second:
            alice = furnish(first.owner("alice"), WORD)
            for store in (first, second):
                store.import_(own.records, owner="bob")
        yield Stores(folder, alice, own)


@pytest.fixture
def run_as_bob(
    memolith: Any, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Return a function that runs the program as Bob on one of the stores."""
    for variable in HOMES:
        monkeypatch.setenv(variable, str(stores.folder / "home"))
    monkeypatch.chdir(stores.folder)

    def ask(store: str, *args: str, owner: str = "bob") -> tuple[int, str, str]:
        answer = memolith(*args, "--store", str(stores.folder / store), "--owner", owner)
        made: dict[str, str] = {}
        known = repr((stores.alice, stores.own))

        def replace_with_number(found: re.Match[str]) -> str:
            return found[0] if found[0] in known else made.setdefault(found[0], f"<{len(made)}>")

        return (
            answer.code,
            UUID.sub(replace_with_number, answer.out),
            UUID.sub(replace_with_number, answer.err),
        )

    return ask


def get_ids(things: Things) -> tuple[str, ...]:
    return (*things.memories[:5], *things.messages[:2], "%", "' OR 1=1 --")


def build_calls(own: Things, other: Things) -> dict[str, list[tuple[str, ...]]]:
    """Return, for each command, calls as Bob that use Alice's names and ids."""
    key, tag, session = other.keys[0], other.tags[0], other.sessions[0]
    mine, words = own.memories[2], other.texts[0]
    return {
        "remember": [(words,), ("x", "--key", key, "--tag", tag, "--session", session)],
        "recall": [(words,), ("x", "--session", session), ("x", "--tag", tag), ("%", "--json")],
        "context": [(words,), ("x", "--session", session), ("x", "--tag", "%")],
        "learn": [(other.texts[2], "--session", session)],
        "list": [(), ("--state", "all"), ("--kind", "%")],
        "show": [(id_,) for id_ in get_ids(other)],
        "update": [(id_, "Something else") for id_ in get_ids(other)] + [(mine, "--key", key)],
        "forget": [(id_,) for id_ in get_ids(other)] + [("--key", key), ("--key", "%")],
        "purge": [(id_, "--yes") for id_ in get_ids(other)] + [("--key", key, "--yes")],
        "restore": [(id_,) for id_ in get_ids(other)],
        "review": [(), ("--json",), *((id_, "--approve") for id_ in get_ids(other))],
        "supersede": [
            *((id_, mine) for id_ in get_ids(other)),
            *((mine, id_) for id_ in get_ids(other)),
        ],
        "history": [*((id_,) for id_ in get_ids(other)), ("--key", key), ("--key", "%")],
        "stats": [(), ("--json",)],
        "audit": [("--json",), ("--examples", "50")],
        "import": [("jsonl", "lines.jsonl")],
        "export": [()],
        "ingest": [
            ("text.md", "--session", session, "--source", tag, "--tag", tag),
            ("text.md", "--kind", key),
        ],
        "consolidate": [(), *(("--undo", id_) for id_ in get_ids(other))],
        "profile": [("show",), ("switch", "facts", "--dry-run"), ("switch", key)],
        "decay": [("--json",)],
        "cleanup": [("--below", "0.9", "--dry-run")],
        "expire": [()],
        "retain": [("1", "--dry-run"), ("1",)],
    }


OPERATOR_COMMANDS = {
    "demo": "uses its own store",
    "backup": "copies the whole store",
    "restore-backup": "replaces the whole store",
    "erase": "erases the owner it names, at the operator's request",
    "key": "manages the keys of the whole store or of an owner, for the operator",
    "migrate": "moves the whole store",
    "db": "administers the whole database",
    "reembed": "rebuilds the vectors of the whole store",
    "reset": "deletes the whole store",
    "verify": "checks the whole store and shows no content",
    "eval": "uses its own store",
    "worker": "runs the due jobs of all owners",
    "serve": "serves every client with an API key",
    "mcp": "serves one owner; tests/integration/mcp tries all its tools as another",
    "api-key": "creates API keys for all owners",
    "config": "reads no store",
    "chat": "uses the public API only; tested by tests/integration/test_chat_command.py",
}
"""Operator commands that this test leaves out, each with the reason."""


def test_every_command_is_tested_or_listed_as_operator_command(stores: Stores) -> None:
    tried = set(build_calls(stores.own, stores.alice))
    assert tried | set(OPERATOR_COMMANDS) == set(COMMANDS)
    assert not tried & set(OPERATOR_COMMANDS)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - set(OPERATOR_COMMANDS)))
def test_another_owners_names_behave_like_unknown_names(
    run_as_bob: Callable[..., Any], stores: Stores, clock: SettableClock, command: str
) -> None:
    (stores.folder / "text.md").write_text(f"{stores.alice.texts[0]}\n\nSomething else.")
    lines = stores.folder / "lines.jsonl"
    said = {
        "content": "Hi",
        "session": stores.alice.sessions[0],
        "id": stores.alice.external_ids[0],
    }
    lines.write_text(json.dumps(said))
    before = run_as_bob("with.db", "export", owner="alice")[1].split("\n", 1)[1]
    assert "Keeps the " + WORD in before
    for args in build_calls(stores.own, stores.alice)[command]:
        clock.advance(timedelta(seconds=1))  # ids that two calls make at one instant are unordered
        here = run_as_bob("with.db", command, *args)
        there = run_as_bob("without.db", command, *args)
        if command == "export":  # its first line holds the time
            here, there = ((code, out.split("\n", 1)[1], err) for code, out, err in (here, there))
        assert here == there, args
    assert run_as_bob("with.db", "export", owner="alice")[1].split("\n", 1)[1] == before
