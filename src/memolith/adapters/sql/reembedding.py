"""Which model the vectors in tables are of, and making them anew by another one."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.sql import spaces
from memolith.adapters.sql.bare import MissingVectorReader
from memolith.adapters.sql.sealing import OwnerEncryption
from memolith.adapters.sql.spaces import EmbeddingGeneration, ExpectedGeneration, VectorFacts
from memolith.errors import Conflict, InvalidInput, WrongEmbeddingModel
from memolith.ports.reembedding import MAX_WRITE_PAUSE_S, EmbeddingModel, UnembeddedPassages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from memolith.adapters.sql.cache import IndexCache
    from memolith.adapters.sql.connection import Connection, Connections
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.ports.cipher import Cipher

    PassagePosition = tuple[int, int]

PAUSE_POLL_S = 0.02
"""How often it is looked whether the one who asked writers to wait is done (a guess)."""

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
    """The half of a store that knows which model its vectors are of, and changes it."""

    _connections: Connections
    _cipher: Cipher
    _indexes: IndexCache

    def __init__(self) -> None:
        """Expect whatever vectors there are."""
        self._expected: ExpectedGeneration | None = None
        self._seen_pause: tuple[str | None, float] = (None, 0.0)

    # --- the model in use -----------------------------------------------------------------------

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """See the port."""
        with self._connections.read() as connection:
            facts = VectorFacts.read(connection)
        facts.refuse_other(name, dimension)
        self._set_expected(facts, EmbeddingModel(name, dimension or 0))

    def check_embedder(self) -> None:
        """See the port."""
        with self._connections.read() as connection:
            EmbeddingGeneration(
                VectorFacts.read(connection).embedding_generation, self._expected
            ).refuse_if_switched(connection)

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """See the port."""
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
            spaces.save_model(connection, model)
            connection.run("COMMIT")

    def _set_expected(self, facts: VectorFacts, model: EmbeddingModel) -> None:
        before, self._expected = (
            self._expected,
            ExpectedGeneration(facts.embedding_generation, str(model)),
        )
        if before is not None and before.generation != facts.embedding_generation:
            self._indexes.forget()

    def _can_write(self, pause: str | None) -> bool:
        """Whether nobody asks those who write to wait, or has asked for too long."""
        if pause is None:
            return True
        token, since = self._seen_pause
        if token != pause:
            self._seen_pause = pause, monotonic()
            return False
        return monotonic() - since > MAX_WRITE_PAUSE_S

    def _lock_facts(self, connection: Connection) -> None:
        """Keep others from changing facts about the store; who writes to a file does already."""

    def _check_vector_length(
        self, connection: Connection, column: str, model: EmbeddingModel
    ) -> None:
        """Refuse vectors of a length that a column can't take; in a file it takes all.

        Raises:
            Conflict: It can't.
        """

    def _lock_out_writers(self, connection: Connection) -> None:
        """Keep others from storing items; who writes to a file does already."""

    # --- making vectors anew --------------------------------------------------------------------

    @property
    def reembedding_model(self) -> EmbeddingModel | None:
        """See `Reembeddable`."""
        return self._read_facts().next_model

    @property
    def has_unused_vectors(self) -> bool:
        """See `Reembeddable`."""
        return self._read_facts().has_unused_vectors

    def begin_reembedding(self, model: EmbeddingModel) -> None:
        """See `Reembeddable`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            facts = VectorFacts.read(connection)
            if facts.next_model not in (None, model):
                raise Conflict(
                    f"vectors of {facts.next_model} are being made: finish that, or give it up by"
                    " `memolith reembed --abandon`"
                )
            if facts.has_unused_vectors:
                raise Conflict("vectors that were in use before are not removed yet")
            self._check_vector_length(
                connection, EmbeddingGeneration(facts.embedding_generation).other_column, model
            )
            spaces.save_next_model(connection, model)
            connection.run("COMMIT")

    def owners_missing_vectors(self) -> list[str]:
        """See `Reembeddable`."""
        with self._connections.read() as connection:
            return sorted(name for (name,) in connection.rows(OWNERS_MISSING_VECTORS))

    def count_missing_vectors(self, owner_id: str) -> int:
        """See `Reembeddable`."""
        with self._connections.read(owner_id) as connection:
            facts, owner = VectorFacts.read(connection), connection.get_owner(owner_id)
            if facts.next_model is None:
                return 0
            space = EmbeddingGeneration(facts.embedding_generation)
            count = _COUNT_MISSING.format(used=space.column, new=space.other_column)
            return int((connection.row(count, (owner.number,)) or (0,))[0])

    def passages_missing_vectors(self, owner_id: str, limit: int) -> UnembeddedPassages:
        """See `Reembeddable`."""
        with self._connections.read(owner_id) as connection:
            facts, owner = VectorFacts.read(connection), connection.get_owner(owner_id)
            model = _require_next_model(facts)
            texts = MissingVectorReader(
                connection, self._owner_encryption(owner_id, owner), owner.number
            )
            passages, up_to = texts.read_passages(
                EmbeddingGeneration(facts.embedding_generation), model.dimension, limit
            )
            stamp, is_last = _passages_state(owner, facts), up_to is None
            return UnembeddedPassages(stamp, passages, up_to or owner.next_item, is_last)

    def add_vectors(
        self,
        owner_id: str,
        passages: UnembeddedPassages,
        vectors: Mapping[PassagePosition, NDArray[np.int8]],
    ) -> bool:
        """See `Reembeddable`."""
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            # Behind the lock, as who removes unused vectors does: so none comes after that.
            facts = VectorFacts.read(connection)
            if not owner.number or _passages_state(owner, facts) != passages.state:
                return False
            _check_vectors(vectors, _require_next_model(facts).dimension)
            hidden = self._encrypt_vectors(self._owner_encryption(owner_id, owner), vectors)
            connection.run_many(
                _SET_VECTOR.format(
                    new=EmbeddingGeneration(facts.embedding_generation).other_column
                ),
                [
                    (connection.bind_vector(vector), owner.number, *place)
                    for place, vector in hidden.items()
                ],
            )
            connection.run(
                "UPDATE owners SET reembedded_to = ? WHERE owner_id = ?",
                (passages.next_item, owner.number),
            )
            connection.run("COMMIT")
            return True

    def switch_vectors(self) -> bool:
        """See `Reembeddable`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            self._lock_out_writers(connection)
            facts = VectorFacts.read(connection)
            model = _require_next_model(facts)
            if connection.row(IS_MISSING_VECTORS):
                return False
            spaces.switch_generation(connection, facts, model)
            connection.run("COMMIT")
            return True

    def pause_writers(self) -> None:
        """See `Reembeddable`."""
        self._save_write_pause(os.urandom(8).hex())

    def resume_writers(self) -> None:
        """See `Reembeddable`."""
        self._save_write_pause(None)

    def _save_write_pause(self, token: str | None) -> None:
        with self._connections.write() as connection:
            spaces.set_write_pause(connection, token)
            connection.run("COMMIT")

    def abandon_reembedding(self) -> bool:
        """See `Reembeddable`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            if VectorFacts.read(connection).next_model is None:
                return False
            spaces.discard_next_model(connection)
            connection.run("COMMIT")
            return True

    def remove_unused_vectors(self, owner_id: str, after: int, limit: int) -> int | None:
        """See `Reembeddable`."""
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            facts = VectorFacts.read(connection)
            if not owner.number or not facts.has_unused_vectors:
                return None
            other = EmbeddingGeneration(facts.embedding_generation).other_column
            found = connection.rows(_UNUSED_ITEMS.format(other=other), (owner.number, after, limit))
            last: int | None = found[-1][0] if found else None
            if last is None:
                connection.run(_RESTART_OWNER, (owner.number,))
            else:
                connection.run(_REMOVE_VECTORS.format(other=other), (owner.number, after, last))
            connection.run("COMMIT")
            return last

    def mark_unused_removed(self) -> None:
        """See `Reembeddable`."""
        with self._connections.write() as connection:
            self._lock_facts(connection)
            spaces.clear_unused(connection)
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
    """Refuse another model than the one that there are vectors of.

    Raises:
        WrongEmbeddingModel: There are.
    """
    stored = VectorFacts.read(connection).model
    if stored not in (None, model) and connection.row(HAS_VECTORS):
        raise WrongEmbeddingModel(str(stored), str(model))


def _require_next_model(facts: VectorFacts) -> EmbeddingModel:
    if facts.next_model is None:
        raise Conflict("no vectors are being made: begin again")
    return facts.next_model


def _passages_state(owner: OwnerRow, facts: VectorFacts) -> tuple[object, ...]:
    """Return what passages depend on: a repair or removal makes another generation."""
    return owner.number, owner.generation, facts.embedding_generation, facts.next_model


def _check_vectors(vectors: Mapping[tuple[int, int], NDArray[np.int8]], dimension: int) -> None:
    for vector in vectors.values():
        if vector.dtype.name != "int8" or vector.shape != (dimension,):
            found = f"{vector.dtype.name} of shape {vector.shape}"
            raise InvalidInput("vectors", f"one is {found}; int8 of length {dimension} is wanted")
