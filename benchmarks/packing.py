"""Measure the share of the evidence in prompts of a token budget, with the whole engine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np

from memolith import Memolith
from memolith.api.owner import OwnerMemory
from memolith.evals import runner
from memolith.evals.datasets import Conversation, Question
from memolith.evals.runner import Interval, QuestionClock, get_message_ids
from memolith.ports.models import Embedder

SEED = 1


@dataclass(frozen=True, slots=True)
class Held:
    """Prompts of one budget.

    Attributes:
        share: Share of the evidence, 0..1.
        results: Mean number of results.
        tokens: Mean number of tokens.
        ms: Median time.
    """

    share: Interval
    results: float
    tokens: float
    ms: float


@dataclass(frozen=True, slots=True)
class _Shown:
    """One prompt: its share of the evidence, results, tokens and milliseconds."""

    share: float
    results: int
    tokens: int
    ms: float


def contexts(
    conversations: Sequence[Conversation], embedder: Embedder, budgets: Sequence[int]
) -> dict[int, Held]:
    """Return prompts by budget, over all questions with evidence.

    A message counts if any of its passages is shown, since the data do not identify the passage.
    Source messages of a shown memory count too.
    """
    clock = QuestionClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Memolith.open(Path(folder, "packing.db"), embedder=embedder, clock=clock) as engine,
    ):
        shown = [
            (budget, _shown(engine.owner(one.owner), question, clock, budget))
            for one in conversations
            for question in _loaded(engine.owner(one.owner), one, clock)
            for budget in budgets
        ]
    return {budget: _held([one for of, one in shown if of == budget]) for budget in budgets}


def _held(shown: Sequence[_Shown]) -> Held:
    generator = np.random.default_rng(SEED)
    return Held(
        share=runner.bootstrap_interval([one.share for one in shown], generator),
        results=fmean(one.results for one in shown),
        tokens=fmean(one.tokens for one in shown),
        ms=median(one.ms for one in shown),
    )


def _loaded(
    view: OwnerMemory, conversation: Conversation, clock: QuestionClock
) -> Iterator[Question]:
    """Log a conversation, then yield its questions with evidence."""
    clock.at = max((m.at for m in conversation.messages() if m.at), default=clock.at)
    for session in conversation.sessions:
        view.log(session.messages, session=session.id)
    yield from (question for question in conversation.questions if question.evidence)


def _shown(view: OwnerMemory, question: Question, clock: QuestionClock, budget: int) -> _Shown:
    clock.at = question.asked_at
    began = time.perf_counter()
    context = view.context_with_results(question.text, token_budget=budget, touch=False)
    ms = (time.perf_counter() - began) * 1e3
    ids = runner.expand_results(get_message_ids(one) for one in context.results)
    share = runner.recall_at(ids, question.evidence, len(ids))
    return _Shown(share, len(context.results), context.tokens, ms)
