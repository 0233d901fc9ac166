"""Making all vectors of a store anew by another model, while it is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memolith import stores
from memolith.bootstrap import load_settings, resolve_embedder
from memolith.config import LoadedSettings, Settings
from memolith.errors import InvalidInput, StoreUnavailable
from memolith.policies.indexing import build_embedded_text, quantise
from memolith.ports.admin import EmbeddingModel, SupportsReembedding, UnembeddedPassage
from memolith.ports.cipher import CipherProvider
from memolith.ports.models import Embedder, RemoteEmbedder
from memolith.ports.store import Store
from memolith.services.indexing import embed_texts
from memolith.stores import IN_MEMORY, store_url

Advance = Callable[[int, int], None]
Vectors = Mapping[tuple[int, int], NDArray[np.int8]]
Config = LoadedSettings | str | PathLike[str] | None
Url = str | PathLike[str]

BATCH_SIZE = 512
"""How many passages get their vectors in one transaction, and how many texts an embedder is given
at once: writers wait for it some 20 ms (a guess)."""

_REMOVAL_BATCH_SIZE = 2_048
"""From how many passages unused vectors are removed in one transaction (a guess)."""

MAX_SWITCH_ATTEMPTS, UNLOCKED_ATTEMPTS = 12, 3
"""How often the switch is tried at most while others write, and how often before they are asked to
wait for a moment. Each try has only what was written during the one before to make up for, so that
after three little is left (a guess)."""


@dataclass(frozen=True, slots=True)
class ReembedResult:
    """What came of it.

    Attributes:
        model: The name of the model that all vectors are of now.
        dimension: Their length.
        made: How many passages got a new vector by this call.
    """

    model: str
    dimension: int
    vectors_created: int


class Reembedder:
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
        if not isinstance(store, SupportsReembedding):
            raise InvalidInput("store", "its vectors can't be made anew while it is in use")
        self._store: Store = store
        self._vectors: SupportsReembedding = store

    def run(self, embedder: Embedder, advance: Advance | None = None) -> ReembedResult:
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
        if not self._is_current(model):
            self._remove_unused()
            self._vectors.begin_reembedding(model)
            made = self._build_and_switch(_VectorBuild(self._vectors, embedder, advance))
        self._remove_unused()
        return ReembedResult(model.name, model.dimension, made)

    def abandon(self) -> bool:
        """Give up what is under way, and remove what was made; return whether anything was."""
        was_under_way = self._vectors.abandon_reembedding()
        self._remove_unused()
        return was_under_way

    def _is_current(self, model: EmbeddingModel) -> bool:
        """Whether there is nothing to do: the store has the model, and is to keep it."""
        meta = self._store.meta
        is_in_use = (meta.embedder, meta.dimension) == (model.name, model.dimension)
        return is_in_use and self._vectors.reembedding_model is None

    def _build_and_switch(self, work: _VectorBuild) -> int:
        work.count_expected()
        for _ in range(UNLOCKED_ATTEMPTS):
            work.build()
            if self._vectors.switch_vectors():
                return work.vectors_created
        try:
            for _ in range(MAX_SWITCH_ATTEMPTS - UNLOCKED_ATTEMPTS):
                self._vectors.pause_writers()
                work.build()
                if self._vectors.switch_vectors():
                    return work.vectors_created
        finally:
            self._vectors.resume_writers()
        raise StoreUnavailable("others write without a pause: run it again to finish")

    def _remove_unused(self) -> None:
        if not self._vectors.has_unused_vectors:
            return
        for owner_id in self._store.owners():
            after: int | None = 0
            while after is not None:
                after = self._vectors.remove_unused_vectors(owner_id, after, _REMOVAL_BATCH_SIZE)
        self._vectors.mark_unused_removed()
        self._store.compact()


class _VectorBuild:
    """What there is to embed, and how much of it is done."""

    def __init__(
        self, store: SupportsReembedding, embedder: Embedder, advance: Advance | None
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._advance = advance
        self._expected = 0
        self.vectors_created = 0

    def count_expected(self) -> None:
        """Find out how much there is, where anybody wants to know."""
        if self._advance is not None:
            self._expected = sum(
                map(self._store.count_missing_vectors, self._store.owners_missing_vectors())
            )
            self._report_progress(0)

    def build(self) -> None:
        """Give all passages a new vector that have none as yet."""
        for owner_id in self._store.owners_missing_vectors():
            while self._build_batch(owner_id):
                pass

    def _build_batch(self, owner_id: str) -> bool:
        """Give some of an owner's passages their vectors; return whether there may be more."""
        bare = self._store.passages_missing_vectors(owner_id, BATCH_SIZE)
        vectors = self._embed(bare.passages)
        is_given = self._store.add_vectors(owner_id, bare, vectors)
        if is_given:
            self._report_progress(len(vectors))
        return bool(bare.passages) and not (is_given and bare.is_last)

    def _embed(self, passages: Sequence[UnembeddedPassage]) -> Vectors:
        """Return the new vectors of passages by place; each text is embedded once."""
        texts = {each.position: build_embedded_text(each.speaker, each.text) for each in passages}
        wanted = list(dict.fromkeys(texts[e.position] for e in passages if e.vector is None))
        fresh = quantise(embed_texts(self._embedder, wanted, "document")) if wanted else ()
        made = dict(zip(wanted, fresh, strict=True))
        return {
            each.position: made[texts[each.position]] if each.vector is None else each.vector
            for each in passages
        }

    def _report_progress(self, count: int) -> None:
        self.vectors_created += count
        if self._advance is not None:
            self._advance(count, max(self._expected, self.vectors_created))


# --- Wires what makes the vectors of a store anew


def reembed(
    url: Url | None,
    *,
    embedder: Embedder | Callable[[list[str]], ArrayLike] | None,
    config: Config,
    ciphers: CipherProvider | None,
    advance: Callable[[int, int], None] | None,
) -> ReembedResult:
    """Make a store's vectors anew; see `Memolith.reembed`."""
    settings = load_settings(config, None).settings
    chosen = resolve_embedder(embedder, settings)
    try:
        with _open_reembedder(url, settings, ciphers) as reembedding:
            return reembedding.run(chosen, advance)
    finally:
        if embedder is None and isinstance(chosen, RemoteEmbedder):
            chosen.close()


def abandon(url: Url | None, *, config: Config, ciphers: CipherProvider | None) -> bool:
    """Give up making a store's vectors anew; see `Memolith.abandon_reembed`."""
    with _open_reembedder(url, load_settings(config, None).settings, ciphers) as reembedding:
        return reembedding.abandon()


@contextmanager
def _open_reembedder(
    url: Url | None, settings: Settings, ciphers: CipherProvider | None
) -> Iterator[Reembedder]:
    """Open a store, whatever model its vectors are of."""
    named = settings.store if url is None else store_url(url)
    if named == IN_MEMORY:
        raise InvalidInput("store", "is kept in memory only: open another with the new model")
    with closing(stores.open_store(named, settings, ciphers)) as store:
        yield Reembedder(store)
