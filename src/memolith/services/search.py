"""What was said, or happened, in the time that a question is about.

Of a thousand dinners the one of last Tuesday is not among the fifty nearest to a question about
dinner. So the best of the time itself are scored too, whatever else is near.
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
"""So many of a question's periods are searched, the latest: a month without a year is ten. Each is
a search. A guess."""
CANDIDATES_PER_PERIOD = 20
"""Candidates of each period. A guess: twice the ten results that are asked for most."""

_NO_PERIOD_ITEMS: Integers = np.empty(0, dtype=np.int64)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def find_in_periods(
    snapshot: Snapshot,
    query: Query,
    vector: NDArray[np.int8] | None,
    keywords: KeywordScores,
    scope: SearchFilter,
) -> Integers:
    """Return the best items of the periods that a query is about; some may come twice.

    Args:
        snapshot: What there is.
        query: What is asked.
        vector: Its embedding, if there is one.
        keywords: What holds its keywords.
        scope: What may be returned.
    """
    found = [_NO_PERIOD_ITEMS]
    for within in _iter_period_scopes(query, scope):
        there = snapshot.items_in_scope(within)
        if len(there) <= CANDIDATES_PER_PERIOD:
            found.append(there)
            continue
        hit = np.isin(keywords.items, there)
        items, tops = keywords.items[hit], keywords.tops[hit]
        found.append(items[select_best(tops, items, CANDIDATES_PER_PERIOD)])
        if vector is not None:
            found.append(snapshot.nearest(vector, CANDIDATES_PER_PERIOD, within))
    return np.concatenate(found)


def _iter_period_scopes(query: Query, scope: SearchFilter) -> Iterator[SearchFilter]:
    """Yield the scope within each of the latest periods, where they have an instant in common."""
    for first, end in sorted(query.periods)[-MAX_PERIODS:]:
        since, until = _instant_from_micros(first), _instant_from_micros(end)
        since = since if scope.since is None else max(since, scope.since)
        until = until if scope.until is None else min(until, scope.until)
        if since < until:
            yield replace(scope, since=since, until=until)


def _instant_from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


# --- What stands around the candidates of a query


def score_surroundings(
    snapshot: Snapshot,
    matches: TermMatches,
    numbers: Integers,
    previous: Integers,
    following: Integers,
    scope: SearchFilter,
) -> Floats:
    """Return how well each item and the messages near it hold the terms together, shape (n,).

    Args:
        snapshot: Of the owner.
        matches: Where the terms stand.
        numbers: The items, shape (n,).
        previous: The message before each; −1 without one.
        following: The message after each, likewise.
        scope: What is searched.
    """
    postings = matches.postings
    if not len(postings.term) or not len(numbers):
        return np.zeros(len(numbers))
    near = [(0, numbers), *_iter_nearby(snapshot, previous, -1, scope)]
    near += _iter_nearby(snapshot, following, 1, scope)
    items = np.stack([numbers_there for _, numbers_there in near])
    wanted = find_unique(items.ravel())
    wanted = wanted[wanted >= 0]
    places = _find_wanted_positions(postings.passages >> PART_BITS, wanted)[postings.slot]
    kept = np.flatnonzero(places >= 0)
    shape = len(postings.document_frequency), len(wanted)
    held = max_score_by_item(postings.term[kept], places[kept], matches.scores[kept], *shape)
    return score_windows(held, [steps for steps, _ in near], _find_columns(items, wanted))


def _iter_nearby(
    snapshot: Snapshot, first: Integers, step: Literal[-1, 1], scope: SearchFilter
) -> Iterator[tuple[int, Integers]]:
    """Yield the messages on one side up to `REACH` steps away, each time with how far."""
    numbers = first
    for steps in range(1, WINDOW_REACH + 1):
        if numbers.max() < 0:  # none has one: memories stand alone
            return
        yield steps, numbers
        if steps < WINDOW_REACH:
            numbers = _find_neighbours(snapshot, numbers, step, scope)


def _find_neighbours(
    snapshot: Snapshot, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter
) -> Integers:
    """Return the neighbours of items of which some may be −1; −1 for those."""
    found = np.full(len(numbers), -1, dtype=np.int64)
    there = np.flatnonzero(numbers >= 0)
    if len(there):
        found[there] = snapshot.neighbours(numbers[there], step, scope)
    return found


def _find_wanted_positions(items: Integers, wanted: Integers) -> Integers:
    """Return where each of ascending items, with repetitions, stands among those wanted; or −1."""
    places = np.full(len(items), -1, dtype=np.int64)
    first = np.searchsorted(items, wanted)
    counts = np.searchsorted(items, wanted, side="right") - first
    begins = np.cumsum(counts) - counts
    slots = np.arange(int(counts.sum())) + np.repeat(first - begins, counts)
    places[slots] = np.repeat(np.arange(len(wanted)), counts)
    return places


def _find_columns(numbers: Integers, wanted: Integers) -> Integers:
    """Return where numbers stand among ascending ones, which hold all of them; −1 for −1."""
    return np.where(numbers >= 0, np.searchsorted(wanted, numbers), -1)


# --- The two searches, and the columns that a ranking scores


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
