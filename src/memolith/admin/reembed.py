"""Replaces all vectors of a store with those of another model, while the store is in use."""

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
"""Passages per transaction, and texts per call of the embedder. A guess: writers wait about 20 ms
for a transaction."""

_REMOVAL_BATCH_SIZE = 2_048
"""Passages per transaction when unused vectors are removed. A guess."""

MAX_SWITCH_ATTEMPTS, UNLOCKED_ATTEMPTS = 12, 3
"""Attempts to switch while others write, in total and before writers are paused. Each attempt only
embeds the passages written during the previous one, so that little is left after three. A guess."""


@dataclass(frozen=True, slots=True)
class ReembedResult:
    """The result of a re-embedding.

    Attributes:
        model: The name of the model that all vectors now belong to.
        dimension: The length of the vectors.
        vectors_created: The number of passages embedded by this call.
    """

    model: str
    dimension: int
    vectors_created: int


class Reembedder:
    """Replaces a store's vectors with those of another model.

    The new vectors are built next to the current ones, which stay in use until one commit
    switches to the new ones. The old vectors are removed after that. An interrupted run resumes
    when called again.
    """

    def __init__(self, store: Store) -> None:
        """Configure the store; its vectors may belong to any model.

        Raises:
            InvalidInput: The store does not support re-embedding.
        """
        if not isinstance(store, SupportsReembedding):
            raise InvalidInput("store", "does not support re-embedding")
        self._store: Store = store
        self._vectors: SupportsReembedding = store

    def run(self, embedder: Embedder, advance: Advance | None = None) -> ReembedResult:
        """Embed all passages again, switch to the new vectors, and remove the old ones.

        Args:
            embedder: Creates the new vectors.
            advance: Called with the number of vectors created since the last call, and with the
                expected total.

        Raises:
            Conflict: A re-embedding with another model is in progress.
            ServiceFailed: The embedder failed; call again to resume.
            StoreUnavailable: The store can't be written, or others write without a pause.
            StoreReadOnly: The store can't be written.
        """
        model = EmbeddingModel(embedder.name, embedder.dimension)
        vector_count = 0
        if not self._is_current(model):
            self._remove_unused()
            self._vectors.begin_reembedding(model)
            vector_count = self._build_and_switch(_VectorBuild(self._vectors, embedder, advance))
        self._remove_unused()
        return ReembedResult(model.name, model.dimension, vector_count)

    def abandon(self) -> bool:
        """Cancel a re-embedding and remove its vectors; return whether one was in progress."""
        was_reembedding = self._vectors.abandon_reembedding()
        self._remove_unused()
        return was_reembedding

    def _is_current(self, model: EmbeddingModel) -> bool:
        """Return whether the store uses the model and no re-embedding is in progress."""
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
        raise StoreUnavailable("other processes keep writing: run it again to finish")

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
    """Embeds the passages without a new vector, and counts them."""

    def __init__(
        self, store: SupportsReembedding, embedder: Embedder, advance: Advance | None
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._advance = advance
        self._expected = 0
        self.vectors_created = 0

    def count_expected(self) -> None:
        """Count the passages to embed, if progress is reported."""
        if self._advance is not None:
            self._expected = sum(
                map(self._store.count_missing_vectors, self._store.owners_missing_vectors())
            )
            self._report_progress(0)

    def build(self) -> None:
        """Embed all passages without a new vector."""
        for owner_id in self._store.owners_missing_vectors():
            while self._build_batch(owner_id):
                pass

    def _build_batch(self, owner_id: str) -> bool:
        """Embed one batch of an owner's passages; return whether there may be more."""
        batch = self._store.passages_missing_vectors(owner_id, BATCH_SIZE)
        vectors = self._embed(batch.passages)
        is_added = self._store.add_vectors(owner_id, batch, vectors)
        if is_added:
            self._report_progress(len(vectors))
        return bool(batch.passages) and not (is_added and batch.is_last)

    def _embed(self, passages: Sequence[UnembeddedPassage]) -> Vectors:
        """Return the new vectors of passages by position; equal texts are embedded once."""
        texts = {each.position: build_embedded_text(each.speaker, each.text) for each in passages}
        new_texts = list(dict.fromkeys(texts[e.position] for e in passages if e.vector is None))
        vectors = quantise(embed_texts(self._embedder, new_texts, "document")) if new_texts else ()
        new_vectors = dict(zip(new_texts, vectors, strict=True))
        return {
            each.position: new_vectors[texts[each.position]] if each.vector is None else each.vector
            for each in passages
        }

    def _report_progress(self, count: int) -> None:
        self.vectors_created += count
        if self._advance is not None:
            self._advance(count, max(self._expected, self.vectors_created))


# --- Entry points


def reembed(
    url: Url | None,
    *,
    embedder: Embedder | Callable[[list[str]], ArrayLike] | None,
    config: Config,
    ciphers: CipherProvider | None,
    advance: Callable[[int, int], None] | None,
) -> ReembedResult:
    """Embed a store again with another model; see `Memolith.reembed`."""
    settings = load_settings(config, None).settings
    chosen = resolve_embedder(embedder, settings)
    try:
        with _open_reembedder(url, settings, ciphers) as reembedding:
            return reembedding.run(chosen, advance)
    finally:
        if embedder is None and isinstance(chosen, RemoteEmbedder):
            chosen.close()


def abandon(url: Url | None, *, config: Config, ciphers: CipherProvider | None) -> bool:
    """Cancel a re-embedding; see `Memolith.abandon_reembed`."""
    with _open_reembedder(url, load_settings(config, None).settings, ciphers) as reembedding:
        return reembedding.abandon()


@contextmanager
def _open_reembedder(
    url: Url | None, settings: Settings, ciphers: CipherProvider | None
) -> Iterator[Reembedder]:
    """Open a store for re-embedding, whichever model its vectors belong to."""
    location = settings.store if url is None else store_url(url)
    if location == IN_MEMORY:
        raise InvalidInput("store", "is in memory only and can't be re-embedded")
    with closing(stores.open_store(location, settings, ciphers)) as store:
        yield Reembedder(store)
