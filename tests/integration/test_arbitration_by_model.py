"""A language model decides how a new memory changes a similar known one (profile `facts`)."""

from __future__ import annotations

from typing import Any

import pytest

from memolith import OwnerMemory
from memolith.demo.model_server import ReceivedRequest, Rule, error_answer, fenced_answer
from memolith.domain.memories import Origin, State
from memolith.testing.fakes import SettableClock
from support.scripted_learning import OWNER, START, remembering

KNOWN = "The user drinks green tea with honey from the valley each morning before work at home"
NEW = "The user drinks green tea with honey from the valley each evening before work at home"
BOTH = "The user drinks green tea with honey from the valley each morning and evening"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def verdict(operation: str, content: str = "") -> Rule:
    def rule(request: ReceivedRequest) -> Any:
        assert KNOWN in request.user
        assert NEW in request.user
        return {"reasoning": "…", "operation": operation, "content": content}

    return rule


def list_states(own: OwnerMemory) -> dict[str, State]:
    return {each.content: each.state for each in own.list(state="all").memories}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (verdict("ADD"), {KNOWN: State.ACTIVE, NEW: State.ACTIVE}),
        (verdict("UPDATE", BOTH), {BOTH: State.ACTIVE}),
        (verdict("DELETE"), {KNOWN: State.SUPERSEDED, NEW: State.ACTIVE}),
        (verdict("NOOP"), {KNOWN: State.ACTIVE}),
        (verdict("PERHAPS"), {KNOWN: State.ACTIVE, NEW: State.ACTIVE}),
        (verdict("UPDATE"), {KNOWN: State.ACTIVE, NEW: State.ACTIVE}),
        (lambda _asked: error_answer(400), {KNOWN: State.ACTIVE, NEW: State.ACTIVE}),
        (lambda _asked: error_answer(500), {KNOWN: State.ACTIVE, NEW: State.ACTIVE}),
        (
            lambda request: fenced_answer(verdict("DELETE")(request)),
            {KNOWN: State.SUPERSEDED, NEW: State.ACTIVE},
        ),
    ],
    ids=["add", "update", "delete", "noop", "unknown", "empty", "refused", "failed", "fenced"],
)
def test_model_verdict_is_applied_and_failure_keeps_both_memories(
    clock: SettableClock, rule: Rule, expected: dict[str, State]
) -> None:
    with remembering("facts", rule, clock) as (memory, server):
        own = memory.owner(OWNER)
        own.remember(KNOWN, kind="preference")
        own.remember(NEW, kind="preference")
        assert server.requests
        assert list_states(own) == expected


def test_less_trusted_memory_supersedes_nothing_despite_model_verdict(
    clock: SettableClock,
) -> None:
    with remembering("facts", verdict("DELETE"), clock) as (memory, _):
        own = memory.owner(OWNER)
        known = own.remember(KNOWN, kind="preference")
        own.remember(NEW, kind="contextual", origin=Origin.TOOL)
        assert list_states(own) == {KNOWN: State.ACTIVE, NEW: State.ACTIVE}
        assert own.get(known.id).version == 1


def test_identical_or_unrelated_memories_do_not_call_model(clock: SettableClock) -> None:
    with remembering("facts", verdict("DELETE"), clock) as (memory, server):
        own = memory.owner(OWNER)
        own.remember(KNOWN, kind="preference")
        own.remember(KNOWN, kind="preference")
        own.remember("The harbour freezes in January", kind="contextual")
        assert server.requests == ()
