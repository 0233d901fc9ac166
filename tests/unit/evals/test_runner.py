"""Running a system over conversations, and the report."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from memolith.domain.memories import Memory, Source, Span
from memolith.domain.messages import Message, Role
from memolith.domain.recall import RecalledItem, RecallResult, Score
from memolith.evals.datasets import Conversation, DialogueSession, Question
from memolith.evals.report import Report, render_report, report_as_json
from memolith.evals.runner import (
    ALL_CATEGORIES,
    Answer,
    QuestionClock,
    Recall,
    build_system,
    compute_figures,
    count_steps,
    get_message_ids,
    run_questions,
)

BEGIN = datetime(2024, 5, 1, tzinfo=UTC)
LATER = datetime(2024, 6, 1, tzinfo=UTC)


def make_message(id_: str, text: str = "text") -> Message:
    return Message(None, text, role=Role.USER, at=BEGIN, external_id=id_)


def make_question(text: str, *evidence: str, category: str = "plain") -> Question:
    return Question(text, "", category, evidence, LATER)


CONVERSATION = Conversation(
    "c1",
    "ann",
    (
        DialogueSession("s1", (make_message("m1"), make_message("m2"))),
        DialogueSession("s2", (make_message("m3"),)),
    ),
    (
        make_question("first", "m1"),
        make_question("second", "m3", "m2", category="hard"),
        make_question("nobody knows"),
    ),
)


def make_fixed_recall(results: Sequence[Sequence[str]]) -> Recall:
    return lambda _question, _k: Answer(results, tokens=70)


def test_only_questions_with_evidence_are_asked() -> None:
    asked: list[str] = []

    def recall(asking: Question, _k: int) -> Answer:
        asked.append(asking.text)
        return Answer((), 0)

    run_questions(lambda _conversation: recall, [CONVERSATION])
    assert asked == ["first", "second"]


def test_answer_time_is_measured_in_milliseconds() -> None:
    ticks = iter([1.0, 1.25, 2.0, 2.5])
    outcomes = run_questions(
        lambda _: make_fixed_recall([]), [CONVERSATION], timer=lambda: next(ticks)
    )
    assert [outcome.ms for outcome in outcomes] == [250.0, 500.0]


def test_metrics_use_source_messages_of_results() -> None:
    first, second = run_questions(
        lambda _: make_fixed_recall([("m2", "m3"), ("m1",)]), [CONVERSATION]
    )
    assert first.measures["mrr"] == pytest.approx(1 / 3)
    assert second.measures["recall@5"] == 1.0
    assert second.measures["session_recall@10"] == 1.0


def test_figures_cover_all_and_each_category() -> None:
    outcomes = run_questions(lambda _: make_fixed_recall([("m1",)]), [CONVERSATION])
    found = compute_figures(outcomes, np.random.default_rng(1))
    assert list(found) == [ALL_CATEGORIES, "hard", "plain"]
    assert found[ALL_CATEGORIES].questions == 2
    assert found[ALL_CATEGORIES].measures["recall@10"].mean == 0.5
    assert found["plain"].measures["recall@10"].mean == 1.0
    assert found["hard"].measures["recall@10"].mean == 0.0
    assert found[ALL_CATEGORIES].tokens == 70


def test_no_questions_give_no_figures() -> None:
    assert compute_figures((), np.random.default_rng(1)) == {}


def make_report() -> Report:
    outcomes = run_questions(lambda _: make_fixed_recall([("m1",)]), [CONVERSATION])
    systems = {"mine": compute_figures(outcomes, np.random.default_rng(1))}
    return Report("made up", systems, {"machine": "a small one"})


def test_table_names_systems_categories_and_facts() -> None:
    shown = StringIO()
    Console(width=200, file=shown).print(render_report(make_report()))
    text = shown.getvalue()
    for word in ("mine", "hard", "plain", "R@10", "session R@10", "50.0", "machine: a small one"):
        assert word in text


def test_narrow_table_shows_main_metrics_without_truncation() -> None:
    shown = StringIO()
    Console(width=80, file=shown).print(render_report(make_report(), columns=80))
    text = shown.getvalue()
    assert "…" not in text
    assert "R@10" in text
    assert "NDCG@10" not in text
    assert "or --json" in text


def test_every_step_is_reported() -> None:
    steps: list[int] = []
    run_questions(lambda _: make_fixed_recall([]), [CONVERSATION], on_progress=steps.append)
    assert sum(steps) == count_steps([CONVERSATION]) == 3


def test_system_without_questions_has_no_row() -> None:
    shown = StringIO()
    Console(width=200, file=shown).print(render_report(Report("made up", {"idle": {}})))
    assert "R@10" in shown.getvalue()


def test_report_is_serialised_as_json() -> None:
    value = json.loads(json.dumps(report_as_json(make_report())))
    measures = value["systems"]["mine"]["all"]["measures"]
    assert measures["recall@10"]["mean"] == 0.5
    assert set(measures["mrr"]) == {"mean", "low", "high"}


@dataclass
class FakeOwnerMemory:
    """An owner whose every recall returns the logged messages, newest first."""

    clock: QuestionClock
    logged: dict[str, Sequence[Message]] = field(default_factory=dict)
    asked: list[tuple[str, int, int, bool, datetime]] = field(default_factory=list)

    def log(self, messages: Sequence[Message], *, session: str) -> None:
        self.logged[session] = messages

    def recall(self, query: str, *, top_k: int, token_budget: int, touch: bool) -> RecallResult:
        self.asked.append((query, top_k, token_budget, touch, self.clock.now()))
        messages = [m for session in self.logged.values() for m in session][::-1]
        found = tuple(RecalledItem(m, Score(0.0), Span(0, 1), 1) for m in messages)
        return RecallResult(found, len(found), token_budget)


@dataclass
class FakeEngine:
    clock: QuestionClock
    views: dict[str, FakeOwnerMemory] = field(default_factory=dict)

    def owner(self, owner: str) -> FakeOwnerMemory:
        return self.views.setdefault(owner, FakeOwnerMemory(self.clock))


def test_engine_logs_sessions_and_recalls_at_question_time() -> None:
    clock = QuestionClock()
    engine = FakeEngine(clock)
    recall = build_system(engine, clock, token_budget=500)(CONVERSATION)
    assert clock.now() == BEGIN
    answer = recall(CONVERSATION.questions[0], 7)
    view = engine.views["ann"]
    assert {name: len(messages) for name, messages in view.logged.items()} == {"s1": 2, "s2": 1}
    assert view.asked == [("first", 7, 500, False, LATER)]
    assert answer == Answer([("m3",), ("m2",), ("m1",)], 3)


def test_memory_maps_to_its_source_messages() -> None:
    sources = (
        Source("1", external_id="m1"),
        Source("2", record_type="memory", external_id="not a message"),
        Source("3"),
        Source("4", external_id="m4"),
    )
    memory = Memory(
        id="x",
        owner_id="ann",
        kind="fact",
        content="text",
        created_at=BEGIN,
        updated_at=BEGIN,
        sources=sources,
    )
    assert get_message_ids(RecalledItem(memory, Score(0.0), Span(0, 4), 1)) == ("m1", "m4")
