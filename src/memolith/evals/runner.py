"""Asks a system every question of every conversation, and measures what it answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from memolith.evals import metrics
from memolith.evals.conversations import Conversation, Question
from memolith.evals.metrics import Interval

DEPTH = 50
"""How many results are asked for: enough for recall at 20 and ten different sessions; what a
context of 2,000 tokens can hold of short turns."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system found.

    Attributes:
        results: Best first; each the external ids of the messages it stands for, in order.
        tokens: What these results cost in a prompt, as rendered.
    """

    results: Sequence[Sequence[str]]
    tokens: int


Recall = Callable[[Question, int], Answer]
"""Takes a question and how many results to give at most."""

System = Callable[[Conversation], Recall]
"""Takes in a conversation, and answers questions about it from then on."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one question went.

    Attributes:
        category: The question's.
        measures: By name, in the order of reports.
        tokens: What the results cost in a prompt.
        ms: How long the answer took, milliseconds.
    """

    category: str
    measures: Mapping[str, float]
    tokens: int
    ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """How a number of questions went.

    Attributes:
        questions: How many.
        measures: By name, the mean over them with its interval.
        tokens: Mean of what the results cost in a prompt.
        ms: Median time of an answer, milliseconds.
    """

    questions: int
    measures: Mapping[str, Interval]
    tokens: float
    ms: float


ALL_CATEGORIES = "all"
"""The name under which the figures over all categories stand."""


def run_questions(
    system: System,
    conversations: Iterable[Conversation],
    *,
    depth: int = DEPTH,
    timer: Callable[[], float] = time.perf_counter,
    on_progress: Callable[[int], None] = lambda _steps: None,
) -> tuple[Outcome, ...]:
    """Return how each question went that has evidence; those without are not asked.

    Args:
        system: What is measured.
        conversations: What it is told, one after the other, and asked about.
        depth: How many results to ask for.
        timer: Tells the time in seconds.
        advance: Is told of each step done, of as many as `steps` says.
    """
    outcomes = []
    for conversation in conversations:
        recall = system(conversation)
        on_progress(1)
        session_of = conversation.session_of()
        for question in conversation.questions:
            if question.evidence:
                began = timer()
                answer = recall(question, depth)
                ms = (timer() - began) * 1_000
                measured = measure_answer(answer, question, session_of)
                outcomes.append(Outcome(question.category, measured, answer.tokens, ms))
                on_progress(1)
    return tuple(outcomes)


def count_steps(conversations: Sequence[Conversation]) -> int:
    """Return how many steps `run` takes: each conversation, and each question with evidence."""
    asked = (each.evidence for found in conversations for each in found.questions)
    return len(conversations) + sum(map(bool, asked))


def measure_answer(
    answer: Answer, question: Question, session_of: Mapping[str, str]
) -> Mapping[str, float]:
    """Return every measure of an answer, by name."""
    ranked, evidence = metrics.expand_results(answer.results), question.evidence
    values = {}
    for k in (5, 10, 20):
        values[f"recall@{k}"] = metrics.recall_at(ranked, evidence, k)
        values[f"any@{k}"] = metrics.any_at(ranked, evidence, k)
        values[f"all@{k}"] = metrics.all_at(ranked, evidence, k)
    values["mrr"] = metrics.reciprocal_rank(ranked, evidence)
    values["ndcg@10"] = metrics.ndcg_at(ranked, evidence, 10)
    values["session_recall@10"] = metrics.recall_at(
        metrics.get_sessions(ranked, session_of), metrics.get_sessions(evidence, session_of), 10
    )
    return values


def compute_figures(
    outcomes: Sequence[Outcome], generator: np.random.Generator
) -> dict[str, Figures]:
    """Return the figures over all questions, under `ALL`, and over each category, sorted."""
    categories = sorted({outcome.category for outcome in outcomes})
    groups = {name: [o for o in outcomes if o.category == name] for name in categories}
    return {
        name: _summarise_outcomes(group, generator)
        for name, group in {ALL_CATEGORIES: outcomes, **groups}.items()
        if group
    }


def _summarise_outcomes(outcomes: Sequence[Outcome], generator: np.random.Generator) -> Figures:
    return Figures(
        questions=len(outcomes),
        measures={
            name: metrics.bootstrap_interval([o.measures[name] for o in outcomes], generator)
            for name in outcomes[0].measures
        },
        tokens=fmean(o.tokens for o in outcomes),
        ms=median(o.ms for o in outcomes),
    )
