"""Auditing memories: how many of them are duplicates, fragments, filler or echoes."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memolith.domain.audits import Audit, Example, Share, Told
from memolith.domain.memories import Origin, State
from memolith.policies import arguments
from memolith.policies.arguments import EXAMPLES
from memolith.policies.auditing import Judgement, judged
from memolith.policies.evidence import sources
from memolith.policies.nearness import nearest_before
from memolith.policies.support import supported_by
from memolith.policies.thresholds import FITTED, SOURCES
from memolith.policies.vectors import quantise
from memolith.services.embedding import embedded
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from memolith.policies.thresholds import Thresholds
    from memolith.ports.embedder import Embedder
    from memolith.ports.store import Snapshot
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer

    Vectors = Callable[[Sequence[Told]], Sequence[NDArray[np.int8] | None]]
    Advance = Callable[[int], None]

T = TypeVar("T")

MOST_EXAMPLES = 1_000
MOST_COMPARED = 20_000
"""So many memories are compared by meaning, the first: a guess at what is worth some ten seconds,
for it takes time with the square of their number."""

LONGEST_COMPARED = 500
"""Characters: a longer text says several things, and is near to much. As long as a fact may be."""

_BATCH = 500
_SHOWN_CHARS = 200
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Comparing:
    """How memories are compared by meaning.

    Attributes:
        vectors: Gives the vectors of texts; None for one that has none.
        thresholds: From when on texts are near, for whoever made them.
    """

    vectors: Vectors
    thresholds: Thresholds

    @classmethod
    def by(cls, embedder: Embedder) -> Comparing:
        """Return how an embedder compares texts, which it embeds."""

        def vectors(told: Sequence[Told]) -> list[NDArray[np.int8] | None]:
            texts = [each.text for each in told]
            return list(quantise(embedded(embedder, texts, "document")))

        return cls(vectors, thresholds_of(embedder.name))


class Auditing:
    """Audits the memories of owners; changes nothing and asks no model."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer

    def audit(
        self, owner_id: str, *, examples: int, near: bool, advance: Advance | None = None
    ) -> Audit:
        """Look at all active memories of an owner, oldest first.

        Raises:
            InvalidInput: There can't be so many examples.
        """
        most = arguments.count(examples, "examples", least=0, most=MOST_EXAMPLES)
        name = self._access.store.meta.embedder
        with self._access.store.read(owner_id) as snapshot:
            comparing = None
            if near and name is not None:
                comparing = Comparing(self._stored(snapshot), thresholds_of(name))
            return audited(_active(snapshot), comparing, examples=most, advance=advance)

    def _stored(self, snapshot: Snapshot) -> Vectors:
        """Return what gives the vectors that the store has; none is made."""

        def vectors(told: Sequence[Told]) -> list[NDArray[np.int8] | None]:
            digests = [self._indexer.digest(each.text) for each in told]
            found = snapshot.vectors([digest for digest in digests if digest is not None])
            return [None if digest is None else found.get(digest) for digest in digests]

        return vectors


def thresholds_of(embedder: str) -> Thresholds:
    """Return what counts as near for an embedder of that name."""
    return FITTED.get(embedder, SOURCES)


def audited(
    told: Iterable[Told],
    comparing: Comparing | None,
    *,
    examples: int = EXAMPLES,
    advance: Advance | None = None,
) -> Audit:
    """Audit memories, in the order they were stored.

    Holds some 200 bytes of each, and texts and vectors of those that are compared.

    Args:
        told: The memories.
        comparing: How they are compared by meaning; None: they are not.
        examples: How many of each kind to show.
        advance: Called with a number of memories as they are looked at.
    """
    tally = _Tally(examples)
    clean: list[tuple[Told, NDArray[np.int8]]] = []
    for batch in _batches(told):
        worth = [each for each in batch if not tally.add(each)]
        if comparing is not None and len(clean) < MOST_COMPARED:
            clean += _with_vectors(worth, comparing, MOST_COMPARED - len(clean))
        if advance is not None:
            advance(len(batch))
    if comparing is None:
        return tally.finished(None, 0)
    return tally.finished(_near(clean, comparing.thresholds, tally), len(clean))


def _active(snapshot: Snapshot) -> Iterator[Told]:
    vitals = snapshot.vitals(states=frozenset({State.ACTIVE}))
    for ids in _batches(vitals.id):
        for memory in snapshot.memories(ids):
            yield Told(memory.id, memory.content, memory.key, memory.origin)


def _batches(things: Iterable[T]) -> Iterator[list[T]]:
    left = iter(things)
    while batch := list(islice(left, _BATCH)):
        yield batch


def _with_vectors(
    told: Sequence[Told], comparing: Comparing, most: int
) -> Iterator[tuple[Told, NDArray[np.int8]]]:
    short = [each for each in told if 0 < len(each.text) <= LONGEST_COMPARED][:most]
    for each, vector in zip(short, comparing.vectors(short), strict=True):
        if vector is not None:
            yield each, vector


def _near(
    clean: Sequence[tuple[Told, NDArray[np.int8]]], thresholds: Thresholds, tally: _Tally
) -> _Found:
    """Return which are near to one before; what an assistant told again is counted as an echo."""
    near = _Found(tally.examples)
    if not clean:
        return near
    rows, cosines = nearest_before(np.stack([vector for _, vector in clean]))
    for (told, _), row, cosine in zip(clean, rows.tolist(), cosines.tolist(), strict=True):
        before = clean[row][0]
        if cosine >= thresholds.arbitration and _is_told_again(told, before):
            tally.add_echo(told, before)
        elif cosine >= thresholds.duplicate:
            near.add(told, "near in meaning", before.id, round(cosine, 3))
    return near


def _is_told_again(told: Told, before: Told) -> bool:
    """Tell whether an assistant says what a memory says already, in its words."""
    return told.origin is Origin.ASSISTANT and bool(supported_by(told.text, sources([before.text])))


@dataclass(slots=True)
class _Found:
    """What was found of one kind."""

    most: int
    ids: list[str] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(
        self, told: Told, reason: str, of: str | None = None, similarity: float | None = None
    ) -> None:
        self.ids.append(told.id)
        self.reasons[reason] += 1
        if len(self.examples) < self.most:
            self.examples.append(Example(told.id, told.text[:_SHOWN_CHARS], reason, of, similarity))

    def share(self, total: int) -> Share:
        count = len(self.ids)
        return Share(
            count,
            count / total if total else 0.0,
            tuple(self.ids),
            tuple(self.examples),
            dict(self.reasons.most_common()),
        )


class _Tally:
    """What was found so far."""

    def __init__(self, examples: int) -> None:
        self.examples = examples
        self._found = {each: _Found(examples) for each in Judgement}
        self._first: dict[bytes, str] = {}
        self._memories = self._junk = 0

    def add(self, told: Told) -> bool:
        """Look at a memory; tell whether it is junk."""
        found = judged(told.text, keyed=told.key is not None, by_user=told.origin is Origin.USER)
        for judgement, reason in found.items():
            self._found[judgement].add(told, reason)
        digest = _digest(told.text)
        known = self._first.get(digest)
        if known is None:
            self._first[digest] = told.id
        else:
            self._found[Judgement.DUPLICATE].add(told, "the same words", known)
        is_junk = known is not None or bool(found)
        self._memories += 1
        self._junk += is_junk
        return is_junk

    def add_echo(self, told: Told, before: Told) -> None:
        self._found[Judgement.ECHO].add(told, "told again by the assistant", before.id)
        self._junk += 1

    def finished(self, near: _Found | None, compared: int) -> Audit:
        total = self._memories
        duplicates, fragments, filler, echoes = (
            self._found[each].share(total)
            for each in (
                Judgement.DUPLICATE,
                Judgement.FRAGMENT,
                Judgement.FILLER,
                Judgement.ECHO,
            )
        )
        return Audit(
            memories=total,
            junk=self._junk,
            rate=self._junk / total if total else 0.0,
            duplicates=duplicates,
            fragments=fragments,
            filler=filler,
            echoes=echoes,
            near=None if near is None else near.share(total),
            compared=compared,
        )


def _digest(text: str) -> bytes:
    return hashlib.blake2b(content_key(text).encode(), digest_size=_DIGEST_BYTES).digest()
