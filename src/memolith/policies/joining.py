"""Merging of profile `companion`: what is like a memory joins it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.dedup import find_same_fact
from memolith.policies.folding import join_texts
from memolith.policies.merging import Insert, Restate, Rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.memories import Memory
    from memolith.policies.merging import Candidate, Decision, SimilarMemory, Verdict


@dataclass(frozen=True, slots=True)
class SimilarityMerging:
    """What is nearer to a memory than a threshold is told by it too from then on.

    Together they have both contents (no sentence twice), the higher importance, all tags, and
    the kind of higher priority. What would be too long together stays apart, and so does what
    has a key, which says for itself what it is about.

    Attributes:
        kinds: The profile's kinds, by priority.
        threshold: The similarity over which a memory is joined, 0..1.
        max_chars: The longest memory, in characters.
    """

    kinds: tuple[str, ...]
    threshold: float = 0.85
    max_chars: int = 8_000
    uses_similarity: bool = True
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Rewrite` for what joins a memory, `Restate` where that changes nothing."""
        known = find_same_fact(candidate.key, same)
        if known is not None:
            return self._join(candidate, known, known.content)
        if nearest is None or candidate.key is not None or nearest.similarity <= self.threshold:
            return Insert()
        content = join_texts(nearest.memory.content, candidate.content)
        if len(content) > self.max_chars:
            return Insert()
        return self._join(candidate, nearest.memory, content)

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return `Insert`: nobody is ever asked."""
        del candidate, existing, verdict
        return Insert()

    def _join(self, candidate: Candidate, known: Memory, content: str) -> Decision:
        kind = min(known.kind, candidate.kind, key=self._priority)
        importance = max(known.importance, candidate.importance)
        tags = tuple(sorted({*known.tags, *candidate.tags}))
        as_it_is = (known.content, known.kind, candidate.importance)
        if (content, kind, importance) == as_it_is:
            return Restate(known.id)
        return Rewrite(known.id, content, kind, importance, tags)

    def _priority(self, kind: str) -> int:
        return self.kinds.index(kind) if kind in self.kinds else len(self.kinds)
