"""`memolith consolidate`."""

from __future__ import annotations

from typing import Any

import pytest

NOTHING = "Nothing is due.\n"
SENTENCES = tuple(f"The kiln number {number} stands in Hall {number}." for number in range(12))


@pytest.fixture
def tiers(memolith: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program with profile `tiers`, low cascade thresholds and no model."""
    for name, value in {
        "PROFILE": "tiers",
        "TIERS__SHORT_TERM_THRESHOLD": "4",
        "TIERS__SHORT_TERM_KEEP": "2",
        "TIERS__LONG_TERM_THRESHOLD": "2",
        "TIERS__LONG_TERM_KEEP": "1",
    }.items():
        monkeypatch.setenv(f"MEMOLITH_{name}", value)
    return memolith


def learn(memolith: Any, *said: str, owner: str = "tester") -> None:
    for each in said:
        memolith.ok("learn", each, "--owner", owner)


def test_consolidate_reports_its_output_and_method(tiers: Any) -> None:
    assert tiers.ok("consolidate").out == NOTHING
    learn(tiers, *SENTENCES[:4])
    output = tiers.ok("consolidate").out
    assert output.startswith("summary ")
    assert output.endswith(": 2 sources, extractive\n")
    learn(tiers, *SENTENCES[4:6])
    (summary, base) = tiers.json("consolidate")
    assert (summary["output"], summary["sources"], summary["by_model"]) == ("summary", 2, False)
    assert (base["output"], base["id"], base["sources"]) == ("base memory", "1", 1)
    assert tiers.ok("consolidate").out == NOTHING
    assert tiers.json("consolidate") == []


def test_all_option_consolidates_every_owner(tiers: Any) -> None:
    for owner in ("ann", "bob"):
        learn(tiers, *SENTENCES[:4], owner=owner)
    assert tiers.ok("consolidate").out == NOTHING
    assert len(tiers.json("consolidate", "--all")) == 2


def test_summary_can_be_undone_and_restored(tiers: Any) -> None:
    learn(tiers, *SENTENCES[:4])
    (made,) = tiers.json("consolidate")
    output = tiers.ok("consolidate", "--undo", made["id"]).out
    assert output == f"Undone: {made['id']}; `memolith restore` reactivates it\n"
    assert tiers.ok("consolidate").out == NOTHING
    assert tiers("consolidate", "--undo", made["id"]).code != 0
    assert tiers.json("restore", made["id"])["state"] == "active"
    assert tiers.json("consolidate", "--undo", made["id"])["state"] == "superseded"


def test_undo_reverts_the_base_memory_by_one_version(tiers: Any) -> None:
    refused = tiers("consolidate", "--undo", "base-memory")
    assert refused.code == 2
    assert "no earlier version" in refused.err
    for said in (SENTENCES[:4], SENTENCES[4:6], SENTENCES[6:8]):
        learn(tiers, *said)
        tiers.ok("consolidate")
    output = tiers.ok("consolidate", "--undo", "base-memory").out
    assert output == "The base memory was rolled back to version 1\n"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--undo", "nothing"), "id"),
        (("--undo", "01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11"), "no summary"),
        (("--undo", "base-memory", "--all"), "combined with --all"),
    ],
)
def test_impossible_undo_is_rejected_with_the_reason(
    tiers: Any, args: tuple[str, ...], problem: str
) -> None:
    refused = tiers("consolidate", *args)
    assert refused.code != 0
    assert problem in refused.err
