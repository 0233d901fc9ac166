"""The benchmarks run and print their results on minimal data; speed is not checked.

Benchmarks of other products are not run: each needs its own environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpora.changes import load_changes
from memolith.errors import InvalidInput
from support.processes import environment

PROGRAMS = Path(__file__).parents[2] / "benchmarks"
SUBJECTS = ("kayak", "violin", "garden", "bakery")

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a benchmark in a temporary folder and returns its output."""

    def run(name: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(PROGRAMS / f"{name}.py"), *arguments],
            env={**environment(), "TMPDIR": str(tmp_path), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def locomo_conversation(number: int, subject: str) -> dict[str, Any]:
    """Return a conversation in LoCoMo's format."""
    turns = [f"I have a {subject} now, my {place} one." for place in ("first", "second", "third")]
    turns += ["The weather was fine.", "We had soup."]
    return {
        "sample_id": f"conv-{number}",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Tom",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": ("Ines", "Tom")[at % 2], "dia_id": f"D1:{at}", "text": text}
                for at, text in enumerate(turns)
            ],
        },
        "qa": [
            {
                "question": f"What did Ines say about the {subject}?",
                "answer": subject,
                "evidence": ["D1:0"],
                "category": 1,
            },
            {
                "question": f"Has Tom a {subject}?",
                "answer": "yes",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {
                "question": "Who was ill?",
                "adversarial_answer": "Tom",
                "evidence": ["D1:4"],
                "category": 5,
            },
        ],
    }


def beam_conversation(number: int, subject: str) -> dict[str, Any]:
    """Return a conversation in BEAM's format."""
    texts = [f"Tell me of the {subject}.", f"A {subject} is fine.", "Thank you.", "With pleasure."]
    return {
        "id": f"100K/{number}",
        "messages": [
            {
                "id": at,
                "batch": 1,
                "role": ("user", "assistant")[at % 2],
                "time_anchor": "March-15-2024",
                "content": text,
            }
            for at, text in enumerate(texts)
        ],
        "questions": [
            {
                "type": "information_extraction",
                "question": f"What is a {subject}?",
                "answer": "fine",
                "evidence": [1],
            },
            {"type": "abstention", "question": "Why?", "answer": "No", "evidence": []},
        ],
    }


@pytest.fixture
def data_sets(tmp_path: Path) -> list[str]:
    """Return arguments for two small data sets and a folder for their vectors."""
    arguments = ["--cache", str(tmp_path / "vectors")]
    for name, build in (("locomo", locomo_conversation), ("beam", beam_conversation)):
        path = tmp_path / f"{name}.json"
        path.write_text(
            json.dumps([build(*each) for each in enumerate(SUBJECTS)]), encoding="utf-8"
        )
        arguments += [f"--{name}", str(path)]
    return arguments


def test_recall_benchmark_compares_all_systems(run: Run, data_sets: list[str]) -> None:
    printed = run("recall", *data_sets)
    for system in ("cosine", "bm25", "companion's formula", "standard, cross-validated"):
        assert printed.lower().count(system) >= 2, system


@pytest.mark.parametrize(
    ("option", "expected"),
    [("--ablation", "words_around"), ("--context", "2,000"), ("--nothing", "precision")],
)
def test_recall_benchmark_runs_each_analysis(
    run: Run, data_sets: list[str], option: str, expected: str
) -> None:
    assert expected in run("recall", *data_sets, option)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("recall", "100 memories"),
        ("writes", "remember, at 100"),
        pytest.param("stages", "100 memories", marks=pytest.mark.soak),
        pytest.param("vectors", "by the model", marks=pytest.mark.soak),
        pytest.param("memory", "100 messages", marks=pytest.mark.soak),
        pytest.param("imports", "local model", marks=pytest.mark.soak),
        pytest.param("start", "first recall", marks=pytest.mark.soak),
        pytest.param("disk", "memories", marks=pytest.mark.soak),
        pytest.param("encryption", "recall", marks=pytest.mark.soak),
    ],
)
def test_speed_benchmark_measures_each_part(run: Run, part: str, expected: str) -> None:
    assert expected in run("speed", part, "--sizes", "100")


def test_scale_benchmark_fills_and_queries_store(run: Run) -> None:
    printed = run("scale", "--memories", "400", "--owners", "4", "--one", "200")
    assert "400 of " in printed
    assert "200 of 1" in printed


def test_store_benchmark_measures_durable_writes(run: Run) -> None:
    assert "single durable writes/s" in run("store", "--sizes", "200")


def test_vectors_benchmark_compares_search_engines(run: Run) -> None:
    printed = run("vectors", "--sizes", "200")
    assert "sqlite-vec" in printed
    assert "chroma" in printed


def test_service_benchmark_calls_recall_and_chat(run: Run) -> None:
    calls = ("--calls", "recall", "chat", "--clients", "1", "--seconds", "1", "--messages", "20")
    printed = run("service", "--database", "sqlite", *calls)
    assert "recall" in printed
    assert "chat" in printed


@pytest.mark.soak
def test_ingest_benchmark_stores_long_texts(run: Run) -> None:
    printed = run("ingesting", "ingest", "--megabytes", "1", "--embedders", "stub")
    assert "standard" in printed
    assert "chunks" in printed


@pytest.mark.soak
def test_learning_benchmark_learns_with_stub_model(run: Run) -> None:
    assert "stub" in run("learning", "--exchanges", "8", "--embedders", "stub")


@pytest.mark.soak
def test_embedder_benchmark_measures_startup(run: Run) -> None:
    assert "first vector" in run("embedder", "start")


def test_changes_benchmark_scores_labelled_pairs_and_file(run: Run, tmp_path: Path) -> None:
    assert json.loads(run("changes", "--json"))["changed"]["precision"] == 1.0
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        '{"old": "I live in Oslo.", "new": "I live in Bergen.", "label": "changed"}\n'
        '{"old": "I like tea.", "new": "I prefer juice.", "label": "changed"}\n'
        '{"old": "I am 34.", "new": "I am 35.", "label": "both true"}\n'
    )
    found = json.loads(run("changes", str(file), "--json"))
    assert found["changed"] == {"precision": 0.5, "recall": 0.5}
    assert [each["old"] for each in found["wrong"]] == ["I am 34."]
    assert "precision 50.0%, recall 50.0%" in run("changes", str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"old": "I live in Oslo."}\n', "line 1"), ("\n", "holds no pairs")],
)
def test_file_without_valid_pairs_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_changes(file)
