"""What was said, or happened, in the time that a question is about.

Of a thousand dinners the one of last Tuesday is not among the fifty nearest to a question about
dinner. So the best of the time itself are scored too, whatever else is near.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.selection import select_best

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from memolith.domain.recall import SearchFilter
    from memolith.policies.ranking.model import Query
    from memolith.ports.store import Snapshot
    from memolith.services.candidates import KeywordScores

    Integers = NDArray[np.int64]

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
