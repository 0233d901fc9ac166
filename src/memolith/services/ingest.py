"""Taking in a long text: cut where its meaning is, what matters of it stored as memories."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import TYPE_CHECKING

from memolith.domain.ingestion import IngestedChunk, IngestResult
from memolith.domain.memories import Memory
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.services.drafts import (
    NewMemory,
    classify_new_memory,
    parse_origin,
    validate_kind,
    validate_kind_trust,
)
from memolith.services.planning import WriteRequest
from memolith.services.screening import validate_name, validate_tags
from memolith.text.screening import redact, redact_lines
from memolith.text.streaming import clean_stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from memolith.domain.ingestion import ChunkStatus
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.settling import WritePipeline
    from memolith.services.weighing import ChunkScorer, ScoredChunk

BATCH_SIZE = 256
"""How many chunks of a stream are stored at once: a guess, a second's work with the local
embedder, so that a kill costs no more and a writer waits no longer."""

_KEY_DIGITS = 12


class Ingester:
    """Takes in long texts."""

    def __init__(
        self, access: Access, chunk_scorer: ChunkScorer, write_pipeline: WritePipeline
    ) -> None:
        """Use these."""
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
        """Take in a text, all of it or nothing; return what became of each chunk.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument can't be taken, or the text is longer than 1,000,000
                characters: `stream` takes longer ones.
        """
        self._access.check_enabled()
        if not isinstance(text, str):
            raise InvalidInput("text", f"must be text, not {type(text).__name__}")
        if len(text) > arguments.MAX_MESSAGE_CHARS:
            limit = arguments.MAX_MESSAGE_CHARS
            raise InvalidInput("text", f"has {len(text):,} characters; at most {limit:,}")
        made = self._build_run(owner_id, kind, session, origin, source, tags, happened_at)
        parts = list(made.store_batches([text], batch=None))
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
        """Take in a text of any length that comes in pieces, in bounded memory.

        Yields what became of the chunks, a few hundred at a time, each time once they are stored.
        What was stored stays if a later piece fails; the same text again adds nothing twice.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument can't be taken.
        """
        self._access.check_enabled()
        made = self._build_run(owner_id, kind, session, origin, source, tags, happened_at)
        return made.store_batches(pieces, batch=BATCH_SIZE)

    def _build_run(  # what both doors take
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
        marked = [*arguments.check_list(tags, "tags"), *([f"source:{name}"] if name else [])]
        like = NewMemory(
            content="",
            kind="" if kind is None else validate_kind_trust(validate_kind(kind, profile), origin),
            judged_importance=0.0,
            tags=validate_tags(marked),
            happened_at=None
            if happened_at is None
            else arguments.check_instant(happened_at, "happened_at"),
            session_id=None if session is None else validate_name(session, "session"),
            origin=parse_origin(origin),
        )
        return _IngestionRun(
            self._access, self._chunk_scorer, self._write_pipeline, owner_id, profile, like, name
        )


class _IngestionRun:
    """One text on its way in."""

    def __init__(  # what it needs to work by itself
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
        """Store chunks a batch at a time, or all at once, and yield what became of them."""
        centre = self._chunk_scorer.get_centroid(self._owner_id, self._profile)
        chunks = self._chunk_scorer.split(self._redact(clean_stream(pieces)), self._profile)
        while some := list(islice(chunks, batch)):
            found = self._chunk_scorer.score_chunks(
                self._owner_id,
                some,
                [self._template.origin] * len(some),
                self._profile,
                centroid=centre,
                kind=self._template.kind or None,
            )
            redactions, self._redactions = self._redactions, 0
            yield IngestResult(self._store(found), redactions)

    def _redact(self, pieces: Iterable[str]) -> Iterator[str]:
        hide = redact_lines if self._profile.redacts_lines else redact
        for piece in pieces:
            plain, redactions = hide(piece)
            self._redactions += redactions
            yield plain

    def _store(self, chunks: Sequence[ScoredChunk]) -> tuple[IngestedChunk, ...]:
        now = self._access.clock.now()
        drafts = tuple(self._build_memory(each) for each in chunks if each.is_kept)
        made = {each.chunk.text: each.entry for each in chunks if each.entry is not None}
        order = WriteRequest(
            self._owner_id, self._profile, drafts, now, actor="ingest", entries=made
        )
        known = self._find_known(chunks)
        if not drafts:
            return tuple(
                _build_chunk_result(each, known.get(each.chunk.text), is_new=False)
                for each in chunks
            )
        settled = self._write_pipeline.write(order)
        new = set(settled.new_ids)
        memories = iter(settled.memories)
        pieces = []
        for each in chunks:
            memory = next(memories) if each.is_kept else known.get(each.chunk.text)
            is_new = each.is_kept and memory is not None and memory.id in new
            pieces.append(_build_chunk_result(each, memory, is_new=is_new))
            new -= set() if memory is None else {memory.id}
        return tuple(pieces)

    def _find_known(self, chunks: Sequence[ScoredChunk]) -> dict[str, Memory]:
        """Return the memories that say already what is not worth storing, by its text."""
        dropped = [each for each in chunks if not each.is_kept and each.entry is not None]
        known: dict[str, Memory] = {}
        with self._access.store.read(self._owner_id) as snapshot:
            for each in dropped:
                said = snapshot.find_by_content(each.entry.content_key) if each.entry else []
                memory = next((one for one in said if isinstance(one, Memory)), None)
                if memory is not None:
                    known[each.chunk.text] = memory
        return known

    def _build_memory(self, each: ScoredChunk) -> NewMemory:
        draft = NewMemory(
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
        return classify_new_memory(draft, self._profile)

    def _build_key(self, each: ScoredChunk) -> str:
        """Return a key for a chunk in a profile that stores nothing without: by what it says."""
        digest = hashlib.sha256(each.chunk.text.encode()).hexdigest()[:_KEY_DIGITS]
        return f"{self._source or 'document'}#{digest}"


def _build_chunk_result(each: ScoredChunk, memory: Memory | None, *, is_new: bool) -> IngestedChunk:
    status: ChunkStatus = "dropped"
    reason = "too little that is new or matters"
    if memory is not None:
        status, reason = ("stored", "") if is_new else ("known", "a memory says it already")
    weighed = each.score
    return IngestedChunk(
        text=each.chunk.text,
        tokens=each.chunk.tokens,
        kind=each.kind if memory is None else memory.kind,
        status=status,
        reason=reason,
        importance=weighed.importance if weighed else memory.importance if memory else 0.0,
        novelty=None if weighed is None else weighed.novelty,
        salience=None if weighed is None else weighed.salience,
        memory=memory,
    )
