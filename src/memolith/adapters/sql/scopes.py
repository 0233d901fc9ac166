"""Scopes as masks over the items of an index; None stands for "all of them"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.values import NEVER, micros

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from memolith.adapters.sql.index import IndexSource, OwnerIndex
    from memolith.domain.recall import SearchFilter

    Bools = NDArray[np.bool_]

_NO_SESSION = -2
"""The number of a session that is not there; -1 is that of memories without one."""


def valid_items(index: OwnerIndex, scope: SearchFilter) -> Bools | None:
    """Return which items are valid at the scope's instant.

    Now, that is all that are open, whatever the clock of their writer said.
    """
    if scope.as_of is None:
        return index.current.open_items
    at = micros(scope.as_of)
    return (index.items.valid_from.view <= at) & (at < index.items.valid_to.view)


def scope_mask(index: OwnerIndex, scope: SearchFilter, source: IndexSource) -> Bools | None:
    """Return which items a search in the scope may return."""
    mask = valid_items(index, scope)
    if mask is not None and _includes_dormant(scope):
        mask = mask | index.items.dormant.view
    for part in _condition_masks(index, scope, source):
        if not part.all():
            mask = part if mask is None else mask & part
    return mask


def _includes_dormant(scope: SearchFilter) -> bool:
    return scope.dormant and scope.as_of is None


def _condition_masks(
    index: OwnerIndex, scope: SearchFilter, source: IndexSource
) -> Iterator[Bools]:
    items = index.items
    at = micros(scope.at)
    if index.current.first_expiry <= at and not _includes_dormant(scope):
        yield items.expires_at.view > at
    if scope.kinds is not None:
        yield _kind_mask(index, scope.kinds)
    if scope.session_id is not None:
        number = source.session_number(scope.session_id)
        yield items.session.view == (_NO_SESSION if number is None else number)
    for tag in scope.tags:
        yield _tag_mask(index, tag, source)
    if scope.since is not None:
        yield items.at.view >= micros(scope.since)
    if scope.until is not None:
        yield items.at.view < micros(scope.until)
    if len(index.summary_coverage[0]) and not scope.include_compressed:
        yield ~_summarised_mask(index, at, is_now=scope.as_of is None)
    if not scope.include_quarantined:
        waiting = index.current.quarantined
        if waiting is not None:
            yield ~waiting


def _kind_mask(index: OwnerIndex, kinds: Collection[str]) -> Bools:
    codes = index.shared.kind_codes
    meant = [codes[kind] for kind in kinds if kind in codes]
    is_meant = np.zeros(len(index.shared.kinds), dtype=np.bool_)  # a code's kind is there before
    is_meant[meant] = True
    of_kinds: Bools = is_meant[index.items.kind.view]
    return of_kinds


@translate_decode_errors
def _tag_mask(index: OwnerIndex, tag: str, source: IndexSource) -> Bools:
    mask = np.zeros(len(index.items.number.view), dtype=np.bool_)
    mask[index.rows(source.items_with_tag(tag))] = True
    return mask


def _summarised_mask(index: OwnerIndex, at: int, *, is_now: bool) -> Bools:
    rows, since, until = index.summary_coverage
    stands = until == NEVER if is_now else (since <= at) & (at < until)
    mask = np.zeros(len(index.items.number.view), dtype=np.bool_)
    mask[rows[stands]] = True
    return mask
