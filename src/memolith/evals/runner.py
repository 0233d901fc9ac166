"""Measures of a ranked list against the evidence of a question.

`ranked` is a list of messages' external ids, best first, without duplicates; `evidence` is not
empty. All lie in 0..1, higher is better.
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
    """A mean, and where it would lie in 95 % of samples like this one."""

    mean: float
    low: float
    high: float


def expand_results(results: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return messages in the order of the results that stand for them, each once.

    A result that stands for thirty messages takes thirty places.
    """
    return tuple(dict.fromkeys(message for result in results for message in result))


def get_sessions(messages: Iterable[str], session_of: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sessions of messages by their first message, each once."""
    return tuple(dict.fromkeys(session_of[m] for m in messages if m in session_of))


def recall_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the share of the evidence among the first k."""
    return len(set(ranked[:k]) & set(evidence)) / len(set(evidence))


def any_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 where any of the evidence is among the first k, else 0.0."""
    return float(not set(ranked[:k]).isdisjoint(evidence))


def all_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 where all of the evidence is among the first k, else 0.0."""
    return float(set(evidence) <= set(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], evidence: Collection[str]) -> float:
    """Return one over the place of the first piece of evidence; 0.0 without any."""
    places = (place for place, message in enumerate(ranked, start=1) if message in evidence)
    return 1.0 / next(places, math.inf)


def ndcg_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the discounted gain of the first k over the greatest possible (Järvelin 2002).

    That is the gain of all the evidence at the top, whether or not it was ever retrieved.
    """
    gain = sum(
        1.0 / math.log2(place + 1)
        for place, message in enumerate(ranked[:k], start=1)
        if message in evidence
    )
    best = min(k, len(set(evidence)))
    return gain / sum(1.0 / math.log2(place + 1) for place in range(1, best + 1))


def bootstrap_interval(
    values: Sequence[float], generator: np.random.Generator, *, samples: int = 1_000
) -> Interval:
    """Return the mean and its 95 % interval by the percentile bootstrap (Efron 1979).

    The values of different questions are taken for independent, which questions about one
    conversation are not quite: the true interval is somewhat wider.
    """
    data: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if not len(data):
        return Interval(math.nan, math.nan, math.nan)
    drawn = generator.integers(0, len(data), size=(samples, len(data)))
    low, high = np.quantile(data[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(float(data.mean()), float(low), float(high))


# --- Asks a system every question of every conversation, and measures what it answers


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
            name: bootstrap_interval([o.measures[name] for o in outcomes], generator)
            for name in outcomes[0].measures
        },
        tokens=fmean(o.tokens for o in outcomes),
        ms=median(o.ms for o in outcomes),
    )


# --- Memolith itself as a system that the runner can measure


TOKEN_BUDGET = 2_000
"""What a question's context may cost: the budget that `recall` has when none is given."""


class OwnerView(Protocol):
    """What is used of one owner's memory; `memolith.OwnerMemory` has it."""

    def log(self, messages: Sequence[Message], *, session: str) -> object:
        """Store messages of a session, in order."""
        ...

    def recall(self, query: str, *, top_k: int, token_budget: int, touch: bool) -> RecallResult:
        """Return what is found, best first."""
        ...


class Engine(Protocol):
    """What is used of the engine; `memolith.Memolith` has it."""

    def owner(self, owner: str) -> OwnerView:
        """Return one owner's view."""
        ...


@dataclass(slots=True)
class QuestionClock:
    """A clock that stands where the question asked stands. Not thread-safe.

    Open the engine with it (`Memolith.open(..., clock=clock)`), and give it to `system_of`.
    """

    at: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the instant last set."""
        return self.at


def build_system(
    engine: Engine, clock: QuestionClock, *, token_budget: int = TOKEN_BUDGET
) -> System:
    """Return the engine as a system; it must have been opened with this clock.

    Each conversation goes into the memory of its own owner, who should have none yet.
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
    """Return external ids of the messages a result stands for: itself, or its sources."""
    record = recalled.record
    if isinstance(record, Memory):
        ids = [source.external_id for source in record.sources if source.record_type == "message"]
    else:
        ids = [record.external_id]
    return tuple(id_ for id_ in ids if id_ is not None)
