"""Finding what is relevant: two searches, one ranking, folding, a budget."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import EPISODE
from memolith.domain.recall import Dropped, RecallResult, Scope, Trace
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.policies.ranking.first import put_first
from memolith.policies.ranking.relevance import RELEVANT_FROM, signs_of
from memolith.services.candidates import Found, search
from memolith.services.choosing import choose
from memolith.services.reranking import Reader, Reading, texts_to_read
from memolith.services.screening import screened
from memolith.steps import step, stepped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from memolith.domain.messages import Participant
    from memolith.domain.recall import Mode
    from memolith.policies.ranking.model import Query, Scores
    from memolith.policies.ranking.relevance import Relevance
    from memolith.ports.reranker import Reranker
    from memolith.ports.store import Snapshot
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.choosing import Choice
    from memolith.services.indexing import Indexer
    from memolith.services.touches import Touches

MAX_QUERY_CHARS = 1_000
_QUERY_HEAD = 300
_QUERY_TAIL = 700
"""A long query keeps its first 300 and last 700 characters: what it is about, and what is asked."""

TOP_K = 5

_ROUNDS = 2
"""How often a search is made again because others have written what no reranker has read yet:
a guess."""

_MODES = ("hybrid", "vector", "keyword")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of recall, checked.

    Attributes:
        profile: The owner's.
        participants: Who has spoken.
        text: The query; without secrets, at most 1,000 characters.
        scope: What may be returned.
        top_k: At most so many results, 0..100.
        token_budget: They cost at most so much.
        mode: Which searches take part.
        trace: Whether to say how the answer came about.
    """

    profile: Profile
    participants: Sequence[Participant]
    text: str
    scope: Scope
    top_k: int
    token_budget: int
    mode: Mode = "hybrid"
    trace: bool = False


class Recalling:
    """Answers queries."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        touches: Touches,
        *,
        limit: int = TOP_K,
        reranker: Reranker | None = None,
    ) -> None:
        """Use these; `limit`: how many results where nobody says."""
        self._reader = None if reranker is None else Reader(reranker)
        self._access = access
        self._indexer = indexer
        self._touches = touches
        self._limit = limit

    def request(
        self,
        owner_id: str,
        query: str,
        *,
        top_k: int | None,
        token_budget: int,
        otherwise: int | None = None,
        kinds: Iterable[str] | None = None,
        session: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        mode: Mode = "hybrid",
        include_compressed: bool = False,
        trace: bool = False,
    ) -> Request:
        """Check what is asked.

        Args:
            owner_id: Who is asked about.
            query: What is asked.
            top_k: At most so many results; None: as many as the profile says.
            token_budget: They cost at most so much.
            otherwise: How many results where the profile says nothing; None: as configured.
            kinds: Only these kinds; "episode" stands for messages. None: all.
            session: Only this conversation.
            tags: Only memories that have all of these.
            since: Only what happened, or was said, at or after this.
            until: Only what happened, or was said, before this.
            as_of: As things stood then.
            mode: Which searches take part.
            include_compressed: Whether to take what an active summary stands for.
            trace: Whether to say how the answer came about.

        Raises:
            InvalidInput: An argument can't be taken.
        """
        with self._access.store.read(owner_id) as snapshot:
            profile = self._access.profile_of(snapshot)
            participants = snapshot.participants()
        if mode not in _MODES:
            raise InvalidInput("mode", f"{arguments.shown(mode)} is none of {', '.join(_MODES)}")
        if mode == "vector" and not profile.vectors:
            raise InvalidInput("mode", f"profile {profile.name!r} has no vectors")
        scope = Scope(
            now=self._access.clock.now(),
            as_of=None if as_of is None else arguments.instant(as_of, "as_of"),
            kinds=_kinds(kinds, profile),
            session_id=None if session is None else arguments.name(session, "session"),
            tags=() if tags is None else arguments.tags(tags),
            since=None if since is None else arguments.instant(since, "since"),
            until=None if until is None else arguments.instant(until, "until"),
            include_compressed=bool(include_compressed),
            include_withheld=False,
        )
        limit = (profile.limit or otherwise or self._limit) if top_k is None else top_k
        return Request(
            profile=profile,
            participants=participants,
            text=shortened(screened(query, field="query")[0]),
            scope=scope,
            top_k=arguments.count(limit, "top_k", least=0, most=arguments.MAX_TOP_K),
            token_budget=arguments.count(token_budget, "token_budget", least=0),
            mode=mode,
            trace=trace,
        )

    @stepped("recall")
    def recall(self, owner_id: str, request: Request, *, touch: bool) -> RecallResult:
        """Return what is relevant, best first."""
        watch = _Watch()
        ranking = request.profile.ranking
        query = ranking.prepare(request.text, request.participants, request.scope.now)
        watch.lap("prepare")
        vector = None if request.mode == "keyword" else self._indexer.query(query.dense_text)
        watch.lap("embed")
        relevance = request.profile.relevance.get(self._indexer.model)
        asked = _Asked(owner_id, query, vector, request, relevance, watch)
        found, choice, likelihood = self._found(asked)
        chosen = choice.chosen
        if touch and request.scope.as_of is None:
            self._touches.add(owner_id, [one.id for one in chosen if one.kind != EPISODE])
        return RecallResult(
            memories=tuple(chosen),
            total_tokens=sum(one.tokens for one in chosen),
            token_budget=request.token_budget,
            trace=_trace(query, found, choice.dropped, watch) if request.trace else None,
            relevance=likelihood,
            nothing_relevant=likelihood is not None and likelihood < RELEVANT_FROM,
        )

    def _found(self, asked: _Asked) -> tuple[Found, Choice, float | None]:
        """Search, score and choose; and tell how likely it is that something found is relevant."""
        reranking = asked.request.profile.reranking
        if self._reader is not None and reranking is not None:
            reading = Reading(self._reader, reranking, asked.request.text)
            return (*self._reranked(asked, reading, _ROUNDS), None)
        with self._access.store.read(asked.owner_id) as snapshot:
            found, scores = asked.scored(snapshot)
            return found, asked.choice(snapshot, found, scores), asked.likelihood(found, scores)

    def _reranked(self, asked: _Asked, reading: Reading, rounds: int) -> tuple[Found, Choice]:
        """Search, and search again once the reranker has answered, with no snapshot open.

        It waits with one open only where others have written in each of these rounds.
        """
        with self._access.store.read(asked.owner_id) as snapshot:
            found, scores = asked.scored(snapshot)
            texts = texts_to_read(snapshot, found, scores)
            if not rounds:
                reading.read(texts.values())
            if reading.has(texts.values()):
                scores = reading.rescored(found.candidates, scores, texts)
                return found, asked.choice(snapshot, found, scores)
        reading.read(texts.values())
        asked.watch.lap("rerank")
        return self._reranked(asked, reading, rounds - 1)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with all that was made ready for it."""

    owner_id: str
    query: Query
    vector: NDArray[np.int8] | None
    request: Request
    relevance: Relevance | None
    watch: _Watch

    def scored(self, snapshot: Snapshot) -> tuple[Found, Scores]:
        """Search, and score what was found."""
        with step("search"):
            found = search(snapshot, self.query, self.vector, self.request)
        self.watch.lap("search")
        with step("score"):
            scores = self.request.profile.ranking.score(self.query, found.candidates)
        self.watch.lap("score")
        return found, scores

    def choice(self, snapshot: Snapshot, found: Found, scores: Scores) -> Choice:
        """Take the best."""
        scores = put_first(scores, found.place)
        with step("load"):
            choice = choose(snapshot, found, scores, self.request)
        self.watch.lap("load")
        return choice

    def likelihood(self, found: Found, scores: Scores) -> float | None:
        """Return how likely it is that something found is relevant; None: that is not known.

        It takes both searches to know.
        """
        if self.relevance is None or self.vector is None or not found.extent.attainable:
            return None
        signs = signs_of(self.query, found.candidates, scores, found.extent)
        return self.relevance.likelihood(signs)


class _Watch:
    """Takes the time of the stages of one recall."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def shortened(query: str) -> str:
    """Return a query of at most 1,000 characters: its beginning and its end."""
    if len(query) <= MAX_QUERY_CHARS:
        return query
    return f"{query[:_QUERY_HEAD]}{query[-_QUERY_TAIL:]}"


def _kinds(kinds: Iterable[str] | None, profile: Profile) -> frozenset[str] | None:
    """Return the kinds that may be found; None: all there are."""
    if kinds is None:
        return None if profile.episodes else frozenset(profile.kinds)
    known = (*profile.kinds, EPISODE) if profile.episodes else profile.kinds
    wanted = frozenset(arguments.name(kind, "kinds") for kind in arguments.several(kinds, "kinds"))
    for kind in sorted(wanted - set(known)):
        raise InvalidInput("kinds", f"{arguments.shown(kind)} is none of {', '.join(known)}")
    return wanted


def _trace(query: Query, found: Found, dropped: Sequence[Dropped], watch: _Watch) -> Trace:
    return Trace(
        dense_text=query.dense_text,
        terms=query.terms,
        candidates=len(found.numbers),
        dropped=tuple(dropped),
        seconds=watch.seconds,
    )
