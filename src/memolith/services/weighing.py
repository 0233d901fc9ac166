"""Cutting texts into chunks, and telling which are worth keeping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.recall import SearchFilter
from memolith.policies.novelty import compute_novelty
from memolith.policies.trust import get_trusted_kind
from memolith.services.indexing import IndexText
from memolith.text.chunking.chunks import stream_chunks
from memolith.text.chunking.model import ChunkSizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from memolith.domain.memories import Origin
    from memolith.policies.keeping import ChunkScore
    from memolith.ports.store import IndexEntry
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.text.chunking.model import Chunk

_MAX_BYTES_PER_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk, and what it is worth.

    Attributes:
        kind: The kind of memory it makes.
        weighed: None where the profile keeps everything.
        entry: Its index entry, where that was made on the way.
    """

    chunk: Chunk
    kind: str
    score: ChunkScore | None
    entry: IndexEntry | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it is worth keeping."""
        return self.score is None or self.score.is_kept


class ChunkScorer:
    """Cuts and weighs texts."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer

    def split(self, pieces: Iterable[str], profile: Profile) -> Iterator[Chunk]:
        """Yield the chunks of a text that comes in pieces, each no longer than a memory may be."""
        most_bytes = profile.max_memory_bytes
        longest = min(profile.max_memory_chars, most_bytes or profile.max_memory_chars)
        sizes = _limit_sizes(profile.chunk_sizes, longest)
        for chunk in stream_chunks(pieces, self._indexer.token_counter, sizes=sizes):
            size = len(chunk.text.encode())
            if most_bytes is None or size <= most_bytes:
                yield chunk
            else:  # of a script whose characters take several bytes
                shorter = _limit_sizes(sizes, most_bytes // _MAX_BYTES_PER_CHARACTER)
                yield from stream_chunks([chunk.text], self._indexer.token_counter, sizes=shorter)

    def get_centroid(self, owner_id: str, profile: Profile) -> NDArray[np.float64] | None:
        """Return the centroid of what the owner has, where the profile asks for novelty."""
        if profile.chunk_scoring is None or not profile.uses_vectors:
            return None
        now = self._access.clock.now()
        with self._access.store.read(owner_id) as snapshot:
            return snapshot.centroid(SearchFilter(now=now, kinds=frozenset(profile.kinds)))

    def score_chunks(
        self,
        owner_id: str,
        chunks: Sequence[Chunk],
        origins: Sequence[Origin],
        profile: Profile,
        *,
        centroid: NDArray[np.float64] | None,
        kind: str | None = None,
    ) -> list[ScoredChunk]:
        """Return what each chunk, of its origin, is worth; a `kind` that is given goes for all."""
        weights = self._score(owner_id, chunks, profile, centroid)
        return [
            ScoredChunk(chunk, kind or _classify_kind(profile, chunk.text, origin), each, entry)
            for chunk, origin, (each, entry) in zip(chunks, origins, weights, strict=True)
        ]

    def _score(
        self,
        owner_id: str,
        chunks: Sequence[Chunk],
        profile: Profile,
        centroid: NDArray[np.float64] | None,
    ) -> Sequence[tuple[ChunkScore | None, IndexEntry | None]]:
        keeping = profile.chunk_scoring
        if keeping is None:
            return [(None, None)] * len(chunks)
        entries = self._indexer.build_entries([IndexText(chunk.text) for chunk in chunks], owner_id)
        vectors = np.array([_mean_vector(entry) for entry in entries])
        new = compute_novelty(vectors, centroid) if len(chunks) else np.empty(0)
        return [
            (keeping.score_chunk(chunk.text, novelty=float(each), word_pieces=chunk.tokens), entry)
            for chunk, each, entry in zip(chunks, new, entries, strict=True)
        ]


def _limit_sizes(sizes: ChunkSizes, chars: int) -> ChunkSizes:
    return replace(sizes, max_chars=min(sizes.max_chars, chars))


def _classify_kind(profile: Profile, text: str, origin: Origin) -> str:
    return get_trusted_kind(
        origin, profile.classifier.get_kind(text, origin), profile.external_kinds
    )


def _mean_vector(entry: IndexEntry) -> NDArray[np.float64]:
    """Return the mean direction of a text's passages."""
    rows = [np.asarray(each.vector, dtype=np.float64) for each in entry.passages]
    units = [row / max(float(np.linalg.norm(row)), 1.0) for row in rows]
    mean: NDArray[np.float64] = np.mean(units, axis=0)
    return mean
