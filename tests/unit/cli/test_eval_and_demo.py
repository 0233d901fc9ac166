"""`memolith eval` and `memolith demo`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memolith.demo import load_conversation, load_facts

LINES: list[dict[str, Any]] = [
    {"type": "message", "conversation": "c1", "session": "s1", "id": "m1", "speaker": "Ann",
     "at": "2024-05-08T13:56:00Z", "text": "The spare key is under the blue pot"},
    {"type": "message", "conversation": "c1", "session": "s1", "id": "m2", "speaker": "Bob",
     "at": "2024-05-08T13:57:00Z", "text": "Good to know, thank you"},
    {"type": "question", "conversation": "c1", "text": "Where is the spare key?",
     "answer": "under the blue pot", "category": "place", "evidence": ["m1"]},
    {"type": "message", "conversation": "c2", "session": "s1", "id": "m1",
     "at": "2024-05-08T13:56:00Z", "text": "I have a cat"},
]  # fmt: skip


def write_data(lines: list[dict[str, Any]]) -> str:
    Path("data.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return "data.jsonl"


def test_eval_reports_measures_of_all_systems(memolith: Any) -> None:
    report = memolith.json("eval", "jsonl", write_data(LINES))
    assert list(report["systems"]) == ["memolith", "cosine", "bm25", "sum", "rrf"]
    for groups in report["systems"].values():
        assert groups["all"]["questions"] == 1
        assert groups["place"]["measures"]["recall@10"]["mean"] == 1.0
    assert report["about"]["data"] == "data.jsonl"


def test_no_baselines_option_evaluates_memolith_only(memolith: Any) -> None:
    report = memolith.json("eval", "jsonl", write_data(LINES), "--no-baselines")
    assert list(report["systems"]) == ["memolith"]


def test_tables_show_the_measures(memolith: Any) -> None:
    out = memolith.ok("eval", "jsonl", write_data(LINES), "--sample", "c1").out
    for part in ("memolith", "cosine", "R@10", "MRR", "100.0", "1 conversation"):
        assert part in out


def test_eval_without_file_is_a_usage_error(memolith: Any) -> None:
    assert memolith("eval", "locomo").code == 2


def test_eval_does_not_touch_the_users_store(memolith: Any) -> None:
    memolith.ok("eval", "jsonl", write_data(LINES), "--no-baselines", "--store", "mine.db")
    assert not Path("mine.db").exists()


def test_data_without_questions_is_a_usage_error(memolith: Any) -> None:
    answer = memolith("eval", "jsonl", write_data(LINES), "--sample", "c2")
    assert answer.code == 2
    assert "no question" in answer.err
    assert memolith("eval", "jsonl", write_data(LINES), "--samples", "0").code == 2


def test_demo_replays_a_conversation_and_explains_the_results(memolith: Any) -> None:
    out = memolith.ok("demo", "--questions", "2").out
    for part in (
        "Replaying a conversation of lena",
        "Replayed again: 0 records added",
        "similarity +",
        "</memory>",
    ):
        assert part in out
    assert "of 2 questions, one of the first five results" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_demo_prints_json_on_request(memolith: Any) -> None:
    answer = memolith.json("demo", "--questions", "3")
    assert len(answer["questions"]) == 3
    for asked in answer["questions"]:
        assert len(asked["result"]["memories"]) == 5
        assert asked["prompt"].startswith("<memory>")


def test_demo_does_not_touch_the_users_store(memolith: Any) -> None:
    memolith.ok("demo", "--questions", "0")
    assert memolith.json("stats")["messages"] == 0


def test_demo_writes_to_a_named_store(memolith: Any) -> None:
    memolith.ok("demo", "--questions", "0", "--store", "demo.db")
    assert memolith.json("stats", "--store", "demo.db", "--owner", "lena")["messages"] == 88


def test_demo_compares_all_profiles_on_one_conversation(memolith: Any) -> None:
    sides = memolith.json("demo", "--profiles")
    assert [side["profile"] for side in sides] == [
        "standard",
        "companion",
        "facts",
        "chunks",
        "tiers",
        "timeline",
    ]
    assert {side["messages"] for side in sides} == {88}
    assert all(len(side["answers"]) == 3 for side in sides)
    assert all(side["kept"] for side in sides)
    assert "Comparison" in memolith.ok("demo", "--profiles").out


def test_demo_with_model_learns_facts_through_the_real_client(memolith: Any) -> None:
    out = memolith.ok("demo", "--model", "--questions", "1").out
    for part in (
        "identity    Lena lives in Leipzig, in Südvorstadt.",
        "Replayed again: 0 records added.",
        "Expired:",
        "Quarantined without support in the conversation (see memolith review):",
        "    Lena runs for a club in Dresden.",
        "44 for extraction",
    ):
        assert part in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_missing_openai_client_error_names_the_extra(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    answer = memolith("demo", "--model")
    assert answer.code == 3
    assert "memolith[openai]" in answer.err
    assert memolith("demo", "--model", "--profiles").code == 2


def test_demo_facts_refer_to_existing_messages() -> None:
    known = load_facts()
    ids = {message.id for each in load_conversation().sessions for message in each.messages}
    contents = [fact.content for fact in known.facts]
    assert {fact.message for fact in known.facts} <= ids
    assert len(contents) == len(set(contents))
    assert {content for pair in known.changes for content in pair} <= set(contents)
