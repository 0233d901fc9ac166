"""Ingests long texts: splits them into chunks, scores these, and stores the relevant ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Memory, Origin
from memolith.domain.recall import SearchFilter
from memolith.domain.reports import ChunkStatus, IngestedChunk, IngestResult
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.policies.indexing import compute_novelty
from memolith.policies.salience import ChunkScore
from memolith.policies.trust import get_trusted_kind
from memolith.ports.store import IndexEntry
from memolith.profiles.model import Profile
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText
from memolith.services.planning import WriteRequest
from memolith.services.validation import (
    NewMemory,
    classify_new_memory,
    parse_origin,
    validate_kind,
    validate_kind_trust,
    validate_name,
    validate_tags,
)
from memolith.services.write import WritePipeline
from memolith.text.chunking.chunks import Chunk, ChunkSizes, stream_chunks
from memolith.text.cleaning import clean_stream
from memolith.text.screening import redact, redact_lines

_MAX_BYTES_PER_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk with its score.

    Attributes:
        chunk: The chunk.
        kind: The kind of the memory that it becomes.
        score: None: the profile keeps all chunks.
        entry: Its index entry, if scoring has built it.
    """

    chunk: Chunk
    kind: str
    score: ChunkScore | None
    entry: IndexEntry | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the chunk is stored."""
        return self.score is None or self.score.is_kept


class ChunkScorer:
    """Splits texts into chunks and scores them."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer

    def split(self, pieces: Iterable[str], profile: Profile) -> Iterator[Chunk]:
        """Yield the chunks of a streamed text, none longer than a memory may be."""
        most_bytes = profile.max_memory_bytes
        longest = min(profile.max_memory_chars, most_bytes or profile.max_memory_chars)
        sizes = _limit_sizes(profile.chunk_sizes, longest)
        for chunk in stream_chunks(pieces, self._indexer.token_counter, sizes=sizes):
            size = len(chunk.text.encode())
            if most_bytes is None or size <= most_bytes:
                yield chunk
            else:  # a script with several bytes per character
                shorter = _limit_sizes(sizes, most_bytes // _MAX_BYTES_PER_CHARACTER)
                yield from stream_chunks([chunk.text], self._indexer.token_counter, sizes=shorter)

    def get_centroid(self, owner_id: str, profile: Profile) -> NDArray[np.float64] | None:
        """Return the mean vector of the owner's memories, if the profile scores novelty."""
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
        """Return the score of each chunk, given its origin; `kind` overrides the kinds of all."""
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
    """Return the mean direction of an entry's passages."""
    rows = [np.asarray(each.vector, dtype=np.float64) for each in entry.passages]
    units = [row / max(float(np.linalg.norm(row)), 1.0) for row in rows]
    mean: NDArray[np.float64] = np.mean(units, axis=0)
    return mean


# --- Ingestion


BATCH_SIZE = 256
"""Chunks of a stream stored in one batch. A guess: about a second with the local embedder, which
bounds the work lost in a crash and the wait of other writers."""

_KEY_DIGITS = 12


class Ingester:
    """Stores long texts as memories."""

    def __init__(
        self, access: Access, chunk_scorer: ChunkScorer, write_pipeline: WritePipeline
    ) -> None:
        self._access = access
        self._chunk_scorer = chunk_scorer
        self._write_pipeline = write_pipeline

    def ingest(
        self,
        owner_id: str,
        text: str,
        *,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> IngestResult:
        """Ingest a text in one transaction; return the status of each chunk.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument is not valid, or the text is longer than 1,000,000 characters;
                use `ingest_stream` for longer texts.
        """
        self._access.check_enabled()
        if not isinstance(text, str):
            raise InvalidInput("text", f"must be text, not {type(text).__name__}")
        if len(text) > arguments.MAX_MESSAGE_CHARS:
            limit = arguments.MAX_MESSAGE_CHARS
            raise InvalidInput("text", f"has {len(text):,} characters; at most {limit:,}")
        run = self._build_run(owner_id, kind, session, origin, source, tags, happened_at)
        parts = list(run.store_batches([text], batch=None))
        if not parts:
            raise InvalidInput("text", "is empty")
        return parts[0]

    def ingest_stream(
        self,
        owner_id: str,
        pieces: Iterable[str],
        *,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> Iterator[IngestResult]:
        """Ingest a streamed text of any length in bounded memory.

        Yields the status of a few hundred chunks at a time, after they are stored. If a later piece
        fails, stored chunks remain; ingesting the same text again stores no duplicates.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument is not valid.
        """
        self._access.check_enabled()
        run = self._build_run(owner_id, kind, session, origin, source, tags, happened_at)
        return run.store_batches(pieces, batch=BATCH_SIZE)

    def _build_run(
        self,
        owner_id: str,
        kind: str | None,
        session: str | None,
        origin: str,
        source: str | None,
        tags: Iterable[str],
        happened_at: datetime | None,
    ) -> _IngestionRun:
        profile = self._access.get_profile(owner_id)
        name = None if source is None else validate_name(source, "source")
        all_tags = [*arguments.check_list(tags, "tags"), *([f"source:{name}"] if name else [])]
        template = NewMemory(
            content="",
            kind="" if kind is None else validate_kind_trust(validate_kind(kind, profile), origin),
            judged_importance=0.0,
            tags=validate_tags(all_tags),
            happened_at=None
            if happened_at is None
            else arguments.check_instant(happened_at, "happened_at"),
            session_id=None if session is None else validate_name(session, "session"),
            origin=parse_origin(origin),
        )
        return _IngestionRun(
            self._access,
            self._chunk_scorer,
            self._write_pipeline,
            owner_id,
            profile,
            template,
            name,
        )


class _IngestionRun:
    """The ingestion of one text."""

    def __init__(
        self,
        access: Access,
        chunk_scorer: ChunkScorer,
        write_pipeline: WritePipeline,
        owner_id: str,
        profile: Profile,
        template: NewMemory,
        source: str | None,
    ) -> None:
        self._access = access
        self._chunk_scorer = chunk_scorer
        self._write_pipeline = write_pipeline
        self._owner_id = owner_id
        self._profile = profile
        self._template = template
        self._source = source
        self._redactions = 0

    def store_batches(self, pieces: Iterable[str], *, batch: int | None) -> Iterator[IngestResult]:
        """Store chunks in batches, or all at once if `batch` is None; yield each result."""
        centre = self._chunk_scorer.get_centroid(self._owner_id, self._profile)
        chunks = self._chunk_scorer.split(self._redact(clean_stream(pieces)), self._profile)
        while chunk_batch := list(islice(chunks, batch)):
            scored = self._chunk_scorer.score_chunks(
                self._owner_id,
                chunk_batch,
                [self._template.origin] * len(chunk_batch),
                self._profile,
                centroid=centre,
                kind=self._template.kind or None,
            )
            redactions, self._redactions = self._redactions, 0
            yield IngestResult(self._store(scored), redactions)

    def _redact(self, pieces: Iterable[str]) -> Iterator[str]:
        redact_piece = redact_lines if self._profile.redacts_lines else redact
        for piece in pieces:
            plain, redactions = redact_piece(piece)
            self._redactions += redactions
            yield plain

    def _store(self, chunks: Sequence[ScoredChunk]) -> tuple[IngestedChunk, ...]:
        now = self._access.clock.now()
        new_memories = tuple(self._build_memory(each) for each in chunks if each.is_kept)
        entries = {each.chunk.text: each.entry for each in chunks if each.entry is not None}
        request = WriteRequest(
            self._owner_id, self._profile, new_memories, now, actor="ingest", entries=entries
        )
        existing = self._find_existing(chunks)
        if not new_memories:
            return tuple(
                _build_chunk_result(each, existing.get(each.chunk.text), is_new=False)
                for each in chunks
            )
        result = self._write_pipeline.write(request)
        new = set(result.new_ids)
        memories = iter(result.memories)
        pieces = []
        for each in chunks:
            memory = next(memories) if each.is_kept else existing.get(each.chunk.text)
            is_new = each.is_kept and memory is not None and memory.id in new
            pieces.append(_build_chunk_result(each, memory, is_new=is_new))
            new -= set() if memory is None else {memory.id}
        return tuple(pieces)

    def _find_existing(self, chunks: Sequence[ScoredChunk]) -> dict[str, Memory]:
        """Return existing memories that equal dropped chunks, by text."""
        dropped = [each for each in chunks if not each.is_kept and each.entry is not None]
        existing: dict[str, Memory] = {}
        with self._access.store.read(self._owner_id) as snapshot:
            for each in dropped:
                matches = snapshot.find_by_content(each.entry.content_key) if each.entry else []
                memory = next((one for one in matches if isinstance(one, Memory)), None)
                if memory is not None:
                    existing[each.chunk.text] = memory
        return existing

    def _build_memory(self, each: ScoredChunk) -> NewMemory:
        new_memory = NewMemory(
            content=each.chunk.text,
            kind=each.kind,
            judged_importance=0.0,
            importance=None if each.score is None else each.score.importance,
            key=self._build_key(each) if each.kind in self._profile.keyed_kinds else None,
            tags=self._template.tags,
            happened_at=self._template.happened_at,
            session_id=self._template.session_id,
            origin=self._template.origin,
        )
        return classify_new_memory(new_memory, self._profile)

    def _build_key(self, each: ScoredChunk) -> str:
        """Return a key derived from the chunk's text, for profiles that require keys."""
        digest = hashlib.sha256(each.chunk.text.encode()).hexdigest()[:_KEY_DIGITS]
        return f"{self._source or 'document'}#{digest}"


def _build_chunk_result(each: ScoredChunk, memory: Memory | None, *, is_new: bool) -> IngestedChunk:
    status: ChunkStatus = "dropped"
    reason = "too little that is new or matters"
    if memory is not None:
        status, reason = ("stored", "") if is_new else ("known", "a memory says it already")
    score = each.score
    return IngestedChunk(
        text=each.chunk.text,
        tokens=each.chunk.tokens,
        kind=each.kind if memory is None else memory.kind,
        status=status,
        reason=reason,
        importance=score.importance if score else memory.importance if memory else 0.0,
        novelty=None if score is None else score.novelty,
        salience=None if score is None else score.salience,
        memory=memory,
    )
