"""What was said, or happened, in the time that a question is about.

Of a thousand dinners the one of last Tuesday is not among the fifty nearest to a question about
dinner. So the best of the time itself are scored too, whatever else is near.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.selection import best

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from memolith.domain.recall import Scope
    from memolith.policies.ranking.model import Query
    from memolith.ports.store import Snapshot
    from memolith.services.candidates import Keywords

    Integers = NDArray[np.int64]

LATEST = 3
"""So many of a question's periods are searched, the latest: a month without a year is ten. Each is
a search. A guess."""
EACH = 20
"""Candidates of each period. A guess: twice the ten results that are asked for most."""

_NONE: Integers = np.empty(0, dtype=np.int64)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def dated(
    snapshot: Snapshot,
    query: Query,
    vector: NDArray[np.int8] | None,
    keywords: Keywords,
    scope: Scope,
) -> Integers:
    """Return the best items of the periods that a query is about; some may come twice.

    Args:
        snapshot: What there is.
        query: What is asked.
        vector: Its embedding, if there is one.
        keywords: What holds its keywords.
        scope: What may be returned.
    """
    found = [_NONE]
    for within in _scopes(query, scope):
        there = snapshot.within(within)
        if len(there) <= EACH:
            found.append(there)
            continue
        hit = np.isin(keywords.items, there)
        items, tops = keywords.items[hit], keywords.tops[hit]
        found.append(items[best(tops, items, EACH)])
        if vector is not None:
            found.append(snapshot.nearest(vector, EACH, within))
    return np.concatenate(found)


def _scopes(query: Query, scope: Scope) -> Iterator[Scope]:
    """Yield the scope within each of the latest periods, where they have an instant in common."""
    for first, end in sorted(query.periods)[-LATEST:]:
        since, until = _instant(first), _instant(end)
        since = since if scope.since is None else max(since, scope.since)
        until = until if scope.until is None else min(until, scope.until)
        if since < until:
            yield replace(scope, since=since, until=until)


def _instant(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
