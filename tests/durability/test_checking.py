"""What these tests stand on: everything that is not as acknowledged is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.durability.store_checks import Tally, check
from support.durability.write_log import Begun, Differences, Done, Ledger, decode, encode
from support.stores import PLAIN, opened

A = "alice"


def told(**records: str) -> Ledger:
    """Return a ledger of records that were acknowledged."""
    ledger = Ledger()
    ledger.take(Begun("w", A, new=tuple(records.values())))
    ledger.take(Done("w", records))
    return ledger


def test_a_line_is_read_as_it_was_written() -> None:
    for line in (Begun("w", A, ("x",), {"1": "y"}, ("2",)), Done("w", {"1": "x"})):
        assert decode(encode(line)) == line


def test_a_record_that_is_missing_or_changed_is_lost() -> None:
    ledger = told(a="one", b="two")
    assert ledger.settle({A: {"a": "one", "b": "other"}}) == Differences(lost=[(A, "b")])
    assert ledger.settle({}).lost == [(A, "a"), (A, "b")]


def test_what_nobody_said_or_what_was_forgotten_is_unexpected() -> None:
    ledger = told(a="one")
    ledger.take(Begun("w", A, gone=("a",)))
    ledger.take(Done("w"))
    stored = {A: {"a": "one"}, "bob": {"z": "?"}}
    assert sorted(ledger.settle(stored).unexpected) == [(A, "a"), ("bob", "z")]


@pytest.mark.parametrize(
    ("begun", "before", "after"),
    [
        (Begun("w", A, new=("two", "three")), {"a": "one"}, {"a": "one", "b": "two", "c": "three"}),
        (Begun("w", A, rewritten={"a": "new"}), {"a": "one"}, {"a": "new"}),
        (Begun("w", A, gone=("a",)), {"a": "one"}, {}),
    ],
)
def test_a_call_that_was_cut_short_has_happened_or_not(
    begun: Begun, before: dict[str, str], after: dict[str, str]
) -> None:
    for stored in (before, after):
        ledger = told(a="one")
        ledger.take(begun)
        assert not ledger.settle({A: stored})
        assert not ledger.settle({A: stored})
        assert bool(ledger.settle({A: after if stored is before else before}))


@pytest.mark.parametrize(
    ("begun", "stored"),
    [
        (Begun("w", A, new=("three", "four")), {"a": "one", "b": "two", "c": "three"}),
        (Begun("w", A, gone=("a", "b")), {"a": "one"}),
    ],
)
def test_a_call_that_has_happened_in_half_is_told(begun: Begun, stored: dict[str, str]) -> None:
    ledger = told(a="one", b="two")
    ledger.take(begun)
    assert ledger.settle({A: stored})


def test_a_store_that_misses_a_memory_or_a_way_to_it_fails_the_check(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db", PLAIN) as memory:
        id_ = memory.remember("The bicycle is green", owner=A).id
        check(memory, told(**{id_: "The bicycle is green"}), Tally())
        tally = Tally()
        with pytest.raises(AssertionError):
            check(memory, told(**{id_: "The bicycle is green", "other": "More"}), tally)
        assert tally.lost == 1
        with memory._app.store._connections.write() as connection:  # type: ignore[attr-defined]
            connection.run("DELETE FROM terms")
            connection.run("COMMIT")
        with pytest.raises(AssertionError):
            check(memory, told(**{id_: "The bicycle is green"}), tally)
        assert tally.findings
