"""Whose vectors are whose: the model that a store's vectors are of, and the column they stand in.

Two columns take turns. While vectors of another model are made, they are put into the column that
is not in use; the switch is a fact in `meta`, the space, which grows by one. Who has opened the
store for the model of before finds another space in the owner's row, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memolith.errors import WrongEmbeddingModel
from memolith.ports.meta import StoreMeta
from memolith.ports.reembedding import EmbeddingModel

if TYPE_CHECKING:
    from memolith.adapters.sql.connection import Connection

VECTOR_COLUMNS = ("vector", "vector2")

GENERATION_FACT, WRITE_PAUSE_FACT = "space", "hold"
"""Names of facts: which space is in use, and the token of who asks writers to wait."""

_EMBEDDER, _DIMENSION, _DIGESTS = "embedder", "dimension", "digests"
_NEXT_EMBEDDER, _NEXT_DIMENSION = "next_embedder", "next_dimension"
_HAS_UNUSED = "emptying"

_SET_FACT = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


@dataclass(frozen=True, slots=True)
class ExpectedGeneration:
    """What somebody has opened a store for.

    Attributes:
        space: The space.
        model: The model, as messages name it.
    """

    generation: int
    model: str


@dataclass(frozen=True, slots=True)
class EmbeddingGeneration:
    """The space that is in use in one state of a store.

    Attributes:
        number: Which; even ones are in the first column.
        expected: What the store was opened for; None: whatever is in use.
    """

    number: int = 0
    expected: ExpectedGeneration | None = None

    @property
    def column(self) -> str:
        """The column that holds the vectors in use."""
        return VECTOR_COLUMNS[self.number % 2]

    @property
    def other_column(self) -> str:
        """The column that holds vectors that are being made, or were in use before."""
        return VECTOR_COLUMNS[(self.number + 1) % 2]

    def refuse_if_switched(self, connection: Connection) -> None:
        """Refuse who has opened the store for vectors of before.

        Raises:
            WrongEmbeddingModel: The store's vectors are of another model since.
        """
        if self.expected is not None and self.expected.generation != self.number:
            now = VectorFacts.read(connection).model
            raise WrongEmbeddingModel(str(now), self.expected.model, is_changed=True)


@dataclass(frozen=True, slots=True)
class VectorFacts:
    """What a store keeps about its vectors.

    Attributes:
        space: Which are in use.
        model: The model that those are of; None before the first vector.
        digests: The name that digests of embedded texts are made with, that of the store's first
            model; None: that of the model in use.
        following: The model of those that are being made; None: none are.
        is_emptying: Whether the column that is not in use may hold vectors that nobody needs.
    """

    embedding_generation: int
    model: EmbeddingModel | None
    digest_name: str | None
    next_model: EmbeddingModel | None
    has_unused_vectors: bool

    @classmethod
    def read(cls, connection: Connection) -> VectorFacts:
        """Read them."""
        return cls.from_facts(dict(connection.rows("SELECT name, value FROM meta")))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> VectorFacts:
        """Return them of all facts of a store."""
        return cls(
            embedding_generation=int(facts.get(GENERATION_FACT, 0)),
            model=_decode_model(facts, _EMBEDDER, _DIMENSION),
            digest_name=facts.get(_DIGESTS),
            next_model=_decode_model(facts, _NEXT_EMBEDDER, _NEXT_DIMENSION),
            has_unused_vectors=_HAS_UNUSED in facts,
        )

    def to_meta(self, schema: int, cipher: str, analyser: int) -> StoreMeta:
        """Return what the store says of itself, with these."""
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
        """Refuse another model than the one in use.

        Raises:
            WrongEmbeddingModel: It is another.
        """
        if self.model is None:
            return
        if self.model.name != name or dimension not in (None, self.model.dimension):
            given = EmbeddingModel(name, dimension or 0)
            raise WrongEmbeddingModel(
                str(self.model), str(given), is_reembedding=self.next_model == given
            )


def save_model(connection: Connection, model: EmbeddingModel) -> None:
    """Keep which model the vectors in use are of."""
    _save_facts(connection, {_EMBEDDER: model.name, _DIMENSION: str(model.dimension)})


def save_next_model(connection: Connection, model: EmbeddingModel) -> None:
    """Keep of which model vectors are being made."""
    _save_facts(connection, {_NEXT_EMBEDDER: model.name, _NEXT_DIMENSION: str(model.dimension)})


def switch_generation(connection: Connection, facts: VectorFacts, model: EmbeddingModel) -> None:
    """Let the vectors that were being made be those in use; the others are to go."""
    digests = facts.digest_name or (facts.model.name if facts.model else model.name)
    _save_facts(
        connection, {GENERATION_FACT: str(facts.embedding_generation + 1), _DIGESTS: digests}
    )
    save_model(connection, model)
    discard_next_model(connection)


def discard_next_model(connection: Connection) -> None:
    """Let no vectors be made any more; those in the column that is not in use are to go."""
    _save_facts(connection, {_HAS_UNUSED: "1"})
    for name in (_NEXT_EMBEDDER, _NEXT_DIMENSION, WRITE_PAUSE_FACT):
        _remove_fact(connection, name)


def clear_unused(connection: Connection) -> None:
    """Keep that nothing is left in the column that is not in use."""
    _remove_fact(connection, _HAS_UNUSED)


def set_write_pause(connection: Connection, token: str | None) -> None:
    """Ask those who write to wait, by a token nobody had before, or no longer."""
    if token is None:
        _remove_fact(connection, WRITE_PAUSE_FACT)
    else:
        _save_facts(connection, {WRITE_PAUSE_FACT: token})


def stored_dimension(connection: Connection) -> int | None:
    """Return the length of the vectors in use; None before a model was adopted."""
    row = connection.row("SELECT value FROM meta WHERE name = 'dimension'")
    return int(row[0]) if row else None


def _decode_model(facts: dict[str, Any], name: str, dimension: str) -> EmbeddingModel | None:
    return EmbeddingModel(facts[name], int(facts[dimension])) if name in facts else None


def _save_facts(connection: Connection, facts: dict[str, str]) -> None:
    connection.run_many(_SET_FACT, facts.items())


def _remove_fact(connection: Connection, name: str) -> None:
    connection.run("DELETE FROM meta WHERE name = ?", (name,))
