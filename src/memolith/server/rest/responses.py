"""Response models, generated from the library's dataclasses.

A field of a dataclass is published under the same name. Properties are published only if
`_PROPERTIES` lists them.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from memolith.domain.memories import (
    BaseMemory,
    Event,
    History,
    Memory,
    Page,
    Source,
    Version,
)
from memolith.domain.messages import Message, Role, Session
from memolith.domain.owners import PendingWork, Statistics
from memolith.domain.recall import DroppedCandidate, RecalledItem, RecallResult, RecallTrace
from memolith.domain.records import Record
from memolith.domain.reports import Audit, AuditExample, IngestResult
from memolith.server.rest.requests import EXAMPLE_ID, EXAMPLE_INSTANT
from memolith.services.chat import UsageReport
from memolith.services.compress import CompressionResult
from memolith.services.context import Context
from memolith.services.inspect import ProfileInfo
from memolith.services.learn import LearnResult
from memolith.services.lifecycle import ForgetResult
from memolith.services.purge import EraseResult, PurgeResult
from memolith.services.summarise import ConsolidationResult
from memolith.services.switch_profile import ProfileSwitch
from memolith.services.transfer import ImportResult
from memolith.services.work import WorkResult

_OMITTED: Mapping[type, frozenset[str]] = {Message: frozenset({"learn"})}
"""Fields that are not published: arguments of a call, which are not stored."""

_PROPERTIES: Mapping[type, tuple[str, ...]] = {
    RecallResult: ("budget_used",),
    RecalledItem: ("id", "kind", "text"),
}
"""Properties that are published as fields."""

_KindChange = Annotated[list[str | int], Field(min_length=3, max_length=3)]
_TYPES: Mapping[tuple[type, str], Any] = {
    (Message, "role"): Role,
    (Message, "at"): datetime,
    (ProfileSwitch, "kinds"): list[_KindChange],
}
"""Types that differ from the dataclass: optional fields that are always set in a response, and a
tuple, which OpenAPI tools cannot read.
"""

_ID = Field(description="UUIDv7.", examples=[EXAMPLE_ID], json_schema_extra={"format": "uuid"})
_INSTANT = Field(examples=[EXAMPLE_INSTANT])
_COMPACTED = Field(description="Whether the store's own logs no longer contain the data.")

_FIELDS: Mapping[tuple[type, str], FieldInfo] = {
    (Memory, "id"): _ID,
    (Memory, "owner_id"): Field(examples=["alice"]),
    (Memory, "kind"): Field(examples=["preference"]),
    (Memory, "content"): Field(examples=["Prefers metric units"]),
    (Memory, "created_at"): _INSTANT,
    (Memory, "updated_at"): _INSTANT,
    (Memory, "key"): Field(examples=["units"]),
    (Memory, "tags"): Field(examples=[["style"]]),
    (Memory, "importance"): Field(ge=0, le=1, examples=[0.8]),
    (Message, "id"): _ID,
    (Message, "at"): _INSTANT,
    (Source, "id"): _ID,
    (Event, "record_id"): _ID,
    (Event, "at"): _INSTANT,
    (Version, "valid_from"): _INSTANT,
    (BaseMemory, "valid_from"): _INSTANT,
    (DroppedCandidate, "id"): _ID,
    (RecalledItem, "id"): _ID,
    (RecalledItem, "text"): Field(description="The relevant passage of the record's content."),
    (RecallTrace, "dense_text"): Field(description="The text that was embedded for the query."),
    (RecallTrace, "terms"): Field(description="The terms of the keyword search."),
    (RecallResult, "relevance"): Field(
        description="Probability that some result answers the query, 0 to 1; null if unknown."
    ),
    (RecallResult, "likely_unanswerable"): Field(
        description="Whether the results probably do not answer the query. Results are returned"
        " nevertheless."
    ),
    (RecallResult, "trace"): Field(description="Only if requested."),
    (Page, "total"): Field(description="Number of matching memories on all pages."),
    (Page, "cursor"): Field(description="Cursor of the next page; null on the last page."),
    (Statistics, "vectors_pending"): Field(
        description="Vectors not yet copied to the external vector index."
    ),
    (AuditExample, "duplicate_of"): Field(description="Id of the memory that it repeats."),
    (Audit, "near"): Field(description="Near-duplicates in meaning; not counted as junk."),
    (Session, "number"): Field(description="Number of the session within its owner, from 1."),
    (Session, "started_at"): _INSTANT,
    (Session, "last_at"): _INSTANT,
    (PurgeResult, "compacted"): _COMPACTED,
    (EraseResult, "compacted"): _COMPACTED,
    (ProfileInfo, "description"): Field(description="When to choose the profile."),
    (ProfileSwitch, "kinds"): Field(
        description="Old kind, new kind and number of memories.",
        examples=[[["fact", "fact", 3]]],
    ),
    (UsageReport, "since"): _INSTANT,
}
"""Formats, limits, examples and descriptions in the OpenAPI document."""


class ResponseModel(BaseModel):
    """Base of the response models; reads attributes of the library's values."""

    model_config = ConfigDict(from_attributes=True)


@cache
def build_response_model(cls: type) -> type[ResponseModel]:
    """Return the response model of a dataclass, named like it with "Out" in place of "Result"."""
    hints = get_type_hints(cls)
    omitted = _OMITTED.get(cls, frozenset())
    names = [each.name for each in fields(cls) if each.name not in omitted]
    published = {name: hints[name] for name in names}
    for name in _PROPERTIES.get(cls, ()):
        published[name] = get_type_hints(getattr(cls, name).fget)["return"]
    declared: dict[str, Any] = {
        name: (_annotate(cls, name, annotation), ...) for name, annotation in published.items()
    }
    summary = (cls.__doc__ or "").partition("\n")[0]
    return create_model(
        f"{cls.__name__.removesuffix('Result')}Out",
        __base__=ResponseModel,
        __doc__=summary,
        __module__=__name__,
        **declared,
    )


def _annotate(cls: type, name: str, annotation: Any) -> Any:
    published = _TYPES.get((cls, name)) or _convert_annotation(annotation)
    info = _FIELDS.get((cls, name))
    return published if info is None else Annotated[published, info]


def _convert_annotation(annotation: Any) -> Any:
    """Return an annotation with response models in place of dataclasses."""
    if annotation is Record:
        return Union[build_response_model(Memory), build_response_model(Message)]  # noqa: UP007
    if is_dataclass(annotation):
        return build_response_model(annotation)  # type: ignore[arg-type] # a class, not an instance
    arguments = tuple(map(_convert_annotation, get_args(annotation)))
    origin: Any = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return Union[arguments]  # noqa: UP007 - of types that are known at run time only
    if origin is Mapping:
        origin = dict
    return origin[arguments] if origin in (tuple, dict) else annotation


if TYPE_CHECKING:  # a type checker cannot see generated fields
    AuditOut = ResponseModel
    BaseMemoryOut = ResponseModel
    CompressionOut = ResponseModel
    ConsolidationOut = ResponseModel
    ContextOut = ResponseModel
    EraseOut = ResponseModel
    ForgetOut = ResponseModel
    HistoryOut = ResponseModel
    ImportOut = ResponseModel
    IngestOut = ResponseModel
    LearnOut = ResponseModel
    MemoryOut = ResponseModel
    MessageOut = ResponseModel
    PageOut = ResponseModel
    PendingWorkOut = ResponseModel
    ProfileInfoOut = ResponseModel
    ProfileSwitchOut = ResponseModel
    PurgeOut = ResponseModel
    RecallOut = ResponseModel
    SessionOut = ResponseModel
    StatisticsOut = ResponseModel
    UsageReportOut = ResponseModel
    WorkOut = ResponseModel
else:
    AuditOut = build_response_model(Audit)
    BaseMemoryOut = build_response_model(BaseMemory)
    CompressionOut = build_response_model(CompressionResult)
    ConsolidationOut = build_response_model(ConsolidationResult)
    ContextOut = build_response_model(Context)
    EraseOut = build_response_model(EraseResult)
    ForgetOut = build_response_model(ForgetResult)
    HistoryOut = build_response_model(History)
    ImportOut = build_response_model(ImportResult)
    IngestOut = build_response_model(IngestResult)
    LearnOut = build_response_model(LearnResult)
    MemoryOut = build_response_model(Memory)
    MessageOut = build_response_model(Message)
    PageOut = build_response_model(Page)
    PendingWorkOut = build_response_model(PendingWork)
    ProfileInfoOut = build_response_model(ProfileInfo)
    ProfileSwitchOut = build_response_model(ProfileSwitch)
    PurgeOut = build_response_model(PurgeResult)
    RecallOut = build_response_model(RecallResult)
    SessionOut = build_response_model(Session)
    StatisticsOut = build_response_model(Statistics)
    UsageReportOut = build_response_model(UsageReport)
    WorkOut = build_response_model(WorkResult)


# --- Responses without a dataclass


class MessagesOut(ResponseModel):
    """Messages of a session, in order."""

    messages: list[MessageOut]


class DecayOut(ResponseModel):
    """Memories whose strength decreased."""

    memories: list[str]
    count: int


class QuarantineOut(ResponseModel):
    """Quarantined memories and messages."""

    quarantined: list[MemoryOut | MessageOut]


class ProfilesOut(ResponseModel):
    """The owner's profile and the available profiles."""

    profile: str
    profiles: list[ProfileInfoOut]


class KindOut(ResponseModel):
    """A kind of memory."""

    kind: str = Field(examples=["fact"])


class BaseMemoriesOut(ResponseModel):
    """All versions of the base memory, oldest first."""

    versions: list[BaseMemoryOut]


class OwnersOut(ResponseModel):
    """The owners with stored data."""

    owners: list[str]


class KeyVersionOut(ResponseModel):
    """The current version of an owner's encryption key."""

    version: int


class CountOut(ResponseModel):
    """Number of memories changed."""

    count: int


class DrainOut(ResponseModel):
    """Whether the background work is done."""

    drained: bool
