"""What counts as the same memory where a profile says so in one sentence.

`tiers`: what is nearer than a distance is retired. `timeline`: the key alone says. `chunks`: the
same text to the letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import State
from memolith.policies.merging import Insert, Replace, Restate, SimilarMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.memories import Memory
    from memolith.policies.merging import Candidate, Decision, Verdict

DUPLICATE_DISTANCE = 0.15
"""`tiers`, section 9, for its own embedder."""


class _NoArbitration:
    """Settles what never comes up: these policies ask no arbitrator."""

    __slots__ = ()

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return `Insert`: nobody is ever asked."""
        del candidate, existing, verdict
        return Insert()


@dataclass(frozen=True, slots=True)
class NearestReplacement(_NoArbitration):
    """`tiers`: the new memory is always stored, and the nearest retired where it is near enough.

    Attributes:
        distance: Cosine distance, 0..2, under which the nearest is superseded.
    """

    distance: float = DUPLICATE_DISTANCE
    uses_similarity: bool = True
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Replace` for the nearest where it is nearer than the distance, else `Insert`."""
        del candidate, same
        if nearest is None or 1.0 - nearest.similarity >= self.distance:
            return Insert()
        return Replace(nearest.memory.id)


@dataclass(frozen=True, slots=True)
class KeyedMerging(_NoArbitration):
    """`timeline`: only a taken key names a known memory, and that is seen to before this.

    The same words under another key, or under none, are another memory: agents name what they
    store, and two names are two things to them.
    """

    uses_similarity: bool = False
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Insert`."""
        del candidate, same, nearest
        return Insert()


@dataclass(frozen=True, slots=True)
class IdenticalTextMerging(_NoArbitration):
    """`chunks`: the same text to the letter is not stored twice; novelty does the rest."""

    uses_similarity: bool = False
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Restate` for the oldest active memory of that text, else `Insert`."""
        del nearest
        known = next(
            (
                memory
                for memory in same
                if memory.content == candidate.content and memory.state is State.ACTIVE
            ),
            None,
        )
        return Insert() if known is None else Restate(known.id)
