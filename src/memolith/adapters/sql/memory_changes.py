"""Changing memories within a transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.adapters.sql.changes import WriterBase
from memolith.adapters.sql.entries import ItemFacts, memory_item_facts, start_not_before
from memolith.adapters.sql.rows import MEMORY_COLUMNS, memory_row
from memolith.adapters.sql.values import pack_id
from memolith.domain.memories import State
from memolith.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.memories import Memory
    from memolith.ports.store import IndexEntry

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
    """The ways to change memories."""

    def insert(self, memories: Sequence[tuple[Memory, IndexEntry]]) -> None:
        """See the port."""
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
        """See the port."""
        with self._guard_change():
            old, item, ended = self._get_stored_memory(memory.id)
            if memory.version <= old.version:
                raise Conflict(f"version {memory.version} is not above {old.version}")
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
        """See the port."""
        with self._guard_change():
            old, item, _ = self._get_stored_memory(memory.id)
            if memory.state is State.ACTIVE and old.state is not State.ACTIVE:
                raise Conflict("a memory becomes active again only in a new version")
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
        """Store what the amended memory's item says, and return it."""
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
        """Return a memory as it is, its item, and before when no next version can begin."""
        found = self.memories([memory_id])
        if not found:
            raise NotFound("memory", memory_id)
        row = self._connection.row(
            "SELECT item, coalesce(valid_to, valid_from) FROM memories"
            " WHERE owner_id = ? AND id = ?",
            (self._owner, pack_id(memory_id)),
        )
        return found[0], *(row or (0, 0))

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
