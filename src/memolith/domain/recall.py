"""What recall is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memolith.domain.memories import Span
from memolith.domain.records import Record

SearchMode = Literal["hybrid", "vector", "keyword"]

DropReason = Literal["rank", "budget", "floor", "folded"]

DEFAULT_TOKEN_BUDGET = 2_000
"""What a recall, or a prompt, may cost where nobody says, in tokens."""

DEFAULT_CONTEXT_TOP_K = 100
"""How many results a prompt is made of at most where nobody says."""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which of an owner's items a search may return.

    Attributes:
        now: The instant of asking; what has expired by then is out.
        as_of: Search what was valid then instead of now.
        kinds: Only these kinds; "episode" stands for messages. None: all.
        session_id: Only this conversation.
        tags: Only memories that have all of these (messages have none).
        since: Only what happened, or was said, at or after this.
        until: Only what happened, or was said, before this.
        include_compressed: Whether to take what an active summary stands for.
        include_withheld: Whether to take what is suspicious, not of the user, and not reviewed.
        dormant: Whether to take memories too that are expired, faded or evicted, or are past
            their time; with `as_of` it changes nothing.
    """

    now: datetime
    as_of: datetime | None = None
    kinds: frozenset[str] | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    include_compressed: bool = False
    include_quarantined: bool = True
    dormant: bool = False

    @property
    def at(self) -> datetime:
        """The instant whose state of knowledge is searched."""
        return self.as_of or self.now


@dataclass(frozen=True, slots=True)
class Score:
    """Why a result stands where it does.

    Attributes:
        total: What results are sorted by; comparable within one query only.
        similarity: Cosine similarity of the query to the best passage, −1..1.
        text: BM25 score of the best passage, 0 and up.
        strength: 0..1, what is left of the importance.
        freshness: 0..1, how lately it was used or made.
        rerank: A reranker's score, where one was used.
        parts: Every term of the total by name; they add up to it.
    """

    total: float
    similarity: float = 0.0
    text: float = 0.0
    strength: float = 0.0
    freshness: float = 0.0
    rerank: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """One result: a memory, or a message as an episode.

    Attributes:
        record: The memory or the message itself.
        score: Why it was found.
        passage: The stretch of its content to show: all of it, or the best part of a long one.
        tokens: What that stretch costs in a prompt.
        folded: Ids of near-duplicates and derived memories that this one stands for.
        changed_later: Whether a memory learned from it has been superseded since.
        suspicious: Whether it tries to instruct a model.
    """

    record: Record
    score: Score
    passage: Span
    tokens: int
    collapsed_ids: tuple[str, ...] = ()
    changed_later: bool = False
    suspicious: bool = False

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def kind(self) -> str:
        """The memory's kind, or "episode"."""
        return getattr(self.record, "kind", "episode")

    @property
    def content(self) -> str:
        """The whole text of the record."""
        return self.record.content

    @property
    def text(self) -> str:
        """The stretch of the content to show."""
        return self.passage.extract(self.record.content)


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A candidate that was not returned, and why."""

    id: str
    reason: DropReason
    score: Score


@dataclass(frozen=True, slots=True)
class RecallTrace:
    """How an answer came about.

    Attributes:
        dense_text: What was embedded of the query.
        terms: What was searched for by keyword.
        candidates: How many were scored.
        dropped: The candidates that were not returned, best first.
        seconds: Time spent by stage.
    """

    dense_text: str
    terms: tuple[str, ...]
    candidates: int
    dropped: tuple[DroppedCandidate, ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What was recalled, best first.

    Attributes:
        memories: The results.
        total_tokens: What they cost in a prompt.
        token_budget: What they might have cost.
        trace: How the answer came about, where asked for.
        relevance: How likely it is that something in memory answers the query, 0..1, even odds
            assumed to begin with; None where that is not known for the profile, the embedder or
            the mode, or a reranker was asked.
        nothing_relevant: Whether that is so unlikely that it is better to say that there is no
            answer; False where it is not known. Nothing is left out of the results for it.
    """

    memories: tuple[RecalledItem, ...]
    total_tokens: int
    token_budget: int
    trace: RecallTrace | None = None
    relevance: float | None = None
    likely_unanswerable: bool = False

    @property
    def budget_used(self) -> float:
        """The share of the budget used, 0..1; 0.0 for a budget of 0."""
        return self.total_tokens / self.token_budget if self.token_budget else 0.0
