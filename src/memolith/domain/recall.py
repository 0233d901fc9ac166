"""Filters, scores and results of recall."""

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
"""Default token budget of a recall or a prompt."""

DEFAULT_CONTEXT_TOP_K = 100
"""Default for the maximum number of results in a prompt."""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts a search to some of an owner's items.

    Attributes:
        now: The time of the query; items that have expired by then are excluded.
        as_of: Search the items that were valid at this time instead of now.
        kinds: Only these kinds; "episode" means messages. None: all kinds.
        session_id: Only this session.
        tags: Only memories with all of these tags (messages have no tags).
        since: Only items that happened, or were said, at or after this time.
        until: Only items that happened, or were said, before this time.
        include_compressed: Whether to include items that an active summary replaces.
        include_quarantined: Whether to include suspicious items that are neither from the user nor
            reviewed.
        dormant: Whether to include memories that are expired, faded, evicted or past their expiry
            time; ignored with `as_of`.
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
    def reference_time(self) -> datetime:
        """The time whose state of knowledge is searched."""
        return self.as_of or self.now


@dataclass(frozen=True, slots=True)
class Score:
    """Explains the rank of a result.

    Attributes:
        total: Results are sorted by this number; comparable within one query only.
        similarity: Cosine similarity of the query to the best passage, −1..1.
        text: BM25 score of the best passage, 0 and up.
        strength: 0..1, the current strength.
        freshness: 0..1, by the time since the last use or the creation.
        rerank: The reranker's score; None without a reranker.
        parts: All terms of the total, by name; their sum is the total.
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
        record: The memory or message.
        score: Explains its rank.
        passage: The range of its content to show: all of it, or the best part of a long text.
        tokens: Number of tokens of that range in a prompt.
        collapsed_ids: Ids of near-duplicates and derived memories that this result represents.
        changed_later: Whether a memory learned from it has since been superseded.
        suspicious: Whether it is a suspected prompt injection.
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
        """The range of the content to show."""
        return self.passage.extract(self.record.content)


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A candidate that was not returned, with the reason."""

    id: str
    reason: DropReason
    score: Score


@dataclass(frozen=True, slots=True)
class RecallTrace:
    """Explains how a result was computed.

    Attributes:
        dense_text: The part of the query that was embedded.
        terms: The keywords that were searched.
        candidates: Number of scored candidates.
        dropped: Candidates that were not returned, best first.
        seconds: Duration of each stage, in seconds.
    """

    dense_text: str
    terms: tuple[str, ...]
    candidates: int
    dropped: tuple[DroppedCandidate, ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The result of a recall, best items first.

    Attributes:
        memories: The results.
        total_tokens: Number of tokens of all results in a prompt.
        token_budget: The token budget.
        trace: Explanation of the result, if requested.
        relevance: Probability that some item answers the query, 0..1, with a prior of 0.5. None if
            the profile, embedder or mode has no calibration, or a reranker was used.
        likely_unanswerable: Whether `relevance` is so low that the caller should answer "I don't
            know"; False if `relevance` is None. No result is removed because of it.
    """

    memories: tuple[RecalledItem, ...]
    total_tokens: int
    token_budget: int
    trace: RecallTrace | None = None
    relevance: float | None = None
    likely_unanswerable: bool = False

    @property
    def budget_used(self) -> float:
        """The used share of the token budget, 0..1; 0.0 for a budget of 0."""
        return self.total_tokens / self.token_budget if self.token_budget else 0.0
