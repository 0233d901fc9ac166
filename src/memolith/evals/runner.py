"""Measures of rankings, and the runner that computes them for a system.

In the measures, `ranked` is a list of external message ids, best first, without duplicates, and
`evidence` is not empty. All measures are in 0..1; higher is better.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, median
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Memory
from memolith.domain.messages import Message
from memolith.domain.recall import RecalledItem, RecallResult
from memolith.evals.datasets import Conversation, Question


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def expand_results(results: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the messages of the results in order, without duplicates.

    A result with thirty messages takes thirty places.
    """
    return tuple(dict.fromkeys(message for result in results for message in result))


def get_sessions(messages: Iterable[str], session_of: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sessions of messages, by first message, without duplicates."""
    return tuple(dict.fromkeys(session_of[m] for m in messages if m in session_of))


def recall_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the share of the evidence among the first k."""
    return len(set(ranked[:k]) & set(evidence)) / len(set(evidence))


def any_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 if any of the evidence is among the first k, else 0.0."""
    return float(not set(ranked[:k]).isdisjoint(evidence))


def all_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 if all of the evidence is among the first k, else 0.0."""
    return float(set(evidence) <= set(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], evidence: Collection[str]) -> float:
    """Return the reciprocal rank of the first piece of evidence, 0.0 without any."""
    ranks = (rank for rank, message in enumerate(ranked, start=1) if message in evidence)
    return 1.0 / next(ranks, math.inf)


def ndcg_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k (Järvelin 2002).

    The ideal ranking has all evidence at the top, whether or not it was retrieved.
    """
    gain = sum(
        1.0 / math.log2(rank + 1)
        for rank, message in enumerate(ranked[:k], start=1)
        if message in evidence
    )
    best = min(k, len(set(evidence)))
    return gain / sum(1.0 / math.log2(rank + 1) for rank in range(1, best + 1))


def bootstrap_interval(
    values: Sequence[float], generator: np.random.Generator, *, samples: int = 1_000
) -> Interval:
    """Return the mean and its 95 % interval by the percentile bootstrap (Efron 1979).

    Questions are treated as independent. Questions about one conversation are not quite, so the
    true interval is somewhat wider.
    """
    data: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if not len(data):
        return Interval(math.nan, math.nan, math.nan)
    indices = generator.integers(0, len(data), size=(samples, len(data)))
    low, high = np.quantile(data[indices].mean(axis=1), (0.025, 0.975))
    return Interval(float(data.mean()), float(low), float(high))


# --- Running a system on a data set


DEPTH = 50
"""Number of results requested: enough for recall@20 and for ten different sessions.

A context of 2,000 tokens holds about as many short turns.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a system for a question.

    Attributes:
        results: For each result, best first, the external ids of its messages, in order.
        tokens: The prompt tokens of the rendered results.
    """

    results: Sequence[Sequence[str]]
    tokens: int


Recall = Callable[[Question, int], Answer]
"""Takes a question and the maximum number of results."""

System = Callable[[Conversation], Recall]
"""Loads a conversation and returns the function that answers questions about it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measures of one question.

    Attributes:
        category: The category of the question.
        measures: Values by name, in the order of reports.
        tokens: The prompt tokens of the results.
        ms: The time of the answer, in milliseconds.
    """

    category: str
    measures: Mapping[str, float]
    tokens: int
    ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The measures of several questions.

    Attributes:
        questions: The number of questions.
        measures: Mean and interval by name.
        tokens: The mean number of prompt tokens.
        ms: The median time of an answer, in milliseconds.
    """

    questions: int
    measures: Mapping[str, Interval]
    tokens: float
    ms: float


ALL_CATEGORIES = "all"
"""The key of the figures over all categories."""


def run_questions(
    system: System,
    conversations: Iterable[Conversation],
    *,
    depth: int = DEPTH,
    timer: Callable[[], float] = time.perf_counter,
    on_progress: Callable[[int], None] = lambda _steps: None,
) -> tuple[Outcome, ...]:
    """Return the outcome of each question with evidence. Questions without evidence are skipped.

    Args:
        system: The system to measure.
        conversations: The conversations, loaded one after the other.
        depth: The number of results to request.
        timer: Returns the time in seconds.
        on_progress: Called with 1 after each step. `count_steps` returns the total.
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
    """Return the number of steps of `run_questions`: conversations, and questions with evidence."""
    evidence = (each.evidence for conversation in conversations for each in conversation.questions)
    return len(conversations) + sum(map(bool, evidence))


def measure_answer(
    answer: Answer, question: Question, session_of: Mapping[str, str]
) -> Mapping[str, float]:
    """Return all measures of an answer, by name."""
    ranked, evidence = expand_results(answer.results), question.evidence
    values = {}
    for k in (5, 10, 20):
        values[f"recall@{k}"] = recall_at(ranked, evidence, k)
        values[f"any@{k}"] = any_at(ranked, evidence, k)
        values[f"all@{k}"] = all_at(ranked, evidence, k)
    values["mrr"] = reciprocal_rank(ranked, evidence)
    values["ndcg@10"] = ndcg_at(ranked, evidence, 10)
    values["session_recall@10"] = recall_at(
        get_sessions(ranked, session_of), get_sessions(evidence, session_of), 10
    )
    return values


def compute_figures(
    outcomes: Sequence[Outcome], generator: np.random.Generator
) -> dict[str, Figures]:
    """Return the figures of all questions under `ALL_CATEGORIES`, and of each category, sorted."""
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
            name: bootstrap_interval([o.measures[name] for o in outcomes], generator)
            for name in outcomes[0].measures
        },
        tokens=fmean(o.tokens for o in outcomes),
        ms=median(o.ms for o in outcomes),
    )


# --- Memolith as a system


TOKEN_BUDGET = 2_000
"""Token budget of a question: the default of `recall`."""


class OwnerView(Protocol):
    """The used methods of `OwnerMemory`."""

    def log(self, messages: Sequence[Message], *, session: str) -> object:
        """Store the messages of a session, in order."""
        ...

    def recall(self, query: str, *, top_k: int, token_budget: int, touch: bool) -> RecallResult:
        """Return the results, best first."""
        ...


class Engine(Protocol):
    """The used methods of `Memolith`."""

    def owner(self, owner: str) -> OwnerView:
        """Return the memory of one owner."""
        ...


@dataclass(slots=True)
class QuestionClock:
    """A clock that is set to the time of the current question. Not thread-safe.

    Open the engine with it (`Memolith.open(..., clock=clock)`), and pass it to `build_system`.
    """

    at: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the time that was last set."""
        return self.at


def build_system(
    engine: Engine, clock: QuestionClock, *, token_budget: int = TOKEN_BUDGET
) -> System:
    """Return an engine as a system. The engine must have been opened with this clock.

    Each conversation is stored for its own owner, who must have no records yet.
    """

    def load(conversation: Conversation) -> Recall:
        clock.at = max((m.at for m in conversation.messages() if m.at), default=clock.at)
        view = engine.owner(conversation.owner)
        for session in conversation.sessions:
            view.log(session.messages, session=session.id)

        def recall(question: Question, k: int) -> Answer:
            clock.at = question.asked_at
            result = view.recall(question.text, top_k=k, token_budget=token_budget, touch=False)
            results = [get_message_ids(recalled) for recalled in result.memories]
            return Answer(results, result.total_tokens)

        return recall

    return load


def get_message_ids(recalled: RecalledItem) -> tuple[str, ...]:
    """Return the external ids of a result's messages: its own, or those of its sources."""
    record = recalled.record
    if isinstance(record, Memory):
        ids = [source.external_id for source in record.sources if source.record_type == "message"]
    else:
        ids = [record.external_id]
    return tuple(id_ for id_ in ids if id_ is not None)
