"""Finds the candidates of a query, and the columns by which a ranking scores them.

Candidates come from the vector search, the keyword search, the periods that the query names,
exact matches, and pinned kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import EPISODE
from memolith.domain.messages import Role
from memolith.domain.recall import SearchFilter
from memolith.policies.decay import freshness
from memolith.policies.ranking.model import Candidates, Query
from memolith.policies.ranking.relevance import SearchExtent
from memolith.policies.ranking.scoring import (
    WINDOW_REACH,
    TermMatches,
    find_run_starts,
    find_unique,
    get_pinned_share,
    log_mean_exp,
    max_by_row,
    max_score_by_item,
    rank_pinned,
    score_windows,
    select_best,
)
from memolith.ports.index import PART_BITS
from memolith.ports.store import Items, Snapshot, UsageStats
from memolith.profiles.model import Profile
from memolith.services.maintenance import compute_strengths
from memolith.text.canonical_form import content_key

if TYPE_CHECKING:
    from memolith.services.recall import RecallRequest

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_PERIODS = 3
"""The maximum number of a query's periods to search, the latest ones. A month without a year stands
for ten periods, and each is one search. A guess."""
CANDIDATES_PER_PERIOD = 20
"""Candidates from each period. A guess: twice the usual maximum of ten results."""

_NO_PERIOD_ITEMS: Integers = np.empty(0, dtype=np.int64)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def find_in_periods(
    snapshot: Snapshot,
    query: Query,
    vector: NDArray[np.int8] | None,
    keywords: KeywordScores,
    scope: SearchFilter,
) -> Integers:
    """Return the best items of the query's periods; items may repeat.

    Without this, among a thousand messages about dinner, those of last Tuesday would not be
    candidates.

    Args:
        snapshot: The owner's snapshot.
        query: The query.
        vector: The query's embedding, if any.
        keywords: The keyword scores.
        scope: The filter of results.
    """
    parts = [_NO_PERIOD_ITEMS]
    for period_scope in _iter_period_scopes(query, scope):
        period_items = snapshot.items_in_scope(period_scope)
        if len(period_items) <= CANDIDATES_PER_PERIOD:
            parts.append(period_items)
            continue
        is_hit = np.isin(keywords.items, period_items)
        items, tops = keywords.items[is_hit], keywords.tops[is_hit]
        parts.append(items[select_best(tops, items, CANDIDATES_PER_PERIOD)])
        if vector is not None:
            parts.append(snapshot.nearest(vector, CANDIDATES_PER_PERIOD, period_scope))
    return np.concatenate(parts)


def _iter_period_scopes(query: Query, scope: SearchFilter) -> Iterator[SearchFilter]:
    """Yield the scope intersected with each of the latest periods, skipping empty intersections."""
    for first, end in sorted(query.periods)[-MAX_PERIODS:]:
        since, until = _instant_from_micros(first), _instant_from_micros(end)
        since = since if scope.since is None else max(since, scope.since)
        until = until if scope.until is None else min(until, scope.until)
        if since < until:
            yield replace(scope, since=since, until=until)


def _instant_from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


# --- Context windows of candidates


def score_surroundings(
    snapshot: Snapshot,
    matches: TermMatches,
    numbers: Integers,
    previous: Integers,
    following: Integers,
    scope: SearchFilter,
) -> Floats:
    """Return how well each item and its nearby messages together match the terms, shape (n,).

    Args:
        snapshot: The owner's snapshot.
        matches: The matches of the terms.
        numbers: The items, shape (n,).
        previous: The message before each; −1: none.
        following: The message after each; −1: none.
        scope: The filter of messages.
    """
    postings = matches.postings
    if not len(postings.term) or not len(numbers):
        return np.zeros(len(numbers))
    near = [(0, numbers), *_iter_nearby(snapshot, previous, -1, scope)]
    near += _iter_nearby(snapshot, following, 1, scope)
    items = np.stack([numbers_there for _, numbers_there in near])
    targets = find_unique(items.ravel())
    targets = targets[targets >= 0]
    places = _find_positions_of(postings.passages >> PART_BITS, targets)[postings.slot]
    rows = np.flatnonzero(places >= 0)
    shape = len(postings.document_frequency), len(targets)
    term_scores = max_score_by_item(postings.term[rows], places[rows], matches.scores[rows], *shape)
    return score_windows(term_scores, [steps for steps, _ in near], _find_columns(items, targets))


def _iter_nearby(
    snapshot: Snapshot, first: Integers, step: Literal[-1, 1], scope: SearchFilter
) -> Iterator[tuple[int, Integers]]:
    """Yield messages up to `WINDOW_REACH` steps away on one side, each time with the distance."""
    numbers = first
    for steps in range(1, WINDOW_REACH + 1):
        if numbers.max() < 0:  # no neighbours, as with memories
            return
        yield steps, numbers
        if steps < WINDOW_REACH:
            numbers = _find_neighbours(snapshot, numbers, step, scope)


def _find_neighbours(
    snapshot: Snapshot, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter
) -> Integers:
    """Return the neighbours of items; −1 for items that are −1."""
    neighbours = np.full(len(numbers), -1, dtype=np.int64)
    present = np.flatnonzero(numbers >= 0)
    if len(present):
        neighbours[present] = snapshot.neighbours(numbers[present], step, scope)
    return neighbours


def _find_positions_of(items: Integers, targets: Integers) -> Integers:
    """Return the position of each of ascending, repeatable items among the wanted ones, or −1."""
    places = np.full(len(items), -1, dtype=np.int64)
    first = np.searchsorted(items, targets)
    counts = np.searchsorted(items, targets, side="right") - first
    begins = np.cumsum(counts) - counts
    slots = np.arange(int(counts.sum())) + np.repeat(first - begins, counts)
    places[slots] = np.repeat(np.arange(len(targets)), counts)
    return places


def _find_columns(numbers: Integers, targets: Integers) -> Integers:
    """Return the positions of numbers in an ascending array that contains them; −1 for −1."""
    return np.where(numbers >= 0, np.searchsorted(targets, numbers), -1)


# --- Candidates


_MICROSECONDS_PER_HOUR = 3_600_000_000.0
_NO_ITEMS: Integers = np.empty(0, dtype=np.int64)
_PART_MASK = (1 << PART_BITS) - 1


@dataclass(frozen=True, slots=True)
class KeywordScores:
    """The keyword scores of all matching passages, ascending by item and part.

    Attributes:
        part: The passages' positions in their items.
        score: Their scores.
        starts: The index of each item's first passage.
        items: The distinct items, ascending.
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
        """Return the score of each item's best passage; 0 without a match."""
        scores = np.zeros(len(numbers))
        if len(self.items):
            places = np.minimum(np.searchsorted(self.items, numbers), len(self.items) - 1)
            is_hit = self.items[places] == numbers
            scores[is_hit] = self.tops[places[is_hit]]
        return scores

    def best_part(self, number: int) -> int | None:
        """Return the best passage of an item, the first of equals; None: no match."""
        place = int(np.searchsorted(self.items, number))
        if place == len(self.items) or self.items[place] != number:
            return None
        start, *ends = self.starts[place : place + 2]
        best_of_item = int(np.argmax(self.score[start : ends[0] if ends else None]))
        return int(self.part[start + best_of_item])


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """The candidates of a query before scoring; n rows.

    Attributes:
        numbers: The items, ascending.
        items: Their columns.
        candidates: The input of the ranking.
        exact: Whether each equals the query; these rank first.
        pinned_position: The position among pinned items; −1: not pinned.
        keywords: All keyword scores.
        extent: The extent of the keyword search.
        nearest_part: The passage nearest to the query; −1: no vector.
        as_of: The time of the searched state; None: now.
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
        """Return the best passage by keywords, else the nearest one by vector."""
        part = self.keywords.best_part(int(self.numbers[row]))
        return max(0, int(self.nearest_part[row])) if part is None else part


def find_candidates(
    snapshot: Snapshot, query: Query, vector: NDArray[np.int8] | None, request: RecallRequest
) -> CandidateSet:
    """Return the best items by vector and by keyword, exact matches, and pinned items."""
    profile = request.profile
    scope = _build_search_scope(profile, request.scope)
    pool = profile.ranking.get_pool_size(request.top_k)
    near = _NO_ITEMS if vector is None else snapshot.nearest(vector, pool, scope)
    matches = _match_keywords(snapshot, query if request.mode != "vector" else None, scope)
    keywords = _score_keywords(matches)
    uses_keywords = vector is None or not query.keywords_only_score
    keyword_hits = keywords.items[
        select_best(keywords.tops, keywords.items, pool if uses_keywords else 0)
    ]
    in_periods = (
        find_in_periods(snapshot, query, vector, keywords, scope) if query.periods else _NO_ITEMS
    )
    containing = _find_containing(snapshot, query, keywords, request, scope)
    request_key = content_key(request.text)  # a text is always found by its own content
    same = snapshot.items_with_content(request_key, request.top_k, request.scope)
    first = _find_pinned(snapshot, profile, request, same)
    same_in_scope = (
        same
        if scope is request.scope
        else snapshot.items_with_content(request_key, request.top_k, scope)
    )
    numbers = find_unique(
        np.concatenate([near, keyword_hits, in_periods, containing.items, same_in_scope, first])
    )
    around = matches if query.uses_context_window else None
    extent = SearchExtent() if matches is None else SearchExtent.from_postings(matches.postings)
    ranks = _SearchResults(same, first, keywords, extent, containing, around)
    return _build_candidates(snapshot, profile, numbers, ranks, vector, scope)


@dataclass(frozen=True, slots=True)
class _ContainedWords:
    """Items that contain words of the query as substrings, ascending, with the number of words."""

    items: Integers
    words: Integers

    def word_counts(self, numbers: Integers) -> Integers:
        """Return the number of contained words for each of ascending items."""
        counts = np.zeros(len(numbers), dtype=np.int64)
        counts[np.searchsorted(numbers, self.items)] = self.words
        return counts


@dataclass(frozen=True, slots=True)
class _SearchResults:
    """The results of all searches except the vector search.

    `extent` is as in `CandidateSet`. `nearby_matches` is set if the ranking uses context windows.
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
    """Return items that contain query words as substrings, if no keyword matched."""
    is_sought = request.profile.searches_substrings and query.words and request.mode != "vector"
    if not is_sought or len(keywords.items):
        return _ContainedWords(_NO_ITEMS, _NO_ITEMS)
    return _ContainedWords(*snapshot.find_containing(query.words, scope))


def _build_search_scope(profile: Profile, scope: SearchFilter) -> SearchFilter:
    """Return the scope without pinned kinds."""
    if not profile.pinned_kinds:
        return scope
    kinds = frozenset({*profile.kinds, EPISODE}) if scope.kinds is None else scope.kinds
    return replace(scope, kinds=kinds - profile.pinned_kinds)


def _find_pinned(
    snapshot: Snapshot, profile: Profile, request: RecallRequest, same: Integers
) -> Integers:
    """Return the pinned items in rank order, at most a share of the results."""
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
    is_hit = scores > 0.0
    return KeywordScores.from_passages(matches.postings.passages[is_hit], scores[is_hit])


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
    strength, freshness = _compute_strength(profile, items, uses, scope)
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
        freshness=freshness,
        substring_words=ranks.contained.word_counts(numbers),
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
    """Return the position of each of ascending numbers in another order; −1 if missing there."""
    places = np.full(len(numbers), -1, dtype=np.int64)
    places[np.searchsorted(numbers, first)] = np.arange(len(first))
    return places


def _get_traits_and_speakers(snapshot: Snapshot, numbers: Integers) -> tuple[Integers, Integers]:
    """Return the traits and speakers of items; 0 and −1 for items that are −1."""
    traits = np.zeros(len(numbers), dtype=np.int64)
    speaker = np.full(len(numbers), -1, dtype=np.int64)
    present = np.flatnonzero(numbers >= 0)
    if len(present):
        items = snapshot.items(numbers[present])
        traits[present] = items.traits
        speaker[present] = items.speaker
    return traits, speaker


@dataclass(frozen=True, slots=True)
class _Similarities:
    """The similarities of items to the query; NaN, and −1 as part, without a vector.

    Attributes:
        soft_maximum: The soft maximum over an item's passages.
        maximum: The maximum.
        best_part: The passage with the maximum, the first of equals.
        next_message: The soft maximum of the following message; NaN: none.
    """

    soft_maximum: Floats
    maximum: Floats
    best_part: Integers
    next_message: Floats


def _compute_similarities(
    snapshot: Snapshot, numbers: Integers, vector: NDArray[np.int8] | None, following: Integers
) -> _Similarities:
    size = len(numbers)
    next_similarity = np.full(size, np.nan)
    part = np.full(size, -1, dtype=np.int64)
    if vector is None or not size:
        return _Similarities(next_similarity, next_similarity, part, next_similarity)
    present = np.flatnonzero(following >= 0)
    similarities = snapshot.similarities(vector, np.concatenate([numbers, following[present]]))
    soft = log_mean_exp(similarities.row, similarities.cosine, size + len(present))
    top = max_by_row(similarities.row, similarities.cosine, size + len(present), np.nan)
    next_similarity[present] = soft[size:]
    is_top = (similarities.cosine == top[similarities.row]) & (similarities.row < size)
    part[similarities.row[is_top][::-1]] = similarities.part[is_top][::-1]
    return _Similarities(soft[:size], top[:size], part, next_similarity)


def _compute_strength(
    profile: Profile, items: Items, uses: UsageStats, scope: SearchFilter
) -> tuple[Floats, Floats]:
    """Return strength and freshness; the strength of a message is 1."""
    now = scope.now.timestamp() * 1e6
    elapsed = (now - uses.used_at).astype(np.float64)
    strength = np.ones(len(elapsed))
    if items.is_memory.any():
        decayed = compute_strengths(profile, items.kind, uses, scope.now)
        strength = np.where(items.is_memory, decayed, strength)
    return strength, freshness(elapsed / _MICROSECONDS_PER_HOUR)
