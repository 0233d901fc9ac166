"""Measure and fit `relevance`: whether any result answers a question.

Every question is asked of memories with and without its answer: a whole conversation or one
session, its own or another, of the same or of a different dataset. The facts of
`tests/corpora/thresholds` provide short memories of single sentences.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

import numpy as np
from conversing import Columns, candidates, columns, part
from numpy.typing import NDArray
from ranked import DataSet
from rich.table import Table

from corpora.thresholds.cases import cases
from memolith.domain.messages import Message, Role
from memolith.evals.datasets import Conversation, DialogueSession, Question
from memolith.evals.fitting import AskedQuestion, auc, fit_relevance
from memolith.evals.runner import bootstrap_interval
from memolith.policies.ranking.relevance import (
    RELEVANCE_THRESHOLD,
    Relevance,
    SearchExtent,
    build_signals,
)
from memolith.policies.ranking.standard import StandardRanking
from memolith.ports.models import Embedder, TokenCounter

ANSWERED, ELSEWHERE, UNLIKE = "answered", "another memory", "another dataset"
UNSAID, SWAPPED, ABSTAINED = (
    "session without the answer",
    "wrong speaker",
    "never answered",
)
TAUGHT = (ANSWERED, ELSEWHERE, UNLIKE, SWAPPED)
"""Kinds of questions used for fitting; the others only show the limits of the estimate."""

_EVEN = (ANSWERED, ELSEWHERE, UNLIKE)
WHOLE, SESSION = "whole", "one session"
THRESHOLDS = (0.05, RELEVANCE_THRESHOLD, 0.15, 0.2, 0.3, 0.5)
FACTS = "facts"
FACTS_HELD = (1, 3, 10, 30, 100)
_FACTS_ASKED = 100
"""Approximate number of questions for memories of each size."""
_FOLDS = 5
_TOP = 10
_SEED = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A question asked of a memory.

    Attributes:
        asked: Candidates and features of the question.
        kind: Whether the memory has the answer, or why not.
        size: Size of the memory.
        groups: Conversations of the question and of the memory, excluded from fitting when it is
            scored.
        is_found: Whether the first ten results contain evidence.
    """

    asked: AskedQuestion
    kind: str
    size: str
    groups: frozenset[str]
    is_found: bool = False


class Memories:
    """Questions and the memories they are asked of."""

    def __init__(self, data: Sequence[DataSet], embedder: Embedder, counter: TokenCounter) -> None:
        """Index all conversations."""
        self._embedder = embedder
        self._counter = counter
        self._random = random.Random(_SEED)  # noqa: S311 - not for cryptography
        self._sets = {one.owner: each.name for each in data for one in each.conversations}
        self._conversations = {one.owner: one for each in data for one in each.conversations}
        self._columns = {
            owner: columns(one, embedder, counter) for owner, one in self._conversations.items()
        }

    def cases(self) -> list[Case]:
        """Return all questions with their results."""
        wanted = [each for owner in self._conversations for each in self._wanted(owner)]
        wanted += self._facts()
        by_memory: dict[str, list[_Wanted]] = {}
        for each in wanted:
            by_memory.setdefault(each.memory, []).append(each)
        return [case for each in by_memory.values() for case in self._found(each)]

    def _wanted(self, owner: str) -> Iterator[_Wanted]:
        """Yield the questions of a conversation with their memories."""
        own, name = self._conversations[owner], self._sets[owner]
        for question in own.questions:
            made = _Wanted(question, name, owner, owner, _kind(question))
            if made.kind != ANSWERED:
                yield made
                continue
            within = self._columns[owner].session[self._evidence(owner, question)]
            yield made
            if len({*within.tolist()}) == 1:
                yield replace(made, session=int(within[0]))
            yield from self._without(made, {*within.tolist()})

    def _without(self, made: _Wanted, within: set[int]) -> Iterator[_Wanted]:
        """Yield a question with memories that lack its answer."""
        rest = sorted({*self._columns[made.memory].session.tolist()} - within)
        if rest:
            yield replace(made, kind=UNSAID, session=self._random.choice(rest))
        for kind, same in ((ELSEWHERE, True), (UNLIKE, False)):
            others = [
                owner
                for owner, name in self._sets.items()
                if owner != made.owner and (name == made.data_set) is same
            ]
            if others:
                other = replace(made, kind=kind, memory=self._random.choice(others))
                sessions = self._columns[other.memory].session
                yield other
                yield replace(other, session=int(self._random.choice(sessions.tolist())))

    def _evidence(self, owner: str, question: Question) -> NDArray[np.int64]:
        return np.flatnonzero(np.isin(self._columns[owner].ids, question.evidence))

    def _facts(self) -> Iterator[_Wanted]:
        """Yield questions about facts, with memories that contain or lack the fact."""
        known = cases()
        facts = _told([one.fact for one in known])
        self._columns[FACTS] = columns(facts, self._embedder, self._counter)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        sizes = [held for held in FACTS_HELD for _ in range(_FACTS_ASKED // held)]
        for held in sizes:
            order = self._random.sample(range(len(known)), len(known))
            rows = tuple(sorted(order[:held]))
            for place in order[: 2 * held]:
                fold = f"{FACTS}-{place % _FOLDS}"
                kind = ANSWERED if place in rows else ELSEWHERE
                ids = (str(place),) if place in rows else ()
                one = Question(known[place].question, "", "", ids, at)
                made = _Wanted(one, FACTS, fold, FACTS, kind, rows=rows)
                yield made
                if place in rows:
                    other = replace(one, text=known[place].other_question, evidence=())
                    yield replace(made, kind=UNSAID, question=other)

    def _found(self, wanted: Sequence[_Wanted]) -> Iterator[Case]:
        """Yield the results in one memory."""
        ranking, whole = StandardRanking(), self._columns[wanted[0].memory]
        people = whole.participants
        queries = [
            ranking.prepare(one.question.text, people, one.question.asked_at) for one in wanted
        ]
        vectors = self._embedder.embed([query.dense_text for query in queries], role="query")
        held: dict[object, Columns] = {None: whole}
        for one, query, vector in zip(wanted, queries, vectors, strict=True):
            key = one.rows or one.session
            if key not in held:
                held[key] = part(whole, one.of(whole))
            of, pool = held[key], ranking.get_pool_size(_TOP)
            rows, found = candidates(of, query, vector, pool, one.question.asked_at)
            scores = ranking.score(query, found)
            signs = build_signals(
                query, found, scores, SearchExtent.from_postings(of.found(query.terms))
            )
            first = [of.ids[row] for row in rows[np.argsort(-scores.total, kind="stable")[:_TOP]]]
            asked = AskedQuestion(one.data_set, signs, one.kind == ANSWERED, one.kind == SWAPPED)
            is_found = not {*first}.isdisjoint(one.question.evidence)
            yield Case(asked, one.kind, one.size, frozenset({one.owner, one.memory}), is_found)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question to ask.

    Attributes:
        question: The question.
        data_set: Its dataset.
        owner: Its conversation.
        memory: The memory it is asked of.
        kind: See `Case`.
        session: The only session of the memory; None for all.
        rows: The only messages of the memory.
    """

    question: Question
    data_set: str
    owner: str
    memory: str
    kind: str
    session: int | None = None
    rows: tuple[int, ...] = ()

    @property
    def size(self) -> str:
        """Size of the memory."""
        if self.rows:
            return f"{len(self.rows)} facts"
        return WHOLE if self.session is None else SESSION

    def of(self, whole: Columns) -> NDArray[np.int64]:
        """Return the messages of the memory."""
        if self.rows:
            return np.array(self.rows)
        return np.flatnonzero(whole.session == self.session)


def _kind(question: Question) -> str:
    if question.category == "adversarial":  # LoCoMo's, with evidence of the other speaker
        return SWAPPED
    return ANSWERED if question.evidence else ABSTAINED


def _told(facts: Sequence[str]) -> Conversation:
    """Return facts as a conversation of single-message sessions."""
    at = datetime(2025, 1, 1, tzinfo=UTC)
    sessions = tuple(
        DialogueSession(str(i), (Message(None, fact, role=Role.USER, at=at, external_id=str(i)),))
        for i, fact in enumerate(facts)
    )
    return Conversation(FACTS, FACTS, sessions, ())


# --- Evaluation


def weights(found: Sequence[Case], *, but: frozenset[str] = frozenset()) -> Relevance:
    """Return the weights fitted on all questions except those of some conversations."""
    left_out = but - {FACTS}  # facts are excluded by fold
    return fit_relevance(
        [one.asked for one in found if one.kind in TAUGHT and left_out.isdisjoint(one.groups)]
    )


def validated(found: Sequence[Case]) -> list[float]:
    """Return the cross-validated relevance of each case."""
    made: dict[frozenset[str], Relevance] = {}
    for groups in {one.groups for one in found}:
        made[groups] = weights(found, but=groups)
    return [made[one.groups].likelihood(one.asked.signals) for one in found]


def tables(found: Sequence[Case], told: Sequence[float]) -> Iterator[Table]:
    """Yield for each dataset how well the kinds of questions are distinguished."""
    for data_set in dict.fromkeys(one.asked.data_set for one in found):
        rows: dict[tuple[str, str], list[tuple[float, Case]]] = {}
        for value, one in zip(told, found, strict=True):
            if one.asked.data_set == data_set:
                rows.setdefault((one.size, one.kind), []).append((value, one))
        yield _table(data_set, rows)


def _table(data_set: str, rows: Mapping[tuple[str, str], Sequence[tuple[float, Case]]]) -> Table:
    table = Table(title=f"{data_set}: reported as unanswered, percent, cross-validated")
    for heading in ("memory", "question", "n", "AUC", *(f"< {each}" for each in THRESHOLDS)):
        table.add_column(heading, justify="left" if heading in {"memory", "question"} else "right")
    table.add_column("precision")
    for (size, kind), cases_ in sorted(rows.items()):
        values = [value for value, _ in cases_]
        answered = [value for value, _ in rows.get((size, ANSWERED), ())]
        cells = [size, kind, f"{len(values)}", "" if kind == ANSWERED else _auc(answered, values)]
        cells += [f"{100 * np.mean(np.array(values) < each):.1f}" for each in THRESHOLDS]
        table.add_row(*cells, "" if kind == ANSWERED else _precision(answered, values))
    return table


def _auc(answered: Sequence[float], others: Sequence[float]) -> str:
    return f"{100 * auc(answered, others):.1f}" if answered and others else ""


def _precision(answered: Sequence[float], others: Sequence[float]) -> str:
    """Return the precision of `nothing_relevant` for balanced classes, in percent."""
    wrong = float(np.mean(np.array(answered) < RELEVANCE_THRESHOLD)) if answered else 0.0
    right = float(np.mean(np.array(others) < RELEVANCE_THRESHOLD))
    return f"{100 * right / (right + wrong):.1f}" if right + wrong else ""


def harm(found: Sequence[Case], told: Sequence[float]) -> str:
    """Return the share of answers lost by `nothing_relevant`, with intervals."""
    lines = []
    for data_set in dict.fromkeys(one.asked.data_set for one in found):
        wrong = [
            (value < RELEVANCE_THRESHOLD, one.is_found)
            for value, one in zip(told, found, strict=True)
            if one.asked.data_set == data_set and one.kind == ANSWERED
        ]
        every = bootstrap_interval(
            [float(is_wrong) for is_wrong, _ in wrong], np.random.default_rng(_SEED)
        )
        lost = np.mean([is_wrong and is_found for is_wrong, is_found in wrong])
        lines.append(
            f"{data_set}: of answered questions {100 * every.mean:.1f} % "
            f"({100 * every.low:.1f} to {100 * every.high:.1f}) are reported as unanswered, "
            f"{100 * lost:.1f} % with evidence among the first {_TOP}"
        )
    return "\n".join(lines)


def calibration(found: Sequence[Case], told: Sequence[float]) -> Table:
    """Return the share of answered questions by estimated relevance, with balanced classes."""
    pairs = [(value, one) for value, one in zip(told, found, strict=True) if one.kind in _EVEN]
    values = np.array([value for value, _ in pairs])
    answered = np.array([one.asked.is_answered for _, one in pairs])
    sides = Counter((one.asked.data_set, one.asked.is_answered) for _, one in pairs)
    share = np.array([1.0 / sides[one.asked.data_set, one.asked.is_answered] for _, one in pairs])
    table = Table(title="estimated and actual, percent")
    for heading in ("between", "estimated", "answered"):
        table.add_column(heading, justify="right")
    for low in range(0, 100, 10):
        within = share * ((values * 100 >= low) & (values * 100 < low + 10))
        if within.sum() > 0:
            mean, so = (float(within @ each / within.sum()) for each in (values, answered))
            table.add_row(f"{low}-{low + 10}", f"{100 * mean:.0f}", f"{100 * so:.0f}")
    return table


def written(relevance: Relevance, embedder: str, told: str) -> str:
    """Return the source of the module of fitted weights."""
    names = [each.name for each in fields(Relevance)]
    values = "".join(f"            {name}={getattr(relevance, name):.2f},\n" for name in names)
    return _MODULE.format(told=told, embedder=embedder, values=values)


_MODULE = '''"""Weights of relevance, fitted by `make bench-recall ARGS="--nothing --fit"`.

Do not edit. {told}.
"""

from collections.abc import Mapping
from types import MappingProxyType

from memolith.policies.ranking.relevance import Relevance

FITTED: Mapping[str, Relevance] = MappingProxyType(
    {{
        "{embedder}": Relevance(
{values}        ),
    }}
)
'''
