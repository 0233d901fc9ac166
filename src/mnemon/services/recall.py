"""Finding what is relevant: two searches, one ranking, folding, a budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mnemon.domain.items import Span, Trait
from mnemon.domain.memories import EPISODE, Memory, State
from mnemon.domain.messages import Message
from mnemon.domain.recall import Dropped, DropReason, Recalled, RecallResult, Scope, Score, Trace
from mnemon.errors import InvalidInput
from mnemon.policies import arguments
from mnemon.policies.budgeting import prompt_tokens
from mnemon.policies.folding import sentence_keys
from mnemon.policies.ranking.first import put_first
from mnemon.policies.ranking.selection import in_order
from mnemon.services.candidates import Found, search
from mnemon.services.screening import screened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from mnemon.domain.recall import Mode
    from mnemon.policies.ranking.model import Query, Scores
    from mnemon.ports.store import Snapshot
    from mnemon.profiles.model import Profile
    from mnemon.services.access import Access
    from mnemon.services.indexing import Indexer
    from mnemon.services.touches import Touches

MAX_QUERY_CHARS = 1_000
_QUERY_HEAD = 300
_QUERY_TAIL = 700
"""A long query keeps its first 300 and last 700 characters: what it is about, and what is asked."""

TOP_K = 5

_MODES = ("hybrid", "vector", "keyword")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of recall, checked.

    Attributes:
        text: The query; without secrets, at most 1,000 characters.
        scope: What may be returned.
        top_k: At most so many results, 0..100.
        token_budget: They cost at most so much.
        mode: Which searches take part.
        trace: Whether to say how the answer came about.
    """

    text: str
    scope: Scope
    top_k: int
    token_budget: int
    mode: Mode = "hybrid"
    trace: bool = False


class Recalling:
    """Answers queries."""

    def __init__(
        self, access: Access, indexer: Indexer, touches: Touches, *, limit: int = TOP_K
    ) -> None:
        """Use these; `limit`: how many results where nobody says."""
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
        profile = self._access.profile(owner_id)
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
            text=shortened(screened(query, field="query")[0]),
            scope=scope,
            top_k=arguments.count(limit, "top_k", least=0, most=arguments.MAX_TOP_K),
            token_budget=arguments.count(token_budget, "token_budget", least=0),
            mode=mode,
            trace=trace,
        )

    def recall(self, owner_id: str, request: Request, *, touch: bool) -> RecallResult:
        """Return what is relevant, best first."""
        watch = _Watch()
        profile = self._access.profile(owner_id)
        with self._access.store.read(owner_id) as snapshot:
            participants = snapshot.participants()
        query = profile.ranking.prepare(request.text, participants, request.scope.now)
        watch.lap("prepare")
        vector = None if request.mode == "keyword" else self._indexer.query(query.dense_text)
        watch.lap("embed")
        with self._access.store.read(owner_id) as snapshot:
            found = search(snapshot, profile, query, vector, request)
            watch.lap("search")
            scores = put_first(profile.ranking.score(query, found.candidates), found.place)
            watch.lap("score")
            choice = _choose(snapshot, profile, found, scores, request)
            watch.lap("load")
        chosen = choice.chosen
        if touch and request.scope.as_of is None:
            self._touches.add(owner_id, [one.id for one in chosen if one.kind != EPISODE])
        return RecallResult(
            memories=tuple(chosen),
            total_tokens=sum(one.tokens for one in chosen),
            token_budget=request.token_budget,
            trace=_trace(query, found, choice.dropped, watch) if request.trace else None,
        )


class _Watch:
    """Takes the time of the stages of one recall."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
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


class _Choice:
    """The results taken so far, and, where a trace is asked for, those that were not."""

    def __init__(self, found: Found, scores: Scores, request: Request, *, folds: bool) -> None:
        self.chosen: list[Recalled] = []
        self.dropped: list[Dropped] = []
        self._found = found
        self._scores = scores
        self._request = request
        self._folds = folds
        self._keys: dict[str, frozenset[str]] = {}

    @property
    def is_full(self) -> bool:
        return len(self.chosen) >= self._request.top_k

    def offer(self, row: int, result: Recalled) -> None:
        """Take the next best result, unless there is a reason not to."""
        if not self._scores.kept[row] and not self._found.exact[row]:
            self.drop(row, "floor")
        elif self.is_full:
            self.drop(row, "rank")
        elif self._folds and self._fold(result):
            self.drop(row, "folded")
        elif self._fits(result.tokens):
            self.chosen.append(result)
        else:
            self.drop(row, "budget")

    def _fits(self, tokens: int) -> bool:
        return sum(one.tokens for one in self.chosen) + tokens <= self._request.token_budget

    def _fold(self, result: Recalled) -> bool:
        """Fold a result into one taken before, or such into it; return whether it is done.

        What says more takes the place and score of what says less; of a memory and a message
        that say the same it is the memory, which has a kind.
        """
        says = self._sentences(result)
        related = [other for other in self.chosen if _related(other.record, result.record)]
        yielding = [other for other in related if self._yields(other, says)]
        over = [other for other in related if says <= self._sentences(other)]
        into = next((other for other in over if not self._yields(other, says)), None)
        gain = sum(other.tokens for other in yielding)
        if into is None and yielding and self._fits(result.tokens - gain):
            self._take_place(yielding, result)
            return True
        into = into or next(iter(over), None)
        if into is not None:
            folded = (*into.folded, result.id, *result.folded)
            self.chosen[self.chosen.index(into)] = replace(into, folded=folded)
        return into is not None

    def _yields(self, taken: Recalled, says: frozenset[str]) -> bool:
        """Return whether a result taken before makes room for one, related, that says this."""
        said = self._sentences(taken)
        return said < says or (said == says and isinstance(taken.record, Message))

    def _take_place(self, yielding: Sequence[Recalled], result: Recalled) -> None:
        """Put a result in the first one's place, and fold all of these into it."""
        ids = [id_ for other in yielding for id_ in (other.id, *other.folded)]
        place = self.chosen.index(yielding[0])
        self.chosen[place] = replace(result, score=yielding[0].score, folded=(*result.folded, *ids))
        self.chosen = [one for one in self.chosen if one not in yielding[1:]]

    def _sentences(self, result: Recalled) -> frozenset[str]:
        keys = self._keys.get(result.id)
        if keys is None:
            keys = self._keys[result.id] = sentence_keys(result.text)
        return keys

    def drop(self, row: int, reason: DropReason) -> None:
        """Note what was not taken."""
        if self._request.trace:
            score = _score(self._found, self._scores, row)
            self.dropped.append(Dropped(self._found.items.record_id[row], reason, score))


def _choose(
    snapshot: Snapshot, profile: Profile, found: Found, scores: Scores, request: Request
) -> _Choice:
    """Take the best that fit, folding what another result says already.

    What says exactly the query is taken before all else, so that it is found whatever else is
    there; what needs no search stands before all else.
    """
    order = in_order(found.numbers, scores.total, found.exact)
    choice = _Choice(found, scores, request, folds=profile.folds)
    read = 0
    while read < len(order) and not choice.is_full:
        rows = order[read : read + request.top_k]
        for row, result in zip(rows, _load(snapshot, found, scores, rows), strict=True):
            choice.offer(row, result)
        read += len(rows)
    for row in order[read:] if request.trace else ():
        choice.drop(row, "rank")
    choice.chosen = _marked(snapshot, choice.chosen)
    choice.chosen.sort(key=lambda result: result.kind not in profile.first_kinds)
    return choice


def _score(found: Found, scores: Scores, row: int) -> Score:
    columns = found.candidates
    similarity = float(columns.best_similarity[row])
    return Score(
        total=float(scores.total[row]),
        similarity=0.0 if np.isnan(similarity) else similarity,
        text=float(columns.text[row]),
        strength=float(columns.strength[row]),
        freshness=float(columns.freshness[row]),
        parts={name: float(part[row]) for name, part in scores.parts.items()},
    )


def _load(snapshot: Snapshot, found: Found, scores: Scores, rows: Sequence[int]) -> list[Recalled]:
    """Read the records of some rows, and choose the passage of each to show."""
    ids = [found.items.record_id[row] for row in rows]
    memories = [id_ for row, id_ in zip(rows, ids, strict=True) if found.items.is_memory[row]]
    messages = [id_ for row, id_ in zip(rows, ids, strict=True) if not found.items.is_memory[row]]
    records: dict[str, Memory | Message] = {
        memory.id: memory for memory in snapshot.memories(memories, as_of=found.as_of)
    }
    records |= {
        message.id: message for message in snapshot.messages(ids=messages, as_of=found.as_of)
    }
    spans = snapshot.passages(found.numbers[rows])
    return [
        _recalled(found, row, _score(found, scores, row), records[id_], parts)
        for row, id_, parts in zip(rows, ids, spans, strict=True)
    ]


def _recalled(
    found: Found,
    row: int,
    score: Score,
    record: Memory | Message,
    parts: Sequence[tuple[Span, int]],
) -> Recalled:
    if isinstance(record, Memory):
        record = replace(record, strength=score.strength)
    if isinstance(record, Memory) or len(parts) <= 1:
        shown = Span(0, len(record.content))
        pieces = sum(tokens for _, tokens in parts)
    else:
        shown, pieces = parts[found.best_part(row)]
    suspicious = bool(found.items.traits[row] & Trait.SUSPICIOUS)
    return Recalled(record, score, shown, prompt_tokens(pieces), suspicious=suspicious)


def _related(first: Memory | Message, second: Memory | Message) -> bool:
    """Return whether two records may stand for each other.

    Two messages may not: the same words said twice are two episodes. A memory and a message
    may where the memory was made from it; two memories always.
    """
    if isinstance(first, Message) and isinstance(second, Message):
        return False
    if isinstance(first, Memory) and isinstance(second, Memory):
        return True
    memory, message = (first, second) if isinstance(first, Memory) else (second, first)
    return isinstance(memory, Memory) and any(each.id == message.id for each in memory.sources)


def _marked(snapshot: Snapshot, chosen: list[Recalled]) -> list[Recalled]:
    """Mark the episodes of which a memory was made that has been superseded since."""
    derived = snapshot.derived([one.id for one in chosen if isinstance(one.record, Message)])
    changed = {
        message_id
        for message_id, memories in derived.items()
        if any(memory.state is State.SUPERSEDED for memory in memories)
    }
    return [replace(one, changed_later=True) if one.id in changed else one for one in chosen]


def _trace(query: Query, found: Found, dropped: Sequence[Dropped], watch: _Watch) -> Trace:
    return Trace(
        dense_text=query.dense_text,
        terms=query.terms,
        candidates=len(found.numbers),
        dropped=tuple(dropped),
        seconds=watch.seconds,
    )
