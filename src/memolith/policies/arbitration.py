"""Merging of profile `facts`: two thresholds, and an arbitrator for what lies between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from memolith.domain.memories import State
from memolith.errors import InvalidInput
from memolith.policies.evidence import read_sources
from memolith.policies.merging import AskArbitrator, Discard, Insert, Operation, Replace, Rewrite
from memolith.policies.support import find_support
from memolith.text.cleaning import clean
from memolith.text.injection import is_suspicious
from memolith.text.screening import contains_secrets
from memolith.text.wordings import content_terms, is_same_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.memories import Memory
    from memolith.policies.merging import Candidate, Decision, SimilarMemory, Verdict


@dataclass(frozen=True, slots=True)
class ThresholdMerging:
    """What is all but the same updates a memory, what is near to one is asked about.

    What an update says takes the place of what the memory said, with its own kind and
    importance; the tags of both are kept. Memories that have expired, faded or been evicted are
    looked at too, and live again. What has a key says for itself what it is about, and is only
    compared by its words.

    Attributes:
        auto_merge: The similarity from which a memory is updated, 0..1.
        arbitration: The similarity from which the arbitrator is asked, 0..1.
        max_bytes: The longest memory, in bytes of UTF-8.
    """

    auto_merge: float = 0.95
    arbitration: float = 0.85
    max_bytes: int = 500
    uses_similarity: bool = True
    revives: bool = True

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Rewrite` for what is known, `Ask` for what may be, else `Insert`."""
        known = _find_same_memory(candidate, same)
        if known is not None:
            return _build_update(candidate, known, candidate.content)
        if nearest is None or candidate.key is not None:
            return Insert()
        if nearest.similarity >= self.auto_merge:
            return _build_update(candidate, nearest.memory, candidate.content)
        return (
            AskArbitrator(nearest.memory.id) if nearest.similarity >= self.arbitration else Insert()
        )

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return what the arbitrator's answer comes to.

        A merged text that can't be kept, for it is too long, holds a secret, or says what neither
        of the two does, keeps both memories as they are.
        """
        match verdict.operation:
            case Operation.UPDATE:
                text = self._clean_merged_text(verdict.content or candidate.content)
                if text is None or not _adds_nothing_new(
                    text, (existing.content, candidate.content)
                ):
                    return Insert()
                return _build_update(candidate, existing, text)
            case Operation.DELETE:
                return Replace(existing.id)
            case Operation.NOOP if existing.state is State.ACTIVE:
                return Discard(existing.id)
            case Operation.NOOP:  # a memory that says it better must be one that is recalled
                return _build_update(candidate, existing, existing.content)
            case _:
                return Insert()

    def _clean_merged_text(self, content: str) -> str | None:
        """Return a model's text as it may be kept."""
        try:
            text = clean(content)
        except InvalidInput:
            return None
        is_kept = len(text.encode()) <= self.max_bytes and not contains_secrets(text)
        return text if is_kept else None


def _adds_nothing_new(text: str, originals: Sequence[str]) -> bool:
    """Tell whether a merged text says nothing beyond what two memories say, not by one word."""
    if text in originals:
        return True
    known = frozenset(chain.from_iterable(map(content_terms, originals)))
    is_new = any(
        term not in known and not any(is_same_word(term, one) for one in known)
        for term in content_terms(text)
    )
    return (
        not is_new and not is_suspicious(text) and bool(find_support(text, read_sources(originals)))
    )


def _find_same_memory(candidate: Candidate, same: Sequence[Memory]) -> Memory | None:
    """Return the memory of these words: an active one before a dormant one, then the oldest."""
    matching = (memory for memory in same if memory.key in (None, candidate.key))
    return min(
        matching,
        key=lambda memory: (memory.state is not State.ACTIVE, memory.created_at, memory.id),
        default=None,
    )


def _build_update(candidate: Candidate, known: Memory, content: str) -> Rewrite:
    tags = tuple(sorted({*known.tags, *candidate.tags}))
    return Rewrite(known.id, content, candidate.kind, candidate.importance, tags)
