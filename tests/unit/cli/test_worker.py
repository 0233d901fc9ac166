"""`mnemon worker`, and what other commands say of what waits for a model."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from mnemon.testing.clock import SettableClock
from mnemon.testing.model_server import ModelServer, refused
from unit.cli.scripted import FACT, Model, fact

pytestmark = pytest.mark.usefixtures("server")

FACTS = ("--profile", "facts")
TOLD = ("I live in Oslo", "Nice.")


def learn(mnemon: Any, *said: str, owner: str = "tester") -> str:
    out: str = mnemon.ok("learn", *(said or TOLD), *FACTS, "--owner", owner).out
    return out


def test_learning_waits_for_the_worker_and_says_so(mnemon: Any, server: ModelServer) -> None:
    told = learn(mnemon)
    assert told == (
        "2 messages logged, 0 memories learned\n2 messages wait for the model: mnemon worker\n"
    )
    assert server.asked == ()
    assert mnemon.ok("worker", "--once").out.startswith("learn: 1 exchange of tester\n")
    assert FACT in mnemon.ok("list").out
    assert not any("work" in done for done in mnemon.json("worker", "--once"))


def test_without_a_model_nothing_waits(mnemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_CHAT__PROVIDER", "none")
    assert learn(mnemon) == "2 messages logged, 0 memories learned\n"
    assert mnemon.ok("worker", "status").out == "Nothing waits.\n"


def test_status_shows_what_waits_for_whom(mnemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "somebody with a very long name " * 8
    for owner in ("ann", "bob", long.strip()):
        learn(mnemon, owner=owner)
    mnemon.ok("remember", "Nothing to be learned", "--owner", "carol")
    told = mnemon.ok("worker", "status", "--all").out
    assert max(map(len, told.splitlines())) <= 100
    ann = next(line for line in told.splitlines() if line.startswith(" ann"))
    assert ann.split() == ["ann", "2", "0", "2026-03-01", "12:00"]
    assert "carol" not in told
    found = mnemon.json("worker", "status", "--all")
    assert [one["owner"] for one in found] == ["ann", "bob", "carol", long.strip()]
    assert found[0]["backlog"] == {
        "waiting": 2,
        "parked": 0,
        "oldest": "2026-03-01T12:00:00Z",
        "stuck": [],
    }
    monkeypatch.setenv("MNEMON_CHAT__PROVIDER", "none")
    answer = mnemon.ok("worker", "status", "--owner", "bob")
    assert answer.err == "mnemon: no language model is configured: what waits, waits for one\n"
    assert "ann" not in answer.out


def test_what_fails_too_often_is_parked_and_tried_again_on_request(
    mnemon: Any, model: Model, clock: SettableClock
) -> None:
    learn(mnemon)
    model.facts = refused(400)
    for _ in range(5):
        mnemon.ok("worker", "--once")
        clock.advance(timedelta(hours=2))
    assert mnemon.json("worker", "status")[0]["backlog"]["parked"] == 2
    answer = mnemon.ok("worker", "retry")
    assert answer.out == "What failed is tried again: 2 messages were parked\n"
    assert mnemon.json("worker", "retry", "--all") == {"owners": ["tester"], "parked": 0}
    assert mnemon.ok("worker", "retry").out == "What failed is tried again: nothing was parked\n"
    model.facts = None
    assert mnemon.json("worker", "--once")[0]["done"] == 1
    assert FACT in mnemon.ok("list").out


@pytest.mark.parametrize(
    "args", [("status", "--once"), ("status", "--all", "--owner", "ann"), ("begin",)]
)
def test_what_makes_no_sense_together_is_an_error(mnemon: Any, args: tuple[str, ...]) -> None:
    assert mnemon("worker", *args).code == 2


def test_what_nothing_said_supports_waits_for_a_review(mnemon: Any, model: Model) -> None:
    invented = "The user owns a castle in Spain."
    model.facts = {"facts": [fact(invented), fact(FACT)]}
    learn(mnemon)
    mnemon.ok("worker", "--once")
    assert invented not in mnemon.ok("list").out
    assert invented not in mnemon.ok("recall", invented).out
    told = mnemon.ok("review").out
    assert "unsupported" in told
    assert max(map(len, told.splitlines())) <= 100
    (waiting,) = mnemon.json("review")
    assert (waiting["content"], waiting["state"]) == (invented, "unsupported")
    assert mnemon.ok("review", waiting["id"], "--approve").out.startswith("Approved: ")
    assert invented in mnemon.ok("recall", invented).out


def test_stats_tell_calls_tokens_and_cost(
    mnemon: Any, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(mnemon)
    assert "tokens" not in mnemon.ok("stats").out
    mnemon.ok("worker", "--once")
    clock.advance(timedelta(hours=1))
    learn(mnemon, "I live in Oslo and I ski", "Good.")
    mnemon.ok("worker", "--once")
    usage = mnemon.json("stats")["usage"]
    hour, day = usage["hour"], usage["day"]
    assert (hour["since"], day["since"]) == ("2026-03-01T13:00:00Z", "2026-03-01T00:00:00Z")
    assert (hour["total"]["calls"], day["total"]["calls"]) == (1, 2)
    assert hour["cost"] is None
    monkeypatch.setenv("MNEMON_CHAT__INPUT_PRICE", "1000000")
    told = mnemon.ok("stats").out
    spent = day["by_purpose"]["extraction"]
    tokens = spent["input_tokens"] + spent["output_tokens"]
    row = next(line.split() for line in told.splitlines() if line.startswith(" extraction"))
    assert (row[0], row[1], row[3], row[4]) == ("extraction", "1", "2", f"{tokens:,}")
    assert f"{spent['input_tokens']:,}.0000" in told
    assert max(map(len, told.splitlines())) <= 100


def test_consolidating_says_what_was_made_and_takes_it_back(
    mnemon: Any, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMON_CHAT__PROVIDER", "none")
    assert mnemon.ok("consolidate").out == "Nothing has gathered that is due.\n"
    for number in range(4):
        said = f"On day {number} we paddled from Dessau to Grimma on the Mulde."
        mnemon.ok("learn", said, f"Day {number} sounds good.")
    clock.advance(timedelta(hours=25))
    (made,) = mnemon.json("consolidate", "--all")
    assert (made["what"], made["sources"], made["by_model"]) == ("summary", 8, False)
    undone = mnemon.ok("consolidate", "--undo", made["id"]).out
    assert undone == f"Taken back: {made['id']}; mnemon restore brings it back\n"
    assert mnemon("consolidate", "--undo", made["id"]).code == 4
    assert mnemon("consolidate", "--undo", "base-memory").code == 2
    assert mnemon("consolidate", "--all", "--undo", made["id"]).code == 2


def test_a_demo_asks_no_model(mnemon: Any, server: ModelServer) -> None:
    mnemon.ok("demo", "--questions", "0")
    assert json.loads(mnemon.ok("demo", "--questions", "0", "--json").out)["questions"] == []
    assert server.asked == ()
