"""The store in one SQLite file."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mnemon.adapters.sql.cache import IndexCache
from mnemon.adapters.sql.index import OwnerIndex, Stamp, empty_index
from mnemon.adapters.sql.sealing import Sealing
from mnemon.adapters.sql.search import Search
from mnemon.adapters.sql.values import find_id, micros
from mnemon.adapters.sqlite.backups import BackingUp
from mnemon.adapters.sqlite.claims import SqliteClaims
from mnemon.adapters.sqlite.connections import Connection, Connections
from mnemon.adapters.sqlite.erasing import OwnerErasing, refuse_erased
from mnemon.adapters.sqlite.indexing import Tables
from mnemon.adapters.sqlite.jobs import SqliteJobs
from mnemon.adapters.sqlite.mending import Mending
from mnemon.adapters.sqlite.opening import connect
from mnemon.adapters.sqlite.owner_row import OwnerRow, read_owner
from mnemon.adapters.sqlite.reading import ReadOnlyConnections
from mnemon.adapters.sqlite.resealing import Resealer
from mnemon.adapters.sqlite.schema import MIGRATIONS
from mnemon.adapters.sqlite.usage import SqliteUsage
from mnemon.adapters.sqlite.verifying import Examining
from mnemon.adapters.sqlite.waiting import Waiting
from mnemon.adapters.sqlite.writes import Writer
from mnemon.errors import WrongEmbeddingModel
from mnemon.ports.store import StoreMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from mnemon.domain.items import Span, Trait
    from mnemon.domain.recall import Scope
    from mnemon.ports.cipher import Cipher, Ciphers
    from mnemon.ports.jobs import Jobs
    from mnemon.ports.store import (
        IndexEntry,
        Items,
        Postings,
        Similarities,
        Snapshot,
        Transaction,
        Uses,
    )
    from mnemon.ports.usage import Usage
    from mnemon.ports.work import Claims

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

_MEBIBYTE = 1024 * 1024


class Searching:
    """The searching half of a snapshot: finds the index at first need, and asks it."""

    def __init__(self, counter: int, find: Callable[[], Search]) -> None:
        """Take the counter the snapshot stands at, and a way to the index."""
        self._counter = counter
        self._find = find
        self._found: Search | None = None

    @property
    def counter(self) -> int:
        """See the port."""
        return self._counter

    @property
    def _search(self) -> Search:
        if self._found is None:
            self._found = self._find()
        return self._found

    def nearest(self, vector: NDArray[np.int8], limit: int, scope: Scope) -> Integers:
        """See the port."""
        return self._search.nearest(vector, limit, scope)

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See the port."""
        return self._search.similarities(vector, numbers)

    def centroid(self, scope: Scope) -> Floats | None:
        """See the port."""
        return self._search.centroid(scope)

    def postings(self, terms: Sequence[str], scope: Scope) -> Postings:
        """See the port."""
        return self._search.postings(terms, scope)

    def containing(self, words: Sequence[str], scope: Scope) -> tuple[Integers, Integers]:
        """See the port."""
        return self._search.containing(words, scope)

    def items(self, numbers: Integers) -> Items:
        """See the port."""
        return self._search.items(numbers)

    def uses(self, numbers: Integers) -> Uses:
        """See the port."""
        return self._search.uses(numbers)

    def numbers(self, record_ids: Sequence[str], scope: Scope) -> Integers:
        """See the port."""
        return self._search.numbers(record_ids, scope)

    def marked(self, traits: Trait, scope: Scope) -> Integers:
        """See the port."""
        return self._search.marked(traits, scope)

    def within(self, scope: Scope) -> Integers:
        """See the port."""
        return self._search.within(scope)

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: Scope) -> Integers:
        """See the port."""
        return self._search.neighbours(numbers, step, scope)

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See the port."""
        return self._search.passages(numbers)


class SqliteSnapshot(Searching, Waiting):
    """A `Snapshot` of a SQLite store."""

    def __init__(
        self, connection: Connection, sealing: Sealing, owner: OwnerRow, find: Callable[[], Search]
    ) -> None:
        """Take a connection within a read transaction."""
        Searching.__init__(self, owner.counter, find)
        Waiting.__init__(self, connection, sealing, owner.number)


class SqliteTransaction(Searching, Writer):
    """A `Transaction` of a SQLite store. Its searches answer from the state at its begin."""

    def __init__(
        self, connection: Connection, sealing: Sealing, owner: OwnerRow, find: Callable[[], Search]
    ) -> None:
        """Take the writing connection, with its transaction begun."""
        Searching.__init__(self, owner.counter, find)
        Writer.__init__(self, connection, sealing, owner)


class SqliteStore(OwnerErasing, BackingUp, Examining, Mending):
    """A `Store` in one SQLite file."""

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Take connections to a file that is ready; see `open`."""
        self._connections = connections
        self._cipher = cipher
        self._indexes = IndexCache(index_cache_bytes)
        self._jobs = SqliteJobs(connections)
        self._claims = SqliteClaims(connections)
        self._usage = SqliteUsage(connections)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        cipher: Ciphers,
        analyser: int = 1,
        busy_timeout_s: float = 5.0,
        index_cache_bytes: int = 256 * _MEBIBYTE,
    ) -> SqliteStore:
        """Open a file, making it and its folder where there is none.

        Where the system does not let it be written, or the disk is full, it is opened to read;
        a write is refused until it can be done.

        Args:
            cipher: Gives the cipher it was made with, or is to be.
            analyser: Version of the text analysis, kept in a new store.
            busy_timeout_s: For how long to wait for another writer.
            index_cache_bytes: How much memory the search indexes of all owners may take.

        Raises:
            StoreUnavailable: It can't be opened or made, or stays locked.
            StoreReadOnly: It can't be written, and is of an older schema.
            StoreDamaged: It is not a store of Mnemon.
            StoreTooNew: A newer Mnemon has written it.
            KeyUnavailable: Its key is missing, or another.
        """
        file = Path(path).absolute()
        connections, known = connect(
            file, ciphers=cipher, analyser=analyser, busy_timeout_s=busy_timeout_s
        )
        return cls(connections, known, index_cache_bytes)

    @property
    def jobs(self) -> Jobs:
        """See the port."""
        return self._jobs

    @property
    def claims(self) -> Claims:
        """See the port."""
        return self._claims

    @property
    def usage(self) -> Usage:
        """See the port."""
        return self._usage

    @property
    def cipher(self) -> Cipher:
        """What the store is sealed with."""
        return self._cipher

    @property
    def meta(self) -> StoreMeta:
        """See the port."""
        with self._connections.reading() as connection:
            values: dict[str, Any] = dict(connection.rows("SELECT name, value FROM meta"))
        return StoreMeta(
            schema=len(MIGRATIONS),
            embedder=values.get("embedder"),
            dimension=values.get("dimension"),
            cipher=values["cipher"],
            analyser=values["analyser"],
        )

    @contextmanager
    def read(self, owner_id: str) -> Iterator[Snapshot]:
        """See the port."""
        with self._connections.reading() as connection:
            owner = read_owner(connection, owner_id)
            sealing = self._sealing(owner_id, owner)
            yield SqliteSnapshot(
                connection, sealing, owner, lambda: self._search(connection, sealing, owner)
            )

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See the port."""
        with self._connections.writing() as connection, ExitStack() as readers:
            owner = read_owner(connection, owner_id)
            if not owner.number:
                refuse_erased(connection, self._cipher, owner_id)
                owner = replace(owner, key_version=self._cipher.version(owner_id))
            sealing = self._sealing(owner_id, owner)

            def search_at_begin() -> Search:
                # While this is the only writer, every new reader sees the state at its begin.
                reader = readers.enter_context(self._connections.reading())
                read_owner(reader, owner_id)
                return self._search(reader, sealing, owner)

            transaction = SqliteTransaction(connection, sealing, owner, search_at_begin)
            yield transaction
            transaction.finish()

    def key_version(self, owner_id: str) -> int:
        """See `Resealing`."""
        with self._connections.reading() as connection:
            return read_owner(connection, owner_id).key_version

    def reseal(
        self, owner_id: str, version: int, entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `Resealing`."""
        with self._connections.writing() as connection:
            owner = read_owner(connection, owner_id)
            if not owner.number or owner.key_version >= version:
                return
            later = replace(owner, key_version=version)
            sealings = self._sealing(owner_id, owner), self._sealing(owner_id, later)
            Resealer(connection, owner.number, sealings).turn(entry)
            connection.run(
                "UPDATE owners SET key_version = ? WHERE owner_id = ?", (version, owner.number)
            )
            connection.run("COMMIT")
        self.settle()

    def _sealing(self, owner_id: str, owner: OwnerRow) -> Sealing:
        return Sealing(self._cipher.of(owner_id, owner.key_version), owner_id)

    def _search(self, connection: Connection, sealing: Sealing, owner: OwnerRow) -> Search:
        tables = Tables(connection, sealing, owner.number)
        return Search(self._index(owner, tables), tables)

    def _index(self, owner: OwnerRow, tables: Tables) -> OwnerIndex:
        if not owner.number:
            return empty_index(0)
        stamp = Stamp(owner.generation, owner.revision, owner.counter, owner.next_item)
        return self._indexes.get(owner.number, stamp, tables)

    def touch(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """See the port."""
        found = ((find_id(id_), *access) for id_, access in accessed.items())
        rows = [(count, micros(at), id_) for id_, count, at in found if id_]
        if not rows:
            return
        with self._connections.writing() as connection:
            owner = read_owner(connection, owner_id)
            connection.run_many(
                "UPDATE memories SET access_count = access_count + ?1,"
                " accessed_at = max(coalesce(accessed_at, ?2), ?2), changed = ?3"
                " WHERE owner_id = ?4 AND id = ?5",
                [(count, at, owner.revision + 1, owner.number, id_) for count, at, id_ in rows],
            )
            connection.run(
                "UPDATE owners SET revision = revision + 1 WHERE owner_id = ?", (owner.number,)
            )
            connection.run("COMMIT")

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """See the port."""
        meta = self.meta
        if (meta.embedder, meta.dimension) == (name, dimension):
            return
        if isinstance(self._connections, ReadOnlyConnections):
            with self._connections.reading() as connection:
                _refuse_other_vectors(connection, (name, dimension))
            return  # without vectors there is nothing to keep it for
        with self._connections.writing() as connection:
            _refuse_other_vectors(connection, (name, dimension))
            connection.run_many(
                "INSERT INTO meta (name, value) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                [("embedder", name), ("dimension", dimension)],
            )
            connection.run("COMMIT")

    def profile(self, owner_id: str, default: str) -> str:
        """See the port."""
        with self._connections.reading() as connection:
            return read_owner(connection, owner_id).profile or default

    def owners(self) -> list[str]:
        """See the port."""
        with self._connections.reading() as connection:
            return sorted(name for (name,) in connection.rows("SELECT name FROM owners"))

    def close(self) -> None:
        """See the port."""
        self._indexes.forget()
        if self._is_unsettled:
            self._is_unsettled = False
            self.settle()
        self._connections.close()


def _refuse_other_vectors(connection: Connection, given: tuple[str, int]) -> None:
    """Refuse another model than the one that there are vectors of."""
    values: dict[str, Any] = dict(connection.rows("SELECT name, value FROM meta"))
    stored = (values.get("embedder"), values.get("dimension"))
    if stored not in ((None, None), given) and _has_vectors(connection):
        raise WrongEmbeddingModel(
            f"{stored[0]} ({stored[1]} dimensions)", f"{given[0]} ({given[1]} dimensions)"
        )


def _has_vectors(connection: Connection) -> bool:
    return bool(connection.row("SELECT 1 FROM passages WHERE vector IS NOT NULL LIMIT 1"))
