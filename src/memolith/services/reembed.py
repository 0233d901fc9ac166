"""Making all vectors of a store anew by another model, while it is in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.errors import InvalidInput, StoreUnavailable
from memolith.policies.indexing import embedded_text
from memolith.policies.vectors import quantise
from memolith.ports.reembedding import EmbeddingModel, Reembeddable
from memolith.services.embedding import embedded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.ports.embedder import Embedder
    from memolith.ports.reembedding import BarePassage
    from memolith.ports.store import Store

    Advance = Callable[[int, int], None]
    Vectors = Mapping[tuple[int, int], NDArray[np.int8]]

BATCH = 512
"""How many passages get their vectors in one transaction, and how many texts an embedder is given
at once: writers wait for it some 20 ms (a guess)."""

_REMOVED = 2_048
"""From how many passages unused vectors are removed in one transaction (a guess)."""

TRIES, FREE_TRIES = 12, 3
"""How often the switch is tried at most while others write, and how often before they are asked to
wait for a moment. Each try has only what was written during the one before to make up for, so that
after three little is left (a guess)."""


@dataclass(frozen=True, slots=True)
class Reembedded:
    """What came of it.

    Attributes:
        model: The name of the model that all vectors are of now.
        dimension: Their length.
        made: How many passages got a new vector by this call.
    """

    model: str
    dimension: int
    made: int


class Reembedding:
    """Makes a store's vectors anew.

    Vectors are made beside those in use, which others go on with. Killed anywhere, calling it
    again goes on; the switch is one commit. What is left of the vectors of before is removed after
    that.
    """

    def __init__(self, store: Store) -> None:
        """Use this store, whatever model its vectors are of.

        Raises:
            InvalidInput: Its vectors can't be made anew.
        """
        if not isinstance(store, Reembeddable):
            raise InvalidInput("store", "its vectors can't be made anew while it is in use")
        self._store: Store = store
        self._vectors: Reembeddable = store

    def run(self, embedder: Embedder, advance: Advance | None = None) -> Reembedded:
        """Make all vectors anew, switch to them, and remove those of before.

        Args:
            embedder: Makes the new ones.
            advance: Called with how many were made since the last call, and how many there are to
                be made, as far as is known.

        Raises:
            Conflict: Vectors of another model are being made.
            ServiceFailed: The embedder failed; calling it again goes on.
            StoreUnavailable: The store can't be written, or others write without a pause.
            StoreReadOnly: The store can't be written.
        """
        model = EmbeddingModel(embedder.name, embedder.dimension)
        made = 0
        if not self._is_of(model):
            self._remove_unused()
            self._vectors.begin_reembedding(model)
            made = self._switched(_Work(self._vectors, embedder, advance))
        self._remove_unused()
        return Reembedded(model.name, model.dimension, made)

    def abandon(self) -> bool:
        """Give up what is under way, and remove what was made; return whether anything was."""
        was_under_way = self._vectors.abandon_reembedding()
        self._remove_unused()
        return was_under_way

    def _is_of(self, model: EmbeddingModel) -> bool:
        """Whether there is nothing to do: the store has the model, and is to keep it."""
        meta = self._store.meta
        is_in_use = (meta.embedder, meta.dimension) == (model.name, model.dimension)
        return is_in_use and self._vectors.reembedding is None

    def _switched(self, work: _Work) -> int:
        work.count()
        for _ in range(FREE_TRIES):
            work.make()
            if self._vectors.switch_vectors():
                return work.made
        try:
            for _ in range(TRIES - FREE_TRIES):
                self._vectors.hold_writers()
                work.make()
                if self._vectors.switch_vectors():
                    return work.made
        finally:
            self._vectors.release_writers()
        raise StoreUnavailable("others write without a pause: run it again to finish")

    def _remove_unused(self) -> None:
        if not self._vectors.has_unused_vectors:
            return
        for owner_id in self._store.owners():
            after: int | None = 0
            while after is not None:
                after = self._vectors.remove_unused(owner_id, after, _REMOVED)
        self._vectors.removed_unused()
        self._store.settle()


class _Work:
    """What there is to embed, and how much of it is done."""

    def __init__(self, store: Reembeddable, embedder: Embedder, advance: Advance | None) -> None:
        self._store = store
        self._embedder = embedder
        self._advance = advance
        self._expected = 0
        self.made = 0

    def count(self) -> None:
        """Find out how much there is, where anybody wants to know."""
        if self._advance is not None:
            self._expected = sum(map(self._store.count_bare, self._store.bare_owners()))
            self._tell(0)

    def make(self) -> None:
        """Give all passages a new vector that have none as yet."""
        for owner_id in self._store.bare_owners():
            while self._made_some(owner_id):
                pass

    def _made_some(self, owner_id: str) -> bool:
        """Give some of an owner's passages their vectors; return whether there may be more."""
        bare = self._store.bare_passages(owner_id, BATCH)
        vectors = self._embedded(bare.passages)
        is_given = self._store.give_vectors(owner_id, bare, vectors)
        if is_given:
            self._tell(len(vectors))
        return bool(bare.passages) and not (is_given and bare.is_last)

    def _embedded(self, passages: Sequence[BarePassage]) -> Vectors:
        """Return the new vectors of passages by place; each text is embedded once."""
        texts = {each.place: embedded_text(each.speaker, each.text) for each in passages}
        wanted = list(dict.fromkeys(texts[e.place] for e in passages if e.vector is None))
        fresh = quantise(embedded(self._embedder, wanted, "document")) if wanted else ()
        made = dict(zip(wanted, fresh, strict=True))
        return {
            each.place: made[texts[each.place]] if each.vector is None else each.vector
            for each in passages
        }

    def _tell(self, made: int) -> None:
        self.made += made
        if self._advance is not None:
            self._advance(made, max(self._expected, self.made))
