"""Answers queries: searches, scores, optionally reranks, and selects results.

No snapshot is open while a reranker runs, except after repeated concurrent writes.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import EPISODE, Memory
from memolith.domain.messages import Message, Participant
from memolith.domain.recall import (
    DroppedCandidate,
    RecallResult,
    RecallTrace,
    SearchFilter,
    SearchMode,
)
from memolith.errors import InvalidInput, ServiceFailed
from memolith.policies import arguments
from memolith.policies.ranking.model import Candidates, Query, Reranking, Scores
from memolith.policies.ranking.relevance import RELEVANCE_THRESHOLD, Relevance, build_signals
from memolith.policies.ranking.scoring import put_pinned_first
from memolith.ports.models import Reranker
from memolith.ports.store import Snapshot
from memolith.profiles.model import Profile
from memolith.services.access import Access, AccessCounter
from memolith.services.indexing import Indexer
from memolith.services.search import CandidateSet, find_candidates
from memolith.services.selection import ResultSelection, select_results
from memolith.services.validation import clean_and_redact
from memolith.tracing import span, trace_calls

_log = logging.getLogger(__name__)


class RerankerClient:
    """Calls a reranker; logs only its first failure. Thread-safe."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._lock = threading.Lock()
        self._has_warned = False

    @trace_calls("rerank")
    def score(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Return the score of each text; None: the reranker is unavailable.

        Raises:
            ServiceFailed: It did not return a finite number for each text.
        """
        try:
            output = self._reranker.score(query, texts)
        except ServiceFailed as error:
            self._warn_once(error)
            return None
        return _validate_scores(output, len(texts))

    def _warn_once(self, error: ServiceFailed) -> None:
        with self._lock:
            has_warned, self._has_warned = self._has_warned, True
        if not has_warned:
            _log.warning("the reranker failed, results are ranked without it: %s", error)


def _validate_scores(output: Sequence[float], count: int) -> list[float]:
    """Return scores as floats; a user-supplied reranker may return anything."""
    problem = "did not return a finite number for each text"
    try:
        scores = [float(score) for score in output]
    except (TypeError, ValueError, OverflowError) as error:
        raise ServiceFailed("the reranker", problem) from error
    if len(scores) != count or not all(map(math.isfinite, scores)):
        raise ServiceFailed("the reranker", problem)
    return scores


class QueryReranking:
    """The reranker scores of the texts of one query."""

    def __init__(self, client: RerankerClient, reranking: Reranking, query: str) -> None:
        """Configure the query; `reranking` combines scores by the profile's rule."""
        self._client = client
        self._reranking = reranking
        self._query = query
        self._scores: dict[str, float] = {}
        self._failed = False

    def has_scores(self, texts: Collection[str]) -> bool:
        """Return whether no text is left to score."""
        return self._failed or all(text in self._scores for text in texts)

    def score(self, texts: Collection[str]) -> None:
        """Score the texts that have no score yet."""
        if self.has_scores(texts):
            return
        missing = list(dict.fromkeys(text for text in texts if text not in self._scores))
        scores = self._client.score(self._query, missing)
        if scores is None:
            self._failed = True
        else:
            self._scores.update(zip(missing, scores, strict=True))

    def rescore(self, candidates: Candidates, scores: Scores, texts: Mapping[int, str]) -> Scores:
        """Return the final scores; if the reranker failed, those of the fallback.

        Args:
            candidates: The scored candidates.
            scores: Their scores by the profile's ranking.
            texts: The reranked texts by row; other rows rank last.
        """
        if self._failed:
            return self._reranking.blend(candidates)
        read = {row: self._scores[text] for row, text in texts.items()}
        reranker_scores = np.full(len(scores.total), min(read.values(), default=0.0))
        reranker_scores[list(read)] = list(read.values())
        return self._reranking.apply_scores(scores, reranker_scores)


def get_rerank_texts(
    snapshot: Snapshot, candidates: CandidateSet, scores: Scores
) -> dict[int, str]:
    """Return the texts to rerank by row: those of all results except pinned ones."""
    eligible = (scores.kept | candidates.exact) & (candidates.pinned_position < 0)
    rows: list[int] = np.flatnonzero(eligible).tolist()
    ids = [candidates.items.record_id[row] for row in rows]
    records: dict[str, Memory | Message] = {
        record.id: record for record in snapshot.memories(ids, as_of=candidates.as_of)
    }
    missing = [id_ for id_ in ids if id_ not in records]
    records |= {each.id: each for each in snapshot.messages(ids=missing, as_of=candidates.as_of)}
    return {row: records[id_].content for row, id_ in zip(rows, ids, strict=True)}


# --- Retrieval


MAX_QUERY_CHARS = 1_000
_QUERY_HEAD = 300
_QUERY_TAIL = 700
"""Characters kept from the start and the end of a long query: its topic, and its question."""

DEFAULT_TOP_K = 5

_MAX_RERANK_ROUNDS = 2
"""The maximum number of repeated searches, needed if concurrent writes bring up texts that are not
reranked yet. A guess."""

_MODES = ("hybrid", "vector", "keyword")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A validated recall request.

    Attributes:
        profile: The owner's profile.
        participants: The speakers in the owner's messages.
        text: The query; without secrets, at most 1,000 characters.
        scope: The filter of results.
        top_k: The maximum number of results, 0..100.
        token_budget: The maximum number of their tokens.
        mode: The searches to use.
        trace: Whether to return a trace.
    """

    profile: Profile
    participants: Sequence[Participant]
    text: str
    scope: SearchFilter
    top_k: int
    token_budget: int
    mode: SearchMode = "hybrid"
    trace: bool = False


class Retriever:
    """Retrieves relevant memories and messages."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        access_counter: AccessCounter,
        *,
        default_top_k: int = DEFAULT_TOP_K,
        reranker: Reranker | None = None,
    ) -> None:
        """Configure the retriever; the caller or the profile may override `default_top_k`."""
        self._reranker = None if reranker is None else RerankerClient(reranker)
        self._access = access
        self._indexer = indexer
        self._access_counter = access_counter
        self._default_top_k = default_top_k

    def build_request(
        self,
        owner_id: str,
        query: str,
        *,
        top_k: int | None,
        token_budget: int,
        default_top_k: int | None = None,
        kinds: Iterable[str] | None = None,
        session: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        mode: SearchMode = "hybrid",
        include_compressed: bool = False,
        trace: bool = False,
    ) -> RecallRequest:
        """Validate the arguments of a recall.

        Args:
            owner_id: The owner.
            query: The query.
            top_k: The maximum number of results; None: the profile's.
            token_budget: The maximum number of their tokens.
            default_top_k: Used if the profile has none; None: as configured.
            kinds: Only these kinds; "episode" for messages. None: all.
            session: Only this conversation.
            tags: Only memories with all of these.
            since: Only records that happened at or after this.
            until: Only records that happened before this.
            as_of: Search the memory as it was at this time.
            mode: The searches to use.
            include_compressed: Whether to include the sources of active summaries.
            trace: Whether to return a trace.

        Raises:
            InvalidInput: An argument is not valid.
        """
        with self._access.store.read(owner_id) as snapshot:
            profile = self._access.get_snapshot_profile(snapshot)
            participants = snapshot.participants()
        if mode not in _MODES:
            raise InvalidInput(
                "mode", f"{arguments.format_value(mode)} is not one of {', '.join(_MODES)}"
            )
        if mode == "vector" and not profile.uses_vectors:
            raise InvalidInput("mode", f"profile {profile.name!r} does not use vectors")
        scope = SearchFilter(
            now=self._access.clock.now(),
            as_of=None if as_of is None else arguments.check_instant(as_of, "as_of"),
            kinds=_parse_kinds(kinds, profile),
            session_id=None if session is None else arguments.check_name(session, "session"),
            tags=() if tags is None else arguments.check_tags(tags),
            since=None if since is None else arguments.check_instant(since, "since"),
            until=None if until is None else arguments.check_instant(until, "until"),
            include_compressed=bool(include_compressed),
            include_quarantined=False,
        )
        limit = (
            (profile.default_top_k or default_top_k or self._default_top_k)
            if top_k is None
            else top_k
        )
        return RecallRequest(
            profile=profile,
            participants=participants,
            text=shorten_query(clean_and_redact(query, field="query")[0]),
            scope=scope,
            top_k=arguments.check_count(limit, "top_k", minimum=0, maximum=arguments.MAX_TOP_K),
            token_budget=arguments.check_count(token_budget, "token_budget", minimum=0),
            mode=mode,
            trace=trace,
        )

    @trace_calls("recall")
    def recall(self, owner_id: str, request: RecallRequest, *, touch: bool) -> RecallResult:
        """Return the relevant records, best first."""
        stopwatch = _Stopwatch()
        ranking = request.profile.ranking
        query = ranking.prepare(request.text, request.participants, request.scope.now)
        stopwatch.lap("prepare")
        vector = None if request.mode == "keyword" else self._indexer.embed_query(query.dense_text)
        stopwatch.lap("embed")
        relevance = request.profile.relevance_by_embedder.get(self._indexer.model)
        prepared = _PreparedQuery(owner_id, query, vector, request, relevance, stopwatch)
        candidates, choice, likelihood = self._search(prepared)
        selected = choice.selected
        if touch and request.scope.as_of is None:
            self._access_counter.add(owner_id, [one.id for one in selected if one.kind != EPISODE])
        return RecallResult(
            memories=tuple(selected),
            total_tokens=sum(one.tokens for one in selected),
            token_budget=request.token_budget,
            trace=_build_trace(query, candidates, choice.dropped, stopwatch)
            if request.trace
            else None,
            relevance=likelihood,
            likely_unanswerable=likelihood is not None and likelihood < RELEVANCE_THRESHOLD,
        )

    def _search(
        self, prepared: _PreparedQuery
    ) -> tuple[CandidateSet, ResultSelection, float | None]:
        """Search and select results; also return the likelihood that any of them is relevant."""
        reranking = prepared.request.profile.reranking
        if self._reranker is not None and reranking is not None:
            reading = QueryReranking(self._reranker, reranking, prepared.request.text)
            return (*self._search_reranked(prepared, reading, _MAX_RERANK_ROUNDS), None)
        with self._access.store.read(prepared.owner_id) as snapshot:
            candidates, scores = prepared.score(snapshot)
            return (
                candidates,
                prepared.select(snapshot, candidates, scores),
                prepared.likelihood(candidates, scores),
            )

    def _search_reranked(
        self, prepared: _PreparedQuery, reranking: QueryReranking, rounds: int
    ) -> tuple[CandidateSet, ResultSelection]:
        """Search, then search again after the reranker was called without an open snapshot.

        If concurrent writes bring up new texts in every round, the last round calls it with one
        open.
        """
        with self._access.store.read(prepared.owner_id) as snapshot:
            candidates, scores = prepared.score(snapshot)
            texts = get_rerank_texts(snapshot, candidates, scores)
            if not rounds:
                reranking.score(texts.values())
            if reranking.has_scores(texts.values()):
                scores = reranking.rescore(candidates.candidates, scores, texts)
                return candidates, prepared.select(snapshot, candidates, scores)
        reranking.score(texts.values())
        prepared.stopwatch.lap("rerank")
        return self._search_reranked(prepared, reranking, rounds - 1)


@dataclass(frozen=True, slots=True)
class _PreparedQuery:
    """A request with its prepared query."""

    owner_id: str
    query: Query
    vector: NDArray[np.int8] | None
    request: RecallRequest
    relevance: Relevance | None
    stopwatch: _Stopwatch

    def score(self, snapshot: Snapshot) -> tuple[CandidateSet, Scores]:
        """Search, and score the candidates."""
        with span("search"):
            candidates = find_candidates(snapshot, self.query, self.vector, self.request)
        self.stopwatch.lap("search")
        with span("score"):
            scores = self.request.profile.ranking.score(self.query, candidates.candidates)
        self.stopwatch.lap("score")
        return candidates, scores

    def select(
        self, snapshot: Snapshot, candidates: CandidateSet, scores: Scores
    ) -> ResultSelection:
        """Select the best results."""
        scores = put_pinned_first(scores, candidates.pinned_position)
        with span("load"):
            choice = select_results(snapshot, candidates, scores, self.request)
        self.stopwatch.lap("load")
        return choice

    def likelihood(self, candidates: CandidateSet, scores: Scores) -> float | None:
        """Return the likelihood that any candidate is relevant; None: unknown.

        Requires both searches.
        """
        if self.relevance is None or self.vector is None or not candidates.extent.max_score:
            return None
        signs = build_signals(self.query, candidates.candidates, scores, candidates.extent)
        return self.relevance.likelihood(signs)


class _Stopwatch:
    """Measures the stages of a recall, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def shorten_query(query: str) -> str:
    """Return the query, or its start and end if it is longer than 1,000 characters."""
    if len(query) <= MAX_QUERY_CHARS:
        return query
    return f"{query[:_QUERY_HEAD]}{query[-_QUERY_TAIL:]}"


def _parse_kinds(kinds: Iterable[str] | None, profile: Profile) -> frozenset[str] | None:
    """Return the kinds to search; None: all."""
    if kinds is None:
        return None if profile.recalls_messages else frozenset(profile.kinds)
    valid = (*profile.kinds, EPISODE) if profile.recalls_messages else profile.kinds
    requested = frozenset(
        arguments.check_name(kind, "kinds") for kind in arguments.check_list(kinds, "kinds")
    )
    for kind in sorted(requested - set(valid)):
        raise InvalidInput(
            "kinds", f"{arguments.format_value(kind)} is not one of {', '.join(valid)}"
        )
    return requested


def _build_trace(
    query: Query,
    candidates: CandidateSet,
    dropped: Sequence[DroppedCandidate],
    stopwatch: _Stopwatch,
) -> RecallTrace:
    return RecallTrace(
        dense_text=query.dense_text,
        terms=query.terms,
        candidates=len(candidates.numbers),
        dropped=tuple(dropped),
        seconds=stopwatch.seconds,
    )
