"""Audits memories: counts duplicates, fragments, filler and echoes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memolith.config.profiles import get_source_thresholds
from memolith.domain.memories import Origin, State
from memolith.domain.reports import Audit, AuditCategory, AuditEntry, AuditExample
from memolith.policies import arguments
from memolith.policies.arguments import DEFAULT_AUDIT_EXAMPLES
from memolith.policies.audit import JunkKind, classify_junk
from memolith.policies.embedding_models import (
    FITTED_THRESHOLDS,
    SimilarityThresholds,
)
from memolith.policies.evidence import read_sources
from memolith.policies.grounding import find_support
from memolith.policies.indexing import find_nearest_before, quantise
from memolith.ports.models import Embedder
from memolith.ports.store import Snapshot
from memolith.services.access import Access
from memolith.services.indexing import Indexer, embed_texts
from memolith.text.canonical_form import content_key

Vectors = Callable[[Sequence[AuditEntry]], Sequence[NDArray[np.int8] | None]]
Advance = Callable[[int], None]

T = TypeVar("T")

MAX_EXAMPLES = 1_000
MAX_COMPARED = 20_000
"""The maximum number of memories compared by meaning; later ones are skipped. The comparison takes
quadratic time, about ten seconds for this number. A guess."""

MAX_COMPARED_CHARS = 500
"""Characters, the maximum length of a fact: longer texts make several statements and are similar
to many others."""

_BATCH_SIZE = 500
_EXCERPT_CHARS = 200
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class SemanticComparison:
    """How memories are compared by meaning.

    Attributes:
        vectors: Returns the vectors of texts; None for a text without a vector.
        thresholds: The cosine similarities that count as near, for the embedding model.
    """

    vectors: Vectors
    thresholds: SimilarityThresholds

    @classmethod
    def from_embedder(cls, embedder: Embedder) -> SemanticComparison:
        """Return a comparison that embeds the texts."""

        def vectors(entries: Sequence[AuditEntry]) -> list[NDArray[np.int8] | None]:
            texts = [each.text for each in entries]
            return list(quantise(embed_texts(embedder, texts, "document")))

        return cls(vectors, get_thresholds(embedder.name))


class Auditor:
    """Audits an owner's memories; changes nothing and calls no model."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer

    def audit(
        self, owner_id: str, *, examples: int, near: bool, advance: Advance | None = None
    ) -> Audit:
        """Audit all active memories of an owner, oldest first.

        Raises:
            InvalidInput: `examples` is out of range.
        """
        max_examples = arguments.check_count(examples, "examples", minimum=0, maximum=MAX_EXAMPLES)
        name = self._access.store.meta.embedder
        with self._access.store.read(owner_id) as snapshot:
            comparison = None
            if near and name is not None:
                comparison = SemanticComparison(
                    self._stored_vectors(snapshot), get_thresholds(name)
                )
            return audit_memories(
                _iter_active(snapshot), comparison, examples=max_examples, advance=advance
            )

    def _stored_vectors(self, snapshot: Snapshot) -> Vectors:
        """Return a function that reads stored vectors; missing ones are not computed."""

        def vectors(entries: Sequence[AuditEntry]) -> list[NDArray[np.int8] | None]:
            digests = [self._indexer.vector_digest(each.text) for each in entries]
            found = snapshot.vectors([digest for digest in digests if digest is not None])
            return [None if digest is None else found.get(digest) for digest in digests]

        return vectors


def get_thresholds(embedder: str) -> SimilarityThresholds:
    """Return the similarity thresholds for an embedding model."""
    return FITTED_THRESHOLDS.get(embedder) or get_source_thresholds()


def audit_memories(
    memories: Iterable[AuditEntry],
    comparison: SemanticComparison | None,
    *,
    examples: int = DEFAULT_AUDIT_EXAMPLES,
    advance: Advance | None = None,
) -> Audit:
    """Audit memories in the order in which they were stored.

    Uses about 200 bytes for each memory, plus the texts and vectors of the compared ones.

    Args:
        memories: The memories.
        comparison: How to compare them by meaning; None: don't.
        examples: The number of examples for each category.
        advance: Called with the number of memories audited since the last call.
    """
    tally = _Tally(examples)
    clean: list[tuple[AuditEntry, NDArray[np.int8]]] = []
    for batch in _iter_batches(memories):
        remaining = [each for each in batch if not tally.add(each)]
        if comparison is not None and len(clean) < MAX_COMPARED:
            clean += _iter_with_vectors(remaining, comparison, MAX_COMPARED - len(clean))
        if advance is not None:
            advance(len(batch))
    if comparison is None:
        return tally.build_audit(None, 0)
    return tally.build_audit(_find_near(clean, comparison.thresholds, tally), len(clean))


def _iter_active(snapshot: Snapshot) -> Iterator[AuditEntry]:
    stats = snapshot.memory_stats(states=frozenset({State.ACTIVE}))
    for ids in _iter_batches(stats.id):
        for memory in snapshot.memories(ids):
            yield AuditEntry(memory.id, memory.content, memory.key, memory.origin)


def _iter_batches(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _BATCH_SIZE)):
        yield batch


def _iter_with_vectors(
    memories: Sequence[AuditEntry], comparison: SemanticComparison, limit: int
) -> Iterator[tuple[AuditEntry, NDArray[np.int8]]]:
    short = [each for each in memories if 0 < len(each.text) <= MAX_COMPARED_CHARS][:limit]
    for each, vector in zip(short, comparison.vectors(short), strict=True):
        if vector is not None:
            yield each, vector


def _find_near(
    clean: Sequence[tuple[AuditEntry, NDArray[np.int8]]],
    thresholds: SimilarityThresholds,
    tally: _Tally,
) -> _Findings:
    """Return near-duplicates of earlier memories; count assistant echoes in the tally instead."""
    near = _Findings(tally.examples)
    if not clean:
        return near
    rows, cosines = find_nearest_before(np.stack([vector for _, vector in clean]))
    for (memory, _), row, cosine in zip(clean, rows.tolist(), cosines.tolist(), strict=True):
        before = clean[row][0]
        if cosine >= thresholds.arbitration and _is_assistant_echo(memory, before):
            tally.add_echo(memory, before)
        elif cosine >= thresholds.duplicate:
            near.add(memory, "near in meaning", before.id, round(cosine, 3))
    return near


def _is_assistant_echo(memory: AuditEntry, before: AuditEntry) -> bool:
    """Return whether an assistant's memory only repeats an earlier one."""
    return memory.origin is Origin.ASSISTANT and bool(
        find_support(memory.text, read_sources([before.text]))
    )


@dataclass(slots=True)
class _Findings:
    """The memories of one category."""

    max_examples: int
    ids: list[str] = field(default_factory=list)
    examples: list[AuditExample] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        memory: AuditEntry,
        reason: str,
        duplicate_of: str | None = None,
        similarity: float | None = None,
    ) -> None:
        self.ids.append(memory.id)
        self.reasons[reason] += 1
        if len(self.examples) < self.max_examples:
            self.examples.append(
                AuditExample(
                    memory.id, memory.text[:_EXCERPT_CHARS], reason, duplicate_of, similarity
                )
            )

    def share(self, total: int) -> AuditCategory:
        count = len(self.ids)
        return AuditCategory(
            count,
            count / total if total else 0.0,
            tuple(self.ids),
            tuple(self.examples),
            dict(self.reasons.most_common()),
        )


class _Tally:
    """The results so far."""

    def __init__(self, examples: int) -> None:
        self.examples = examples
        self._findings = {each: _Findings(examples) for each in JunkKind}
        self._first: dict[bytes, str] = {}
        self._memories = self._junk = 0

    def add(self, memory: AuditEntry) -> bool:
        """Audit a memory; return whether it is junk."""
        reasons = classify_junk(
            memory.text, has_key=memory.key is not None, by_user=memory.origin is Origin.USER
        )
        for judgement, reason in reasons.items():
            self._findings[judgement].add(memory, reason)
        digest = _content_digest(memory.text)
        first_id = self._first.get(digest)
        if first_id is None:
            self._first[digest] = memory.id
        else:
            self._findings[JunkKind.DUPLICATE].add(memory, "the same words", first_id)
        is_junk = first_id is not None or bool(reasons)
        self._memories += 1
        self._junk += is_junk
        return is_junk

    def add_echo(self, memory: AuditEntry, before: AuditEntry) -> None:
        self._findings[JunkKind.ECHO].add(memory, "repeated by the assistant", before.id)
        self._junk += 1

    def build_audit(self, near: _Findings | None, compared: int) -> Audit:
        total = self._memories
        duplicates, fragments, filler, echoes = (
            self._findings[each].share(total)
            for each in (
                JunkKind.DUPLICATE,
                JunkKind.FRAGMENT,
                JunkKind.FILLER,
                JunkKind.ECHO,
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


def _content_digest(text: str) -> bytes:
    return hashlib.blake2b(content_key(text).encode(), digest_size=_DIGEST_BYTES).digest()
