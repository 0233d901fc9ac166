"""Asking a reranker, never while a snapshot is open."""

from __future__ import annotations

import logging
import math
import threading
from typing import TYPE_CHECKING

import numpy as np

from memolith.errors import ServiceFailed
from memolith.steps import traced

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memolith.domain.memories import Memory
    from memolith.domain.messages import Message
    from memolith.policies.ranking.model import Candidates, Reranking, Scores
    from memolith.ports.reranker import Reranker
    from memolith.ports.store import Snapshot
    from memolith.services.candidates import CandidateSet

_log = logging.getLogger(__name__)


class RerankerClient:
    """Asks a reranker, and says once that it can't be had. Thread-safe."""

    def __init__(self, reranker: Reranker) -> None:
        """Ask this one."""
        self._reranker = reranker
        self._lock = threading.Lock()
        self._has_warned = False

    @traced("rerank")
    def score(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Return the score of each text; None where the reranker can't be had.

        Raises:
            ServiceFailed: It answers, but not with a finite number a text.
        """
        try:
            given = self._reranker.score(query, texts)
        except ServiceFailed as error:
            self._warn_once(error)
            return None
        return _validate_scores(given, len(texts))

    def _warn_once(self, error: ServiceFailed) -> None:
        with self._lock:
            said, self._has_warned = self._has_warned, True
        if not said:
            _log.warning("results are not reranked, but blended: %s", error)


def _validate_scores(given: Sequence[float], count: int) -> list[float]:
    """Return scores as numbers; what a caller's own function gives may be anything."""
    problem = "did not give a finite number for each text"
    try:
        scores = [float(score) for score in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise ServiceFailed("the reranker", problem) from error
    if len(scores) != count or not all(map(math.isfinite, scores)):
        raise ServiceFailed("the reranker", problem)
    return scores


class QueryReranking:
    """What a reranker says of the texts of one query."""

    def __init__(self, client: RerankerClient, reranking: Reranking, query: str) -> None:
        """Ask this reader about this query; `reranking` says what its word counts for."""
        self._client = client
        self._reranking = reranking
        self._query = query
        self._scores: dict[str, float] = {}
        self._failed = False

    def has_scores(self, texts: Collection[str]) -> bool:
        """Tell whether there is nothing to ask about these."""
        return self._failed or all(text in self._scores for text in texts)

    def score(self, texts: Collection[str]) -> None:
        """Ask about those of the texts that are not known yet."""
        if self.has_scores(texts):
            return
        missing = list(dict.fromkeys(text for text in texts if text not in self._scores))
        scores = self._client.score(self._query, missing)
        if scores is None:
            self._failed = True
        else:
            self._scores.update(zip(missing, scores, strict=True))

    def rescore(self, candidates: Candidates, scores: Scores, texts: Mapping[int, str]) -> Scores:
        """Return the scores with what was read in their place, else those without a reranker.

        Args:
            candidates: What is scored.
            scores: Theirs, by the profile's ranking.
            texts: What was read, by row; other rows come last.
        """
        if self._failed:
            return self._reranking.blend(candidates)
        read = {row: self._scores[text] for row, text in texts.items()}
        given = np.full(len(scores.total), min(read.values(), default=0.0))
        given[list(read)] = list(read.values())
        return self._reranking.apply_scores(scores, given)


def get_rerank_texts(
    snapshot: Snapshot, candidates: CandidateSet, scores: Scores
) -> dict[int, str]:
    """Return the contents of what may be returned and was searched for, by row."""
    may = (scores.kept | candidates.exact) & (candidates.pinned_position < 0)
    rows: list[int] = np.flatnonzero(may).tolist()
    ids = [candidates.items.record_id[row] for row in rows]
    records: dict[str, Memory | Message] = {
        record.id: record for record in snapshot.memories(ids, as_of=candidates.as_of)
    }
    missing = [id_ for id_ in ids if id_ not in records]
    records |= {each.id: each for each in snapshot.messages(ids=missing, as_of=candidates.as_of)}
    return {row: records[id_].content for row, id_ in zip(rows, ids, strict=True)}
