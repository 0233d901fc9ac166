"""Re-encrypting and re-digesting all data of an owner with another key, in one transaction.

Encrypted values are decrypted and encrypted again. Digests can't be reversed: their inputs are
recomputed from the owner's texts. An in-memory table of old and new digests is then applied to the
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from memolith.adapters.sql.codecs import (
    KEY_COLUMNS,
    OwnerEncryption,
    build_where_clause,
    decrypt_base_memory,
    decrypt_external_id,
    decrypt_name,
    digest_external_id,
    digest_speaker,
    encrypt_base_memory,
    encrypt_external_id,
    encrypt_name,
    pack_sources,
    unpack_id,
    unpack_sources,
)
from memolith.adapters.sql.connection import Connection, Row
from memolith.adapters.sql.embedding_generations import (
    VECTOR_COLUMNS,
    EmbeddingGeneration,
    VectorFacts,
)
from memolith.errors import Conflict
from memolith.ports.store import IndexEntry

BuildEntry = Callable[[str, str | None], IndexEntry]

ENCRYPTED_COLUMNS = {
    "participants": ("name", "digest"),
    "messages": ("content", "external_id", "external_digest"),
    "message_versions": ("content",),
    "memories": ("key", "key_digest", "content", "summary", "tags"),
    "versions": ("key", "content", "summary", "tags"),
    "items": ("content",),
    "passages": ("digest", *VECTOR_COLUMNS),
    "terms": ("term",),
    "tags": ("tag",),
    "events": ("details",),
    "base_memories": ("content",),
}
"""The columns that contain ciphertexts, digests or encrypted vectors."""

_ROWS_PER_BATCH = 4_096
"""Rows processed at once: about 5 MB with vectors."""

_FIELDS = ("key", "content", "summary", "tags")


class Rekeyer:
    """Re-encrypts one owner's rows with another key."""

    def __init__(
        self,
        connection: Connection,
        owner: int,
        encryptions: tuple[OwnerEncryption, OwnerEncryption],
    ) -> None:
        """Initialise with a connection in a write transaction, and the old and new encryption."""
        self._connection = connection
        self._owner = owner
        self._old, self._new = encryptions
        self._digests: dict[bytes, bytes] = {}
        self._terms: dict[bytes, bytes] = {}

    def run(self, build_entry: BuildEntry) -> None:
        """Re-encrypt all data.

        Raises:
            Conflict: A keyword or tag occurs in none of the owner's texts.
            StoreDamaged: A value can't be decrypted.
        """
        names = self._rekey_participants()
        for table in ("messages", "message_versions"):
            self._rekey_messages(table, names, build_entry)
        self._rekey_external_ids()
        for table in ("memories", "versions"):
            self._rekey_memories(table, build_entry)
        for table in ("memories", "versions", "base_memories"):
            self._rekey_sources(table)
        self._rekey_events()
        self._rekey_base_memory()
        self._rekey_vectors()
        self._replace_digests()

    def _rekey_participants(self) -> dict[int, str | None]:
        rows = self._connection.rows(
            "SELECT number, name, role FROM participants WHERE owner_id = ?", (self._owner,)
        )
        names = {
            number: decrypt_name(self._old, number, ciphertext) for number, ciphertext, _ in rows
        }
        self._connection.run_many(
            "UPDATE participants SET name = ?, digest = ? WHERE owner_id = ? AND number = ?",
            [
                (
                    encrypt_name(self._new, number, names[number]),
                    digest_speaker(self._new, names[number], role),
                    self._owner,
                    number,
                )
                for number, _, role in rows
            ],
        )
        return names

    def _rekey_messages(
        self, table: str, names: dict[int, str | None], build_entry: BuildEntry
    ) -> None:
        for rows in self._read_batches(table, "id, version, speaker, content"):
            updates = []
            for key, (packed, version, speaker, ciphertext) in rows:
                record = unpack_id(packed)
                content = self._old.decrypt(ciphertext, record, "content", version)
                self._add_entry_digests(build_entry(content, names[speaker]))
                updates.append((self._new.encrypt(content, record, "content", version), *key))
            self._update_rows(table, "content = ?", updates)

    def _rekey_external_ids(self) -> None:
        for rows in self._read_batches("messages", "id, external_id"):
            opened = [
                (key, id_, decrypt_external_id(self._old, id_, ciphertext))
                for key, (id_, ciphertext) in rows
            ]
            self._update_rows(
                "messages",
                "external_id = ?, external_digest = ?",
                [
                    (
                        encrypt_external_id(self._new, id_, name),
                        digest_external_id(self._new, name),
                        *key,
                    )
                    for key, id_, name in opened
                    if name is not None
                ],
            )

    def _rekey_sources(self, table: str) -> None:
        for rows in self._read_batches(table, "sources"):
            self._update_rows(
                table,
                "sources = ?",
                [
                    (pack_sources(self._new, unpack_sources(self._old, packed)), *key)
                    for key, (packed,) in rows
                    if packed is not None
                ],
            )

    def _rekey_memories(self, table: str, build_entry: BuildEntry) -> None:
        for rows in self._read_batches(table, f"id, version, {', '.join(_FIELDS)}"):
            updates = []
            for key, (packed, version, *ciphertexts) in rows:
                record = unpack_id(packed)
                plain = {
                    field: None
                    if value is None
                    else self._old.decrypt(value, record, field, version)
                    for field, value in zip(_FIELDS, ciphertexts, strict=True)
                }
                self._add_memory_digests(plain, build_entry)
                reencrypted = (
                    None if text is None else self._new.encrypt(text, record, field, version)
                    for field, text in plain.items()
                )
                updates.append((*reencrypted, *key))
            self._update_rows(table, ", ".join(f"{field} = ?" for field in _FIELDS), updates)

    def _add_memory_digests(self, plain: dict[str, str | None], build_entry: BuildEntry) -> None:
        self._add_entry_digests(build_entry(plain["content"] or "", None))
        if plain["key"] is not None:
            self._add_digest("key", plain["key"])
            self._add_entry_digests(
                build_entry(plain["key"], None)
            )  # the words of a memory's key are indexed too
        if plain["tags"] is not None:
            for tag in msgspec.json.decode(plain["tags"], type=list[str]):
                self._add_digest("tag", tag)

    def _add_entry_digests(self, entry: IndexEntry) -> None:
        """Add the old and new digests of a text."""
        self._add_digest("content", entry.content_key)
        for passage in entry.passages:
            if passage.digest is not None:
                old = self._old.sign("passage", passage.digest)
                self._digests[old] = self._new.sign("passage", passage.digest)
            for term in passage.terms:
                self._terms[self._old.digest_term(term)] = self._new.digest_term(term)

    def _add_digest(self, purpose: str, text: str) -> None:
        self._digests[self._old.digest(purpose, text)] = self._new.digest(purpose, text)

    def _rekey_events(self) -> None:
        rows = self._connection.rows(
            "SELECT number, record_id, details FROM events"
            " WHERE owner_id = ? AND details IS NOT NULL",
            (self._owner,),
        )
        updates = []
        for number, packed, ciphertext in rows:
            record = unpack_id(packed)
            text = self._old.decrypt(ciphertext, record, "event", number)
            updates.append((self._new.encrypt(text, record, "event", number), self._owner, number))
        self._connection.run_many(
            "UPDATE events SET details = ? WHERE owner_id = ? AND number = ?", updates
        )

    def _rekey_base_memory(self) -> None:
        for rows in self._read_batches("base_memories", "version, content"):
            texts = [
                (key, v, decrypt_base_memory(self._old, ciphertext, v))
                for key, (v, ciphertext) in rows
            ]
            self._update_rows(
                "base_memories",
                "content = ?",
                [(encrypt_base_memory(self._new, text, v), *key) for key, v, text in texts],
            )

    def _rekey_vectors(self) -> None:
        facts = VectorFacts.read(self._connection)
        generation = EmbeddingGeneration(facts.embedding_generation)
        if facts.model:
            self._rekey_vector_column(generation.column, facts.model.dimension)
        if facts.next_model:  # re-embedding is in progress
            self._rekey_vector_column(generation.other_column, facts.next_model.dimension)
        else:
            self._connection.run(
                f"UPDATE passages SET {generation.other_column} = NULL WHERE owner_id = ?"
                f" AND {generation.other_column} IS NOT NULL",
                (self._owner,),
            )

    def _rekey_vector_column(self, column: str, dimension: int) -> None:
        for rows in self._read_batches("passages", column):
            stored = [(key, vector) for key, (vector,) in rows if vector is not None]
            vectors = self._old.decrypt_vectors([vector for _, vector in stored], dimension)
            reencrypted = map(self._connection.bind_vector, self._new.encrypt_vectors(vectors))
            self._update_rows(
                "passages",
                f"{column} = ?",
                [(new, *key) for new, (key, _) in zip(reencrypted, stored, strict=True)],
            )

    def _replace_digests(self) -> None:
        """Replace the digests in the rows."""
        connection, owner = self._connection, (self._owner,)
        connection.run("CREATE TEMP TABLE turned (old BYTEA PRIMARY KEY, new BYTEA NOT NULL)")
        connection.run_many("INSERT INTO turned VALUES (?, ?)", self._digests.items())
        connection.run_many(
            "INSERT INTO turned VALUES (?, ?) ON CONFLICT DO NOTHING", self._terms.items()
        )
        for table, column in (("terms", "term"), ("tags", "tag")):
            self._refuse_unknown(table, column)
            connection.run(_REPLACE_DIGEST.format(table=table, column=column), owner)
        # Digests of keys, contents and passages may refer to deleted texts. These digests are
        # cleared; they matched nothing before either.
        for table, column in (("memories", "key_digest"), ("passages", "digest")):
            connection.run(_REPLACE_DIGEST.format(table=table, column=column), owner)
        connection.run(
            "UPDATE items SET content = coalesce((SELECT new FROM turned WHERE old = content), ?)"
            " WHERE owner_id = ?",
            (b"", *owner),
        )
        connection.run("DROP TABLE turned")

    def _refuse_unknown(self, table: str, column: str) -> None:
        unknown = self._fetch_value(
            f"SELECT count(DISTINCT {column}) FROM {table} WHERE owner_id = ?"
            f" AND {column} NOT IN (SELECT old FROM turned)",
            (self._owner,),
        )
        if unknown:
            raise Conflict(
                f"{unknown} digests in {table} match none of the owner's texts: the key was not"
                " changed"
            )

    def _read_batches(self, table: str, columns: str) -> Iterable[list[tuple[Row, Row]]]:
        """Yield rows in batches, each with its key first, in key order."""
        key = ", ".join(KEY_COLUMNS[table])
        width = len(KEY_COLUMNS[table])
        condition = f" AND ({key}) > ({', '.join('?' * width)})"
        last: Row = ()
        while rows := self._connection.rows(
            f"SELECT {key}, {columns} FROM {table} WHERE owner_id = ?{condition if last else ''}"
            f" ORDER BY {key} LIMIT {_ROWS_PER_BATCH}",
            (self._owner, *last),
        ):
            last = rows[-1][:width]
            yield [(row[:width], row[width:]) for row in rows]

    def _update_rows(self, table: str, changes: str, rows: Iterable[Row]) -> None:
        """Update rows by their keys, which follow the new values."""
        width = len(KEY_COLUMNS[table])
        self._connection.run_many(
            f"UPDATE {table} SET {changes} {build_where_clause(table)}",
            [(*row[:-width], self._owner, *row[-width:]) for row in rows],
        )

    def _fetch_value(self, statement: str, values: tuple[Any, ...]) -> Any:
        (value,) = self._connection.row(statement, values) or (None,)
        return value


_REPLACE_DIGEST = (
    "UPDATE {table} SET {column} = (SELECT new FROM turned WHERE old = {column})"
    " WHERE owner_id = ? AND {column} IS NOT NULL"
)
