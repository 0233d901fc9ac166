"""Repairing an owner's derived rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.adapters.sql.codecs import OwnerEncryption, digest_speaker, pack_id
from memolith.adapters.sql.connection import Connection, OwnerRow
from memolith.adapters.sql.embedding_generations import (
    EmbeddingGeneration,
    ExpectedGeneration,
    VectorFacts,
)
from memolith.adapters.sql.index_rows import ItemFacts, item_row, passage_rows, term_rows
from memolith.adapters.sql.integrity_checks import CHECKS, ROLE_LIST
from memolith.adapters.sql.memory_writes import INSERT_ITEM, INSERT_PASSAGE, INSERT_TERM
from memolith.adapters.sql.verification import NOT_DERIVED, IntegrityChecker
from memolith.domain.messages import Role
from memolith.ports.admin import StoredText
from memolith.ports.store import IndexEntry

_ACTIVE = " AND {}.state = 'active'"
_WHERE_ITEMS = "WHERE owner_id = ? AND item IN (SELECT value FROM carray(?))"


def repair_owner(
    connection: Connection,
    encryption: OwnerEncryption,
    owner: OwnerRow,
    expected_generation: ExpectedGeneration | None,
    entries: Mapping[int, IndexEntry],
    expected_texts: Mapping[int, StoredText],
) -> None:
    """Do the work of `SupportsVerification.repair_owner` without ending the transaction."""
    checker = IntegrityChecker(connection, encryption, owner)
    facts = VectorFacts.read(connection)
    if entries:
        EmbeddingGeneration(facts.embedding_generation, expected_generation).refuse_if_switched(
            connection
        )
    texts = {text.item: text for text in checker.stored_texts()}
    same = {n: e for n, e in entries.items() if n in texts and texts[n] == expected_texts[n]}
    _OwnerRepair(connection, encryption, owner, facts).run(same, texts, checker)


class _OwnerRepair:
    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        facts: VectorFacts,
    ) -> None:
        self._connection = connection
        self._encryption = encryption
        self._owner = owner
        self._facts = facts

    def run(
        self,
        entries: Mapping[int, IndexEntry],
        texts: Mapping[int, StoredText],
        checker: IntegrityChecker,
    ) -> None:
        self._rebuild_index(entries, texts)
        self._remove_leftover_vectors(checker)
        for check in CHECKS:
            if check.repair:
                self._connection.run(check.repair, (self._owner.number,))
        self._repair_speakers(checker)
        self._repair_memories(checker)
        self._connection.run(
            "UPDATE owners SET counter = counter + 1, revision = revision + 1,"
            " generation = generation + 1, reembedded_to = 1 WHERE owner_id = ?",
            (self._owner.number,),
        )

    def _rebuild_index(
        self, entries: Mapping[int, IndexEntry], texts: Mapping[int, StoredText]
    ) -> None:
        """Replace stored index entries; the checks that follow fill in the facts."""
        if not entries:
            return
        number, model = self._owner.number, self._facts.model
        insert_passage = INSERT_PASSAGE.format(
            vector=EmbeddingGeneration(self._facts.embedding_generation).column
        )
        items = (number, self._connection.bind_integers(tuple(entries)))
        review_traits: dict[int, int] = dict(
            self._connection.rows(
                f"SELECT item, traits & {NOT_DERIVED} FROM items {_WHERE_ITEMS}", items
            )
        )
        for table in ("items", "passages", "terms"):
            self._connection.run(f"DELETE FROM {table} {_WHERE_ITEMS}", items)
        for item, entry in entries.items():
            facts = _placeholder_facts(texts[item])
            revision = self._owner.revision
            row: list[Any] = [*item_row(self._encryption, number, item, facts, entry, revision)]
            row[9] |= review_traits.get(item, 0)
            self._connection.run(INSERT_ITEM, row)
            dimension = model.dimension if model else None
            passages = passage_rows(self._encryption, number, item, entry, dimension)
            self._connection.run_many(
                insert_passage,
                [(*row, self._connection.bind_vector(vector)) for *row, vector in passages],
            )
            self._connection.run_many(INSERT_TERM, term_rows(self._encryption, number, item, entry))

    def _remove_leftover_vectors(self, checker: IntegrityChecker) -> None:
        """Remove damaged vectors of items that are never valid: no search uses them."""
        self._connection.run_many(
            "UPDATE passages SET vector = NULL, vector2 = NULL"
            " WHERE owner_id = ? AND item = ? AND part = ?",
            [(self._owner.number, item, part) for _, item, part in [*checker.leftover_vectors()]],
        )

    def _repair_speakers(self, checker: IntegrityChecker) -> None:
        for number, role in self._find_lost_roles(checker.speaker_names()):
            self._connection.run(
                "UPDATE participants SET role = ? WHERE owner_id = ? AND number = ?",
                (role.value, self._owner.number, number),
            )
        self._connection.run_many(
            _update_unless_taken("participants", "digest", "number"),
            [
                (digest, self._owner.number, number)
                for number, _, digest in [*checker.speakers()]
                if digest
            ],
        )

    def _find_lost_roles(self, names: Mapping[int, str | None]) -> list[tuple[int, Role]]:
        """Return the missing roles of speakers whose digests determine them."""
        rows = self._connection.rows(
            "SELECT number, digest FROM participants WHERE owner_id = ?"
            f" AND role NOT IN ({ROLE_LIST})",
            (self._owner.number,),
        )
        return [
            (number, role)
            for number, digest in rows
            for role in Role
            if number in names and digest_speaker(self._encryption, names[number], role) == digest
        ]

    def _repair_memories(self, checker: IntegrityChecker) -> None:
        scan, number = checker.scan_memories(), self._owner.number
        self._connection.run_many(
            _update_unless_taken("messages", "external_digest", "id", " AND y.session = x.session"),
            [(digest, number, packed) for packed, _, digest in [*checker.external_ids()] if digest],
        )
        self._connection.run_many(
            _update_unless_taken(
                "memories", "key_digest", "id", _ACTIVE.format("x") + _ACTIVE.format("y")
            ),
            [(digest, number, packed) for packed, digest in scan.keys.items()],
        )
        kept_rows = self._connection.rows(
            "SELECT tag, item FROM tags WHERE owner_id = ?", (number,)
        )
        tags = scan.tags | {
            (tag, item) for tag, item in kept_rows if item in scan.items_with_unknown_tags
        }
        kept_rows = self._connection.rows(
            "SELECT source_id, memory_id FROM derived WHERE owner_id = ?", (number,)
        )
        derived = scan.derived | {
            (source, memory)
            for source, memory in kept_rows
            if memory in scan.memories_with_unknown_sources
        }
        for table, rows in (("tags", tags), ("derived", derived)):
            self._connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (number,))
            self._connection.run_many(
                f"INSERT INTO {table} VALUES (?, ?, ?)", [(number, *row) for row in sorted(rows)]
            )


def _update_unless_taken(table: str, digest: str, key: str, condition: str = "") -> str:
    """Return a statement that sets a digest, unless another row has it."""
    return (
        f"UPDATE {table} AS x SET {digest} = ?1 WHERE x.owner_id = ?2 AND x.{key} = ?3"
        f" AND NOT EXISTS (SELECT 1 FROM {table} AS y WHERE y.owner_id = ?2"
        f" AND y.{digest} = ?1 AND y.{key} <> ?3{condition})"
    )


def _placeholder_facts(text: StoredText) -> ItemFacts:
    """Return placeholder facts of an item, to be replaced from its record."""
    return ItemFacts(
        record_id=pack_id(text.record_id),
        kind=None,
        session=None,
        sequence=0,
        speaker=None,
        role="assistant",
        at=0,
        valid_from=text.valid_from,
        valid_to=text.valid_from,
        expires_at=None,
        compressed=False,
    )
