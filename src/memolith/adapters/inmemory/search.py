"""Search by linear scan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.inmemory.state import Item, OwnerState
from memolith.adapters.sql.codecs import micros, micros_or_none
from memolith.adapters.sql.search import count_contained
from memolith.domain.memories import Span, Trait
from memolith.domain.messages import Role
from memolith.domain.recall import SearchFilter
from memolith.errors import InvalidInput
from memolith.policies.indexing import centroid, cosines
from memolith.policies.trust import is_quarantined
from memolith.ports.index import PART_BITS, Items, Postings, Similarities, UsageStats
from memolith.ports.store import Passage

Integers = NDArray[np.int64]


class LinearSearch:
    """The searches of a snapshot."""

    def __init__(self, state: OwnerState, check: Callable[[], None]) -> None:
        """Use an immutable state, and a check that fails if the vectors were replaced."""
        self._state_at_begin = state
        self._check = check

    @property
    def _checked_state(self) -> OwnerState:
        self._check()
        return self._state_at_begin

    def nearest(
        self,
        vector: NDArray[np.int8],
        limit: int,
        scope: SearchFilter,
        *,
        min_cosine: float = -math.inf,
    ) -> Integers:
        """See the port."""
        self._check_length(vector)
        nearness = {
            item.number: float(cosines(np.stack(stored), vector).max())
            for item in self._filter_items(scope)
            if (stored := [p.vector for p in item.passages if p.vector is not None])
        }
        matching = (number for number, cosine in nearness.items() if cosine >= min_cosine)
        ranked = sorted(matching, key=lambda number: (-nearness[number], number))
        return _integers(ranked[: max(0, limit)])

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See the port."""
        self._check_length(vector)
        scored = [
            (row, part, float(cosines(passage.vector[None, :], vector)[0]))
            for row, item in enumerate(self._items(numbers))
            for part, passage in enumerate(item.passages)
            if passage.vector is not None
        ]
        return Similarities(
            row=_integers([row for row, _, _ in scored]),
            part=_integers([part for _, part, _ in scored]),
            cosine=np.array([cosine for *_, cosine in scored], dtype=np.float64),
        )

    def centroid(self, scope: SearchFilter) -> NDArray[np.float64] | None:
        """See the port."""
        memories = [item for item in self._filter_items(scope) if item.kind is not None]
        stored = [p.vector for item in memories for p in item.passages if p.vector is not None]
        return centroid(np.stack(stored)) if stored else None

    def postings(self, terms: Sequence[str], scope: SearchFilter) -> Postings:
        """See the port."""
        valid = _passages(self._valid(scope))
        matching = {
            id_: passage
            for id_, passage in _passages(self._filter_items(scope)).items()
            if any(term in passage.terms for term in terms)
        }
        slots = {id_: slot for slot, id_ in enumerate(sorted(matching))}
        hits = [
            (term_index, slots[id_], matching[id_].terms[term])
            for term_index, term in enumerate(terms)
            for id_ in slots
            if term in matching[id_].terms
        ]
        length = sum(_length(passage) for passage in valid.values())
        return Postings(
            passages=_integers(list(slots)),
            lengths=np.array([_length(matching[id_]) for id_ in slots], dtype=np.float64),
            term=_integers([term_index for term_index, _, _ in hits]),
            slot=_integers([slot for _, slot, _ in hits]),
            frequency=np.array([frequency for *_, frequency in hits], dtype=np.float64),
            document_frequency=_integers(
                [sum(term in passage.terms for passage in valid.values()) for term in terms]
            ),
            total=len(valid),
            mean_length=length / len(valid) if valid else 0.0,
        )

    def find_containing(
        self, words: Sequence[str], scope: SearchFilter
    ) -> tuple[Integers, Integers]:
        """See the port."""
        sought = [word.casefold() for word in words]
        counts = {
            item.number: count_contained(sought, self._texts(item))
            for item in self._filter_items(scope)
            if item.kind is not None
        }
        matching = sorted((number, count) for number, count in counts.items() if count)
        return _integers([n for n, _ in matching]), _integers([count for _, count in matching])

    def _texts(self, item: Item) -> list[str]:
        versions = self._checked_state.memories[item.record_id]
        memory = next(one.memory for one in versions if one.item == item.number)
        return [memory.content, *([] if memory.key is None else [memory.key])]

    def items(self, numbers: Integers) -> Items:
        """See the port."""
        items = self._items(numbers)
        return Items(
            number=_integers([item.number for item in items]),
            is_memory=np.array([item.kind is not None for item in items], dtype=np.bool_),
            record_id=[item.record_id for item in items],
            kind=[item.shown_kind for item in items],
            session=_integers([item.session for item in items]),
            sequence=_integers([item.sequence for item in items]),
            speaker=_integers([item.speaker for item in items]),
            role=[item.role for item in items],
            at=_integers([item.at for item in items]),
            traits=_integers([int(item.features.traits) for item in items]),
            words=_integers([item.features.words for item in items]),
            tokens=_integers([item.features.tokens for item in items]),
        )

    def usage_stats(self, numbers: Integers) -> UsageStats:
        """See the port."""
        uses = [self._use(item) for item in self._items(numbers)]
        return UsageStats(
            importance=np.array([importance for importance, *_ in uses], dtype=np.float64),
            access_count=_integers([count for _, count, *_ in uses]),
            used_at=_integers([at for *_, at, _ in uses]),
            updated_at=_integers([at for *_, at in uses]),
        )

    def item_numbers(self, record_ids: Sequence[str], scope: SearchFilter) -> Integers:
        """See the port."""
        number_by_id = {item.record_id: item.number for item in self._filter_items(scope)}
        return _integers([number_by_id.get(record, -1) for record in record_ids])

    def items_with_content(self, content_key: str, limit: int, scope: SearchFilter) -> Integers:
        """See the port."""
        items = [item for item in self._filter_items(scope) if item.content_key == content_key]
        items.sort(key=lambda item: (item.kind is None, item.number))
        return _integers([item.number for item in items[: max(0, limit)]])

    def items_with_traits(self, traits: Trait, scope: SearchFilter) -> Integers:
        """See the port."""
        return _integers(
            sorted(
                item.number for item in self._filter_items(scope) if item.features.traits & traits
            )
        )

    def items_in_scope(self, scope: SearchFilter) -> Integers:
        """See the port."""
        return _integers(sorted(item.number for item in self._filter_items(scope)))

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter) -> Integers:
        """See the port."""
        messages = [item for item in self._valid(scope) if item.kind is None]
        return _integers([_neighbour(item, messages, step) for item in self._items(numbers)])

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See the port."""
        return [[(p.span, p.tokens) for p in item.passages] for item in self._items(numbers)]

    def _check_length(self, vector: NDArray[np.int8]) -> None:
        for item in self._checked_state.items.values():
            for passage in item.passages:
                if passage.vector is not None and passage.vector.shape != vector.shape:
                    raise InvalidInput(
                        "vector", f"has shape {vector.shape}, unlike the store's vectors"
                    )

    def _items(self, numbers: Integers) -> list[Item]:
        return [self._checked_state.items[int(number)] for number in numbers]

    def _use(self, item: Item) -> tuple[float, int, int, int]:
        if item.kind is None:
            return 1.0, 0, item.at, item.at
        memory = self._checked_state.memories[item.record_id][-1].memory
        used_at = micros(memory.accessed_at or memory.created_at)
        return memory.importance, memory.access_count, used_at, micros(memory.updated_at)

    def _valid(self, scope: SearchFilter) -> list[Item]:
        as_of = micros_or_none(scope.as_of)
        return [item for item in self._checked_state.items.values() if item.is_valid(as_of)]

    def _live_items(self, scope: SearchFilter) -> list[Item]:
        """Return the items that are valid or, if the scope includes them, dormant."""
        if not scope.dormant or scope.as_of is not None:
            return self._valid(scope)
        items = self._checked_state.items.values()
        return [i for i in items if i.is_valid(None) or self._checked_state.is_dormant(i)]

    def _filter_items(self, scope: SearchFilter) -> list[Item]:
        session = _session_number(self._checked_state, scope)
        dormant = scope.dormant and scope.as_of is None
        return [
            item
            for item in self._live_items(scope)
            if (dormant or item.expires_at > micros(scope.reference_time))
            and (scope.kinds is None or item.shown_kind in scope.kinds)
            and (scope.session_id is None or item.session == session)
            and item.tags.issuperset(scope.tags)
            and (scope.since is None or item.at >= micros(scope.since))
            and (scope.until is None or item.at < micros(scope.until))
            and (scope.include_compressed or not self._is_hidden(item, scope))
            and (scope.include_quarantined or not _is_quarantined(item))
        ]

    def _is_hidden(self, item: Item, scope: SearchFilter) -> bool:
        """Return whether a summary that was valid at the instant replaces a memory."""
        as_of = micros_or_none(scope.as_of)
        return item.compressed and any(
            self._checked_state.items[version.item].is_valid(as_of)
            for link in self._checked_state.links
            if link.relation == "summary_of" and link.target_id == item.record_id
            for version in self._checked_state.memories.get(link.source_id, ())
        )


def _is_quarantined(item: Item) -> bool:
    return is_quarantined(item.features.traits, by_user=item.role is Role.USER)


def _session_number(state: OwnerState, scope: SearchFilter) -> int | None:
    session = state.sessions.get(scope.session_id or "")
    return None if session is None else session.number


def _neighbour(item: Item, messages: Sequence[Item], step: Literal[-1, 1]) -> int:
    if item.kind is not None:
        return -1
    beyond = [
        other
        for other in messages
        if other.session == item.session and (other.sequence - item.sequence) * step > 0
    ]
    if not beyond:
        return -1
    return min(beyond, key=lambda other: abs(other.sequence - item.sequence)).number


def _passages(items: Sequence[Item]) -> dict[int, Passage]:
    return {
        item.number << PART_BITS | part: passage
        for item in items
        for part, passage in enumerate(item.passages)
    }


def _length(passage: Passage) -> int:
    return sum(passage.terms.values())


def _integers(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)
