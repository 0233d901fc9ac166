"""What the service answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memolith.domain.memories import Action, Origin, State
from memolith.domain.messages import Role
from memolith.domain.owners import WorkKind
from memolith.domain.recall import DropReason
from memolith.server.rest.requests import Id, Importance, Instant


class ResponseModel(BaseModel):
    """A part of an answer, read from the library's values."""

    model_config = ConfigDict(from_attributes=True)


class SourceOut(ResponseModel):
    """What a memory was made from."""

    id: Id
    record_type: Literal["message", "memory"]
    external_id: str | None = None


class MemoryOut(ResponseModel):
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
    previous_kind: str | None = None


class PageOut(ResponseModel):
    """A page of memories, newest first."""

    memories: list[MemoryOut]
    total: int = Field(description="How many match in all.")
    cursor: str | None = Field(None, description="For the next page; none on the last.")


class EventOut(ResponseModel):
    """One change."""

    record_id: Id
    action: Action
    at: Instant
    actor: str
    version: int
    details: dict[str, str]


class VersionOut(ResponseModel):
    """One version, and when it held."""

    memory: MemoryOut
    valid_from: Instant
    valid_to: datetime | None = None


class HistoryOut(ResponseModel):
    """How a memory came to be what it is, oldest first."""

    versions: list[VersionOut]
    events: list[EventOut]


class ForgetOut(ResponseModel):
    """What a forgetting has touched."""

    memories: list[str]
    messages: list[str]


class StatisticsOut(ResponseModel):
    """How much an owner has stored."""

    total_count: int
    with_embeddings: int
    avg_importance: float
    by_kind: dict[str, int]
    by_state: dict[str, int]
    messages: int
    sessions: int
    vectors: int
    vectors_pending: int = Field(
        description="Vectors that Chroma does not have yet, where it searches."
    )


class AuditExampleOut(ResponseModel):
    """A memory that is not worth keeping, and why."""

    id: str
    text: str
    reason: str
    duplicate_of: str | None = Field(description="The memory that it repeats.")
    similarity: float | None


class AuditCategoryOut(ResponseModel):
    """The memories of which one thing is true."""

    count: int
    rate: float
    ids: list[str]
    examples: list[AuditExampleOut]
    reasons: dict[str, int]


class AuditOut(ResponseModel):
    """How many memories are not worth keeping."""

    memories: int
    junk: int
    rate: float
    duplicates: AuditCategoryOut
    fragments: AuditCategoryOut
    filler: AuditCategoryOut
    echoes: AuditCategoryOut
    near: AuditCategoryOut | None = Field(description="Near in meaning to another; no junk.")
    compared: int


class MessageOut(ResponseModel):
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


class MessagesOut(ResponseModel):
    """The turns of a conversation, in order."""

    messages: list[MessageOut]


class LearnOut(ResponseModel):
    """What was taken in."""

    messages: list[MessageOut]
    memories: list[MemoryOut]
    duplicates_skipped: int
    redactions: int


class ScoreOut(ResponseModel):
    """Why something was found."""

    total: float
    similarity: float
    text: float
    strength: float
    freshness: float
    rerank: float | None = None
    parts: dict[str, float]


class SpanOut(ResponseModel):
    """A stretch of a text, in characters."""

    start: int
    end: int


class RecalledItemOut(ResponseModel):
    """One result: a memory, or a message as an episode."""

    id: Id
    kind: str
    text: str = Field(description="The stretch of its content to show.")
    record: MemoryOut | MessageOut
    score: ScoreOut
    passage: SpanOut
    tokens: int
    collapsed_ids: list[str]
    changed_later: bool
    suspicious: bool


class DroppedCandidateOut(ResponseModel):
    """A candidate that was not returned, and why."""

    id: Id
    reason: DropReason
    score: ScoreOut


class RecallTraceOut(ResponseModel):
    """How an answer came about."""

    dense_text: str = Field(description="What was embedded of the query.")
    terms: list[str] = Field(description="What was searched for by keyword.")
    candidates: int
    dropped: list[DroppedCandidateOut]
    seconds: dict[str, float]


class RecallOut(ResponseModel):
    """What was recalled, best first."""

    memories: list[RecalledItemOut]
    total_tokens: int
    token_budget: int
    budget_used: float
    relevance: float | None = Field(
        None,
        description="How likely it is that something in memory answers the query, 0..1; null "
        "where that is not known.",
    )
    likely_unanswerable: bool = Field(
        description="Whether that is so unlikely that it is better to say that there is no "
        "answer. Nothing is left out of the results for it."
    )
    trace: RecallTraceOut | None = Field(None, description="Where asked for.")


class ContextOut(ResponseModel):
    """Text for a prompt, and what stands in it."""

    text: str
    results: list[RecalledItemOut]
    tokens: int


class IngestedChunkOut(ResponseModel):
    """One chunk, and what became of it."""

    text: str
    tokens: int
    kind: str
    status: Literal["stored", "known", "dropped"]
    reason: str
    importance: float
    novelty: float | None = None
    salience: float | None = None
    memory: MemoryOut | None = None


class IngestOut(ResponseModel):
    """What became of a text, chunk by chunk."""

    chunks: list[IngestedChunkOut]
    redactions: int


class ConsolidationOut(ResponseModel):
    """One thing that was made shorter."""

    output: str
    id: str
    sources: int
    by_model: bool


class BaseMemoryOut(ResponseModel):
    """The living document about an owner."""

    content: str
    version: int
    valid_from: Instant
    valid_to: datetime | None = None
    sources: list[SourceOut]


class SessionOut(ResponseModel):
    """One conversation."""

    id: str
    number: int = Field(description="The owner's own number for it, from 1.")
    started_at: Instant
    last_at: Instant
    messages: int
    ended_at: datetime | None = None


class CompressOut(ResponseModel):
    """A conversation after it was made shorter, or not."""

    history: list[dict[str, Any]]
    context: str
    triggers: list[str]
    memories: list[MemoryOut]
    failed: bool


class ImportOut(ResponseModel):
    """What an import has brought."""

    messages: int
    memories: int
    duplicates_skipped: int
    keys_dropped: list[str]
    redactions: int


class DecayOut(ResponseModel):
    """Whose strength fell."""

    memories: list[str]
    count: int


class PurgeOut(ForgetOut):
    """What is gone for good."""

    compacted: bool = Field(description="Whether the store's own logs hold nothing of it either.")


class QuarantineOut(ResponseModel):
    """What waits for a review."""

    quarantined: list[MemoryOut | MessageOut]


class ProfileOut(ResponseModel):
    """A profile that an owner can have."""

    name: str
    description: str = Field(description="When to choose it.")
    kinds: list[str]


class ProfilesOut(ResponseModel):
    """The owner's profile, and those there are."""

    profile: str
    profiles: list[ProfileOut]


class KindOut(ResponseModel):
    """A kind of memory."""

    kind: str = Field(examples=["fact"])


class ProfileSwitchOut(ResponseModel):
    """What a change of profile does."""

    before: str
    after: str
    kinds: list[Annotated[list[str | int], Field(min_length=3, max_length=3)]] = Field(
        description="From which kind to which how many memories went.",
        examples=[[["fact", "fact", 3]]],
    )
    messages: int
    dry_run: bool


class PendingWorkOut(ResponseModel):
    """What waits for a model."""

    pending_messages: int
    dead_letters: int
    oldest_at: datetime | None = None
    failed_kinds: list[str]


class ModelUsageOut(ResponseModel):
    """What was spent on calls of a model."""

    calls: int
    input_tokens: int
    output_tokens: int


class UsageOut(ResponseModel):
    """What models were asked, and what it cost."""

    since: Instant
    by_purpose: dict[str, ModelUsageOut]
    total: ModelUsageOut
    cost: float | None = None


class BaseMemoriesOut(ResponseModel):
    """All versions of the base memory, oldest first."""

    versions: list[BaseMemoryOut]


class OwnersOut(ResponseModel):
    """All who have something stored."""

    owners: list[str]


class EraseOut(ResponseModel):
    """Who was erased."""

    owner_id: str
    compacted: bool = Field(description="Whether the store's own logs hold nothing of it either.")


class KeyVersionOut(ResponseModel):
    """Which version of an owner's encryption key is in force."""

    version: int


class CountOut(ResponseModel):
    """How many memories were changed."""

    count: int


class WorkOut(ResponseModel):
    """What was done for an owner."""

    owner_id: str
    work: WorkKind
    done: int
    failed: int


class DrainOut(ResponseModel):
    """Whether the background has tried all that waits."""

    drained: bool
