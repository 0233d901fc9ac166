"""Deduplication of the standard profile."""

from datetime import UTC, datetime, timedelta

from memolith.domain.memories import Memory, State
from memolith.policies.merging import find_same_fact
from support.rows import check_each

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(
    id: str,
    *,
    key: str | None = None,
    state: State = State.ACTIVE,
    day: int = 0,
) -> Memory:
    at = START + timedelta(days=day)
    return Memory(
        id=id,
        owner_id="anna",
        kind="fact",
        content="I live in Oslo.",
        created_at=at,
        updated_at=at,
        key=key,
        state=state,
    )


def test_nothing_stored_is_restated_by_nothing() -> None:
    assert find_same_fact(None, []) is None


def test_the_oldest_is_restated() -> None:
    older, newer = memory("b", day=1), memory("a", day=2)
    assert find_same_fact(None, [newer, older]) is older


def test_of_the_same_age_the_first_id_is_restated() -> None:
    first, second = memory("a"), memory("b")
    assert find_same_fact(None, [second, first]) is first


@check_each("state", [state for state in State if state is not State.ACTIVE])
def test_only_an_active_memory_is_restated(state: State) -> None:
    assert find_same_fact(None, [memory("a", state=state)]) is None


@check_each(
    ("candidate", "stored", "decision"),
    [
        (None, None, "restate"),
        ("home", None, "restate"),
        ("home", "home", "restate"),
        ("home", "town", "insert"),
        (None, "home", "insert"),
    ],
)
def test_two_keys_are_two_memories(
    candidate: str | None, stored: str | None, decision: str
) -> None:
    found = find_same_fact(candidate, [memory("a", key=stored)])
    assert ("restate" if found else "insert") == decision
