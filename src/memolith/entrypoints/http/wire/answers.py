"""What the service answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memolith.domain.memories import Action, Origin, State
from memolith.domain.messages import Role
from memolith.domain.recall import DropReason
from memolith.domain.work import Work
from memolith.entrypoints.http.wire.fields import Id, Importance, Instant


class Sent(BaseModel):
    """A part of an answer, read from the library's values."""

    model_config = ConfigDict(from_attributes=True)


class SourceOut(Sent):
    """What a memory was made from."""

    id: Id
    of: Literal["message", "memory"]
    external_id: str | None = None


class MemoryOut(Sent):
    """One remembered thing, at one version."""

    id: Id
    owner_id: str = Field(examples=["alice"])
    kind: str = Field(examples=["preference"])
    content: str = Field(examples=["Prefers metric units"])
    created_at: Instant
    updated_at: Instant
    key: str | None = Field(None, examples=["units"])
    summary: str | None = None
    tags: list[str] = Field(examples=[["style"]])
    importance: Importance
    strength: float
    access_count: int
    accessed_at: datetime | None = None
    happened_at: datetime | None = None
    expires_at: datetime | None = None
    state: State
    superseded_by: str | None = None
    session_id: str | None = None
    sources: list[SourceOut]
    compressed: bool
    origin: Origin
    version: int
    kept_kind: str | None = None


class PageOut(Sent):
    """A page of memories, newest first."""

    memories: list[MemoryOut]
    total: int = Field(description="How many match in all.")
    cursor: str | None = Field(None, description="For the next page; none on the last.")


class EventOut(Sent):
    """One change."""

    record_id: Id
    action: Action
    at: Instant
    by: str
    version: int
    details: dict[str, str]


class VersionOut(Sent):
    """One version, and when it held."""

    memory: MemoryOut
    valid_from: Instant
    valid_to: datetime | None = None


class HistoryOut(Sent):
    """How a memory came to be what it is, oldest first."""

    versions: list[VersionOut]
    events: list[EventOut]


class ForgottenOut(Sent):
    """What a forgetting has touched."""

    memories: list[str]
    messages: list[str]


class StatisticsOut(Sent):
    """How much an owner has stored."""

    total_count: int
    with_embeddings: int
    avg_importance: float
    by_kind: dict[str, int]
    by_state: dict[str, int]
    messages: int
    sessions: int
    vectors: int
    vectors_due: int = Field(
        description="Vectors that Chroma does not have yet, where it searches."
    )


class FoundOut(Sent):
    """A memory that is not worth keeping, and why."""

    id: str
    text: str
    reason: str
    of: str | None = Field(description="The memory that it repeats.")
    similarity: float | None


class ShareOut(Sent):
    """The memories of which one thing is true."""

    count: int
    rate: float
    ids: list[str]
    examples: list[FoundOut]
    reasons: dict[str, int]


class AuditOut(Sent):
    """How many memories are not worth keeping."""

    memories: int
    junk: int
    rate: float
    duplicates: ShareOut
    fragments: ShareOut
    filler: ShareOut
    echoes: ShareOut
    near: ShareOut | None = Field(description="Near in meaning to another; no junk.")
    compared: int


class MessageOut(Sent):
    """One turn, as it is stored."""

    id: Id
    session_id: str
    sequence: int
    role: Role
    speaker: str | None = None
    content: str
    at: Instant
    external_id: str | None = None
    version: int


class MessagesOut(Sent):
    """The turns of a conversation, in order."""

    messages: list[MessageOut]


class LearnedOut(Sent):
    """What was taken in."""

    messages: list[MessageOut]
    memories: list[MemoryOut]
    already: int
    redactions: int


class ScoreOut(Sent):
    """Why something was found."""

    total: float
    similarity: float
    text: float
    strength: float
    freshness: float
    rerank: float | None = None
    parts: dict[str, float]


class SpanOut(Sent):
    """A stretch of a text, in characters."""

    start: int
    end: int


class RecalledOut(Sent):
    """One result: a memory, or a message as an episode."""

    id: Id
    kind: str
    text: str = Field(description="The stretch of its content to show.")
    record: MemoryOut | MessageOut
    score: ScoreOut
    passage: SpanOut
    tokens: int
    folded: list[str]
    changed_later: bool
    suspicious: bool


class DroppedOut(Sent):
    """A candidate that was not returned, and why."""

    id: Id
    reason: DropReason
    score: ScoreOut


class TraceOut(Sent):
    """How an answer came about."""

    dense_text: str = Field(description="What was embedded of the query.")
    terms: list[str] = Field(description="What was searched for by keyword.")
    candidates: int
    dropped: list[DroppedOut]
    seconds: dict[str, float]


class RecallOut(Sent):
    """What was recalled, best first."""

    memories: list[RecalledOut]
    total_tokens: int
    token_budget: int
    budget_used: float
    relevance: float | None = Field(
        None,
        description="How likely it is that something in memory answers the query, 0..1; null "
        "where that is not known.",
    )
    nothing_relevant: bool = Field(
        description="Whether that is so unlikely that it is better to say that there is no "
        "answer. Nothing is left out of the results for it."
    )
    trace: TraceOut | None = Field(None, description="Where asked for.")


class ContextOut(Sent):
    """Text for a prompt, and what stands in it."""

    text: str
    results: list[RecalledOut]
    tokens: int


class PieceOut(Sent):
    """One chunk, and what became of it."""

    text: str
    tokens: int
    kind: str
    fate: Literal["stored", "known", "dropped"]
    reason: str
    importance: float
    novelty: float | None = None
    salience: float | None = None
    memory: MemoryOut | None = None


class IngestedOut(Sent):
    """What became of a text, chunk by chunk."""

    pieces: list[PieceOut]
    redactions: int


class ConsolidatedOut(Sent):
    """One thing that was made shorter."""

    what: str
    id: str
    sources: int
    by_model: bool


class BaseMemoryOut(Sent):
    """The living document about an owner."""

    content: str
    version: int
    valid_from: Instant
    valid_to: datetime | None = None
    sources: list[SourceOut]


class SessionOut(Sent):
    """One conversation."""

    id: str
    number: int = Field(description="The owner's own number for it, from 1.")
    started_at: Instant
    last_at: Instant
    messages: int
    ended_at: datetime | None = None


class CompressedOut(Sent):
    """A conversation after it was made shorter, or not."""

    history: list[dict[str, Any]]
    context: str
    fired: list[str]
    memories: list[MemoryOut]
    failed: bool


class TakenOut(Sent):
    """What an import has brought."""

    messages: int
    memories: int
    already: int
    unkeyed: list[str]
    redactions: int


class Changed(Sent):
    """Whose strength fell."""

    memories: list[str]
    count: int


class PurgedOut(ForgottenOut):
    """What is gone for good."""

    settled: bool = Field(description="Whether the store's own logs hold nothing of it either.")


class WithheldOut(Sent):
    """What waits for a review."""

    withheld: list[MemoryOut | MessageOut]


class ProfileOut(Sent):
    """A profile that an owner can have."""

    name: str
    told: str = Field(description="When to choose it.")
    kinds: list[str]


class ProfilesOut(Sent):
    """The owner's profile, and those there are."""

    profile: str
    profiles: list[ProfileOut]


class KindOut(Sent):
    """A kind of memory."""

    kind: str = Field(examples=["fact"])


class SwitchedOut(Sent):
    """What a change of profile does."""

    before: str
    after: str
    kinds: list[Annotated[list[str | int], Field(min_length=3, max_length=3)]] = Field(
        description="From which kind to which how many memories went.",
        examples=[[["fact", "fact", 3]]],
    )
    messages: int
    dry_run: bool


class BacklogOut(Sent):
    """What waits for a model."""

    waiting: int
    parked: int
    oldest: datetime | None = None
    stuck: list[str]


class SpentOut(Sent):
    """What was spent on calls of a model."""

    calls: int
    input_tokens: int
    output_tokens: int


class SpendingOut(Sent):
    """What models were asked, and what it cost."""

    since: Instant
    by_purpose: dict[str, SpentOut]
    total: SpentOut
    cost: float | None = None


class BaseMemoriesOut(Sent):
    """All versions of the base memory, oldest first."""

    versions: list[BaseMemoryOut]


class OwnersOut(Sent):
    """All who have something stored."""

    owners: list[str]


class ErasedOut(Sent):
    """Who was erased."""

    owner_id: str
    settled: bool = Field(description="Whether the store's own logs hold nothing of it either.")


class KeyVersionOut(Sent):
    """Which version of an owner's encryption key is in force."""

    version: int


class CountOut(Sent):
    """How many memories were changed."""

    count: int


class WorkedOut(Sent):
    """What was done for an owner."""

    owner_id: str
    work: Work
    done: int
    failed: int


class DrainedOut(Sent):
    """Whether the background has tried all that waits."""

    drained: bool
