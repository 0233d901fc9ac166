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

COLUMNS = ("vector", "vector2")

SPACE, HOLD = "space", "hold"
"""Names of facts: which space is in use, and the token of who asks writers to wait."""

_EMBEDDER, _DIMENSION, _DIGESTS = "embedder", "dimension", "digests"
_NEXT_EMBEDDER, _NEXT_DIMENSION = "next_embedder", "next_dimension"
_EMPTYING = "emptying"

_SET = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What somebody has opened a store for.

    Attributes:
        space: The space.
        model: The model, as messages name it.
    """

    space: int
    model: str


@dataclass(frozen=True, slots=True)
class Space:
    """The space that is in use in one state of a store.

    Attributes:
        number: Which; even ones are in the first column.
        expected: What the store was opened for; None: whatever is in use.
    """

    number: int = 0
    expected: Expected | None = None

    @property
    def column(self) -> str:
        """The column that holds the vectors in use."""
        return COLUMNS[self.number % 2]

    @property
    def other(self) -> str:
        """The column that holds vectors that are being made, or were in use before."""
        return COLUMNS[(self.number + 1) % 2]

    def check(self, connection: Connection) -> None:
        """Refuse who has opened the store for vectors of before.

        Raises:
            WrongEmbeddingModel: The store's vectors are of another model since.
        """
        if self.expected is not None and self.expected.space != self.number:
            now = VectorFacts.of(connection).model
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

    space: int
    model: EmbeddingModel | None
    digests: str | None
    following: EmbeddingModel | None
    is_emptying: bool

    @classmethod
    def of(cls, connection: Connection) -> VectorFacts:
        """Read them."""
        return cls.among(dict(connection.rows("SELECT name, value FROM meta")))

    @classmethod
    def among(cls, facts: dict[str, Any]) -> VectorFacts:
        """Return them of all facts of a store."""
        return cls(
            space=int(facts.get(SPACE, 0)),
            model=_model(facts, _EMBEDDER, _DIMENSION),
            digests=facts.get(_DIGESTS),
            following=_model(facts, _NEXT_EMBEDDER, _NEXT_DIMENSION),
            is_emptying=_EMPTYING in facts,
        )

    def meta(self, schema: int, cipher: str, analyser: int) -> StoreMeta:
        """Return what the store says of itself, with these."""
        name = self.model.name if self.model else None
        return StoreMeta(
            schema=schema,
            embedder=name,
            dimension=self.model.dimension if self.model else None,
            cipher=cipher,
            analyser=int(analyser),
            digests=self.digests or name,
            space=self.space,
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
                str(self.model), str(given), is_under_way=self.following == given
            )


def adopt(connection: Connection, model: EmbeddingModel) -> None:
    """Keep which model the vectors in use are of."""
    _set(connection, {_EMBEDDER: model.name, _DIMENSION: str(model.dimension)})


def begin(connection: Connection, model: EmbeddingModel) -> None:
    """Keep of which model vectors are being made."""
    _set(connection, {_NEXT_EMBEDDER: model.name, _NEXT_DIMENSION: str(model.dimension)})


def switch(connection: Connection, facts: VectorFacts, model: EmbeddingModel) -> None:
    """Let the vectors that were being made be those in use; the others are to go."""
    digests = facts.digests or (facts.model.name if facts.model else model.name)
    _set(connection, {SPACE: str(facts.space + 1), _DIGESTS: digests})
    adopt(connection, model)
    give_up(connection)


def give_up(connection: Connection) -> None:
    """Let no vectors be made any more; those in the column that is not in use are to go."""
    _set(connection, {_EMPTYING: "1"})
    for name in (_NEXT_EMBEDDER, _NEXT_DIMENSION, HOLD):
        _remove(connection, name)


def emptied(connection: Connection) -> None:
    """Keep that nothing is left in the column that is not in use."""
    _remove(connection, _EMPTYING)


def hold(connection: Connection, token: str | None) -> None:
    """Ask those who write to wait, by a token nobody had before, or no longer."""
    if token is None:
        _remove(connection, HOLD)
    else:
        _set(connection, {HOLD: token})


def stored_dimension(connection: Connection) -> int | None:
    """Return the length of the vectors in use; None before a model was adopted."""
    row = connection.row("SELECT value FROM meta WHERE name = 'dimension'")
    return int(row[0]) if row else None


def _model(facts: dict[str, Any], name: str, dimension: str) -> EmbeddingModel | None:
    return EmbeddingModel(facts[name], int(facts[dimension])) if name in facts else None


def _set(connection: Connection, facts: dict[str, str]) -> None:
    connection.run_many(_SET, facts.items())


def _remove(connection: Connection, name: str) -> None:
    connection.run("DELETE FROM meta WHERE name = ?", (name,))
