"""The two searches, and the columns that a ranking scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import EPISODE
from memolith.domain.messages import Role
from memolith.policies.forgetting import freshness
from memolith.policies.ranking.bm25 import Matches
from memolith.policies.ranking.first import foremost, share
from memolith.policies.ranking.model import Candidates
from memolith.policies.ranking.relevance import Extent
from memolith.policies.ranking.selection import best, distinct, highest, log_mean_exp, run_starts
from memolith.ports.columns import PART_BITS
from memolith.services.dated import dated
from memolith.services.surroundings import words_around
from memolith.services.vitality import strengths
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from memolith.domain.recall import Scope
    from memolith.policies.ranking.model import Query
    from memolith.ports.store import Items, Snapshot, Uses
    from memolith.profiles.model import Profile
    from memolith.services.recall import Request

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_MICROSECONDS_PER_HOUR = 3_600_000_000.0
_NONE: Integers = np.empty(0, dtype=np.int64)
_PART_MASK = (1 << PART_BITS) - 1


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keyword scores of all passages that hold any keyword, ascending by item and part.

    Attributes:
        part: The passages' places in their items.
        score: Their scores.
        starts: Where each item's passages begin.
        items: The items, each once, ascending.
        tops: The score of each item's best passage.
    """

    part: Integers
    score: Floats
    starts: Integers
    items: Integers
    tops: Floats

    @classmethod
    def of(cls, passages: Integers, score: Floats) -> Keywords:
        """Group scored passages by item."""
        item = passages >> PART_BITS
        if not len(item):
            return cls(item, score, item, item, score)
        starts = run_starts(item)
        tops = np.maximum.reduceat(score, starts)
        return cls(passages & _PART_MASK, score, starts, item[starts], tops)

    def of_items(self, numbers: Integers) -> Floats:
        """Return the score of each item's best passage; 0 for one that holds no keyword."""
        scores = np.zeros(len(numbers))
        if len(self.items):
            places = np.minimum(np.searchsorted(self.items, numbers), len(self.items) - 1)
            hit = self.items[places] == numbers
            scores[hit] = self.tops[places[hit]]
        return scores

    def best_part(self, number: int) -> int | None:
        """Return which passage of an item scores best, the first of equals."""
        place = int(np.searchsorted(self.items, number))
        if place == len(self.items) or self.items[place] != number:
            return None
        start, *ends = self.starts[place : place + 2]
        best_of_item = int(np.argmax(self.score[start : ends[0] if ends else None]))
        return int(self.part[start + best_of_item])


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, before it is scored; n rows.

    Attributes:
        numbers: The items, ascending.
        items: Their columns.
        candidates: What the ranking scores.
        exact: Which say exactly the query; they are taken first.
        place: Where each comes among those that need no search; −1: it was searched for.
        keywords: All keyword scores.
        extent: In what the search by keyword looked.
        nearest_part: The passage of each that is nearest to the query; −1 without a vector.
        as_of: The instant that was asked about; None: now.
    """

    numbers: Integers
    items: Items
    candidates: Candidates
    exact: NDArray[np.bool_]
    place: Integers
    keywords: Keywords
    extent: Extent
    nearest_part: Integers
    as_of: datetime | None

    def best_part(self, row: int) -> int:
        """Return the passage that fits the query best: by its keywords, else by its vector."""
        part = self.keywords.best_part(int(self.numbers[row]))
        return max(0, int(self.nearest_part[row])) if part is None else part


def search(
    snapshot: Snapshot, query: Query, vector: NDArray[np.int8] | None, request: Request
) -> Found:
    """Return the union of the best by vector, the best by keyword, and what says the query.

    And what needs no search, where the profile has kinds of that sort.
    """
    profile = request.profile
    scope = _searched(profile, request.scope)
    pool = profile.ranking.pool(request.top_k)
    near = _NONE if vector is None else snapshot.nearest(vector, pool, scope)
    matches = _matches(snapshot, query if request.mode != "vector" else None, scope)
    keywords = _keywords(matches)
    finds = vector is None or not query.keywords_only_score
    worded = keywords.items[best(keywords.tops, keywords.items, pool if finds else 0)]
    of_then = dated(snapshot, query, vector, keywords, scope) if query.periods else _NONE
    held = _held(snapshot, query, keywords, request, scope)
    said = content_key(request.text)  # recall by its own text finds a text
    same = snapshot.saying(said, request.top_k, request.scope)
    first = _first(snapshot, profile, request, same)
    others = same if scope is request.scope else snapshot.saying(said, request.top_k, scope)
    numbers = distinct(np.concatenate([near, worded, of_then, held.items, others, first]))
    around = matches if query.looks_around else None
    extent = Extent() if matches is None else Extent.of(matches.postings)
    ranks = _Ranks(same, first, keywords, extent, held, around)
    return _found(snapshot, profile, numbers, ranks, vector, scope)


@dataclass(frozen=True, slots=True)
class _Held:
    """Items that hold words of the query as parts, ascending, and how many each holds."""

    items: Integers
    words: Integers

    def of_items(self, numbers: Integers) -> Integers:
        """Return how many words each of ascending items holds."""
        held = np.zeros(len(numbers), dtype=np.int64)
        held[np.searchsorted(numbers, self.items)] = self.words
        return held


@dataclass(frozen=True, slots=True)
class _Ranks:
    """What was found but by vector: what says the query, what comes first, and by words.

    `extent` is as in `Found`; `around` is where the words stand, if the ranking looks around.
    """

    same: Integers
    first: Integers
    keywords: Keywords
    extent: Extent
    held: _Held
    around: Matches | None


def _held(
    snapshot: Snapshot, query: Query, keywords: Keywords, request: Request, scope: Scope
) -> _Held:
    """Return what holds words of the query as parts, where no keyword was found at all."""
    is_sought = request.profile.compares_text and query.words and request.mode != "vector"
    if not is_sought or len(keywords.items):
        return _Held(_NONE, _NONE)
    return _Held(*snapshot.containing(query.words, scope))


def _searched(profile: Profile, scope: Scope) -> Scope:
    """Return the scope without the kinds that need no search."""
    if not profile.first_kinds:
        return scope
    kinds = frozenset({*profile.kinds, EPISODE}) if scope.kinds is None else scope.kinds
    return replace(scope, kinds=kinds - profile.first_kinds)


def _first(snapshot: Snapshot, profile: Profile, request: Request, same: Integers) -> Integers:
    """Return the items that need no search, in their order; at most a share of the results."""
    scope = request.scope
    kinds = profile.first_kinds if scope.kinds is None else profile.first_kinds & scope.kinds
    if not kinds:
        return _NONE
    numbers = snapshot.within(replace(scope, kinds=kinds))
    by_user = np.array([role == Role.USER for role in snapshot.items(numbers).role], dtype=bool)
    importance = snapshot.uses(numbers).importance
    limit = share(request.top_k, alone=scope.kinds is not None and scope.kinds <= kinds)
    return numbers[foremost(numbers, importance, by_user, np.isin(numbers, same), limit)]


def _matches(snapshot: Snapshot, query: Query | None, scope: Scope) -> Matches | None:
    if query is None or not query.terms:
        return None
    return Matches.of(snapshot.postings(query.terms, scope))


def _keywords(matches: Matches | None) -> Keywords:
    if matches is None:
        return Keywords.of(np.empty(0, dtype=np.int64), np.empty(0))
    scores = matches.of_passages()
    hit = scores > 0.0
    return Keywords.of(matches.postings.passages[hit], scores[hit])


def _found(
    snapshot: Snapshot,
    profile: Profile,
    numbers: Integers,
    ranks: _Ranks,
    vector: NDArray[np.int8] | None,
    scope: Scope,
) -> Found:
    items, keywords = snapshot.items(numbers), ranks.keywords
    previous = snapshot.neighbours(numbers, -1, scope)
    before = _columns_of(snapshot, previous)
    following = snapshot.neighbours(numbers, 1, scope)
    nearness = _nearness(snapshot, numbers, vector, following)
    around = np.zeros(len(numbers))
    if ranks.around is not None:
        around = words_around(snapshot, ranks.around, numbers, previous, following, scope)
    uses = snapshot.uses(numbers)
    strength, fresh = _vitality(profile, items, uses, scope)
    candidates = Candidates(
        similarity=nearness.soft,
        best_similarity=nearness.top,
        text=keywords.of_items(numbers),
        next_similarity=nearness.of_next,
        previous_text=keywords.of_items(previous),
        previous_traits=before[0],
        previous_speaker=before[1],
        around=around,
        is_memory=items.is_memory,
        kind=items.kind,
        session=items.session,
        sequence=items.sequence,
        speaker=items.speaker,
        role=items.role,
        at=items.at,
        traits=items.traits,
        words=items.words,
        importance=uses.importance,
        strength=strength,
        freshness=fresh,
        held=ranks.held.of_items(numbers),
    )
    exact = (numbers[:, None] == ranks.same).any(axis=1)
    place = _places(numbers, ranks.first)
    return Found(
        numbers=numbers,
        items=items,
        candidates=candidates,
        exact=exact,
        place=place,
        keywords=keywords,
        extent=ranks.extent,
        nearest_part=nearness.part,
        as_of=scope.as_of,
    )


def _places(numbers: Integers, first: Integers) -> Integers:
    """Return where each of ascending numbers stands in another order; −1 for those not in it."""
    places = np.full(len(numbers), -1, dtype=np.int64)
    places[np.searchsorted(numbers, first)] = np.arange(len(first))
    return places


def _columns_of(snapshot: Snapshot, numbers: Integers) -> tuple[Integers, Integers]:
    """Return traits and speaker of items of which some may be −1: 0 and −1 for those."""
    traits = np.zeros(len(numbers), dtype=np.int64)
    speaker = np.full(len(numbers), -1, dtype=np.int64)
    there = np.flatnonzero(numbers >= 0)
    if len(there):
        items = snapshot.items(numbers[there])
        traits[there] = items.traits
        speaker[there] = items.speaker
    return traits, speaker


@dataclass(frozen=True, slots=True)
class _Nearness:
    """How near items are to the query; NaN, and −1 as part, for those without a vector.

    Attributes:
        soft: Soft maximum over an item's passages.
        top: Maximum.
        part: The passage that has it, the first of equals.
        of_next: Soft maximum of the message that follows; NaN without one.
    """

    soft: Floats
    top: Floats
    part: Integers
    of_next: Floats


def _nearness(
    snapshot: Snapshot, numbers: Integers, vector: NDArray[np.int8] | None, following: Integers
) -> _Nearness:
    size = len(numbers)
    of_next = np.full(size, np.nan)
    part = np.full(size, -1, dtype=np.int64)
    if vector is None or not size:
        return _Nearness(of_next, of_next, part, of_next)
    there = np.flatnonzero(following >= 0)
    found = snapshot.similarities(vector, np.concatenate([numbers, following[there]]))
    soft = log_mean_exp(found.row, found.cosine, size + len(there))
    top = highest(found.row, found.cosine, size + len(there), np.nan)
    of_next[there] = soft[size:]
    is_top = (found.cosine == top[found.row]) & (found.row < size)
    part[found.row[is_top][::-1]] = found.part[is_top][::-1]
    return _Nearness(soft[:size], top[:size], part, of_next)


def _vitality(profile: Profile, items: Items, uses: Uses, scope: Scope) -> tuple[Floats, Floats]:
    """Return strength and freshness; a message's strength is 1."""
    now = scope.now.timestamp() * 1e6
    elapsed = (now - uses.used_at).astype(np.float64)
    strength = np.ones(len(elapsed))
    if items.is_memory.any():
        left = strengths(profile, items.kind, uses, scope.now)
        strength = np.where(items.is_memory, left, strength)
    return strength, freshness(elapsed / _MICROSECONDS_PER_HOUR)
