"""Tests of the durability checks: every deviation from the acknowledged writes is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.durability.store_checks import Tally, check
from support.durability.write_log import Begun, Differences, Done, Ledger, decode, encode
from support.stores import PLAIN, opened

A = "alice"


def build_ledger(**records: str) -> Ledger:
    """Return a ledger of acknowledged records."""
    ledger = Ledger()
    ledger.take(Begun("w", A, new=tuple(records.values())))
    ledger.take(Done("w", records))
    return ledger


def test_line_survives_encoding_and_decoding() -> None:
    for line in (Begun("w", A, ("x",), {"1": "y"}, ("2",)), Done("w", {"1": "x"})):
        assert decode(encode(line)) == line


def test_missing_or_changed_record_is_lost() -> None:
    ledger = build_ledger(a="one", b="two")
    assert ledger.settle({A: {"a": "one", "b": "other"}}) == Differences(lost=[(A, "b")])
    assert ledger.settle({}).lost == [(A, "a"), (A, "b")]


def test_unknown_or_forgotten_record_is_unexpected() -> None:
    ledger = build_ledger(a="one")
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
def test_interrupted_call_may_be_stored_or_absent(
    begun: Begun, before: dict[str, str], after: dict[str, str]
) -> None:
    for stored in (before, after):
        ledger = build_ledger(a="one")
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
def test_partially_stored_call_is_reported(begun: Begun, stored: dict[str, str]) -> None:
    ledger = build_ledger(a="one", b="two")
    ledger.take(begun)
    assert ledger.settle({A: stored})


def test_store_without_a_memory_or_its_terms_fails_the_check(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db", PLAIN) as memory:
        id_ = memory.remember("The bicycle is green", owner=A).id
        check(memory, build_ledger(**{id_: "The bicycle is green"}), Tally())
        tally = Tally()
        with pytest.raises(AssertionError):
            check(memory, build_ledger(**{id_: "The bicycle is green", "other": "More"}), tally)
        assert tally.lost == 1
        with memory._app.store._connections.write() as connection:  # type: ignore[attr-defined]
            connection.run("DELETE FROM terms")
            connection.run("COMMIT")
        with pytest.raises(AssertionError):
            check(memory, build_ledger(**{id_: "The bicycle is green"}), tally)
        assert tally.findings
