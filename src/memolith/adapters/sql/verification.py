"""Verifying one owner's rows against each other and against their source records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec
import numpy as np

from memolith.adapters.sql.codecs import (
    MEMORY_COLUMNS,
    OwnerEncryption,
    decode_event,
    decode_memory,
    decode_message,
    decrypt_base_memory,
    decrypt_external_id,
    digest_external_id,
    digest_speaker,
    instant_or_none,
    source_ids,
    translate_decode_errors,
    unpack_id,
    unpack_sources,
)
from memolith.adapters.sql.connection import Connection, OwnerRow, Row
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration, VectorFacts
from memolith.adapters.sql.index_rows import passage_rows, term_rows
from memolith.adapters.sql.integrity_checks import CHECKS, NO_VERSION
from memolith.adapters.sql.service_tables import count_unreadable_responses
from memolith.adapters.sql.tables import TABLES
from memolith.domain.memories import Trait
from memolith.domain.messages import Role
from memolith.errors import StoreDamaged
from memolith.ports.admin import CheckedCounts, Finding, StoredText
from memolith.ports.store import IndexEntry


class _RowReader(NamedTuple):
    """Decodes the rows of one table.

    Attributes:
        table: The table.
        record_column: The column with the record's id; NULL if there is none.
        columns: The selected columns.
        decode: Decodes these columns.
    """

    table: str
    record_column: str
    columns: str
    decode: Callable[[OwnerEncryption, Row], object]


def _decode_message(encryption: OwnerEncryption, row: Row) -> object:
    return decode_message(encryption, row, {})


def _decode_times(_: OwnerEncryption, row: Row) -> object:
    return [instant_or_none(each) for each in row[1:]]


def _decode_role(_: OwnerEncryption, row: Row) -> object:
    return Role(row[0])


_MESSAGE_COLUMNS = "id, version, {}, {}, at, content, NULL, speaker, NULL, 'user'"
_ROW_READERS = (
    _RowReader("memories", "id", f"{MEMORY_COLUMNS}, NULL", decode_memory),
    _RowReader("versions", "id", f"{MEMORY_COLUMNS}, NULL", decode_memory),
    _RowReader(
        "messages", "id", _MESSAGE_COLUMNS.format("sequence", "external_id"), _decode_message
    ),
    _RowReader("message_versions", "id", _MESSAGE_COLUMNS.format("0", "NULL"), _decode_message),
    _RowReader(
        "events", "record_id", 'number, record_id, action, at, "by", version, details', decode_event
    ),
    _RowReader("participants", "NULL", "role", _decode_role),
    _RowReader(
        "sessions", "NULL", "name, first_at, last_at, ended_at, consolidated_at", _decode_times
    ),
    _RowReader("base_memories", "NULL", "version, valid_from, valid_to", _decode_times),
)


def find_unreadable_rows(
    connection: Connection, encryption: OwnerEncryption, owner: int
) -> Iterator[tuple[str, bytes | None]]:
    """Yield the table of each row that can't be decoded, and the row's record, if any."""
    for rows in _ROW_READERS:
        for record, row in fetch_rows(
            connection, rows.table, rows.columns, owner, rows.record_column
        ):
            if row is None or not _is_readable(rows, encryption, row):
                yield rows.table, record


def _is_readable(rows: _RowReader, encryption: OwnerEncryption, row: Row) -> bool:
    try:
        translate_decode_errors(rows.decode)(encryption, row)
    except StoreDamaged:
        return False
    return True


def fetch_rows(
    connection: Connection, table: str, columns: str, owner: int, record: str = "NULL"
) -> Iterator[tuple[bytes | None, Row | None]]:
    """Yield the record of each row of an owner, and the row; None if it contains invalid text.

    A statement that encounters such a row returns no rows at all, so they are then read one by one.
    """
    statement = f"SELECT {record}, {columns} FROM {table} WHERE owner_id = ?"
    try:
        rows = connection.rows(statement, (owner,))
    except StoreDamaged:
        yield from _fetch_one_by_one(connection, table, statement, owner, record)
    else:
        yield from ((row[0], row[1:]) for row in rows)


def _fetch_one_by_one(
    connection: Connection, table: str, statement: str, owner: int, record: str
) -> Iterator[tuple[bytes | None, Row | None]]:
    key = TABLES[table].key
    one = " AND ".join((statement, *(f"{column} = ?" for column in key)))
    keys = connection.rows(
        f"SELECT {record}, {', '.join(key)} FROM {table} WHERE owner_id = ?", (owner,)
    )
    for packed, *values in keys:
        try:
            row = connection.row(one, (owner, *values))
        except StoreDamaged:
            yield packed, None
        else:
            yield packed, row and row[1:]


# --- Integrity checker


_IS_OPEN = "CASE WHEN {} IS NULL THEN 1 ELSE 0 END"
_SELECT_MESSAGES = " UNION ALL ".join(
    f"SELECT m.session, m.sequence, r.version, r.item, r.id, r.content, r.speaker, r.valid_from,"
    f" {is_open} FROM {table} AS r CROSS JOIN messages AS m"
    " ON m.owner_id = r.owner_id AND m.id = r.id WHERE r.owner_id = ?1"
    for table, is_open in (
        ("message_versions", "0"),
        ("messages", _IS_OPEN.format("r.valid_to")),
    )
)
_SELECT_MEMORIES = " UNION ALL ".join(
    f"SELECT id, version, item, key, content, summary, tags, sources FROM {table}"
    " WHERE owner_id = ?1"
    for table in ("versions", "memories")
)
_ENCRYPTED_FIELDS = {"key": 3, "content": 4, "summary": 5, "tags": 6}
_SOURCES_FIELD = 7
_ROLES = frozenset(role.value for role in Role)
_LEFTOVER_PASSAGES = (
    "SELECT x.record_id, x.item, p.part, p.{used}, p.{other} FROM items AS x CROSS JOIN passages"
    " AS p ON p.owner_id = x.owner_id AND p.item = x.item"
    f" WHERE x.owner_id = ?1 AND x.valid_from = x.valid_to AND {NO_VERSION}"
)
"""Passages of messages that were indexed again since; they are not compared with any text."""
_MAX_COMPONENT = 127
NOT_DERIVED = int(Trait.REVIEWED)
"""Traits that are not derived from the text but set by a reviewer."""


@dataclass(slots=True)
class MemoryScan:
    """Index data expected from the versions of memories.

    Attributes:
        tags: Digest and item.
        items_with_unknown_tags: Items whose tags can't be decrypted.
        derived: Source and memory.
        memories_with_unknown_sources: Memories whose sources can't be decoded.
        keys: The digest of each memory's key, unless the key can't be decrypted.
        unreadable: Values that can't be decrypted.
    """

    tags: set[tuple[bytes, int]] = field(default_factory=set)
    items_with_unknown_tags: set[int] = field(default_factory=set)
    derived: set[tuple[bytes, bytes]] = field(default_factory=set)
    memories_with_unknown_sources: set[bytes] = field(default_factory=set)
    keys: dict[bytes, bytes | None] = field(default_factory=dict)
    unreadable: list[Finding] = field(default_factory=list)


class IntegrityChecker:
    """Verifies one owner in one read transaction; an `OwnerVerification`."""

    def __init__(
        self, connection: Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> None:
        """Initialise with a connection within a transaction."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner.number
        self._key_version = owner.key_version
        self._facts = VectorFacts.read(connection)
        self._dimension = self._facts.model.dimension if self._facts.model else None
        self._has_model = self._dimension is not None
        self._terms: dict[int, tuple[int, int]] | None = None

    def count_checked(self) -> CheckedCounts:
        """See `OwnerVerification.count_checked`."""
        counts = [
            (
                self._connection.row(
                    f"SELECT count(*) FROM {table} WHERE owner_id = ?", self._owner_values
                )
            )
            for table in ("memories", "messages", "passages")
        ]
        return CheckedCounts(1, *(row[0] if row else 0 for row in counts))

    def check_records(self) -> list[Finding]:
        """See `OwnerVerification.check_records`."""
        findings = [
            self._finding(check.kind, None if id_ is None else unpack_id(id_), check.detail)
            for check in CHECKS
            for (id_,) in self._connection.rows(check.find, self._owner_values)
        ]
        findings += [
            *self._check_speakers(),
            *self._check_external_ids(),
            *self._check_messages(),
            *self._check_memories(),
        ]
        findings += [*self._check_events(), *self._check_base_memory(), *self._check_responses()]
        findings += [
            self._finding(
                "vector", unpack_id(packed), "a vector of a former index entry is damaged"
            )
            for packed, _, _ in self.leftover_vectors()
        ]
        unreadable_ids = {each.record_id for each in findings if each.kind == "sealed"} - {None}
        return [
            *findings,
            *(each for each in self._check_readable() if each.record_id not in unreadable_ids),
        ]

    def stored_texts(self) -> list[StoredText]:
        """See `OwnerVerification.stored_texts`."""
        return [*self._stored_messages(), *self._stored_memories()]

    def compare(
        self, text: StoredText, entries: Sequence[IndexEntry], *, needs_vectors: bool
    ) -> list[Finding]:
        """See `OwnerVerification.compare`."""
        entry = entries[0]
        kinds = dict(self._item_differences(text, entry))
        kinds |= dict(self._passage_differences(text, entry, needs_vectors=needs_vectors))
        if {"digest", "passages"} <= kinds.keys():
            # Two independent derivations disagree with the text, so the text itself was changed.
            return [self._finding("text", text.record_id, "the text was modified externally")]
        if not text.follows_unreadable and not self._has_terms(text.item, entries):
            kinds["terms"] = "its keywords do not match its text"
        return [self._finding(kind, text.record_id, detail) for kind, detail in kinds.items()]

    @property
    def _owner_values(self) -> tuple[int]:
        return (self._owner,)

    def _finding(self, kind: str, record_id: str | None, detail: str) -> Finding:
        return Finding(kind, self._encryption.owner_id, record_id, detail)

    def _try_decrypt(
        self, ciphertext: bytes | None, record: str, field: str, version: int
    ) -> str | None:
        """Return a decrypted text; None if there is none, or it can't be decrypted."""
        if ciphertext is None:
            return None
        try:
            return self._encryption.decrypt(ciphertext, record, field, version)
        except StoreDamaged:
            return None

    def speaker_names(self) -> dict[int, str | None]:
        """Return speaker names by number, None for speakers without a name.

        Names that can't be decrypted are left out.
        """
        rows = self._connection.rows(
            "SELECT number, name FROM participants WHERE owner_id = ?", self._owner_values
        )
        names = {n: self._try_decrypt(name, f"participant:{n}", "name", 1) for n, name in rows}
        return {n: names[n] for n, ciphertext in rows if ciphertext is None or names[n] is not None}

    def speakers(self) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Yield speaker number, stored digest, and expected digest.

        The expected digest is None if the name can't be decrypted. Speakers with an invalid role
        are left out.
        """
        names = self.speaker_names()
        rows = fetch_rows(self._connection, "participants", "number, role, digest", self._owner)
        for number, role, digest in (row for _, row in rows if row is not None):
            if number not in names:
                yield number, digest, None
            elif role in _ROLES:
                yield number, digest, digest_speaker(self._encryption, names[number], role)

    def _check_speakers(self) -> Iterator[Finding]:
        for number, stored, digest in self.speakers():
            if digest is None:
                yield self._finding("sealed", None, f"the name of speaker {number} is unreadable")
            elif digest != stored:
                yield self._finding("speaker", None, f"speaker {number} can't be found by name")

    def external_ids(self) -> Iterator[tuple[bytes, bytes | None, bytes | None]]:
        """Yield message id, stored digest of the external id, and expected digest.

        The expected digest is None if the external id can't be decrypted.
        """
        for packed, ciphertext, digest in self._connection.rows(
            "SELECT id, external_id, external_digest FROM messages"
            " WHERE owner_id = ? AND external_id IS NOT NULL",
            self._owner_values,
        ):
            try:
                name = decrypt_external_id(self._encryption, packed, ciphertext)
            except StoreDamaged:
                name = None
            yield packed, digest, digest_external_id(self._encryption, name)

    def _check_external_ids(self) -> Iterator[Finding]:
        for packed, stored, digest in self.external_ids():
            if digest is None:
                detail = "its external id is unreadable"
                yield self._finding("sealed", unpack_id(packed), detail)
            elif digest != stored:
                detail = "it can't be found by its external id"
                yield self._finding("key", unpack_id(packed), detail)

    def _check_messages(self) -> Iterator[Finding]:
        for row in self._connection.rows(
            f"{_SELECT_MESSAGES} ORDER BY 1, 2, 3", self._owner_values
        ):
            if self._decrypt_content(row) is None:
                yield self._finding("sealed", unpack_id(row[4]), "its content is unreadable")

    def _decrypt_content(self, row: Row) -> str | None:
        """Return the content of a row of `_SELECT_MESSAGES`; None if it can't be decrypted."""
        return self._try_decrypt(row[5], unpack_id(row[4]), "content", row[2])

    def _check_memories(self) -> Iterator[Finding]:
        scan = self.scan_memories()
        yield from scan.unreadable
        for packed, stored in self._connection.rows(
            "SELECT id, key_digest FROM memories WHERE owner_id = ?", self._owner_values
        ):
            if packed in scan.keys and stored != scan.keys[packed]:
                yield self._finding("key", unpack_id(packed), "it can't be found by its key")
        yield from self._compare_rows("tags", "tag, item", scan.tags, scan.items_with_unknown_tags)
        yield from self._compare_rows(
            "derived", "source_id, memory_id", scan.derived, scan.memories_with_unknown_sources
        )

    def scan_memories(self) -> MemoryScan:
        """Read all versions of memories, and collect the expected index data."""
        scan = MemoryScan()
        newest: dict[bytes, int] = dict(
            self._connection.rows(
                "SELECT id, version FROM memories WHERE owner_id = ?", self._owner_values
            )
        )
        for row in self._connection.rows(_SELECT_MEMORIES, self._owner_values):
            opened = self._decrypt_fields(row, scan)
            for tag in _decode_scanned_tags(opened["tags"], row[2], scan):
                scan.tags.add((self._encryption.digest("tag", tag), row[2]))
            if newest.get(row[0]) == row[1]:
                scan.derived |= _decode_source_pairs(row, scan)
                key = opened["key"]
                if (key is None) == (row[_ENCRYPTED_FIELDS["key"]] is None):
                    scan.keys[row[0]] = None if key is None else self._encryption.digest("key", key)
        return scan

    def _decrypt_fields(self, row: Sequence[Any], scan: MemoryScan) -> dict[str, str | None]:
        record, version, item = unpack_id(row[0]), row[1], row[2]
        try:
            unpack_sources(self._encryption, row[_SOURCES_FIELD])
        except StoreDamaged:
            scan.unreadable.append(self._finding("sealed", record, "its sources are unreadable"))
        opened = {
            f: self._try_decrypt(row[n], record, f, version) for f, n in _ENCRYPTED_FIELDS.items()
        }
        for name, index in _ENCRYPTED_FIELDS.items():
            if row[index] is not None and opened[name] is None:
                scan.unreadable.append(self._finding("sealed", record, f"its {name} is unreadable"))
                if name == "tags":
                    scan.items_with_unknown_tags.add(item)
        return opened

    def _compare_rows(
        self, table: str, columns: str, expected: set[Any], unknown: set[Any]
    ) -> Iterator[Finding]:
        rows = self._connection.rows(
            f"SELECT {columns} FROM {table} WHERE owner_id = ?", self._owner_values
        )
        stored = {row for row in rows if row[1] not in unknown}
        kind = "tags" if table == "tags" else "sources"
        for _ in stored - expected:
            yield self._finding(kind, None, "the index has an entry that no record has")
        for _ in expected - stored:
            yield self._finding(kind, None, "the index lacks an entry that a record has")

    def _check_events(self) -> Iterator[Finding]:
        rows = self._connection.rows(
            "SELECT number, record_id, details FROM events"
            " WHERE owner_id = ? AND details IS NOT NULL",
            self._owner_values,
        )
        for number, packed, details in rows:
            if self._try_decrypt(details, unpack_id(packed), "event", number) is None:
                yield self._finding(
                    "sealed", unpack_id(packed), "an event's details are unreadable"
                )

    def _check_base_memory(self) -> Iterator[Finding]:
        rows = self._connection.rows(
            "SELECT version, content, sources FROM base_memories WHERE owner_id = ?",
            self._owner_values,
        )
        for version, ciphertext, sources in rows:
            try:
                decrypt_base_memory(self._encryption, ciphertext, version)
                unpack_sources(self._encryption, sources)
            except StoreDamaged:
                detail = f"version {version} of the base memory is unreadable"
                yield self._finding("sealed", None, detail)

    def _check_responses(self) -> Iterator[Finding]:
        for _ in range(
            count_unreadable_responses(self._connection, self._encryption, self._key_version)
        ):
            yield self._finding("sealed", None, "a stored response is unreadable")

    def _check_readable(self) -> Iterator[Finding]:
        for table, packed in find_unreadable_rows(self._connection, self._encryption, self._owner):
            record = None if packed is None else unpack_id(packed)
            yield self._finding("value", record, f"a row of {table} can't be decoded")

    def _stored_messages(self) -> Iterator[StoredText]:
        names = self.speaker_names()
        closed: set[tuple[int, int]] = set()
        for row in self._connection.rows(
            f"{_SELECT_MESSAGES} ORDER BY 1, 2, 3", self._owner_values
        ):
            session, sequence, _, item, packed, _, speaker, since, is_open = row
            content = self._decrypt_content(row)
            if content is None or speaker not in names:
                closed.add((session, sequence))
            else:
                yield StoredText(
                    item=item,
                    record_id=unpack_id(packed),
                    content=content,
                    speaker=names[speaker],
                    kind=None,
                    key=None,
                    position=(session, sequence),
                    is_open=bool(is_open),
                    valid_from=since,
                    follows_unreadable=(session, sequence - 1) in closed,
                )

    def _stored_memories(self) -> Iterator[StoredText]:
        columns = "id, version, item, kind, key, content, valid_from, "
        rows = chain(
            fetch_rows(self._connection, "versions", columns + "0", self._owner),
            fetch_rows(
                self._connection, "memories", columns + _IS_OPEN.format("valid_to"), self._owner
            ),
        )
        for row in (row for _, row in rows if row is not None):
            packed, version, item, kind, encrypted_key, ciphertext, since, is_open = row
            record = unpack_id(packed)
            content = self._try_decrypt(ciphertext, record, "content", version)
            key = self._try_decrypt(encrypted_key, record, "key", version)
            if content is not None and (key is None) == (encrypted_key is None):
                yield StoredText(item, record, content, None, kind, key, None, bool(is_open), since)

    def _item_differences(self, text: StoredText, entry: IndexEntry) -> Iterator[tuple[str, str]]:
        row = self._connection.row(
            "SELECT traits, words, tokens, content FROM items WHERE owner_id = ? AND item = ?",
            (self._owner, text.item),
        )
        if row is None:
            return  # reported by `check_records`
        features = entry.features
        derived = (int(features.traits) & ~NOT_DERIVED, features.words, features.tokens)
        if (row[0] & ~NOT_DERIVED, *row[1:3]) != derived:
            yield "item", "its ranking features do not match its text"
        if row[3] != self._encryption.digest("content", entry.content_key):
            yield "digest", "it can't be found by its content"

    def _passage_differences(
        self, text: StoredText, entry: IndexEntry, *, needs_vectors: bool
    ) -> Iterator[tuple[str, str]]:
        generation = EmbeddingGeneration(self._facts.embedding_generation)
        stored = self._connection.rows(
            f"SELECT owner_id, item, part, start, stop, tokens, digest, {generation.column},"
            f" {generation.other_column}"
            " FROM passages WHERE owner_id = ? AND item = ? ORDER BY part",
            (self._owner, text.item),
        )
        rows = passage_rows(self._encryption, self._owner, text.item, entry, self._dimension)
        digests = chain((row[6] for row in stored), repeat(None))
        derived = [
            (*row[:6], None if digest is None else row[7])
            for row, digest in zip(rows, digests, strict=False)
        ]
        if [row[:7] for row in stored] != derived:
            yield "passages", "its passages do not match its text"
        if self._has_model and not all(
            self._is_indexed(row, needs_vectors=needs_vectors) for row in stored
        ):
            yield "vector", "a vector is missing or damaged"
        elif not all(self._is_allowed_unused(row[8]) for row in stored):
            yield "vector", "a vector of another model is left over, or damaged"

    def _is_indexed(self, row: Sequence[Any], *, needs_vectors: bool) -> bool:
        """Return whether a passage has its vector, or neither has nor needs one."""
        if row[6] is None and row[7] is None:
            return not needs_vectors
        return row[6] is not None and self._is_vector(row[7], self._dimension)

    def _is_allowed_unused(self, unused: bytes | None) -> bool:
        """Return whether this vector in the other column is allowed; None always is."""
        if unused is None or self._facts.has_unused_vectors:
            return True
        next_model = self._facts.next_model
        return self._is_vector(unused, next_model.dimension if next_model else None)

    def leftover_vectors(self) -> Iterator[tuple[bytes, int, int]]:
        """Yield record, item and part of damaged vectors that are not compared with any text."""
        generation = EmbeddingGeneration(self._facts.embedding_generation)
        statement = _LEFTOVER_PASSAGES.format(used=generation.column, other=generation.other_column)
        for packed, item, part, used, other in self._connection.rows(statement, self._owner_values):
            is_whole = used is None or self._is_vector(used, self._dimension)
            if not (is_whole and self._is_allowed_unused(other)):
                yield packed, item, part

    def _is_vector(self, stored: bytes | None, dimension: int | None) -> bool:
        if stored is None or dimension is None:
            return False
        try:
            vector = self._encryption.decrypt_vectors([stored], dimension)[0]
        except StoreDamaged:
            return False
        max_component = int(np.abs(vector.astype(np.int16)).max(initial=0))
        return max_component in (0, _MAX_COMPONENT)  # as created by `policies.indexing.quantise`

    def _has_terms(self, item: int, entries: Sequence[IndexEntry]) -> bool:
        if self._terms is None:
            self._terms = self._stored_terms()
        stored = self._terms.get(item, (0, 0))
        return any(self._sum_entry_rows(item, entry) == stored for entry in entries)

    def _sum_entry_rows(self, item: int, entry: IndexEntry) -> tuple[int, int]:
        """Return number and hash sum of the term and length rows of an entry."""
        rows = [row[1:] for row in term_rows(self._encryption, self._owner, item, entry)]
        rows += [
            (part, sum(passage.terms.values()))  # the passage's length
            for part, passage in enumerate(entry.passages)
        ]
        return len(rows), sum(map(hash, rows))

    def _stored_terms(self) -> dict[int, tuple[int, int]]:
        """Return number and hash sum of the rows of each item, independent of their order.

        Reads all terms in one pass, since they are ordered by term, not by item.
        """
        totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        rows: Iterable[tuple[Any, ...]] = self._connection.rows(
            "SELECT term, item, part, tf FROM terms WHERE owner_id = ?", self._owner_values
        )
        for row in rows:
            totals[row[1]][0] += 1
            totals[row[1]][1] += hash(row)
        for item, *columns in self._connection.rows(
            "SELECT item, part, length FROM passages WHERE owner_id = ?", self._owner_values
        ):
            totals[item][0] += 1
            totals[item][1] += hash(tuple(columns))
        return {item: (count, total) for item, (count, total) in totals.items()}


def _decode_scanned_tags(text: str | None, item: int, scan: MemoryScan) -> list[str]:
    try:
        return [] if text is None else msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError:
        scan.items_with_unknown_tags.add(item)
        return []


def _decode_source_pairs(row: Row, scan: MemoryScan) -> set[tuple[bytes, bytes]]:
    try:
        return {(source, row[0]) for source in source_ids(row[_SOURCES_FIELD])}
    except StoreDamaged:
        scan.memories_with_unknown_sources.add(row[0])
        return set()
