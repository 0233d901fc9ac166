"""Deduplication of the standard profile."""

from datetime import UTC, datetime, timedelta

from memolith.domain.memories import Memory, State
from memolith.policies.merging import find_same_fact
from support.rows import check_each

START = datetime(2026, 1, 1, tzinfo=UTC)


def make_memory(
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


def test_no_stored_memories_give_no_match() -> None:
    assert find_same_fact(None, []) is None


def test_oldest_match_is_restated() -> None:
    older, newer = make_memory("b", day=1), make_memory("a", day=2)
    assert find_same_fact(None, [newer, older]) is older


def test_lowest_id_is_restated_among_equal_ages() -> None:
    first, second = make_memory("a"), make_memory("b")
    assert find_same_fact(None, [second, first]) is first


@check_each("state", [state for state in State if state is not State.ACTIVE])
def test_only_active_memory_is_restated(state: State) -> None:
    assert find_same_fact(None, [make_memory("a", state=state)]) is None


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
def test_memories_with_different_keys_are_distinct(
    candidate: str | None, stored: str | None, decision: str
) -> None:
    found = find_same_fact(candidate, [make_memory("a", key=stored)])
    assert ("restate" if found else "insert") == decision
