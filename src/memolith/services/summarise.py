"""Writes summaries, by a model with its output verified, or extracted from the sources."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Action, Event, Link, Memory, Origin, Source
from memolith.domain.messages import Message
from memolith.policies.consolidation import split_into_parts
from memolith.policies.learning import truncate_text
from memolith.policies.summaries import (
    EXTRACT_MARK,
    SentenceCandidate,
    SummaryCheck,
    SummaryLimits,
    check_summary,
    extract_summary,
    find_candidates,
)
from memolith.policies.trust import get_least_trusted
from memolith.ports.models import ChatModel
from memolith.ports.store import IndexEntry, Transaction
from memolith.ports.work import WorkLease
from memolith.profiles.model import Profile
from memolith.prompts.fencing import MAX_TRANSCRIPT_CHARS, TranscriptTurn
from memolith.prompts.summaries import SummaryStyle, build_summary_prompt, parse_summary
from memolith.services.access import Access
from memolith.services.chat import ChatModels, ask_model, new_nonce
from memolith.services.indexing import Indexer, IndexText, memory_text
from memolith.services.maintenance import refresh_strengths
from memolith.text.injection import is_suspicious
from memolith.text.screening import redact
from memolith.text.segmentation import sentences

MAX_SUMMARY_ATTEMPTS = 2
"""Attempts to get a faithful summary from a model, before one is extracted from the sources."""

MAX_PARTS = 16
"""The maximum number of separately summarised parts; with more text, parts are truncated in the
prompt. A guess: as many calls as an hourly limit can bear."""

_EXCERPT_CHARS = 200
"""Characters quoted from the first text if there is nothing to extract. A guess."""

_PLACEHOLDER = "…"
"""The extract of texts that all are suspected prompt injections."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary.

    Attributes:
        text: The text.
        by_model: Whether a model wrote it. Otherwise its sentences are quoted from the sources, and
            it starts with a mark that says so.
    """

    text: str
    by_model: bool


class Summariser:
    """Summarises texts."""

    def __init__(self, access: Access, models: ChatModels, indexer: Indexer) -> None:
        self._access = access
        self._models = models
        self._indexer = indexer

    def summarise(
        self, owner_id: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> Summary:
        """Return a summary of a transcript.

        A model's summary is used if it is faithful and not a suspected prompt injection. Otherwise,
        and without a model, the most important sentences are extracted. A transcript too long for
        one prompt is summarised in parts, and then the parts' summaries.

        Raises:
            ServiceFailed: The model failed.
        """
        model = self._models.for_owner(owner_id)
        if model is None or not transcript:
            return self.extract_summary(owner_id, transcript, style)
        pieces = split_into_parts(
            [len(each.content) for each in transcript], MAX_TRANSCRIPT_CHARS, MAX_PARTS
        )
        if len(pieces) == 1:
            return self._ask_model(owner_id, model, transcript, transcript, style)
        partial = [
            self._ask_model(owner_id, model, transcript[start:end], transcript[start:end], style)
            for start, end in pieces
        ]
        turns = [TranscriptTurn(each.text.removeprefix(EXTRACT_MARK).strip()) for each in partial]
        return self._ask_model(owner_id, model, turns, transcript, style)

    def _ask_model(
        self,
        owner_id: str,
        model: ChatModel,
        turns: Sequence[TranscriptTurn],
        transcript: Sequence[TranscriptTurn],
        style: SummaryStyle,
    ) -> Summary:
        """Return a model's summary of the given texts, verified against the transcript."""
        for _ in range(MAX_SUMMARY_ATTEMPTS):
            text = ask_model(model, build_summary_prompt(style, turns, new_nonce()), parse_summary)
            check = _check_summary(text, transcript, style, owner_id)
            if check.is_faithful and not is_suspicious(text):
                return Summary(redact(text)[0], by_model=True)
            problems = check.problems or ("contains instructions",)
            _log.info("a model's summary was rejected: %s", ", ".join(problems))
        return self.extract_summary(owner_id, transcript, style)

    def extract_summary(
        self, owner_id: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> Summary:
        """Return the most important sentences in order; empty if there are none."""
        candidates = _build_candidates(transcript)
        return _build_extract(
            transcript, candidates, self._get_vectors(owner_id, candidates), style
        )

    def extract_by_words(
        self, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> Summary:
        """Return an extract without using vectors, so that nothing can fail."""
        return _build_extract(transcript, _build_candidates(transcript), None, style)

    def extract_sentences(
        self, owner_id: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> list[str]:
        """Return the most important sentences one by one, as in the transcript."""
        candidates = _build_candidates(transcript)
        text = _extract_text(
            candidates, self._get_vectors(owner_id, candidates), style
        ).removeprefix(EXTRACT_MARK)
        return [" ".join(span.extract(text).split()) for span in sentences(text)]

    def _get_vectors(
        self, owner_id: str, pool: Sequence[SentenceCandidate]
    ) -> NDArray[np.float32] | None:
        if not pool or not self._access.get_profile(owner_id).uses_vectors:
            return None
        entries = self._indexer.build_entries([IndexText(each.text) for each in pool], owner_id)
        vectors = [entry.passages[0].vector for entry in entries]
        if any(each is None for each in vectors):
            return None
        return np.array(vectors, dtype=np.float32)


def _build_candidates(transcript: Sequence[TranscriptTurn]) -> tuple[SentenceCandidate, ...]:
    return find_candidates((each.speaker, each.content) for each in transcript)


def _extract_text(
    pool: Sequence[SentenceCandidate], vectors: NDArray[np.float32] | None, style: SummaryStyle
) -> str:
    return extract_summary(
        pool, vectors, max_sentences=style.max_sentences, max_words=style.max_words
    )


def _build_extract(
    transcript: Sequence[TranscriptTurn],
    pool: Sequence[SentenceCandidate],
    vectors: NDArray[np.float32] | None,
    style: SummaryStyle,
) -> Summary:
    text = _extract_text(pool, vectors, style)
    if not text and transcript:  # for example, only questions
        contents = (each.content for each in transcript if not is_suspicious(each.content))
        text = f"{EXTRACT_MARK} {truncate_text(next(contents, _PLACEHOLDER), _EXCERPT_CHARS)}"
    return Summary(redact(text)[0], by_model=False)


def _check_summary(
    summary_text: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle, owner_id: str
) -> SummaryCheck:
    return check_summary(
        summary_text,
        [each.content for each in transcript],
        SummaryLimits(style.max_words, style.max_sentences),
        dates=[None if each.at is None else each.at.date() for each in transcript],
        names=[owner_id, *(each.speaker for each in transcript)],
    )


# --- Storing summaries


CONSOLIDATION_ACTOR = "consolidation"
"""The actor in events."""

SUMMARY_IMPORTANCE = 0.5
"""Of summaries: their sources were already rated, or not worth a memory. A guess."""


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """The result of one summarisation.

    Attributes:
        output: "summary", "session" or "base memory".
        id: The id of the summary; of the base memory, its version.
        sources: The number of summarised messages or memories.
        by_model: Whether a model wrote it; otherwise it was extracted from the sources.
    """

    output: str
    id: str
    sources: int
    by_model: bool


class SourcesChanged(Exception):
    """Control flow, not an error: the sources have changed, or another process has the work now."""


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """Builds and stores summaries."""

    access: Access
    indexer: Indexer

    def build_memory(
        self,
        owner_id: str,
        profile: Profile,
        summary: Summary,
        kind: str,
        sources: Sequence[Source],
        origins: Iterable[Origin],
        *,
        session_id: str | None,
        happened_at: datetime | None,
        key: str | None = None,
    ) -> tuple[Memory, IndexEntry]:
        """Return a summary with its index entry, as trusted as its least trusted source.

        Nothing is written yet.
        """
        now = self.access.clock.now()
        lifetime = profile.lifetimes.get(kind)
        memory = Memory(
            id=self.access.new_id(now),
            owner_id=owner_id,
            kind=kind,
            content=summary.text,
            created_at=now,
            updated_at=now,
            key=key,
            importance=SUMMARY_IMPORTANCE,
            happened_at=happened_at,
            expires_at=None if lifetime is None else now + lifetime,
            session_id=session_id,
            sources=tuple(sources),
            origin=get_least_trusted(Origin.SUMMARY, *origins),
        )
        text = memory_text(profile, memory.content, kind, key)
        (entry,) = self.indexer.build_entries([text], owner_id)
        (memory,) = refresh_strengths(profile, [memory], now)
        return memory, entry

    def check_lease(self, tx: Transaction, lease: WorkLease | None) -> None:
        """Raise `SourcesChanged` if another process has the work now."""
        if lease is not None and not tx.holds_lease(lease):
            raise SourcesChanged

    def insert(
        self,
        tx: Transaction,
        memory: Memory,
        entry: IndexEntry,
        profile: Profile,
        *,
        by_model: bool,
        actor: str = CONSOLIDATION_ACTOR,
    ) -> None:
        """Write a summary with links to its sources."""
        tx.adopt_profile(profile.name)
        tx.insert([(memory, entry)])
        tx.link([Link(memory.id, source.id, "summary_of") for source in memory.sources])
        details = {"by": "model" if by_model else "extract", "sources": str(len(memory.sources))}
        event = Event(
            memory.id, Action.CONDENSED, memory.created_at, actor, memory.version, details
        )
        tx.record([event])


def message_sources(messages: Sequence[Message]) -> tuple[Source, ...]:
    """Return messages as the sources of a memory."""
    return tuple(Source(each.id, "message", each.external_id) for each in messages)


def mark_compressed(memory: Memory, now: datetime) -> Memory:
    """Return a memory marked as covered by a summary."""
    return replace(memory, compressed=True, updated_at=now)
