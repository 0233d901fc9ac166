"""What fields are made of."""

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
"""Of a session, a tag, a key, a speaker."""

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]

Lifetime = Annotated[
    str, Field(pattern=r"^([1-9]\d{0,5}[dhm])?$", description="At most 365 days.", examples=["90d"])
]

_MAX_DEPTH = 100
"""Schemas of tools nest some twenty deep; from a thousand on JSON is not written. A guess."""


def _require_number(value: object) -> object:
    """Refuse what is no number, though it could be taken for one."""
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")  # noqa: TRY004 - what pydantic expects
    return value


def is_too_deep(value: object) -> bool:
    """Tell whether a value is nested deeper than anything that is worth reading."""
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
    """Refuse what can't be answered, as it can't be encoded: lone surrogates, endless depths."""
    if is_too_deep(value):
        raise ValueError("is nested too deep")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate") from None
    return value


Importance = Annotated[float, BeforeValidator(_require_number), Field(ge=0, le=1, examples=[0.8])]

Count = Annotated[int, BeforeValidator(_require_number)]

JsonObject = Annotated[dict[str, Any], AfterValidator(_require_encodable)]

Id = Annotated[
    str, Field(description="UUIDv7.", examples=[EXAMPLE_ID], json_schema_extra={"format": "uuid"})
]

Instant = Annotated[datetime, Field(examples=[EXAMPLE_INSTANT])]

Mode = Literal["hybrid", "vector", "keyword"]


# --- What the service is asked: bodies, each with an example


def _with_example(body: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [body]})


class RequestModel(BaseModel):
    """A body: what it does not know, it refuses."""

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
    kind: str | None = Field(None, description="One of the profile's kinds; none: by its cues.")
    importance: Importance | None = Field(None, description="None: by its cues.")
    key: Name | None = Field(None, description="Unique among active memories.", examples=["units"])
    tags: list[Name] = Field(default_factory=list, max_length=64, examples=[["style"]])
    expires_in: Lifetime = ""
    expires_at: datetime | None = None
    happened_at: datetime | None = None
    session: Name | None = None
    origin: Origin = Origin.USER


class MemoryChange(RequestModel):
    """What is to be changed of a memory; the rest stays."""

    model_config = _with_example(
        {"content": "Prefers metric units, and miles when driving", "importance": 0.9}
    )

    content: Text | None = Field(
        None, max_length=8_000, description="Another one is a new version."
    )
    kind: str | None = None
    importance: Importance | None = None
    key: Name | None = None
    tags: list[Name] | None = Field(None, max_length=64)
    expires_in: Lifetime = ""
    expires_at: datetime | None = None
    happened_at: datetime | None = None


class SupersedeRequest(RequestModel):
    """What takes a memory's place."""

    model_config = _with_example({"by": EXAMPLE_ID})

    by: Id


class NewMessage(RequestModel):
    """One turn of a conversation."""

    model_config = _with_example(
        {
            "content": "My name is Alice and I live in Oslo",
            "speaker": "Alice",
            "at": EXAMPLE_INSTANT,
        }
    )

    content: Text = Field(max_length=1_000_000, examples=["My name is Alice and I live in Oslo"])
    speaker: Name | None = Field(None, description="Their name, where there is one.")
    role: Role | None = Field(None, description="None: by the speaker's name, else the user.")
    at: datetime | None = Field(None, description="When it was said; none: now.")
    external_id: Name | None = Field(None, description="The same one is not logged twice.")
    learn: bool = Field(True, description="Whether it is learned from.")


class NewMessages(RequestModel):
    """Turns to log, in order."""

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
    """What the user said, and the reply."""

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
    action: str = Field("", description="IGNORE: logged, and never learned from.")
    is_truncated: bool = Field(False, description="Whether the reply broke off.")


class Query(RequestModel):
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

    model_config = _with_example(
        {"query": "Which units should I use?", "top_k": 5, "token_budget": 2000}
    )

    mode: Mode = "hybrid"
    include_compressed: bool = False
    trace: bool = Field(False, description="Whether to say how the answer came about.")


class ContextQuery(Query):
    """What is asked, and how things stand now."""

    model_config = _with_example({"query": "Which units should I use?", "token_budget": 1000})

    state: str = ""
    exclude: list[str] = Field(
        default_factory=list, max_length=10_000, description="Ids to leave out."
    )


class IngestRequest(RequestModel):
    """A long text to take in."""

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
    """What the base memory is to say."""

    model_config = _with_example({"content": "Alice lives in Oslo and prefers metric units."})

    content: Text = Field(max_length=20_000)


class CompressRequest(RequestModel):
    """A conversation to make shorter."""

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
    """One memory, by its id or by its key, or one message by its id."""

    model_config = _with_example({"key": "units"})

    id: Id | None = None
    key: Name | None = None


class ProfileRequest(RequestModel):
    """Which profile is to hold from now on."""

    model_config = _with_example({"name": "facts", "dry_run": True})

    name: Name
    dry_run: bool = Field(False, description="Only say what would change.")


class RollBackRequest(RequestModel):
    """Which version is to hold again."""

    model_config = _with_example({"version": 1})

    version: Count = Field(ge=1)


class CleanupRequest(RequestModel):
    """Which memories are to fade."""

    model_config = _with_example({"owner": "alice", "below": 0.1, "dry_run": True})

    owner: Name | None = Field(None, description="Whose; none: everybody's.")
    below: Importance | None = Field(None, description="None: as the profile says.")
    dry_run: bool = Field(False, description="Only count them.")


class OwnerRequest(RequestModel):
    """Whose memories are meant."""

    model_config = _with_example({"owner": "alice"})

    owner: Name | None = Field(None, description="None: everybody's.")


class DrainRequest(RequestModel):
    """For how long to wait."""

    model_config = _with_example({"timeout_s": 5})

    timeout_s: float = Field(10, ge=0, le=10)
