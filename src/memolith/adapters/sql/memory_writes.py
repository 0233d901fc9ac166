"""Writing memories within a transaction, and the base class of all writers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from memolith.adapters.sql.codecs import (
    MEMORY_COLUMNS,
    OwnerEncryption,
    event_row,
    memory_row,
    pack_id,
    unpack_id,
)
from memolith.adapters.sql.connection import Connection, ConstraintViolation, OwnerRow
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration, VectorFacts
from memolith.adapters.sql.index_rows import (
    ItemFacts,
    item_row,
    memory_item_facts,
    passage_rows,
    start_not_before,
    term_rows,
)
from memolith.adapters.sql.snapshot import PendingWorkReader
from memolith.domain.memories import Event, Link, Memory, State, Trait
from memolith.domain.messages import Role
from memolith.errors import Conflict, NotFound
from memolith.ports.store import IndexEntry

INSERT_ITEM = f"INSERT INTO items VALUES ({', '.join('?' * 18)})"
INSERT_PASSAGE = (
    "INSERT INTO passages (owner_id, item, part, start, stop, tokens, length, digest, {vector})"
    f" VALUES ({', '.join('?' * 9)})"
)
"""Needs the column of the current vectors."""

INSERT_TERM = "INSERT INTO terms VALUES (?, ?, ?, ?, ?)"
CLOSE_ITEM = (
    "UPDATE items SET valid_to = max(?, valid_from), changed = ?"
    " WHERE owner_id = ? AND item = ? AND valid_to IS NULL"
)

_REVIEWED_TEXTS = " UNION ALL ".join(
    f"SELECT r.version, r.content FROM {table} AS r CROSS JOIN items AS i"
    f" ON i.owner_id = r.owner_id AND i.item = r.item AND i.traits & {int(Trait.REVIEWED)} <> 0"
    " WHERE r.owner_id = ?1 AND r.id = ?2"
    for table in ("memories", "versions", "messages", "message_versions")
)


class WriterBase(PendingWorkReader):
    """Base class of the writers of an owner's records."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        generation: EmbeddingGeneration,
    ) -> None:
        """Initialise with the writing connection, the locked owner row and the generation."""
        super().__init__(connection, encryption, owner.number, generation)
        self._new_revision = owner.revision + 1
        self._has_profile = owner.profile is not None
        self._next_item = owner.next_item
        self._next_session = owner.next_session
        self._next_speaker = owner.next_speaker
        self._next_event = owner.next_event
        self._sessions: dict[str, int] = {}
        self._speakers: dict[tuple[str | None, Role], int] = {}
        self._is_changed = False
        self._is_touched = False
        self._is_broken = False

    def finish(self) -> None:
        """Commit the changes, if there are any.

        Raises:
            Conflict: The caller caught an error of the transaction; its earlier writes are
                incomplete.
            StoreUnavailable: The disk is full, or can't be written.
        """
        if self._is_broken:
            raise Conflict("the transaction was rolled back because of an earlier error in it")
        if self._is_changed:
            self._update_owner_row()
        if self._is_changed or self._is_touched:
            self._connection.run("COMMIT")

    def _update_owner_row(self) -> None:
        """Update the counters in the owner's row, and the next free numbers."""
        self._connection.run(
            "UPDATE owners SET counter = counter + 1, revision = ?, next_item = ?,"
            " next_session = ?, next_speaker = ?, next_event = ? WHERE owner_id = ?",
            (
                self._new_revision,
                self._next_item,
                self._next_session,
                self._next_speaker,
                self._next_event,
                self._owner,
            ),
        )

    def adopt_profile(self, name: str) -> None:
        """See `Transaction.adopt_profile`."""
        if self._has_profile:
            return
        with self._guard_change():
            self._is_changed |= bool(
                self._connection.run(
                    "UPDATE owners SET profile = ? WHERE owner_id = ? AND profile IS NULL",
                    (name, self._owner),
                )
            )

    def set_profile(self, name: str) -> None:
        """See `Transaction.set_profile`."""
        with self._guard_change():
            self._is_changed |= bool(
                self._connection.run(
                    "UPDATE owners SET profile = ?1"
                    " WHERE owner_id = ?2 AND profile IS DISTINCT FROM ?1",
                    (name, self._owner),
                )
            )

    def link(self, links: Sequence[Link]) -> None:
        """See `Transaction.link`."""
        if not links:
            return
        with self._guard_change():
            for link in links:
                endpoints = (
                    pack_id(link.source_id, "source_id"),
                    pack_id(link.target_id, "target_id"),
                )
                self._is_changed |= bool(
                    self._connection.run(
                        "INSERT INTO links (owner_id, relation, source_id, target_id)"
                        " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (self._owner, link.relation, *endpoints),
                    )
                )

    def record(self, events: Sequence[Event]) -> None:
        """See `Transaction.record`."""
        if not events:
            return
        with self._guard_change():
            rows = [
                (self._owner, *event_row(self._encryption, self._next_event + n, event))
                for n, event in enumerate(events)
            ]
            self._connection.run_many("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._next_event += len(rows)
            self._is_changed = True

    @contextmanager
    def _guard_change(self) -> Iterator[None]:
        """Prevent a commit if the block fails halfway."""
        was_broken, self._is_broken = self._is_broken, True
        try:
            yield
        except ConstraintViolation as error:
            raise Conflict(
                "the id, key, external id or position in the session is already in use"
            ) from error
        self._is_broken = was_broken

    def _add_items(self, entries: Sequence[tuple[ItemFacts, IndexEntry]]) -> int:
        """Insert items with consecutive numbers; return the first number."""
        first, owner = self._next_item, self._owner
        numbered = [(first + n, facts, entry) for n, (facts, entry) in enumerate(entries)]
        self._connection.run_many(
            INSERT_ITEM,
            [
                item_row(self._encryption, owner, n, f, e, self._new_revision)
                for n, f, e in numbered
            ],
        )
        # Read after inserting items: from then until the commit, the vectors can't be switched.
        vector, dimension = self._vector_column(entry for _, entry in entries)
        self._connection.run_many(
            INSERT_PASSAGE.format(vector=vector),
            [
                (*row, self._connection.bind_vector(vector))
                for n, _, e in numbered
                for *row, vector in passage_rows(self._encryption, owner, n, e, dimension)
            ],
        )
        terms = [row for n, _, e in numbered for row in term_rows(self._encryption, owner, n, e)]
        self._connection.run_many(INSERT_TERM, sorted(terms))  # in key order, for faster inserts
        self._next_item += len(entries)
        return first

    def _carry_over_review(self, packed: bytes, content: str, entry: IndexEntry) -> IndexEntry:
        """Return the entry marked as reviewed if the record was reviewed with the same content."""
        if not entry.features.traits & Trait.SUSPICIOUS:
            return entry
        rows = self._connection.rows(_REVIEWED_TEXTS, (self._owner, packed))
        id_ = unpack_id(packed)
        seen = {
            self._encryption.decrypt(ciphertext, id_, "content", version)
            for version, ciphertext in rows
        }
        return entry.mark_reviewed() if content in seen else entry

    def _vector_column(self, entries: Iterable[IndexEntry]) -> tuple[str, int | None]:
        """Return the column and dimension of vectors; the dimension only if an entry has any.

        Raises:
            WrongEmbeddingModel: The store has switched to another model than the entries' one.
        """
        if not any(p.vector is not None for entry in entries for p in entry.passages):
            return self._generation.column, None
        facts = VectorFacts.read(self._connection)
        generation = EmbeddingGeneration(facts.embedding_generation, self._generation.expected)
        generation.refuse_if_switched(self._connection)
        return generation.column, facts.model.dimension if facts.model else None

    def _close_item(self, item: int, at: int) -> None:
        self._connection.run(CLOSE_ITEM, (at, self._new_revision, self._owner, item))

    def _get_session_number(self, name: str) -> int:
        """Return a session's number, creating the session if necessary."""
        if name not in self._sessions:
            number = self.session_number(name)
            if number is None:
                number, self._next_session = self._next_session, self._next_session + 1
                self._connection.run(
                    "INSERT INTO sessions (owner_id, number, name) VALUES (?, ?, ?)",
                    (self._owner, number, name),
                )
            self._sessions[name] = number
        return self._sessions[name]


# --- Memories


_COLUMNS = MEMORY_COLUMNS.split(", ")
_INSERT_MEMORY = (
    f"INSERT INTO memories (owner_id, key_digest, changed, {MEMORY_COLUMNS})"
    f" VALUES ({', '.join('?' * (len(_COLUMNS) + 3))})"
)
_ASSIGNED = ", ".join(f"{column} = ?{place}" for place, column in enumerate(_COLUMNS, 4))
_UPDATE_MEMORY = (
    f"UPDATE memories SET key_digest = ?2, changed = ?3, {_ASSIGNED}"
    " WHERE owner_id = ?1 AND id = ?4"
)
_KEEP_VERSION = (
    f"INSERT INTO versions (owner_id, {MEMORY_COLUMNS})"
    f" SELECT owner_id, {MEMORY_COLUMNS.removesuffix('valid_to')}"
    " coalesce(valid_to, max(?, valid_from))"
    " FROM memories WHERE owner_id = ? AND id = ?"
)


class MemoryWriter(WriterBase):
    """Writes memories."""

    def insert(self, memories: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """See `Transaction.insert`."""
        if not memories:
            return
        with self._guard_change():
            facts = [memory_item_facts(m, self._memory_session_number(m)) for m, _ in memories]
            first = self._add_items(list(zip(facts, (e for _, e in memories), strict=True)))
            rows = [
                self._memory_row(memory, first + n, facts[n])
                for n, (memory, _) in enumerate(memories)
            ]
            self._connection.run_many(_INSERT_MEMORY, rows)
            for n, (memory, _) in enumerate(memories):
                self._add_tags(memory.tags, first + n)
                self._add_sources(memory)
            self._is_changed = True

    def revise(self, memory: Memory, entry: IndexEntry) -> None:
        """See `Transaction.revise`."""
        with self._guard_change():
            old, item, ended = self._get_stored_memory(memory.id)
            if memory.version <= old.version:
                raise Conflict(f"version {memory.version} must be above {old.version}")
            facts = start_not_before(
                memory_item_facts(memory, self._memory_session_number(memory)), ended
            )
            entry = self._carry_over_review(facts.record_id, memory.content, entry)
            self._close_item(item, facts.valid_from)
            self._connection.run(_KEEP_VERSION, (facts.valid_from, self._owner, facts.record_id))
            new = self._add_items([(facts, entry)])
            self._connection.run(_UPDATE_MEMORY, self._memory_row(memory, new, facts))
            self._add_tags(memory.tags, new)
            self._remove_sources(old)
            self._add_sources(memory)
            self._is_changed = True

    def amend(self, memory: Memory) -> None:
        """See `Transaction.amend`."""
        with self._guard_change():
            old, item, _ = self._get_stored_memory(memory.id)
            if memory.state is State.ACTIVE and old.state is not State.ACTIVE:
                raise Conflict("an inactive memory can become active only in a new version")
            memory = replace(memory, version=old.version, content=old.content)
            facts = self._amend_item(memory, item)
            self._connection.run(_UPDATE_MEMORY, self._memory_row(memory, item, facts))
            if memory.tags != old.tags:
                self._remove_tags(old.tags, item)
                self._add_tags(memory.tags, item)
            if memory.sources != old.sources:
                self._remove_sources(old)
                self._add_sources(memory)
            self._is_changed = True

    def _amend_item(self, memory: Memory, item: int) -> ItemFacts:
        """Update the item of the amended memory, and return its facts."""
        valid_from, valid_to = self._connection.row(
            "SELECT valid_from, valid_to FROM memories WHERE owner_id = ? AND id = ?",
            (self._owner, pack_id(memory.id)),
        ) or (0, None)
        facts = memory_item_facts(memory, self._memory_session_number(memory))
        if valid_to is None and facts.valid_to is not None:
            valid_to = max(facts.valid_to, valid_from)
        facts = replace(facts, valid_from=valid_from, valid_to=valid_to)
        seen = (
            facts.kind,
            facts.session,
            facts.role,
            facts.at,
            facts.valid_to,
            facts.expires_at,
            int(facts.compressed),
        )
        self._connection.run(
            "UPDATE items SET (kind, session, role, at, valid_to, expires_at, compressed)"
            " = (?4, ?5, ?6, ?7, ?8, ?9, ?10), changed = ?3 WHERE owner_id = ?1 AND item = ?2"
            " AND (kind, session, role, at, valid_to, expires_at, compressed)"
            " IS DISTINCT FROM (?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            (self._owner, item, self._new_revision, *seen),
        )
        return facts

    def _get_stored_memory(self, memory_id: str) -> tuple[Memory, int, int]:
        """Return the stored memory, its item, and the earliest start of a next version."""
        memories = self.memories([memory_id])
        if not memories:
            raise NotFound("memory", memory_id)
        row = self._connection.row(
            "SELECT item, coalesce(valid_to, valid_from) FROM memories"
            " WHERE owner_id = ? AND id = ?",
            (self._owner, pack_id(memory_id)),
        )
        return memories[0], *(row or (0, 0))

    def _memory_row(self, memory: Memory, item: int, facts: ItemFacts) -> tuple[object, ...]:
        digest = None if memory.key is None else self._encryption.digest("key", memory.key)
        valid = (facts.valid_from, facts.valid_to)
        row = memory_row(self._encryption, memory, item, facts.session, valid)
        return (self._owner, digest, self._new_revision, *row)

    def _memory_session_number(self, memory: Memory) -> int | None:
        return None if memory.session_id is None else self._get_session_number(memory.session_id)

    def _add_tags(self, tags: Sequence[str], item: int) -> None:
        rows = {(self._owner, self._encryption.digest("tag", tag), item) for tag in tags}
        if rows:
            self._connection.run_many("INSERT INTO tags VALUES (?, ?, ?)", sorted(rows))

    def _remove_tags(self, tags: Sequence[str], item: int) -> None:
        rows = [(self._owner, self._encryption.digest("tag", tag), item) for tag in tags]
        self._connection.run_many(
            "DELETE FROM tags WHERE owner_id = ? AND tag = ? AND item = ?", rows
        )

    def _add_sources(self, memory: Memory) -> None:
        rows = {(self._owner, pack_id(s.id), pack_id(memory.id)) for s in memory.sources}
        if rows:
            self._connection.run_many("INSERT INTO derived VALUES (?, ?, ?)", sorted(rows))

    def _remove_sources(self, memory: Memory) -> None:
        rows = [(self._owner, pack_id(s.id), pack_id(memory.id)) for s in memory.sources]
        self._connection.run_many(
            "DELETE FROM derived WHERE owner_id = ? AND source_id = ? AND memory_id = ?", rows
        )
