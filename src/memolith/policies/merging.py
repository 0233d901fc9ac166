"""What becomes of a new memory where the owner has one like it: the vocabulary of decisions.

A profile's merging policy decides; the service that asks does the searching and writing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from memolith.domain.memories import Origin
from memolith.policies.dedup import find_same_fact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.memories import Memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that is to be stored, as far as merging looks at it.

    Attributes:
        content: Its text.
        kind: Its kind.
        importance: 0..1.
        tags: Its tags.
        key: The name it is to have.
        origin: Who says it.
        said_at: When it was said, or was so; None: nobody knows.
        ends: Whether it ends by itself.
    """

    content: str
    kind: str
    importance: float
    tags: tuple[str, ...] = ()
    key: str | None = None
    origin: Origin = Origin.USER
    said_at: datetime | None = None
    has_expiry: bool = False


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """The owner's memory that is nearest to a candidate.

    Attributes:
        memory: As it stands; active, or dormant where the policy looks among those.
        similarity: Cosine of the two texts, −1..1.
    """

    memory: Memory
    similarity: float


@dataclass(frozen=True, slots=True)
class Insert:
    """It is new."""


@dataclass(frozen=True, slots=True)
class Restate:
    """It is known: the memory gets one more source, and nothing else changes."""

    id: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The memory gets a new version that says this; a dormant one is active again."""

    id: str
    content: str
    kind: str
    importance: float
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replace:
    """It is stored, and the memory is superseded by it.

    Attributes:
        id: The memory.
        others: Further memories that are superseded by it too.
        why: The reason, in a few words, without any content.
    """

    id: str
    other_ids: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Discard:
    """It is not stored: the memory says it better."""

    id: str


@dataclass(frozen=True, slots=True)
class AskArbitrator:
    """An arbitrator is asked what becomes of it and the memory; with none it is inserted."""

    id: str


Decision = Insert | Restate | Rewrite | Replace | Discard | AskArbitrator


class Operation(StrEnum):
    """What an arbitrator says of a candidate and the memory it is near to."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An arbitrator's answer.

    Attributes:
        operation: ADD keeps both, UPDATE rewrites the known one, DELETE retires it in favour of
            the new one, NOOP drops the new one.
        content: The merged text, for UPDATE.
        reasoning: Why, in the arbitrator's words; never kept.
    """

    operation: Operation
    content: str = ""
    reasoning: str = ""


class MergePolicy(Protocol):
    """How a profile tells what is known already. Pure."""

    @property
    def uses_similarity(self) -> bool:
        """Whether the nearest memory matters; else only the same words do."""
        ...

    @property
    def revives(self) -> bool:
        """Whether expired, faded and evicted memories are looked at too."""
        ...

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return what becomes of a candidate.

        Args:
            candidate: What is to be stored.
            same: Memories of the same words in the same order, oldest first.
            nearest: The nearest memory that may stand for it, whose key is the candidate's or
                none; None where there is none, or `by_similarity` is false.
        """
        ...

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return what becomes of a candidate after `Ask`; never `Ask`."""
        ...


class SupersessionPolicy(Protocol):
    """How a profile tells what a new memory restates or changes, with no model. Pure."""

    def find_search_groups(self, candidate: Candidate) -> tuple[tuple[frozenset[str], ...], ...]:
        """Return how to find, by keyword, what a candidate may restate or change.

        Returns:
            Ways to find it: for each, groups of terms, of each of which one stands in a text
            that is meant. None for a candidate that changes nothing.
        """
        ...

    def decide(self, candidate: Candidate, supersession_candidates: Sequence[Memory]) -> Decision:
        """Return `Restate`, `Replace`, or `Insert` where in doubt.

        Args:
            candidate: What is to be stored.
            rivals: Active memories without a key that were found so.
        """
        ...


@dataclass(frozen=True, slots=True)
class SameTextMerging:
    """`standard`: the same words are the same fact, nothing else is (see `dedup`)."""

    uses_similarity: bool = False
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Restate` for a memory of the same words, else `Insert`."""
        del nearest
        known = find_same_fact(candidate.key, same)
        return Insert() if known is None else Restate(known.id)

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return `Insert`: nobody is ever asked."""
        del candidate, existing, verdict
        return Insert()
