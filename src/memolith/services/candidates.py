"""The two searches, and the columns that a ranking scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import EPISODE
from memolith.domain.messages import Role
from memolith.policies.forgetting import freshness
from memolith.policies.ranking.bm25 import TermMatches
from memolith.policies.ranking.first import get_pinned_share, rank_pinned
from memolith.policies.ranking.model import Candidates
from memolith.policies.ranking.relevance import SearchExtent
from memolith.policies.ranking.selection import (
    find_run_starts,
    find_unique,
    log_mean_exp,
    max_by_row,
    select_best,
)
from memolith.ports.columns import PART_BITS
from memolith.services.dated import find_in_periods
from memolith.services.surroundings import score_surroundings
from memolith.services.vitality import compute_strengths
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from memolith.domain.recall import SearchFilter
    from memolith.policies.ranking.model import Query
    from memolith.ports.store import Items, Snapshot, UsageStats
    from memolith.profiles.model import Profile
    from memolith.services.recall import RecallRequest

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_MICROSECONDS_PER_HOUR = 3_600_000_000.0
_NO_ITEMS: Integers = np.empty(0, dtype=np.int64)
_PART_MASK = (1 << PART_BITS) - 1


@dataclass(frozen=True, slots=True)
class KeywordScores:
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
    def from_passages(cls, passages: Integers, score: Floats) -> KeywordScores:
        """Group scored passages by item."""
        item = passages >> PART_BITS
        if not len(item):
            return cls(item, score, item, item, score)
        starts = find_run_starts(item)
        tops = np.maximum.reduceat(score, starts)
        return cls(passages & _PART_MASK, score, starts, item[starts], tops)

    def item_scores(self, numbers: Integers) -> Floats:
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
class CandidateSet:
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
    pinned_position: Integers
    keywords: KeywordScores
    extent: SearchExtent
    nearest_part: Integers
    as_of: datetime | None

    def best_part(self, row: int) -> int:
        """Return the passage that fits the query best: by its keywords, else by its vector."""
        part = self.keywords.best_part(int(self.numbers[row]))
        return max(0, int(self.nearest_part[row])) if part is None else part


def find_candidates(
    snapshot: Snapshot, query: Query, vector: NDArray[np.int8] | None, request: RecallRequest
) -> CandidateSet:
    """Return the union of the best by vector, the best by keyword, and what says the query.

    And what needs no search, where the profile has kinds of that sort.
    """
    profile = request.profile
    scope = _build_search_scope(profile, request.scope)
    pool = profile.ranking.get_pool_size(request.top_k)
    near = _NO_ITEMS if vector is None else snapshot.nearest(vector, pool, scope)
    matches = _match_keywords(snapshot, query if request.mode != "vector" else None, scope)
    keywords = _score_keywords(matches)
    finds = vector is None or not query.keywords_only_score
    worded = keywords.items[select_best(keywords.tops, keywords.items, pool if finds else 0)]
    of_then = (
        find_in_periods(snapshot, query, vector, keywords, scope) if query.periods else _NO_ITEMS
    )
    held = _find_containing(snapshot, query, keywords, request, scope)
    said = content_key(request.text)  # recall by its own text finds a text
    same = snapshot.items_with_content(said, request.top_k, request.scope)
    first = _find_pinned(snapshot, profile, request, same)
    others = (
        same if scope is request.scope else snapshot.items_with_content(said, request.top_k, scope)
    )
    numbers = find_unique(np.concatenate([near, worded, of_then, held.items, others, first]))
    around = matches if query.uses_context_window else None
    extent = SearchExtent() if matches is None else SearchExtent.from_postings(matches.postings)
    ranks = _SearchResults(same, first, keywords, extent, held, around)
    return _build_candidates(snapshot, profile, numbers, ranks, vector, scope)


@dataclass(frozen=True, slots=True)
class _ContainedWords:
    """Items that hold words of the query as parts, ascending, and how many each holds."""

    items: Integers
    words: Integers

    def word_counts(self, numbers: Integers) -> Integers:
        """Return how many words each of ascending items holds."""
        held = np.zeros(len(numbers), dtype=np.int64)
        held[np.searchsorted(numbers, self.items)] = self.words
        return held


@dataclass(frozen=True, slots=True)
class _SearchResults:
    """What was found but by vector: what says the query, what comes first, and by words.

    `extent` is as in `Found`; `around` is where the words stand, if the ranking looks around.
    """

    exact: Integers
    pinned: Integers
    keywords: KeywordScores
    extent: SearchExtent
    contained: _ContainedWords
    nearby_matches: TermMatches | None


def _find_containing(
    snapshot: Snapshot,
    query: Query,
    keywords: KeywordScores,
    request: RecallRequest,
    scope: SearchFilter,
) -> _ContainedWords:
    """Return what holds words of the query as parts, where no keyword was found at all."""
    is_sought = request.profile.searches_substrings and query.words and request.mode != "vector"
    if not is_sought or len(keywords.items):
        return _ContainedWords(_NO_ITEMS, _NO_ITEMS)
    return _ContainedWords(*snapshot.find_containing(query.words, scope))


def _build_search_scope(profile: Profile, scope: SearchFilter) -> SearchFilter:
    """Return the scope without the kinds that need no search."""
    if not profile.pinned_kinds:
        return scope
    kinds = frozenset({*profile.kinds, EPISODE}) if scope.kinds is None else scope.kinds
    return replace(scope, kinds=kinds - profile.pinned_kinds)


def _find_pinned(
    snapshot: Snapshot, profile: Profile, request: RecallRequest, same: Integers
) -> Integers:
    """Return the items that need no search, in their order; at most a share of the results."""
    scope = request.scope
    kinds = profile.pinned_kinds if scope.kinds is None else profile.pinned_kinds & scope.kinds
    if not kinds:
        return _NO_ITEMS
    numbers = snapshot.items_in_scope(replace(scope, kinds=kinds))
    by_user = np.array([role == Role.USER for role in snapshot.items(numbers).role], dtype=bool)
    importance = snapshot.usage_stats(numbers).importance
    limit = get_pinned_share(
        request.top_k, exclusive=scope.kinds is not None and scope.kinds <= kinds
    )
    return numbers[rank_pinned(numbers, importance, by_user, np.isin(numbers, same), limit)]


def _match_keywords(
    snapshot: Snapshot, query: Query | None, scope: SearchFilter
) -> TermMatches | None:
    if query is None or not query.terms:
        return None
    return TermMatches.from_postings(snapshot.postings(query.terms, scope))


def _score_keywords(matches: TermMatches | None) -> KeywordScores:
    if matches is None:
        return KeywordScores.from_passages(np.empty(0, dtype=np.int64), np.empty(0))
    scores = matches.score_passages()
    hit = scores > 0.0
    return KeywordScores.from_passages(matches.postings.passages[hit], scores[hit])


def _build_candidates(
    snapshot: Snapshot,
    profile: Profile,
    numbers: Integers,
    ranks: _SearchResults,
    vector: NDArray[np.int8] | None,
    scope: SearchFilter,
) -> CandidateSet:
    items, keywords = snapshot.items(numbers), ranks.keywords
    previous = snapshot.neighbours(numbers, -1, scope)
    before = _get_traits_and_speakers(snapshot, previous)
    following = snapshot.neighbours(numbers, 1, scope)
    nearness = _compute_similarities(snapshot, numbers, vector, following)
    around = np.zeros(len(numbers))
    if ranks.nearby_matches is not None:
        around = score_surroundings(
            snapshot, ranks.nearby_matches, numbers, previous, following, scope
        )
    uses = snapshot.usage_stats(numbers)
    strength, fresh = _compute_strength(profile, items, uses, scope)
    candidates = Candidates(
        similarity=nearness.soft_maximum,
        best_similarity=nearness.maximum,
        text=keywords.item_scores(numbers),
        next_similarity=nearness.next_message,
        previous_text=keywords.item_scores(previous),
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
        held=ranks.contained.word_counts(numbers),
    )
    exact = (numbers[:, None] == ranks.exact).any(axis=1)
    place = _find_positions(numbers, ranks.pinned)
    return CandidateSet(
        numbers=numbers,
        items=items,
        candidates=candidates,
        exact=exact,
        pinned_position=place,
        keywords=keywords,
        extent=ranks.extent,
        nearest_part=nearness.best_part,
        as_of=scope.as_of,
    )


def _find_positions(numbers: Integers, first: Integers) -> Integers:
    """Return where each of ascending numbers stands in another order; −1 for those not in it."""
    places = np.full(len(numbers), -1, dtype=np.int64)
    places[np.searchsorted(numbers, first)] = np.arange(len(first))
    return places


def _get_traits_and_speakers(snapshot: Snapshot, numbers: Integers) -> tuple[Integers, Integers]:
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
class _Similarities:
    """How near items are to the query; NaN, and −1 as part, for those without a vector.

    Attributes:
        soft: Soft maximum over an item's passages.
        top: Maximum.
        part: The passage that has it, the first of equals.
        of_next: Soft maximum of the message that follows; NaN without one.
    """

    soft_maximum: Floats
    maximum: Floats
    best_part: Integers
    next_message: Floats


def _compute_similarities(
    snapshot: Snapshot, numbers: Integers, vector: NDArray[np.int8] | None, following: Integers
) -> _Similarities:
    size = len(numbers)
    of_next = np.full(size, np.nan)
    part = np.full(size, -1, dtype=np.int64)
    if vector is None or not size:
        return _Similarities(of_next, of_next, part, of_next)
    there = np.flatnonzero(following >= 0)
    found = snapshot.similarities(vector, np.concatenate([numbers, following[there]]))
    soft = log_mean_exp(found.row, found.cosine, size + len(there))
    top = max_by_row(found.row, found.cosine, size + len(there), np.nan)
    of_next[there] = soft[size:]
    is_top = (found.cosine == top[found.row]) & (found.row < size)
    part[found.row[is_top][::-1]] = found.part[is_top][::-1]
    return _Similarities(soft[:size], top[:size], part, of_next)


def _compute_strength(
    profile: Profile, items: Items, uses: UsageStats, scope: SearchFilter
) -> tuple[Floats, Floats]:
    """Return strength and freshness; a message's strength is 1."""
    now = scope.now.timestamp() * 1e6
    elapsed = (now - uses.used_at).astype(np.float64)
    strength = np.ones(len(elapsed))
    if items.is_memory.any():
        left = compute_strengths(profile, items.kind, uses, scope.now)
        strength = np.where(items.is_memory, left, strength)
    return strength, freshness(elapsed / _MICROSECONDS_PER_HOUR)
