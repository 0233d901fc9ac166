"""What a prompt of so many tokens holds of the evidence, by the whole engine."""

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
    """What prompts of one budget hold.

    Attributes:
        share: Of the evidence, 0..1.
        results: How many are shown, on average.
        tokens: What the text costs, on average.
        ms: How long it takes, the median.
    """

    share: Interval
    results: float
    tokens: float
    ms: float


@dataclass(frozen=True, slots=True)
class _Shown:
    """One prompt: the share of the evidence in it, its results, tokens and milliseconds."""

    share: float
    results: int
    tokens: int
    ms: float


def contexts(
    conversations: Sequence[Conversation], embedder: Embedder, budgets: Sequence[int]
) -> dict[int, Held]:
    """Return what prompts hold, by budget, over all questions that have evidence.

    A message that is shown by one passage counts: which passage is meant, the data does not say.
    So does one that a memory was made from, and that is folded into it.
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
    """Take in a conversation, then yield its questions that have evidence."""
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
