"""Rankings of precomputed candidates, and the fit of the standard ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from conversing import Columns, candidates, columns
from numpy.typing import NDArray

from memolith.evals.datasets import Conversation, Question
from memolith.evals.fitting import RankingExample, fit_ranking
from memolith.evals.runner import DEPTH, Answer, Recall, System
from memolith.policies.ranking.fitted import FITTED
from memolith.policies.ranking.model import Candidates, Query, Ranking
from memolith.policies.ranking.standard import StandardRanking, Weights
from memolith.ports.models import Embedder, TokenCounter

Floats = NDArray[np.float64]

PARTS = tuple(FITTED)
_FITTED_ON = 10
"""Number of results whose candidates are used for fitting. Five times as many give no better
weights and take three times as long."""
_PLAIN = Weights(**{part.name: 1.0 for part in fields(Weights)})


@dataclass(frozen=True, slots=True)
class DataSet:
    """A named dataset."""

    name: str
    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with evidence, and the candidates of both searches.

    Attributes:
        question: The question.
        query: The query as prepared by the ranking.
        ids: External ids of the candidates, shape (n,).
        found: Features of the candidates.
    """

    question: Question
    query: Query
    ids: NDArray[np.str_]
    found: Candidates

    def example(self, data_set: str) -> RankingExample:
        """Return the training example for the standard ranking."""
        parts = StandardRanking(_PLAIN).score(self.query, self.found).parts
        is_evidence = np.isin(self.ids, self.question.evidence)
        return RankingExample(
            data_set, np.stack([parts[name] for name in PARTS], axis=1), is_evidence
        )


class Searched:
    """Indexed conversations, with the candidates of their questions.

    Candidates are cached by type of ranking, since weights do not affect them.
    """

    def __init__(self, embedder: Embedder, counter: TokenCounter) -> None:
        """Use an embedder and a token counter."""
        self._embedder = embedder
        self._counter = counter
        self._indexed: dict[str, Columns] = {}
        self._asked: dict[tuple[str, type[Ranking], int], list[Asked]] = {}

    def asked(self, conversation: Conversation, ranking: Ranking, top_k: int) -> list[Asked]:
        """Return the questions with evidence, with the candidates for `top_k` results."""
        key = conversation.owner, type(ranking), top_k
        if key not in self._asked:
            self._asked[key] = self._searched(conversation, ranking, top_k)
        return self._asked[key]

    def _searched(self, conversation: Conversation, ranking: Ranking, top_k: int) -> list[Asked]:
        of = self._columns(conversation)
        asked = [question for question in conversation.questions if question.evidence]
        queries = [ranking.prepare(one.text, of.participants, one.asked_at) for one in asked]
        vectors = self._embedder.embed([query.dense_text for query in queries], role="query")
        pool, ids = ranking.get_pool_size(top_k), np.array(of.ids)
        answered = []
        for question, query, vector in zip(asked, queries, vectors, strict=True):
            rows, found = candidates(of, query, vector, pool, question.asked_at)
            answered.append(Asked(question, query, ids[rows], found))
        return answered

    def _columns(self, conversation: Conversation) -> Columns:
        if conversation.owner not in self._indexed:
            made = columns(conversation, self._embedder, self._counter)
            self._indexed[conversation.owner] = made
        return self._indexed[conversation.owner]


def system_of(ranking_of: Callable[[str], Ranking], searched: Searched) -> System:
    """Return a system with a ranking per owner; its time is that of scoring alone."""

    def load(conversation: Conversation) -> Recall:
        ranking = ranking_of(conversation.owner)
        ready = {one.question: one for one in searched.asked(conversation, ranking, DEPTH)}

        def recall(question: Question, k: int) -> Answer:
            one = ready[question]
            scores = ranking.score(one.query, one.found)
            order = np.argsort(-scores.total, kind="stable")
            return Answer([(str(one.ids[row]),) for row in order[scores.kept[order]][:k]], 0)

        return recall

    return load


# --- Fitting


@dataclass(frozen=True, slots=True)
class Training:
    """Training examples by owner."""

    examples: Mapping[str, Sequence[RankingExample]]

    @classmethod
    def of(cls, data: Sequence[DataSet], searched: Searched) -> Training:
        """Compute the candidates of all questions."""
        ranking = StandardRanking()
        return cls(
            {
                conversation.owner: [
                    one.example(each.name)
                    for one in searched.asked(conversation, ranking, _FITTED_ON)
                ]
                for each in data
                for conversation in each.conversations
            }
        )

    def weights(self, *, but: str | None = None, without: str | None = None) -> dict[str, float]:
        """Return the weights fitted on all conversations but one, scaled to similarity = 1.

        The two single-search weights are constrained to be equal: which search is better depends on
        the embedder, and embedders can be exchanged.
        """
        names = [name for name in PARTS if name != without]
        free = _evened(names)
        used = [PARTS.index(name) for name in names]
        examples = [
            replace(one, parts=one.parts[:, used] @ free)
            for owner, held in self.examples.items()
            if owner != but
            for one in held
        ]
        found = dict(zip(names, (free @ fit_ranking(examples)).tolist(), strict=True))
        unit = found.get("similarity") or found["text"]
        return {name: found.get(name, 0.0) / unit for name in PARTS}

    def rankings(self, without: str | None = None) -> dict[str, StandardRanking]:
        """Return for each conversation the ranking fitted on all others."""
        return {
            owner: StandardRanking(replace(Weights(), **self.weights(but=owner, without=without)))
            for owner in self.examples
        }


def _evened(names: Sequence[str]) -> Floats:
    """Return the matrix from free weights to weights, with equal single-search weights.

    Without one of their parts, there is no constraint.
    """
    whole = np.eye(len(names))
    if not {*_NEAR, *_WORDED} <= set(names):
        return whole
    text = names.index("text")
    for name in (*_NEAR, *_WORDED):
        whole[text, names.index(name)] = 1.0 if name in _NEAR else -1.0
    return np.delete(whole, text, axis=1)


_NEAR = ("similarity", "session_similarity")
_WORDED = ("text", "session_text", "words_around")


def rounded(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights with two digits, keeping single-search weights equal."""
    values = {name: round(weight, 2) for name, weight in weights.items()}
    others = sum(values[name] for name in _WORDED if name != "text")
    return values | {"text": round(sum(values[name] for name in _NEAR) - others, 2)}


def written(weights: Mapping[str, float], told: str) -> str:
    """Return the source of the module of fitted weights."""
    lines = (f'    "{name}": {weight},' for name, weight in rounded(weights).items())
    return "\n".join([_HEAD.format(told=told), "FITTED = {", *lines, "}", ""])


_HEAD = '''"""Weights of the standard ranking, fitted by `make bench-recall ARGS="--fit"`.

Do not edit. {told}.
"""
'''
