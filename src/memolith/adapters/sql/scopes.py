"""Scopes as masks over the items of an index; None stands for "all of them"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.sql.damage import decoding
from memolith.adapters.sql.values import NEVER, micros

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from memolith.adapters.sql.index import IndexSource, OwnerIndex
    from memolith.domain.recall import Scope

    Bools = NDArray[np.bool_]

_NO_SESSION = -2
"""The number of a session that is not there; -1 is that of memories without one."""


def valid_at(index: OwnerIndex, scope: Scope) -> Bools | None:
    """Return which items are valid at the scope's instant.

    Now, that is all that are open, whatever the clock of their writer said.
    """
    if scope.as_of is None:
        return index.now.open_items
    at = micros(scope.as_of)
    return (index.items.valid_from.view <= at) & (at < index.items.valid_to.view)


def in_scope(index: OwnerIndex, scope: Scope, source: IndexSource) -> Bools | None:
    """Return which items a search in the scope may return."""
    mask = valid_at(index, scope)
    if mask is not None and _takes_dormant(scope):
        mask = mask | index.items.dormant.view
    for part in _parts(index, scope, source):
        if not part.all():
            mask = part if mask is None else mask & part
    return mask


def _takes_dormant(scope: Scope) -> bool:
    return scope.dormant and scope.as_of is None


def _parts(index: OwnerIndex, scope: Scope, source: IndexSource) -> Iterator[Bools]:
    items = index.items
    at = micros(scope.at)
    if index.now.first_expiry <= at and not _takes_dormant(scope):
        yield items.expires_at.view > at
    if scope.kinds is not None:
        yield _of_kinds(index, scope.kinds)
    if scope.session_id is not None:
        number = source.session_number(scope.session_id)
        yield items.session.view == (_NO_SESSION if number is None else number)
    for tag in scope.tags:
        yield _tagged(index, tag, source)
    if scope.since is not None:
        yield items.at.view >= micros(scope.since)
    if scope.until is not None:
        yield items.at.view < micros(scope.until)
    if len(index.hides[0]) and not scope.include_compressed:
        yield ~_hidden(index, at, is_now=scope.as_of is None)
    if not scope.include_withheld:
        waiting = index.now.withheld
        if waiting is not None:
            yield ~waiting


def _of_kinds(index: OwnerIndex, kinds: Collection[str]) -> Bools:
    codes = index.lineage.codes
    meant = [codes[kind] for kind in kinds if kind in codes]
    is_meant = np.zeros(len(index.lineage.kinds), dtype=np.bool_)  # a code's kind is there before
    is_meant[meant] = True
    of_kinds: Bools = is_meant[index.items.kind.view]
    return of_kinds


@decoding
def _tagged(index: OwnerIndex, tag: str, source: IndexSource) -> Bools:
    mask = np.zeros(len(index.items.number.view), dtype=np.bool_)
    mask[index.rows(source.items_tagged(tag))] = True
    return mask


def _hidden(index: OwnerIndex, at: int, *, is_now: bool) -> Bools:
    rows, since, until = index.hides
    stands = until == NEVER if is_now else (since <= at) & (at < until)
    mask = np.zeros(len(index.items.number.view), dtype=np.bool_)
    mask[rows[stands]] = True
    return mask
