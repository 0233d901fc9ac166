"""A store with history, its rows, and targets for migrations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from corpora.hostile import HOSTILE
from memolith import Memolith, Message
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.config import LoadedSettings, load
from memolith.domain.messages import Role
from memolith.ports.admin import SupportsMigration
from memolith.ports.cipher import CipherProvider
from memolith.services.migrate import MigrationResult
from memolith.stores import open_store
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.postgres import dropped, own, schemas_like
from support.summarising import condensing, sentence

Rows = dict[tuple[str | None, str], list[tuple[Any, ...]]]

ASKED = ("Where does she live?", "the gate's code", "Miso", "lathe", "\0 null")
"""Queries to recall for every owner in every store."""


def furnish(memory: Memolith) -> None:
    """Store data of all kinds for two owners, and erase a third."""
    said = [
        Message("Anna", "I live in Oslo. My cat is called Miso.", external_id="D1:1"),
        Message(None, "A fine name.", role=Role.ASSISTANT),
        Message("Anna", "From now on please answer in short sentences."),
    ]
    memory.log(said, owner="anna", session="s1")
    memory.learn("What is a fjord?", "A long inlet.", owner="anna", session="s2")
    memory.end_session("s1", owner="anna")
    memory.set_base_memory("Anna lives in Oslo.", owner="anna")
    memory.set_base_memory("Anna lives in Oslo with a cat.", owner="anna")
    note = memory.remember("The gate's code is 4711", owner="anna", key="gate", tags=["house"])
    memory.update(note.id, "The gate's code is 4712", owner="anna")
    wrong = memory.remember("The rent is 800", owner="anna")
    memory.forget(wrong.id, owner="anna")
    memory.forget(memory.messages(session="s2", owner="anna")[0].id, owner="anna")
    memory.recall("Where does she live?", owner="anna")
    memory.learn("I work at the harbour.", "Noted.", owner="bob", session="s1")
    memory.remember("Something", owner="carol")
    memory.erase("carol")
    memory.run_jobs()


@dataclass(frozen=True)
class Places:
    """Stores by name.

    Attributes:
        urls: URL of each store.
        config: Settings, with the schema of stores in the database.
        encrypted: Whether new stores are encrypted.
    """

    urls: Mapping[str, str]
    config: LoadedSettings
    encrypted: bool
    clock: SettableClock

    @property
    def ciphers(self) -> CipherProvider | None:
        return None if self.encrypted else PlainCipher()

    def opened(self, name: str) -> Memolith:
        return Memolith.open(
            self.urls[name],
            embedder=HashingEmbedder(),
            tokens=WordCounter(),
            clock=self.clock,
            config=self.config,
            cipher=self.ciphers,
            worker=False,
        )

    def move(self, source: str, to: str, *, verify: bool = False) -> MigrationResult:
        return Memolith.migrate(
            self.urls[to],
            self.urls[source],
            verify=verify,
            config=self.config,
            cipher=self.ciphers,
        )

    def rows(self, name: str) -> Rows:
        """Return all rows of a store by owner and table, without owner numbers."""
        store = open_store(self.urls[name], self.config.settings, self.ciphers, unfinished=True)
        assert isinstance(store, SupportsMigration)
        found: Rows = {}
        for owner in (*store.owners(), None):
            with store.read_rows(owner) as batches:
                for table, rows in batches:
                    found.setdefault((owner, table), []).extend(rows)
        store.close()
        return found

    def answers(self, name: str) -> list[object]:
        """Return the results of all queries for all owners."""
        with self.opened(name) as memory:
            return [
                (each, answer)
                for each in memory.owners()
                for own in [memory.owner(each)]
                for answer in (
                    *(own.recall(text, touch=False) for text in ASKED),
                    own.messages(),
                    list(own.export()),
                    own.stats(),
                    own.base_memory_versions(),
                    [own.history(memory.id) for memory in own.list(limit=100).memories],
                )
            ]


@contextmanager
def places(
    folder: Path, server: str, clock: SettableClock, *, encrypted: bool = True
) -> Iterator[Places]:
    """Yield empty places: two files and a schema."""
    schema = own("moved")
    _dropped(server, schema)
    yield Places(
        {"file": str(folder / "a" / "memory.db"), "back": str(folder / "b.db"), "server": server},
        load(None, {}, {"postgres.schema": schema, "busy_timeout_s": 0.3}),
        encrypted,
        clock,
    )
    _dropped(server, schema)


def _dropped(server: str, schema: str) -> None:
    for each in schemas_like(server, schema):
        dropped(server, each)


def fill(at: Places, name: str = "file") -> None:
    """Fill every table of a store, with owners of most profiles."""
    with at.opened(name) as memory:
        furnish(memory)
        hostile = memory.owner("hostile \U0001f9ff O'Brien %_")
        hostile.log([Message("Eve", text) for text in HOSTILE])
        hostile.remember("A null \0 and \uffff0 and \uffff in the midst", tags=["a,b", "%"])
        for profile in ("companion", "facts", "chunks", "timeline"):
            other = memory.owner(profile)
            other.switch_profile(profile)
            key = "home" if profile == "timeline" else None
            first = other.remember("I live in Oslo since May.", key=key)
            other.remember("I live in Bergen since June.", key=key)
            at.clock.advance(timedelta(hours=1))
            other.learn("My cat is called Miso, my dog Rex.", "I see.", session="s1")
            other.learn("I never eat fish.", "Noted.", session="s2")
            other.forget(first.id)
        memory.rotate_key("facts") if at.encrypted else None
        memory.run_jobs()
    with condensing("tiers", at.clock, store=Path(at.urls[name])) as (memory, _):
        memory.owner("tiers").log([Message(None, sentence(n)) for n in range(32)])
        memory.consolidate(owner="tiers")
    add_what_is_rare(at.urls[name])


def add_what_is_rare(path: str) -> None:
    """Add rows to the tables that are otherwise empty."""
    changed(
        path,
        "INSERT INTO message_versions SELECT owner_id, id, 1, item, speaker, at, content,"
        " valid_from, valid_from + 1 FROM messages LIMIT 3;"
        "INSERT INTO claims SELECT owner_id, 'extract', x'01', 2, 3 FROM owners LIMIT 2;"
        "INSERT INTO usage SELECT owner_id, 4, 'extract', 5, 6, 7 FROM owners LIMIT 2;"
        "INSERT INTO api_keys VALUES (x'02', 'one', 'anna', 'admin', 8, NULL);"
        "INSERT INTO idempotency VALUES ('anna', x'03', x'04', NULL, 9)",
    )


def changed(path: str, statement: str) -> None:
    """Change a file directly, bypassing the store."""
    connection = apsw.Connection(path)
    connection.execute(statement)
    assert connection.changes()
    connection.close()
