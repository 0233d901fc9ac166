"""`--owner` keeps apart: what another owner's names give is what nobody's names give."""

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
    """Two stores with the same in them, but that Alice is only in the first."""

    folder: Path
    alice: Things
    own: Things


@pytest.fixture(scope="module")
def clock() -> SettableClock:
    """Goes on from test to test, as the stores do."""
    return SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture(scope="module")
def stores(
    tmp_path_factory: pytest.TempPathFactory, clock: SettableClock, database: str
) -> Iterator[Stores]:
    assert database  # they are made anew in each
    folder = tmp_path_factory.mktemp("stores")

    def opened(store: str | Path) -> Memolith:
        return Memolith.open(
            store,
            embedder=HashingEmbedder(),
            tokens=WordCounter(),
            clock=clock,
        )

    with pytest.MonkeyPatch.context() as patch:
        for variable in HOMES:
            patch.setenv(variable, str(folder / "home"))
        with opened(":memory:") as model:
            own = furnish(model.owner("bob"), OWN_WORD)
        with opened(folder / "with.db") as first, opened(folder / "without.db") as second:
            alice = furnish(first.owner("alice"), WORD)
            for store in (first, second):
                store.import_(own.records, owner="bob")
        yield Stores(folder, alice, own)


@pytest.fixture
def asked(memolith: Any, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Calls the program as Bob, on one of the stores."""
    for variable in HOMES:
        monkeypatch.setenv(variable, str(stores.folder / "home"))
    monkeypatch.chdir(stores.folder)

    def ask(store: str, *args: str, owner: str = "bob") -> tuple[int, str, str]:
        answer = memolith(*args, "--store", str(stores.folder / store), "--owner", owner)
        made: dict[str, str] = {}
        known = repr((stores.alice, stores.own))

        def by_number(found: re.Match[str]) -> str:
            return found[0] if found[0] in known else made.setdefault(found[0], f"<{len(made)}>")

        return answer.code, UUID.sub(by_number, answer.out), UUID.sub(by_number, answer.err)

    return ask


def ids(things: Things) -> tuple[str, ...]:
    return (*things.memories[:5], *things.messages[:2], "%", "' OR 1=1 --")


def calls(own: Things, other: Things) -> dict[str, list[tuple[str, ...]]]:
    """Return for each command calls as Bob that name what Alice has."""
    key, tag, session = other.keys[0], other.tags[0], other.sessions[0]
    mine, words = own.memories[2], other.texts[0]
    return {
        "remember": [(words,), ("x", "--key", key, "--tag", tag, "--session", session)],
        "recall": [(words,), ("x", "--session", session), ("x", "--tag", tag), ("%", "--json")],
        "context": [(words,), ("x", "--session", session), ("x", "--tag", "%")],
        "learn": [(other.texts[2], "--session", session)],
        "list": [(), ("--state", "all"), ("--kind", "%")],
        "show": [(id_,) for id_ in ids(other)],
        "update": [(id_, "Something else") for id_ in ids(other)] + [(mine, "--key", key)],
        "forget": [(id_,) for id_ in ids(other)] + [("--key", key), ("--key", "%")],
        "purge": [(id_, "--yes") for id_ in ids(other)] + [("--key", key, "--yes")],
        "restore": [(id_,) for id_ in ids(other)],
        "review": [(), ("--json",), *((id_, "--approve") for id_ in ids(other))],
        "supersede": [*((id_, mine) for id_ in ids(other)), *((mine, id_) for id_ in ids(other))],
        "history": [*((id_,) for id_ in ids(other)), ("--key", key), ("--key", "%")],
        "stats": [(), ("--json",)],
        "audit": [("--json",), ("--examples", "50")],
        "import": [("jsonl", "lines.jsonl")],
        "export": [()],
        "ingest": [
            ("text.md", "--session", session, "--source", tag, "--tag", tag),
            ("text.md", "--kind", key),
        ],
        "consolidate": [(), *(("--undo", id_) for id_ in ids(other))],
        "profile": [("show",), ("switch", "facts", "--dry-run"), ("switch", key)],
        "decay": [("--json",)],
        "cleanup": [("--below", "0.9", "--dry-run")],
        "expire": [()],
        "retain": [("1", "--dry-run"), ("1",)],
    }


WHOLE = {
    "demo": "has a store of its own",
    "backup": "copies the whole store",
    "restore-backup": "replaces the whole store",
    "erase": "asked of the owner it names, by who runs the store",
    "key": "is about the keys of the whole store, or an owner's, by who runs it",
    "migrate": "moves the whole store",
    "db": "looks after the whole database",
    "reembed": "makes the vectors of the whole store anew",
    "reset": "deletes the whole store",
    "verify": "looks at the whole store, and shows no content",
    "eval": "has a store of its own",
    "worker": "does what is due for all",
    "serve": "serves all who show a key",
    "mcp": "serves one owner; tests/integration/mcp tries all its tools as another",
    "api-key": "makes keys for all",
    "config": "reads no store",
    "chat": "works by the doors alone; tests/integration/test_chat_command.py has it",
}
"""The commands that are for who runs the store, and why."""


def test_every_command_is_tried_or_is_for_who_runs_the_store(stores: Stores) -> None:
    tried = set(calls(stores.own, stores.alice))
    assert tried | set(WHOLE) == set(COMMANDS)
    assert not tried & set(WHOLE)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - set(WHOLE)))
def test_another_owners_names_are_as_if_nobody_had_them(
    asked: Callable[..., Any], stores: Stores, clock: SettableClock, command: str
) -> None:
    (stores.folder / "text.md").write_text(f"{stores.alice.texts[0]}\n\nSomething else.")
    lines = stores.folder / "lines.jsonl"
    said = {
        "content": "Hi",
        "session": stores.alice.sessions[0],
        "id": stores.alice.external_ids[0],
    }
    lines.write_text(json.dumps(said))
    before = asked("with.db", "export", owner="alice")[1].split("\n", 1)[1]
    assert "Keeps the " + WORD in before
    for args in calls(stores.own, stores.alice)[command]:
        clock.advance(timedelta(seconds=1))  # ids of one instant, made by two calls, have no order
        here = asked("with.db", command, *args)
        there = asked("without.db", command, *args)
        if command == "export":  # its first line says when
            here, there = ((code, out.split("\n", 1)[1], err) for code, out, err in (here, there))
        assert here == there, args
    assert asked("with.db", "export", owner="alice")[1].split("\n", 1)[1] == before
