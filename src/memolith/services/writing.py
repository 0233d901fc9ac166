"""Changes of what is stored whose texts must be embedded, with nothing locked meanwhile.

Embedding may ask a service over the network, so it is done with neither a snapshot nor a
transaction open. What a change must embed often shows only while it is carried out. So it is
carried out; what lacked a vector undoes it, is embedded, and the change is carried out again, as
things stand then. Vectors that are stored already need no second round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memolith.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.ports.store import IndexEntry, Store, Transaction
    from memolith.services.indexing import Indexer, IndexText

    Vectors = Mapping[bytes, NDArray[np.int8]]

MAX_EMBEDDING_ROUNDS = 8
"""How often a change is carried out at most. Two do, unless others change the same texts just
then; each further round needs somebody who did so during the one before: a guess."""

_EMBEDDING_BATCH_SIZE = 256
"""How many texts are made ready at once: what is kept of them is their vectors alone."""

_Result = TypeVar("_Result")


class NeedsEmbedding(Exception):
    """No error: texts of a change have no vectors yet."""

    def __init__(self, texts: Mapping[bytes, str]) -> None:
        super().__init__()
        self.texts = texts


class WriteTransaction:
    """A transaction, and the vectors that were made ready for it.

    Attributes:
        tx: The transaction.
        missing: What has no vector, by digest.
    """

    def __init__(self, tx: Transaction, indexer: Indexer, vectors: Vectors) -> None:
        """Use these."""
        self.tx = tx
        self.missing: dict[bytes, str] = {}
        self._indexer = indexer
        self._vectors = vectors

    def get_entry(self, text: IndexText) -> IndexEntry:
        """Return the index entry of a text; without its vectors where those are not ready."""
        bare = self._indexer.build_unembedded([text])
        known = {
            each: self._vectors[each] for each in bare.texts_by_digest if each in self._vectors
        }
        known |= self.tx.vectors([each for each in bare.texts_by_digest if each not in known])
        self.missing |= {
            each: said for each, said in bare.texts_by_digest.items() if each not in known
        }
        return bare.with_vectors(known)[0]


class TransactionRunner:
    """Carries out changes that embed."""

    def __init__(self, store: Store, indexer: Indexer) -> None:
        """Use these."""
        self._store = store
        self._indexer = indexer

    def write(
        self,
        owner_id: str,
        change: Callable[[WriteTransaction], _Result],
        known_texts: Sequence[IndexText] = (),
        advance: Callable[[int], None] | None = None,
    ) -> _Result:
        """Carry out a change of an owner, all or nothing, and return what it returns.

        Args:
            owner_id: Whose.
            change: Called under the owner's lock, more than once: it must leave nothing behind
                but in the transaction.
            ahead: Texts that it is known to need.
            advance: Called with a number of those as they are made ready.

        Raises:
            ServiceFailed: The embedder failed; nothing was written.
            StoreUnavailable: The store can't be written to, or others change the same texts all
                the time; nothing was written.
        """
        ready: dict[bytes, NDArray[np.int8]] = {}
        for first in range(0, len(known_texts), _EMBEDDING_BATCH_SIZE):
            some = known_texts[first : first + _EMBEDDING_BATCH_SIZE]
            ready |= self._indexer.get_vectors(
                self._indexer.build_unembedded(some).texts_by_digest, owner_id
            )
            if advance is not None:
                advance(len(some))
        for _ in range(MAX_EMBEDDING_ROUNDS):
            try:
                return self._attempt(owner_id, change, ready)
            except NeedsEmbedding as missing:
                ready |= self._indexer.get_vectors(missing.texts, owner_id)
        raise StoreUnavailable("others change the same texts all the time: nothing was written")

    def _attempt(
        self, owner_id: str, change: Callable[[WriteTransaction], _Result], vectors: Vectors
    ) -> _Result:
        with self._store.write(owner_id) as tx:
            write_tx = WriteTransaction(tx, self._indexer, vectors)
            done = change(write_tx)
            if write_tx.missing:
                raise NeedsEmbedding(write_tx.missing)
            return done
