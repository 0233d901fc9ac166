"""What goes over the wire: the names are those of the library's values."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from mnemon.domain.memories import Action, Origin, State
from mnemon.domain.messages import Role
from mnemon.domain.recall import DropReason
from mnemon.domain.work import Work

_ID = "019f2b6e-58a0-7c3e-9d51-2f6f0c1b7a10"
_AT = "2026-03-01T12:00:00Z"

_NO_CONTROL = "[^\\x00-\\x1f\\x7f-\\x9f]"
_NAME = rf"^{_NO_CONTROL}*[^\s\x00-\x1f\x7f-\x9f]{_NO_CONTROL}*$"

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=_NAME)]
"""Of a session, a tag, a key, a speaker."""
Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Lasting = Annotated[
    str, Field(pattern=r"^([1-9]\d{0,5}[dhm])?$", description="At most 365 days.", examples=["90d"])
]


def _number(value: object) -> object:
    """Refuse what is no number, though it could be taken for one."""
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")  # noqa: TRY004 - what pydantic expects
    return value


def _whole(value: Any) -> Any:
    """Refuse what can't be answered, as it can't be encoded: lone surrogates."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate") from None
    return value


Importance = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1, examples=[0.8])]
Count = Annotated[int, BeforeValidator(_number)]
Json = Annotated[dict[str, Any], AfterValidator(_whole)]
Id = Annotated[
    str, Field(description="UUIDv7.", examples=[_ID], json_schema_extra={"format": "uuid"})
]
Instant = Annotated[datetime, Field(examples=[_AT])]


def _example(body: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [body]})


class Given(BaseModel):
    """A body: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid")


class Sent(BaseModel):
    """A part of an answer, read from the library's values."""

    model_config = ConfigDict(from_attributes=True)


# --- memories -----------------------------------------------------------------------------------


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


class NewMemory(Given):
    """A memory to store."""

    model_config = _example(
        {
            "content": "Prefers metric units",
            "kind": "preference",
            "importance": 0.8,
            "key": "units",
            "tags": ["style"],
            "expires_in": "90d",
        }
    )

    content: Text = Field(max_length=8_000, examples=["Prefers metric units"])
    kind: str | None = Field(None, description="One of the profile's kinds; none: by its cues.")
    importance: Importance | None = Field(None, description="None: by its cues.")
    key: Name | None = Field(None, description="Unique among active memories.", examples=["units"])
    tags: list[Name] = Field(default_factory=list, max_length=64, examples=[["style"]])
    expires_in: Lasting = ""
    expires_at: datetime | None = None
    happened_at: datetime | None = None
    session: Name | None = None
    origin: Origin = Origin.USER


class MemoryChange(Given):
    """What is to be changed of a memory; the rest stays."""

    model_config = _example(
        {"content": "Prefers metric units, and miles when driving", "importance": 0.9}
    )

    content: Text | None = Field(
        None, max_length=8_000, description="Another one is a new version."
    )
    kind: str | None = None
    importance: Importance | None = None
    key: Name | None = None
    tags: list[Name] | None = Field(None, max_length=64)
    expires_in: Lasting = ""
    expires_at: datetime | None = None
    happened_at: datetime | None = None


class Superseding(Given):
    """What takes a memory's place."""

    model_config = _example({"by": _ID})

    by: Id


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


# --- messages -----------------------------------------------------------------------------------


class NewMessage(Given):
    """One turn of a conversation."""

    model_config = _example(
        {"content": "My name is Alice and I live in Oslo", "speaker": "Alice", "at": _AT}
    )

    content: Text = Field(max_length=1_000_000, examples=["My name is Alice and I live in Oslo"])
    speaker: Name | None = Field(None, description="Their name, where there is one.")
    role: Role | None = Field(None, description="None: by the speaker's name, else the user.")
    at: datetime | None = Field(None, description="When it was said; none: now.")
    external_id: Name | None = Field(None, description="The same one is not logged twice.")
    learn: bool = Field(True, description="Whether it is learned from.")


class NewMessages(Given):
    """Turns to log, in order."""

    model_config = _example(
        {
            "messages": [
                {
                    "content": "My name is Alice and I live in Oslo",
                    "speaker": "Alice",
                    "at": _AT,
                    "external_id": "D1:1",
                },
                {"content": "Nice to meet you!", "role": "assistant"},
            ]
        }
    )

    messages: list[NewMessage] = Field(max_length=10_000)


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


class Exchange(Given):
    """What the user said, and the reply."""

    model_config = _example(
        {
            "user": "My name is Alice and I live in Oslo",
            "assistant": "Nice to meet you!",
            "session": "s1",
        }
    )

    user: Text = Field(max_length=1_000_000, examples=["My name is Alice and I live in Oslo"])
    assistant: str | None = Field(None, examples=["Nice to meet you!"])
    session: Name = "default"
    at: datetime | None = None
    action: str = Field("", description="IGNORE: logged, and never learned from.")
    cut: bool = Field(False, description="Whether the reply broke off.")


class LearnedOut(Sent):
    """What was taken in."""

    messages: list[MessageOut]
    memories: list[MemoryOut]
    already: int
    redactions: int


# --- recall -------------------------------------------------------------------------------------

Mode = Literal["hybrid", "vector", "keyword"]


class Query(Given):
    """What is asked."""

    query: Text = Field(examples=["Which units should I use?"])
    token_budget: Count = Field(2000, ge=0)
    top_k: Count | None = Field(None, ge=0, description="Over 100 is cut to 100.")
    kinds: list[str] | None = None
    session: Name | None = None
    tags: list[Name] | None = Field(None, max_length=64)
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = Field(None, description="What was known then.")
    touch: bool = Field(True, description="Whether it counts as a use of what is found.")


class RecallQuery(Query):
    """What is asked, and how it is looked for."""

    model_config = _example(
        {"query": "Which units should I use?", "top_k": 5, "token_budget": 2000}
    )

    mode: Mode = "hybrid"
    include_compressed: bool = False
    trace: bool = Field(False, description="Whether to say how the answer came about.")


class ContextQuery(Query):
    """What is asked, and how things stand now."""

    model_config = _example({"query": "Which units should I use?", "token_budget": 1000})

    state: str = ""
    without: list[str] = Field(
        default_factory=list, max_length=10_000, description="Ids to leave out."
    )


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
    trace: TraceOut | None = Field(None, description="Where asked for.")


class ContextOut(Sent):
    """Text for a prompt, and what stands in it."""

    text: str
    results: list[RecalledOut]
    tokens: int


# --- the rest of the engine ---------------------------------------------------------------------


class NewText(Given):
    """A long text to take in."""

    model_config = _example(
        {
            "text": "The flat in Oslo is rented until May 2027. Rent is due on the first.",
            "source": "lease.txt",
            "tags": ["home"],
        }
    )

    text: Text = Field(max_length=1_000_000)
    kind: str | None = None
    session: Name | None = None
    origin: Origin = Origin.DOCUMENT
    source: Name | None = None
    tags: list[Name] = Field(default_factory=list, max_length=64)
    happened_at: datetime | None = None


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


class NewBaseMemory(Given):
    """What the base memory is to say."""

    model_config = _example({"content": "Alice lives in Oslo and prefers metric units."})

    content: Text = Field(max_length=20_000)


class SessionOut(Sent):
    """One conversation."""

    id: str
    number: int = Field(description="The owner's own number for it, from 1.")
    started_at: Instant
    last_at: Instant
    messages: int
    ended_at: datetime | None = None


class NewHistory(Given):
    """A conversation to make shorter."""

    model_config = _example(
        {
            "messages": [
                {"role": "user", "content": "I live in Oslo."},
                {"role": "assistant", "content": "Noted."},
            ],
            "context_window": 8192,
        }
    )

    messages: list[Json] = Field(max_length=10_000)
    context_window: Count | None = Field(None, ge=1)


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


class Named(Given):
    """One memory, by its id or by its key, or one message by its id."""

    model_config = _example({"key": "units"})

    id: Id | None = None
    key: Name | None = None


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


class NewProfile(Given):
    """Which profile is to hold from now on."""

    model_config = _example({"name": "facts", "dry_run": True})

    name: Name
    dry_run: bool = Field(False, description="Only say what would change.")


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


class RollBack(Given):
    """Which version is to hold again."""

    model_config = _example({"version": 1})

    version: Count = Field(ge=1)


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


class Fading(Given):
    """Which memories are to fade."""

    model_config = _example({"owner": "alice", "below": 0.1, "dry_run": True})

    owner: Name | None = Field(None, description="Whose; none: everybody's.")
    below: Importance | None = Field(None, description="None: as the profile says.")
    dry_run: bool = Field(False, description="Only count them.")


class Whose(Given):
    """Whose memories are meant."""

    model_config = _example({"owner": "alice"})

    owner: Name | None = Field(None, description="None: everybody's.")


class CountOut(Sent):
    """How many memories were changed."""

    count: int


class WorkedOut(Sent):
    """What was done for an owner."""

    owner_id: str
    work: Work
    done: int
    failed: int


class Waiting(Given):
    """For how long to wait."""

    model_config = _example({"timeout_s": 5})

    timeout_s: float = Field(10, ge=0, le=10)


class DrainedOut(Sent):
    """Whether the background has tried all that waits."""

    drained: bool
