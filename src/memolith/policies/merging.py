"""Deduplication of the `standard` profile: the same words are the same fact, nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Protocol

from memolith.domain.memories import Memory, Origin, State
from memolith.errors import InvalidInput
from memolith.policies.evidence import read_sources
from memolith.policies.grounding import find_support
from memolith.policies.paraphrase import join_texts
from memolith.text.cleaning import clean
from memolith.text.injection import is_suspicious
from memolith.text.screening import contains_secrets
from memolith.text.synonyms import content_terms, is_same_word


def find_same_fact(candidate_key: str | None, existing: Sequence[Memory]) -> Memory | None:
    """Return the memory that a candidate restates, or None where it is to be inserted.

    Args:
        candidate_key: The key the candidate is to be stored under, if any.
        existing: The owner's memories whose content has the candidate's `content_key`.

    Returns:
        The oldest active one without a key, or with the candidate's: two keys are two memories.
    """
    matching = (
        memory
        for memory in existing
        if memory.state is State.ACTIVE and memory.key in (None, candidate_key)
    )
    return min(matching, key=lambda memory: (memory.created_at, memory.id), default=None)


# --- What becomes of a new memory where the owner has one like it: the vocabulary of decisions


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


# --- What counts as the same memory where a profile says so in one sentence


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

    distance: float
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


# --- Merging of profile `companion`: what is like a memory joins it


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
    threshold: float
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


# --- Merging of profile `facts`: two thresholds, and an arbitrator for what lies between them


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

    auto_merge: float
    arbitration: float
    max_bytes: int
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
