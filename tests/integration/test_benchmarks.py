"""The benchmarks run, and say what they are for, on as little as can be: not how fast anything is.

Those of the peers are left out, for each runs in an environment of its own.
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
    """Run a benchmark, with what it keeps in a folder that goes; return what it prints."""

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


def two_speakers(number: int, subject: str) -> dict[str, Any]:
    """Return a conversation in the form of LoCoMo."""
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


def with_an_assistant(number: int, subject: str) -> dict[str, Any]:
    """Return a conversation in the form of BEAM."""
    said = [f"Tell me of the {subject}.", f"A {subject} is fine.", "Thank you.", "With pleasure."]
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
            for at, text in enumerate(said)
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
    """Return the arguments that name two small data sets, and where their vectors are kept."""
    arguments = ["--cache", str(tmp_path / "vectors")]
    for name, made in (("locomo", two_speakers), ("beam", with_an_assistant)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps([made(*each) for each in enumerate(SUBJECTS)]), encoding="utf-8")
        arguments += [f"--{name}", str(path)]
    return arguments


def test_recall_is_compared_cross_validated(run: Run, data_sets: list[str]) -> None:
    printed = run("recall", *data_sets)
    for system in ("cosine", "bm25", "companion's formula", "standard, cross-validated"):
        assert printed.lower().count(system) >= 2, system


@pytest.mark.parametrize(
    ("asked", "told"),
    [("--ablation", "words_around"), ("--context", "2,000"), ("--nothing", "precision")],
)
def test_recall_is_looked_into(run: Run, data_sets: list[str], asked: str, told: str) -> None:
    assert told in run("recall", *data_sets, asked)


@pytest.mark.parametrize(
    ("part", "told"),
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
def test_speed_is_measured(run: Run, part: str, told: str) -> None:
    assert told in run("speed", part, "--sizes", "100")


def test_a_thousandth_of_a_million_is_filled_and_asked(run: Run) -> None:
    printed = run("scale", "--memories", "400", "--owners", "4", "--one", "200")
    assert "400 of " in printed
    assert "200 of 1" in printed


def test_the_store_is_measured_by_itself(run: Run) -> None:
    assert "single durable writes/s" in run("store", "--sizes", "200")


def test_what_searches_vectors_is_compared(run: Run) -> None:
    printed = run("vectors", "--sizes", "200")
    assert "sqlite-vec" in printed
    assert "chroma" in printed


def test_the_service_is_asked(run: Run) -> None:
    calls = ("--calls", "recall", "chat", "--clients", "1", "--seconds", "1", "--messages", "20")
    printed = run("service", "--database", "sqlite", *calls)
    assert "recall" in printed
    assert "chat" in printed


@pytest.mark.soak
def test_long_texts_are_taken_in(run: Run) -> None:
    printed = run("ingesting", "ingest", "--megabytes", "1", "--embedders", "stub")
    assert "standard" in printed
    assert "chunks" in printed


@pytest.mark.soak
def test_what_waits_for_a_model_is_learned(run: Run) -> None:
    assert "stub" in run("learning", "--exchanges", "8", "--embedders", "stub")


@pytest.mark.soak
def test_the_embedders_start_is_taken_apart(run: Run) -> None:
    assert "first vector" in run("embedder", "start")


def test_changes_are_measured_on_the_labelled_pairs_and_on_a_file(run: Run, tmp_path: Path) -> None:
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
def test_a_file_without_valid_pairs_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_changes(file)
