"""Every value of the library survives serialization from the service to its client."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith import errors
from memolith.client.protocol import decode, encode
from memolith.domain.memories import BaseMemory, History, Memory, Page
from memolith.domain.messages import Message, Role, Session
from memolith.domain.owners import PendingWork, Statistics
from memolith.domain.recall import RecallResult
from memolith.domain.records import Record
from memolith.domain.reports import Audit, IngestResult
from memolith.errors import InvalidInput, MemolithError
from memolith.import_export.problems import build_error, get_error_facts, get_problem_type
from memolith.server.problems import build_document, build_problem
from memolith.server.rest.responses import build_response_model
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
from support.rows import check_each

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(0, 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    bool: st.booleans(),
    int: st.integers(0, 2**53),
    float: st.floats(0, 1),
    datetime: st.datetimes(timezones=st.just(UTC)),
    type(None): st.none(),
    Any: JSON,
}
FIXED_FIELDS = {"role", "at", "learn"}
"""Fields that stored messages always have, or that are not stored."""

SENT_TYPES = (
    Memory,
    Message,
    Page,
    History,
    LearnResult,
    RecallResult,
    Context,
    IngestResult,
    Session,
    Statistics,
    BaseMemory,
    PendingWork,
    UsageReport,
    CompressionResult,
    ProfileSwitch,
    ImportResult,
    ForgetResult,
    PurgeResult,
    EraseResult,
    ConsolidationResult,
    WorkResult,
    ProfileInfo,
    Audit,
)


def values(of: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of an annotated type."""
    if of in PLAIN:
        return PLAIN[of]
    if of is Record:
        return values(Memory) | values(Message)
    if is_dataclass(of):
        return _build_dataclass(of)
    within = get_args(of)
    return _build_generic(of, within) if within else st.sampled_from(list(of))


def _build_generic(of: Any, within: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    origin = get_origin(of)
    if origin is Literal:
        return st.sampled_from(within)
    if origin in (Union, types.UnionType):
        return st.one_of([values(each) for each in within])
    if origin is not tuple:  # a mapping
        return st.dictionaries(TEXTS, values(within[1]), max_size=2)
    if within[-1] is Ellipsis:
        return st.lists(values(within[0]), max_size=2).map(tuple)
    return st.tuples(*map(values, within))


def _build_dataclass(of: Any) -> st.SearchStrategy[Any]:
    parts = {name: values(part) for name, part in get_type_hints(of).items()}
    if of is Message:
        parts = {name: each for name, each in parts.items() if name not in FIXED_FIELDS}
        parts |= {"role": st.sampled_from(Role), "at": PLAIN[datetime]}
    return st.builds(of, **parts)


@check_each("kind", SENT_TYPES)
def test_client_decodes_the_value_that_the_service_encoded(kind: type) -> None:
    @settings(max_examples=15)
    @given(values(kind))
    def same(value: Any) -> None:
        sent = build_response_model(kind).model_validate(value).model_dump(mode="json")
        assert decode(sent, kind) == value

    same()


@given(JSON)
def test_decoding_any_json_returns_a_value_or_a_known_error(sent: Any) -> None:
    for kind in SENT_TYPES:
        try:
            decode(sent, kind)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue


@check_each("value", [float("nan"), float("inf"), b"x", object()])
def test_values_without_a_json_form_are_rejected(value: object) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        encode({"within": [value]}, "importance")


ERRORS: list[MemolithError] = [
    errors.MemolithError("odd"),
    errors.InvalidInput("importance", "is 2; must be from 0 to 1"),
    errors.InvalidConfiguration("store", "is none", "memolith.toml:3"),
    errors.NotFound("memory", "019f2b6e"),
    errors.Forbidden("another"),
    errors.OwnerErased("alice"),
    errors.Conflict("it is active"),
    errors.Disabled(),
    errors.WrongEmbeddingModel("a (3)", "b (4)", is_changed=True),
    errors.KeyUnavailable("missing"),
    errors.StoreUnavailable("locked", 2.5),
    errors.StoreReadOnly("memory.db", "a read-only disk"),
    errors.StoreDamaged("no store"),
    errors.StoreTooNew(9, 3),
    errors.LibraryOnly("verify", "by hand"),
    errors.ServiceFailed("openai", "refused", status=401),
    errors.LimitReached("openai", "calls_per_hour", 5, 60.0),
]


def test_every_error_survives_the_response_unchanged() -> None:
    known = {each for each in vars(errors).values() if isinstance(each, type)}
    assert {type(each) for each in ERRORS} == known
    for error in ERRORS:
        problem = build_document(build_problem(error), "r1").model_dump(mode="json")
        again = build_error(problem["type"], problem["detail"], problem["facts"])
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_adapter_error_is_raised_as_its_public_base_class() -> None:
    class Odd(errors.NotFound):
        pass

    again = build_error(
        get_problem_type(Odd("memory", "1")), "no memory '1'", get_error_facts(Odd("memory", "1"))
    )
    assert type(again) is errors.NotFound
    assert build_error("about:blank", "", {}) is None
