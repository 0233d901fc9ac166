"""Which model the vectors in tables are of, and making them anew by another one."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.sql import spaces
from memolith.adapters.sql.bare import BareTexts
from memolith.adapters.sql.sealing import Sealing
from memolith.adapters.sql.spaces import Expected, Space, VectorFacts
from memolith.errors import Conflict, InvalidInput, WrongEmbeddingModel
from memolith.ports.reembedding import HOLD_S, BarePassages, EmbeddingModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from memolith.adapters.sql.cache import IndexCache
    from memolith.adapters.sql.connection import Connection, Connections
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.ports.cipher import Cipher

    Place = tuple[int, int]

HELD_S = 0.02
"""How often it is looked whether the one who asked writers to wait is done (a guess)."""

HAS_VECTORS = "SELECT 1 FROM passages WHERE vector IS NOT NULL OR vector2 IS NOT NULL LIMIT 1"
BARE_OWNERS = "SELECT name FROM owners WHERE next_item > reembedded_to"
IS_BARE = "SELECT 1 FROM owners WHERE next_item > reembedded_to LIMIT 1"

_COUNT = (
    "SELECT count(*) FROM passages AS p CROSS JOIN owners AS o ON o.owner_id = p.owner_id"
    " WHERE p.owner_id = ? AND p.item >= o.reembedded_to"
    " AND p.{used} IS NOT NULL AND p.{new} IS NULL"
)
_GIVE = "UPDATE passages SET {new} = ? WHERE owner_id = ? AND item = ? AND part = ?"
_UNUSED = (
    "SELECT item FROM passages WHERE owner_id = ? AND item > ? AND {other} IS NOT NULL"
    " ORDER BY item LIMIT ?"
)
_REMOVE = (
    "UPDATE passages SET {other} = NULL WHERE owner_id = ? AND item > ? AND item <= ?"
    " AND {other} IS NOT NULL"
)
_BEGIN_ANEW = "UPDATE owners SET reembedded_to = 1 WHERE owner_id = ? AND reembedded_to <> 1"


class Embedded:
    """The half of a store that knows which model its vectors are of, and changes it."""

    _connections: Connections
    _cipher: Cipher
    _indexes: IndexCache

    def __init__(self) -> None:
        """Expect whatever vectors there are."""
        self._expected: Expected | None = None
        self._held: tuple[str | None, float] = (None, 0.0)

    # --- the model in use -----------------------------------------------------------------------

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """See the port."""
        with self._connections.reading() as connection:
            facts = VectorFacts.of(connection)
        facts.refuse_other(name, dimension)
        self._expect(facts, EmbeddingModel(name, dimension or 0))

    def check_embedder(self) -> None:
        """See the port."""
        with self._connections.reading() as connection:
            Space(VectorFacts.of(connection).space, self._expected).check(connection)

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """See the port."""
        model = EmbeddingModel(name, dimension)
        with self._connections.reading() as connection:
            facts = VectorFacts.of(connection)
            if facts.model != model:
                Space(facts.space, self._expected).check(connection)
        if facts.model != model:
            self._adopt(model)
        self._expect(facts, model)

    def _adopt(self, model: EmbeddingModel) -> None:
        with self._connections.writing() as connection:
            self._hold_facts(connection)
            refuse_other_vectors(connection, model)
            self._make_room(connection, Space(VectorFacts.of(connection).space).column, model)
            spaces.adopt(connection, model)
            connection.run("COMMIT")

    def _expect(self, facts: VectorFacts, model: EmbeddingModel) -> None:
        before, self._expected = self._expected, Expected(facts.space, str(model))
        if before is not None and before.space != facts.space:
            self._indexes.forget()

    def _may_write(self, hold: str | None) -> bool:
        """Whether nobody asks those who write to wait, or has asked for too long."""
        if hold is None:
            return True
        token, since = self._held
        if token != hold:
            self._held = hold, monotonic()
            return False
        return monotonic() - since > HOLD_S

    def _hold_facts(self, connection: Connection) -> None:
        """Keep others from changing facts about the store; who writes to a file does already."""

    def _make_room(self, connection: Connection, column: str, model: EmbeddingModel) -> None:
        """Refuse vectors of a length that a column can't take; in a file it takes all.

        Raises:
            Conflict: It can't.
        """

    def _keep_out(self, connection: Connection) -> None:
        """Keep others from storing items; who writes to a file does already."""

    # --- making vectors anew --------------------------------------------------------------------

    @property
    def reembedding(self) -> EmbeddingModel | None:
        """See `Reembeddable`."""
        return self._facts().following

    @property
    def has_unused_vectors(self) -> bool:
        """See `Reembeddable`."""
        return self._facts().is_emptying

    def begin_reembedding(self, model: EmbeddingModel) -> None:
        """See `Reembeddable`."""
        with self._connections.writing() as connection:
            self._hold_facts(connection)
            facts = VectorFacts.of(connection)
            if facts.following not in (None, model):
                raise Conflict(
                    f"vectors of {facts.following} are being made: finish that, or give it up by"
                    " `memolith reembed --abandon`"
                )
            if facts.is_emptying:
                raise Conflict("vectors that were in use before are not removed yet")
            self._make_room(connection, Space(facts.space).other, model)
            spaces.begin(connection, model)
            connection.run("COMMIT")

    def bare_owners(self) -> list[str]:
        """See `Reembeddable`."""
        with self._connections.reading() as connection:
            return sorted(name for (name,) in connection.rows(BARE_OWNERS))

    def count_bare(self, owner_id: str) -> int:
        """See `Reembeddable`."""
        with self._connections.reading(owner_id) as connection:
            facts, owner = VectorFacts.of(connection), connection.owner(owner_id)
            if facts.following is None:
                return 0
            space = Space(facts.space)
            count = _COUNT.format(used=space.column, new=space.other)
            return int((connection.row(count, (owner.number,)) or (0,))[0])

    def bare_passages(self, owner_id: str, limit: int) -> BarePassages:
        """See `Reembeddable`."""
        with self._connections.reading(owner_id) as connection:
            facts, owner = VectorFacts.of(connection), connection.owner(owner_id)
            model = _following(facts)
            texts = BareTexts(connection, self._sealed(owner_id, owner), owner.number)
            passages, up_to = texts.passages(Space(facts.space), model.dimension, limit)
            stamp, is_last = _stamp(owner, facts), up_to is None
            return BarePassages(stamp, passages, up_to or owner.next_item, is_last)

    def give_vectors(
        self,
        owner_id: str,
        passages: BarePassages,
        vectors: Mapping[Place, NDArray[np.int8]],
    ) -> bool:
        """See `Reembeddable`."""
        with self._connections.writing(owner_id) as connection:
            owner = connection.owner(owner_id, lock=True)
            # Behind the lock, as who removes unused vectors does: so none comes after that.
            facts = VectorFacts.of(connection)
            if not owner.number or _stamp(owner, facts) != passages.stamp:
                return False
            _check(vectors, _following(facts).dimension)
            hidden = self._hidden(self._sealed(owner_id, owner), vectors)
            connection.run_many(
                _GIVE.format(new=Space(facts.space).other),
                [
                    (connection.vector(vector), owner.number, *place)
                    for place, vector in hidden.items()
                ],
            )
            connection.run(
                "UPDATE owners SET reembedded_to = ? WHERE owner_id = ?",
                (passages.up_to, owner.number),
            )
            connection.run("COMMIT")
            return True

    def switch_vectors(self) -> bool:
        """See `Reembeddable`."""
        with self._connections.writing() as connection:
            self._hold_facts(connection)
            self._keep_out(connection)
            facts = VectorFacts.of(connection)
            model = _following(facts)
            if connection.row(IS_BARE):
                return False
            spaces.switch(connection, facts, model)
            connection.run("COMMIT")
            return True

    def hold_writers(self) -> None:
        """See `Reembeddable`."""
        self._hold_by(os.urandom(8).hex())

    def release_writers(self) -> None:
        """See `Reembeddable`."""
        self._hold_by(None)

    def _hold_by(self, token: str | None) -> None:
        with self._connections.writing() as connection:
            spaces.hold(connection, token)
            connection.run("COMMIT")

    def abandon_reembedding(self) -> bool:
        """See `Reembeddable`."""
        with self._connections.writing() as connection:
            self._hold_facts(connection)
            if VectorFacts.of(connection).following is None:
                return False
            spaces.give_up(connection)
            connection.run("COMMIT")
            return True

    def remove_unused(self, owner_id: str, after: int, limit: int) -> int | None:
        """See `Reembeddable`."""
        with self._connections.writing(owner_id) as connection:
            owner = connection.owner(owner_id, lock=True)
            facts = VectorFacts.of(connection)
            if not owner.number or not facts.is_emptying:
                return None
            other = Space(facts.space).other
            found = connection.rows(_UNUSED.format(other=other), (owner.number, after, limit))
            last: int | None = found[-1][0] if found else None
            if last is None:
                connection.run(_BEGIN_ANEW, (owner.number,))
            else:
                connection.run(_REMOVE.format(other=other), (owner.number, after, last))
            connection.run("COMMIT")
            return last

    def removed_unused(self) -> None:
        """See `Reembeddable`."""
        with self._connections.writing() as connection:
            self._hold_facts(connection)
            spaces.emptied(connection)
            connection.run("COMMIT")

    def _facts(self) -> VectorFacts:
        with self._connections.reading() as connection:
            return VectorFacts.of(connection)

    def _sealed(self, owner_id: str, owner: OwnerRow) -> Sealing:
        return Sealing(self._cipher.of(owner_id, owner.key_version), owner_id)

    @staticmethod
    def _hidden(sealing: Sealing, vectors: Mapping[Place, NDArray[np.int8]]) -> dict[Place, bytes]:
        if not vectors:
            return {}
        return dict(zip(vectors, sealing.hide(np.stack(list(vectors.values()))), strict=True))


def refuse_other_vectors(connection: Connection, model: EmbeddingModel) -> None:
    """Refuse another model than the one that there are vectors of.

    Raises:
        WrongEmbeddingModel: There are.
    """
    stored = VectorFacts.of(connection).model
    if stored not in (None, model) and connection.row(HAS_VECTORS):
        raise WrongEmbeddingModel(str(stored), str(model))


def _following(facts: VectorFacts) -> EmbeddingModel:
    if facts.following is None:
        raise Conflict("no vectors are being made: begin again")
    return facts.following


def _stamp(owner: OwnerRow, facts: VectorFacts) -> tuple[object, ...]:
    """Return what passages depend on: a repair or removal makes another generation."""
    return owner.number, owner.generation, facts.space, facts.following


def _check(vectors: Mapping[tuple[int, int], NDArray[np.int8]], dimension: int) -> None:
    for vector in vectors.values():
        if vector.dtype.name != "int8" or vector.shape != (dimension,):
            found = f"{vector.dtype.name} of shape {vector.shape}"
            raise InvalidInput("vectors", f"one is {found}; int8 of length {dimension} is wanted")
