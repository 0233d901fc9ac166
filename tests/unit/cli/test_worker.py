"""`memolith worker`, and how other commands report work that is pending for a model."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from memolith.demo.model_server import ModelServer, error_answer
from memolith.testing.fakes import SettableClock
from support.scripted_chat import FACT, Model, fact

pytestmark = pytest.mark.usefixtures("server")

FACTS = ("--profile", "facts")
EXCHANGE = ("I live in Oslo", "Nice.")


def learn(memolith: Any, *said: str, owner: str = "tester") -> str:
    out: str = memolith.ok("learn", *(said or EXCHANGE), *FACTS, "--owner", owner).out
    return out


def test_learn_defers_extraction_to_the_worker_and_reports_it(
    memolith: Any, server: ModelServer
) -> None:
    output = learn(memolith)
    assert output == (
        "2 messages logged, 0 memories learned\n2 messages pending for `memolith worker`\n"
    )
    assert server.requests == ()
    assert memolith.ok("worker", "--once").out.startswith("learn: 1 exchange of tester\n")
    assert FACT in memolith.ok("list").out
    assert not any("work" in done for done in memolith.json("worker", "--once"))


def test_no_work_is_pending_without_a_model(memolith: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOLITH_CHAT__PROVIDER", "none")
    assert learn(memolith) == "2 messages logged, 0 memories learned\n"
    assert memolith.ok("worker", "status").out == "No pending work.\n"


def test_status_shows_pending_work_of_each_owner(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "somebody with a very long name " * 8
    for owner in ("ann", "bob", long.strip()):
        learn(memolith, owner=owner)
    memolith.ok("remember", "Nothing to be learned", "--owner", "carol")
    output = memolith.ok("worker", "status", "--all").out
    assert max(map(len, output.splitlines())) <= 100
    ann = next(line for line in output.splitlines() if line.startswith(" ann"))
    assert ann.split() == ["ann", "2", "0", "2026-03-01", "12:00"]
    assert "carol" not in output
    found = memolith.json("worker", "status", "--all")
    assert [one["owner"] for one in found] == ["ann", "bob", "carol", long.strip()]
    assert found[0]["backlog"] == {
        "pending_messages": 2,
        "dead_letters": 0,
        "oldest_at": "2026-03-01T12:00:00Z",
        "failed_kinds": [],
    }
    monkeypatch.setenv("MEMOLITH_CHAT__PROVIDER", "none")
    answer = memolith.ok("worker", "status", "--owner", "bob")
    assert answer.err == "memolith: no language model is configured; messages stay pending\n"
    assert "ann" not in answer.out


def test_repeated_failures_become_dead_letters_that_retry_requeues(
    memolith: Any, model: Model, clock: SettableClock
) -> None:
    learn(memolith)
    model.facts = error_answer(400)
    for _ in range(5):
        memolith.ok("worker", "--once")
        clock.advance(timedelta(hours=2))
    assert memolith.json("worker", "status")[0]["backlog"]["dead_letters"] == 2
    answer = memolith.ok("worker", "retry")
    assert answer.out == "Failed work will be retried, including 2 dead letters\n"
    assert memolith.json("worker", "retry", "--all") == {"owners": ["tester"], "dead_letters": 0}
    again = memolith.ok("worker", "retry").out
    assert again == "Failed work will be retried; there are no dead letters\n"
    model.facts = None
    assert memolith.json("worker", "--once")[0]["done"] == 1
    assert FACT in memolith.ok("list").out


@pytest.mark.parametrize(
    "args", [("status", "--once"), ("status", "--all", "--owner", "ann"), ("begin",)]
)
def test_invalid_argument_combination_is_a_usage_error(
    memolith: Any, args: tuple[str, ...]
) -> None:
    assert memolith("worker", *args).code == 2


def test_unsupported_fact_is_quarantined_for_review(memolith: Any, model: Model) -> None:
    invented = "The user owns a castle in Spain."
    model.facts = {"facts": [fact(invented), fact(FACT)]}
    learn(memolith)
    memolith.ok("worker", "--once")
    assert invented not in memolith.ok("list").out
    assert invented not in memolith.ok("recall", invented).out
    output = memolith.ok("review").out
    assert "unsupported" in output
    assert max(map(len, output.splitlines())) <= 100
    (waiting,) = memolith.json("review")
    assert (waiting["content"], waiting["state"]) == (invented, "unsupported")
    assert memolith.ok("review", waiting["id"], "--approve").out.startswith("Approved: ")
    assert invented in memolith.ok("recall", invented).out


def test_stats_report_calls_tokens_and_cost(
    memolith: Any, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(memolith)
    assert "tokens" not in memolith.ok("stats").out
    memolith.ok("worker", "--once")
    clock.advance(timedelta(hours=1))
    learn(memolith, "I live in Oslo and I ski", "Good.")
    memolith.ok("worker", "--once")
    usage = memolith.json("stats")["usage"]
    hour, day = usage["hour"], usage["day"]
    assert (hour["since"], day["since"]) == ("2026-03-01T13:00:00Z", "2026-03-01T00:00:00Z")
    assert (hour["total"]["calls"], day["total"]["calls"]) == (1, 2)
    assert hour["cost"] is None
    monkeypatch.setenv("MEMOLITH_CHAT__INPUT_PRICE", "1000000")
    output = memolith.ok("stats").out
    spent = day["by_purpose"]["extraction"]
    tokens = spent["input_tokens"] + spent["output_tokens"]
    row = next(line.split() for line in output.splitlines() if line.startswith(" extraction"))
    assert (row[0], row[1], row[3], row[4]) == ("extraction", "1", "2", f"{tokens:,}")
    assert f"{spent['input_tokens']:,}.0000" in output
    assert max(map(len, output.splitlines())) <= 100


def test_consolidate_reports_a_summary_and_can_undo_it(
    memolith: Any, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_CHAT__PROVIDER", "none")
    assert memolith.ok("consolidate").out == "Nothing is due.\n"
    for number in range(4):
        said = f"On day {number} we paddled from Dessau to Grimma on the Mulde."
        memolith.ok("learn", said, f"Day {number} sounds good.")
    clock.advance(timedelta(hours=25))
    (made,) = memolith.json("consolidate", "--all")
    assert (made["output"], made["sources"], made["by_model"]) == ("summary", 8, False)
    undone = memolith.ok("consolidate", "--undo", made["id"]).out
    assert undone == f"Undone: {made['id']}; `memolith restore` reactivates it\n"
    assert memolith("consolidate", "--undo", made["id"]).code == 4
    assert memolith("consolidate", "--undo", "base-memory").code == 2
    assert memolith("consolidate", "--all", "--undo", made["id"]).code == 2


def test_demo_calls_no_model(memolith: Any, server: ModelServer) -> None:
    memolith.ok("demo", "--questions", "0")
    assert json.loads(memolith.ok("demo", "--questions", "0", "--json").out)["questions"] == []
    assert server.requests == ()
