"""Request models of the REST API."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memolith.domain.memories import Origin
from memolith.domain.messages import Role

EXAMPLE_ID = "019f2b6e-58a0-7c3e-9d51-2f6f0c1b7a10"
EXAMPLE_INSTANT = "2026-03-01T12:00:00Z"

_NO_CONTROL = "[^\\x00-\\x1f\\x7f-\\x9f]"
_NAME = rf"^{_NO_CONTROL}*[^\s\x00-\x1f\x7f-\x9f]{_NO_CONTROL}*$"

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=_NAME)]
"""Name of a session, tag, key or speaker."""

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]

Lifetime = Annotated[
    str, Field(pattern=r"^([1-9]\d{0,5}[dhm])?$", description="At most 365 days.", examples=["90d"])
]

_MAX_DEPTH = 100
"""Maximum nesting depth. A guess: tool schemas nest some twenty levels; JSON encoders fail at a
thousand."""


def _require_number(value: object) -> object:
    """Reject booleans and strings, which pydantic would convert to numbers."""
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic expects a ValueError
    return value


def is_too_deep(value: object) -> bool:
    """Return whether a value exceeds the maximum nesting depth."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _require_encodable(value: Any) -> Any:
    """Reject values that a response could not encode: lone surrogates and deep nesting."""
    if is_too_deep(value):
        raise ValueError("is nested too deeply")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("contains a lone surrogate") from None
    return value


Importance = Annotated[float, BeforeValidator(_require_number), Field(ge=0, le=1, examples=[0.8])]

Count = Annotated[int, BeforeValidator(_require_number)]

JsonObject = Annotated[dict[str, Any], AfterValidator(_require_encodable)]

Id = Annotated[
    str, Field(description="UUIDv7.", examples=[EXAMPLE_ID], json_schema_extra={"format": "uuid"})
]

Instant = Annotated[datetime, Field(examples=[EXAMPLE_INSTANT])]

Mode = Literal["hybrid", "vector", "keyword"]


# --- Request bodies, each with an example


def _with_example(body: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [body]})


class RequestModel(BaseModel):
    """Base of the request models; rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


class NewMemory(RequestModel):
    """A memory to store."""

    model_config = _with_example(
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
    kind: str | None = Field(
        None, description="One of the profile's kinds; default: classified by its text."
    )
    importance: Importance | None = Field(None, description="Default: estimated from the text.")
    key: Name | None = Field(None, description="Unique among active memories.", examples=["units"])
    tags: list[Name] = Field(default_factory=list, max_length=64, examples=[["style"]])
    expires_in: Lifetime = ""
    expires_at: datetime | None = None
    happened_at: datetime | None = None
    session: Name | None = None
    origin: Origin = Origin.USER


class MemoryChange(RequestModel):
    """Changes of a memory; omitted fields stay unchanged."""

    model_config = _with_example(
        {"content": "Prefers metric units, and miles when driving", "importance": 0.9}
    )

    content: Text | None = Field(
        None, max_length=8_000, description="New content creates a new version."
    )
    kind: str | None = None
    importance: Importance | None = None
    key: Name | None = None
    tags: list[Name] | None = Field(None, max_length=64)
    expires_in: Lifetime = ""
    expires_at: datetime | None = None
    happened_at: datetime | None = None


class SupersedeRequest(RequestModel):
    """The memory that supersedes another."""

    model_config = _with_example({"by": EXAMPLE_ID})

    by: Id


class NewMessage(RequestModel):
    """A message of a conversation."""

    model_config = _with_example(
        {
            "content": "My name is Alice and I live in Oslo",
            "speaker": "Alice",
            "at": EXAMPLE_INSTANT,
        }
    )

    content: Text = Field(max_length=1_000_000, examples=["My name is Alice and I live in Oslo"])
    speaker: Name | None = Field(None, description="Name of the speaker.")
    role: Role | None = Field(
        None, description="Default: derived from the speaker's name, otherwise user."
    )
    at: datetime | None = Field(None, description="Time of the message; default: now.")
    external_id: Name | None = Field(
        None, description="Messages with a known external id are skipped."
    )
    learn: bool = Field(True, description="Whether to learn from the message.")


class NewMessages(RequestModel):
    """Messages to log, in order."""

    model_config = _with_example(
        {
            "messages": [
                {
                    "content": "My name is Alice and I live in Oslo",
                    "speaker": "Alice",
                    "at": EXAMPLE_INSTANT,
                    "external_id": "D1:1",
                },
                {"content": "Nice to meet you!", "role": "assistant"},
            ]
        }
    )

    messages: list[NewMessage] = Field(max_length=10_000)


class Exchange(RequestModel):
    """A user message and the reply."""

    model_config = _with_example(
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
    action: str = Field("", description="With IGNORE, the exchange is logged but not learned from.")
    is_truncated: bool = Field(False, description="Whether the reply is incomplete.")


class Query(RequestModel):
    """Fields of all queries."""

    query: Text = Field(examples=["Which units should I use?"])
    token_budget: Count = Field(2000, ge=0)
    top_k: Count | None = Field(None, ge=0, description="At most 100.")
    kinds: list[str] | None = None
    session: Name | None = None
    tags: list[Name] | None = Field(None, max_length=64)
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = Field(None, description="Search the state of knowledge at this time.")
    touch: bool = Field(True, description="Whether to count the results as accessed.")


class RecallQuery(Query):
    """A recall query."""

    model_config = _with_example(
        {"query": "Which units should I use?", "top_k": 5, "token_budget": 2000}
    )

    mode: Mode = "hybrid"
    include_compressed: bool = False
    trace: bool = Field(False, description="Whether to return a trace of the search.")


class ContextQuery(Query):
    """A query for prompt text, with the current state."""

    model_config = _with_example({"query": "Which units should I use?", "token_budget": 1000})

    state: str = ""
    exclude: list[str] = Field(
        default_factory=list, max_length=10_000, description="Ids of records to exclude."
    )


class IngestRequest(RequestModel):
    """A long text to ingest."""

    model_config = _with_example(
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


class NewBaseMemory(RequestModel):
    """New content of the base memory."""

    model_config = _with_example({"content": "Alice lives in Oslo and prefers metric units."})

    content: Text = Field(max_length=20_000)


class CompressRequest(RequestModel):
    """A chat history to compress."""

    model_config = _with_example(
        {
            "messages": [
                {"role": "user", "content": "I live in Oslo."},
                {"role": "assistant", "content": "Noted."},
            ],
            "context_window": 8192,
        }
    )

    messages: list[JsonObject] = Field(max_length=10_000)
    context_window: Count | None = Field(None, ge=1)


class RecordReference(RequestModel):
    """A memory, by id or key, or a message, by id."""

    model_config = _with_example({"key": "units"})

    id: Id | None = None
    key: Name | None = None


class ProfileRequest(RequestModel):
    """The profile to switch to."""

    model_config = _with_example({"name": "facts", "dry_run": True})

    name: Name
    dry_run: bool = Field(False, description="Return the changes without applying them.")


class RollBackRequest(RequestModel):
    """The version to restore."""

    model_config = _with_example({"version": 1})

    version: Count = Field(ge=1)


class CleanupRequest(RequestModel):
    """Criteria of memories to fade."""

    model_config = _with_example({"owner": "alice", "below": 0.1, "dry_run": True})

    owner: Name | None = Field(None, description="Owner; all owners if omitted.")
    below: Importance | None = Field(
        None, description="Strength limit; default: that of the profile."
    )
    dry_run: bool = Field(False, description="Count the memories without fading them.")


class OwnerRequest(RequestModel):
    """An owner, or all owners."""

    model_config = _with_example({"owner": "alice"})

    owner: Name | None = Field(None, description="None: everybody's.")


class DrainRequest(RequestModel):
    """Maximum time to wait."""

    model_config = _with_example({"timeout_s": 5})

    timeout_s: float = Field(10, ge=0, le=10)
