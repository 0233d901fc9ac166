"""Embedding generations: the model of the stored vectors, and switching to another model.

Two columns hold vectors alternately. New vectors are written to the column that is not in use. The
switch increments the generation in `meta`. A process that opened the store for the previous model
sees the new generation in the owner's row and is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import OwnerEncryption, decrypt_name, unpack_id
from memolith.adapters.sql.connection import Connection, Connections, OwnerRow, Row
from memolith.adapters.sql.index import IndexCache
from memolith.errors import Conflict, InvalidInput, StoreDamaged, WrongEmbeddingModel
from memolith.ports.admin import (
    MAX_WRITE_PAUSE_S,
    EmbeddingModel,
    UnembeddedPassage,
    UnembeddedPassages,
)
from memolith.ports.cipher import Cipher
from memolith.ports.store import StoreMeta

SpokenText = tuple[str, str | None]
PassagePosition = tuple[int, int]

VECTOR_COLUMNS = ("vector", "vector2")

GENERATION_FACT, WRITE_PAUSE_FACT = "space", "hold"
"""Names of rows in `meta`: the current generation, and the token of a write pause."""

_EMBEDDER, _DIMENSION, _DIGESTS = "embedder", "dimension", "digests"
_NEXT_EMBEDDER, _NEXT_DIMENSION = "next_embedder", "next_dimension"
_HAS_UNUSED = "emptying"

_SET_FACT = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


@dataclass(frozen=True, slots=True)
class ExpectedGeneration:
    """The generation that a process has opened the store for.

    Attributes:
        generation: The generation.
        model: The model, as shown in messages.
    """

    generation: int
    model: str


@dataclass(frozen=True, slots=True)
class EmbeddingGeneration:
    """The generation in use in one state of a store.

    Attributes:
        number: The generation; even generations are in the first column.
        expected: The generation that the store was opened for; None for any.
    """

    number: int = 0
    expected: ExpectedGeneration | None = None

    @property
    def column(self) -> str:
        """The column with the current vectors."""
        return VECTOR_COLUMNS[self.number % 2]

    @property
    def other_column(self) -> str:
        """The column with new vectors, or with vectors that were replaced."""
        return VECTOR_COLUMNS[(self.number + 1) % 2]

    def refuse_if_switched(self, connection: Connection) -> None:
        """Refuse access if the store was opened for a previous generation.

        Raises:
            WrongEmbeddingModel: The store has switched to another model since.
        """
        if self.expected is not None and self.expected.generation != self.number:
            now = VectorFacts.read(connection).model
            raise WrongEmbeddingModel(str(now), self.expected.model, is_changed=True)


@dataclass(frozen=True, slots=True)
class VectorFacts:
    """Facts about a store's vectors.

    Attributes:
        embedding_generation: The generation in use.
        model: The model in use; None before the first vector.
        digest_name: The name used in digests of embedded texts, that of the store's first model;
            None for the model in use.
        next_model: The new model; None unless re-embedding is in progress.
        has_unused_vectors: Whether the other column may contain unused vectors.
    """

    embedding_generation: int
    model: EmbeddingModel | None
    digest_name: str | None
    next_model: EmbeddingModel | None
    has_unused_vectors: bool

    @classmethod
    def read(cls, connection: Connection) -> VectorFacts:
        """Read the facts from `meta`."""
        return cls.from_facts(dict(connection.rows("SELECT name, value FROM meta")))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> VectorFacts:
        """Decode the facts from the rows of `meta`."""
        return cls(
            embedding_generation=int(facts.get(GENERATION_FACT, 0)),
            model=_decode_model(facts, _EMBEDDER, _DIMENSION),
            digest_name=facts.get(_DIGESTS),
            next_model=_decode_model(facts, _NEXT_EMBEDDER, _NEXT_DIMENSION),
            has_unused_vectors=_HAS_UNUSED in facts,
        )

    def to_meta(self, schema: int, cipher: str, analyser: int) -> StoreMeta:
        """Return the store's metadata, including these facts."""
        name = self.model.name if self.model else None
        return StoreMeta(
            schema=schema,
            embedder=name,
            dimension=self.model.dimension if self.model else None,
            cipher=cipher,
            analyser=int(analyser),
            digest_name=self.digest_name or name,
            embedding_generation=self.embedding_generation,
        )

    def refuse_other(self, name: str, dimension: int | None) -> None:
        """Refuse any model other than the one in use.

        Raises:
            WrongEmbeddingModel: It is another model.
        """
        if self.model is None:
            return
        if self.model.name != name or dimension not in (None, self.model.dimension):
            requested = EmbeddingModel(name, dimension or 0)
            raise WrongEmbeddingModel(
                str(self.model), str(requested), is_reembedding=self.next_model == requested
            )


def save_model(connection: Connection, model: EmbeddingModel) -> None:
    """Store the model in use."""
    _save_facts(connection, {_EMBEDDER: model.name, _DIMENSION: str(model.dimension)})


def save_next_model(connection: Connection, model: EmbeddingModel) -> None:
    """Store the new model of a re-embedding."""
    _save_facts(connection, {_NEXT_EMBEDDER: model.name, _NEXT_DIMENSION: str(model.dimension)})


def switch_generation(connection: Connection, facts: VectorFacts, model: EmbeddingModel) -> None:
    """Make the new vectors current; the previous ones become unused."""
    digests = facts.digest_name or (facts.model.name if facts.model else model.name)
    _save_facts(
        connection, {GENERATION_FACT: str(facts.embedding_generation + 1), _DIGESTS: digests}
    )
    save_model(connection, model)
    discard_next_model(connection)


def discard_next_model(connection: Connection) -> None:
    """End re-embedding; vectors in the other column become unused."""
    _save_facts(connection, {_HAS_UNUSED: "1"})
    for name in (_NEXT_EMBEDDER, _NEXT_DIMENSION, WRITE_PAUSE_FACT):
        _remove_fact(connection, name)


def clear_unused(connection: Connection) -> None:
    """Record that the other column is empty."""
    _remove_fact(connection, _HAS_UNUSED)


def set_write_pause(connection: Connection, token: str | None) -> None:
    """Start a write pause with a new token, or end it with None."""
    if token is None:
        _remove_fact(connection, WRITE_PAUSE_FACT)
    else:
        _save_facts(connection, {WRITE_PAUSE_FACT: token})


def stored_dimension(connection: Connection) -> int | None:
    """Return the dimension of the current vectors; None before a model was adopted."""
    row = connection.row("SELECT value FROM meta WHERE name = 'dimension'")
    return int(row[0]) if row else None


def _decode_model(facts: dict[str, Any], name: str, dimension: str) -> EmbeddingModel | None:
    return EmbeddingModel(facts[name], int(facts[dimension])) if name in facts else None


def _save_facts(connection: Connection, facts: dict[str, str]) -> None:
    connection.run_many(_SET_FACT, facts.items())


def _remove_fact(connection: Connection, name: str) -> None:
    connection.run("DELETE FROM meta WHERE name = ?", (name,))


# --- Passages without a new vector


_MISSING_VECTORS = (
    "SELECT p.item, p.part, p.start, p.stop, p.digest, i.record_id,"
    " CASE WHEN i.valid_from = i.valid_to THEN 1 ELSE 0 END"
    " FROM passages AS p CROSS JOIN items AS i ON i.owner_id = p.owner_id AND i.item = p.item"
    " WHERE p.owner_id = ?1"
    " AND p.item >= (SELECT reembedded_to FROM owners WHERE owner_id = ?1)"
    " AND p.{used} IS NOT NULL AND p.{new} IS NULL ORDER BY p.item, p.part LIMIT ?2"
)
_ITEM_TEXTS = " UNION ALL ".join(
    f"SELECT r.item, r.id, r.version, r.content, {speaker}"
    f" FROM carray(?1) AS w CROSS JOIN {table} AS r ON r.owner_id = ?2 AND r.id = w.value"
    for table, speaker in (
        ("memories", "-1"),
        ("versions", "-1"),
        ("messages", "r.speaker"),
        ("message_versions", "r.speaker"),
    )
)
_KNOWN_VECTORS = (
    "SELECT p.digest, p.{new} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.digest = w.value WHERE p.{new} IS NOT NULL"
)


class MissingVectorReader:
    """Reads one owner's passages without a new vector, within a read transaction."""

    def __init__(self, connection: Connection, encryption: OwnerEncryption, owner: int) -> None:
        """Initialise with a connection within a transaction, and the owner's number."""
        self._connection = connection
        self._encryption = encryption
        self._owner = owner

    def read_passages(
        self, generation: EmbeddingGeneration, dimension: int, limit: int
    ) -> tuple[tuple[UnembeddedPassage, ...], int | None]:
        """Return the first passages without a new vector, and the item to continue from.

        Args:
            generation: The generation in use.
            dimension: The dimension of the new vectors.
            limit: Maximum number of passages.

        Raises:
            StoreDamaged: A passage belongs to no text, or its text can't be decrypted.
        """
        statement = _MISSING_VECTORS.format(used=generation.column, new=generation.other_column)
        rows = self._connection.rows(statement, (self._owner, limit))
        texts = self._read_texts(rows)
        known_vectors = self._find_known_vectors(rows, generation.other_column, dimension)
        passages = tuple(
            UnembeddedPassage((item, part), text[start:stop], speaker, known_vectors.get(digest))
            for item, part, start, stop, digest, _, is_replaced in rows
            for text, speaker in self._get_text(texts, item, is_replaced=bool(is_replaced))
        )
        if len(rows) < limit:
            return passages, None
        last: int = rows[-1][0]
        return passages, last if last in texts else last + 1

    def _get_text(
        self, texts: dict[int, SpokenText], item: int, *, is_replaced: bool
    ) -> list[SpokenText]:
        """Return an item's text and speaker; empty for a replaced item that was never valid."""
        if item in texts:
            return [texts[item]]
        if is_replaced:
            return []
        raise StoreDamaged(
            f"a passage of {self._encryption.owner_id!r} belongs to no text: run"
            " `memolith verify --repair` first"
        )

    def _read_texts(self, rows: Sequence[Row]) -> dict[int, SpokenText]:
        """Return texts and speakers by item."""
        ids = tuple(dict.fromkeys(row[5] for row in rows))
        if not ids:
            return {}
        requested = {row[0] for row in rows}
        text_rows = self._connection.rows(
            _ITEM_TEXTS, (self._connection.bind_values(ids), self._owner)
        )
        names = self._read_names()
        return {
            item: (
                self._encryption.decrypt(ciphertext, unpack_id(id_), "content", version),
                names[speaker],
            )
            for item, id_, version, ciphertext, speaker in text_rows
            if item in requested
        }

    def _read_names(self) -> dict[int, str | None]:
        rows = self._connection.rows(
            "SELECT number, name FROM participants WHERE owner_id = ?", (self._owner,)
        )
        names = {
            number: decrypt_name(self._encryption, number, ciphertext)
            for number, ciphertext in rows
        }
        return {-1: None, **names}

    def _find_known_vectors(
        self, rows: Sequence[Row], column: str, dimension: int
    ) -> dict[bytes, NDArray[np.int8]]:
        """Return new vectors of identical texts elsewhere, by digest."""
        digests = tuple(dict.fromkeys(row[4] for row in rows if row[4] is not None))
        if not digests:
            return {}
        values = (self._connection.bind_values(digests), self._owner)
        stored: dict[bytes, bytes] = dict(
            self._connection.rows(_KNOWN_VECTORS.format(new=column), values)
        )
        if not stored:
            return {}
        return dict(
            zip(
                stored,
                self._encryption.decrypt_vectors(list(stored.values()), dimension),
                strict=True,
            )
        )


# --- Re-embedding


PAUSE_POLL_S = 0.02
"""Interval in seconds at which waiting writers check whether a pause has ended. A guess."""

HAS_VECTORS = "SELECT 1 FROM passages WHERE vector IS NOT NULL OR vector2 IS NOT NULL LIMIT 1"
OWNERS_MISSING_VECTORS = "SELECT name FROM owners WHERE next_item > reembedded_to"
IS_MISSING_VECTORS = "SELECT 1 FROM owners WHERE next_item > reembedded_to LIMIT 1"

_COUNT_MISSING = (
    "SELECT count(*) FROM passages AS p CROSS JOIN owners AS o ON o.owner_id = p.owner_id"
    " WHERE p.owner_id = ? AND p.item >= o.reembedded_to"
    " AND p.{used} IS NOT NULL AND p.{new} IS NULL"
)
_SET_VECTOR = "UPDATE passages SET {new} = ? WHERE owner_id = ? AND item = ? AND part = ?"
_UNUSED_ITEMS = (
    "SELECT item FROM passages WHERE owner_id = ? AND item > ? AND {other} IS NOT NULL"
    " ORDER BY item LIMIT ?"
)
_REMOVE_VECTORS = (
    "UPDATE passages SET {other} = NULL WHERE owner_id = ? AND item > ? AND item <= ?"
    " AND {other} IS NOT NULL"
)
_RESTART_OWNER = "UPDATE owners SET reembedded_to = 1 WHERE owner_id = ? AND reembedded_to <> 1"


class ReembeddingMixin:
    """The part of a store that manages the embedding model."""

    _connections: Connections
    _cipher: Cipher
    _indexes: IndexCache

    def __init__(self) -> None:
        """Initialise without an expected model."""
        self._expected: ExpectedGeneration | None = None
        self._seen_pause: tuple[str | None, float] = (None, 0.0)

    # --- Current model

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """See `Store.expect_embedder`."""
        with self._connections.read() as connection:
            facts = VectorFacts.read(connection)
        facts.refuse_other(name, dimension)
        self._set_expected(facts, EmbeddingModel(name, dimension or 0))

    def check_embedder(self) -> None:
        """See `Store.check_embedder`."""
        with self._connections.read() as connection:
            EmbeddingGeneration(
                VectorFacts.read(connection).embedding_generation, self._expected
            ).refuse_if_switched(connection)

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """See `Store.adopt_embedder`."""
        model = EmbeddingModel(name, dimension)
        with self._connections.read() as connection:
            facts = VectorFacts.read(connection)
            if facts.model != model:
                EmbeddingGeneration(facts.embedding_generation, self._expected).refuse_if_switched(
                    connection
                )
        if facts.model != model:
            self._save_embedder(model)
        self._set_expected(facts, model)

    def _save_embedder(self, model: EmbeddingModel) -> None:
        with self._connections.write() as connection:
            self._lock_facts(connection)
            refuse_other_vectors(connection, model)
            self._check_vector_length(
                connection,
                EmbeddingGeneration(VectorFacts.read(connection).embedding_generation).column,
                model,
            )
            save_model(connection, model)
            connection.run("COMMIT")

    def _set_expected(self, facts: VectorFacts, model: EmbeddingModel) -> None:
        before, self._expected = (
            self._expected,
            ExpectedGeneration(facts.embedding_generation, str(model)),
        )
        if before is not None and before.generation != facts.embedding_generation:
            self._indexes.forget()

    def _can_write(self, pause: str | None) -> bool:
        """Whether there is no write pause, or it has lasted too long."""
        if pause is None:
            return True
        token, since = self._seen_pause
        if token != pause:
            self._seen_pause = pause, monotonic()
            return False
        return monotonic() - since > MAX_WRITE_PAUSE_S

    def _lock_facts(self, connection: Connection) -> None:
        """Lock the facts about the store; unnecessary in a file, where there is one writer."""

    def _check_vector_length(
        self, connection: Connection, column: str, model: EmbeddingModel
    ) -> None:
        """Refuse vectors of a length that a column can't store; in a file, it stores any.

        Raises:
            Conflict: The column can't store vectors of this length.
        """

    def _lock_out_writers(self, connection: Connection) -> None:
        """Prevent others from storing items; unnecessary in a file, where there is one writer."""

    # --- Re-embedding

    @property
    def reembedding_model(self) -> EmbeddingModel | None:
        """See `SupportsReembedding.reembedding_model`."""
        return self._read_facts().next_model

    @property
    def has_unused_vectors(self) -> bool:
        """See `SupportsReembedding.has_unused_vectors`."""
        return self._read_facts().has_unused_vectors

    def begin_reembedding(self, model: EmbeddingModel) -> None:
        """See `SupportsReembedding.begin_reembedding`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            facts = VectorFacts.read(connection)
            if facts.next_model not in (None, model):
                raise Conflict(
                    f"re-embedding with {facts.next_model} is in progress: finish it, or run"
                    " `memolith reembed --abandon`"
                )
            if facts.has_unused_vectors:
                raise Conflict("unused vectors of the previous model have not been removed yet")
            self._check_vector_length(
                connection, EmbeddingGeneration(facts.embedding_generation).other_column, model
            )
            save_next_model(connection, model)
            connection.run("COMMIT")

    def owners_missing_vectors(self) -> list[str]:
        """See `SupportsReembedding.owners_missing_vectors`."""
        with self._connections.read() as connection:
            return sorted(name for (name,) in connection.rows(OWNERS_MISSING_VECTORS))

    def count_missing_vectors(self, owner_id: str) -> int:
        """See `SupportsReembedding.count_missing_vectors`."""
        with self._connections.read(owner_id) as connection:
            facts, owner = VectorFacts.read(connection), connection.get_owner(owner_id)
            if facts.next_model is None:
                return 0
            generation = EmbeddingGeneration(facts.embedding_generation)
            count = _COUNT_MISSING.format(used=generation.column, new=generation.other_column)
            return int((connection.row(count, (owner.number,)) or (0,))[0])

    def passages_missing_vectors(self, owner_id: str, limit: int) -> UnembeddedPassages:
        """See `SupportsReembedding.passages_missing_vectors`."""
        with self._connections.read(owner_id) as connection:
            facts, owner = VectorFacts.read(connection), connection.get_owner(owner_id)
            model = _require_next_model(facts)
            texts = MissingVectorReader(
                connection, self._owner_encryption(owner_id, owner), owner.number
            )
            passages, end = texts.read_passages(
                EmbeddingGeneration(facts.embedding_generation), model.dimension, limit
            )
            state, is_last = _passages_state(owner, facts), end is None
            return UnembeddedPassages(state, passages, end or owner.next_item, is_last)

    def add_vectors(
        self,
        owner_id: str,
        passages: UnembeddedPassages,
        vectors: Mapping[PassagePosition, NDArray[np.int8]],
    ) -> bool:
        """See `SupportsReembedding.add_vectors`."""
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            # Read after locking, as in `remove_unused_vectors`: no vector is added after removal.
            facts = VectorFacts.read(connection)
            if not owner.number or _passages_state(owner, facts) != passages.state:
                return False
            _check_vectors(vectors, _require_next_model(facts).dimension)
            encrypted = self._encrypt_vectors(self._owner_encryption(owner_id, owner), vectors)
            connection.run_many(
                _SET_VECTOR.format(
                    new=EmbeddingGeneration(facts.embedding_generation).other_column
                ),
                [
                    (connection.bind_vector(vector), owner.number, *key)
                    for key, vector in encrypted.items()
                ],
            )
            connection.run(
                "UPDATE owners SET reembedded_to = ? WHERE owner_id = ?",
                (passages.next_item, owner.number),
            )
            connection.run("COMMIT")
            return True

    def switch_vectors(self) -> bool:
        """See `SupportsReembedding.switch_vectors`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            self._lock_out_writers(connection)
            facts = VectorFacts.read(connection)
            model = _require_next_model(facts)
            if connection.row(IS_MISSING_VECTORS):
                return False
            switch_generation(connection, facts, model)
            connection.run("COMMIT")
            return True

    def pause_writers(self) -> None:
        """See `SupportsReembedding.pause_writers`."""
        self._save_write_pause(os.urandom(8).hex())

    def resume_writers(self) -> None:
        """See `SupportsReembedding.resume_writers`."""
        self._save_write_pause(None)

    def _save_write_pause(self, token: str | None) -> None:
        with self._connections.write() as connection:
            set_write_pause(connection, token)
            connection.run("COMMIT")

    def abandon_reembedding(self) -> bool:
        """See `SupportsReembedding.abandon_reembedding`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            if VectorFacts.read(connection).next_model is None:
                return False
            discard_next_model(connection)
            connection.run("COMMIT")
            return True

    def remove_unused_vectors(self, owner_id: str, after: int, limit: int) -> int | None:
        """See `SupportsReembedding.remove_unused_vectors`."""
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            facts = VectorFacts.read(connection)
            if not owner.number or not facts.has_unused_vectors:
                return None
            other = EmbeddingGeneration(facts.embedding_generation).other_column
            rows = connection.rows(_UNUSED_ITEMS.format(other=other), (owner.number, after, limit))
            last: int | None = rows[-1][0] if rows else None
            if last is None:
                connection.run(_RESTART_OWNER, (owner.number,))
            else:
                connection.run(_REMOVE_VECTORS.format(other=other), (owner.number, after, last))
            connection.run("COMMIT")
            return last

    def mark_unused_removed(self) -> None:
        """See `SupportsReembedding.mark_unused_removed`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            clear_unused(connection)
            connection.run("COMMIT")

    def _read_facts(self) -> VectorFacts:
        with self._connections.read() as connection:
            return VectorFacts.read(connection)

    def _owner_encryption(self, owner_id: str, owner: OwnerRow) -> OwnerEncryption:
        return OwnerEncryption(self._cipher.get_owner_cipher(owner_id, owner.key_version), owner_id)

    @staticmethod
    def _encrypt_vectors(
        encryption: OwnerEncryption, vectors: Mapping[PassagePosition, NDArray[np.int8]]
    ) -> dict[PassagePosition, bytes]:
        if not vectors:
            return {}
        return dict(
            zip(vectors, encryption.encrypt_vectors(np.stack(list(vectors.values()))), strict=True)
        )


def refuse_other_vectors(connection: Connection, model: EmbeddingModel) -> None:
    """Refuse a model if there are vectors of another one.

    Raises:
        WrongEmbeddingModel: There are.
    """
    stored = VectorFacts.read(connection).model
    if stored not in (None, model) and connection.row(HAS_VECTORS):
        raise WrongEmbeddingModel(str(stored), str(model))


def _require_next_model(facts: VectorFacts) -> EmbeddingModel:
    if facts.next_model is None:
        raise Conflict("no re-embedding is in progress: begin again")
    return facts.next_model


def _passages_state(owner: OwnerRow, facts: VectorFacts) -> tuple[object, ...]:
    """Return the state that passages depend on; a repair or deletion changes the generation."""
    return owner.number, owner.generation, facts.embedding_generation, facts.next_model


def _check_vectors(vectors: Mapping[tuple[int, int], NDArray[np.int8]], dimension: int) -> None:
    for vector in vectors.values():
        if vector.dtype.name != "int8" or vector.shape != (dimension,):
            actual = f"{vector.dtype.name} of shape {vector.shape}"
            raise InvalidInput(
                "vectors", f"each must be int8 of length {dimension}; one is {actual}"
            )
