"""Decide what happens to a new memory that resembles existing ones."""

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
    """Return the memory that a candidate restates, or None if it is new.

    Args:
        candidate_key: The key of the candidate, if any.
        existing: The owner's memories with the candidate's `content_key`.

    Returns:
        The oldest active one without a key or with the candidate's key: memories with different
        keys are different.
    """
    matching = (
        memory
        for memory in existing
        if memory.state is State.ACTIVE and memory.key in (None, candidate_key)
    )
    return min(matching, key=lambda memory: (memory.created_at, memory.id), default=None)


# --- Decisions


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory to be stored, as merge policies see it.

    Attributes:
        content: The text.
        kind: The kind.
        importance: 0..1.
        tags: The tags.
        key: The key, if any.
        origin: The origin of the statement.
        stated_at: When it was said, or was true; None: unknown.
        has_expiry: Whether it expires.
    """

    content: str
    kind: str
    importance: float
    tags: tuple[str, ...] = ()
    key: str | None = None
    origin: Origin = Origin.USER
    stated_at: datetime | None = None
    has_expiry: bool = False


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """The owner's memory nearest to a candidate.

    Attributes:
        memory: The stored memory; active, or dormant if the policy revives.
        similarity: Cosine of the two texts, −1..1.
    """

    memory: Memory
    similarity: float


@dataclass(frozen=True, slots=True)
class Insert:
    """Store the candidate as a new memory."""


@dataclass(frozen=True, slots=True)
class Restate:
    """Add a source to a known memory; change nothing else."""

    id: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Add a new version to a memory; a dormant one becomes active."""

    id: str
    content: str
    kind: str
    importance: float
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replace:
    """Store the candidate; it supersedes a memory.

    Attributes:
        id: The superseded memory.
        other_ids: Further superseded memories.
        reason: The reason, in a few words, without any content.
    """

    id: str
    other_ids: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Discard:
    """Do not store the candidate: the existing memory is better."""

    id: str


@dataclass(frozen=True, slots=True)
class AskArbitrator:
    """Let an arbitrator decide; without one, insert the candidate."""

    id: str


Decision = Insert | Restate | Rewrite | Replace | Discard | AskArbitrator


class Operation(StrEnum):
    """An arbitrator's decision about a candidate and a similar memory."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An arbitrator's answer.

    Attributes:
        operation: ADD keeps both; UPDATE rewrites the existing memory; DELETE lets the candidate
            supersede it; NOOP drops the candidate.
        content: The merged text, for UPDATE.
        reasoning: The arbitrator's explanation; never stored.
    """

    operation: Operation
    content: str = ""
    reasoning: str = ""


class MergePolicy(Protocol):
    """Decides whether a candidate is already known. Pure."""

    @property
    def uses_similarity(self) -> bool:
        """Whether the nearest memory is considered; otherwise only identical words."""
        ...

    @property
    def revives(self) -> bool:
        """Whether expired, faded and evicted memories are considered too."""
        ...

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Decide about a candidate.

        Args:
            candidate: The memory to be stored.
            same: Memories with the same words in the same order, oldest first.
            nearest: The nearest memory without a key or with the candidate's key; None if there is
                none, or if `uses_similarity` is false.
        """
        ...

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Decide about a candidate after `AskArbitrator`; never returns `AskArbitrator`."""
        ...


class SupersessionPolicy(Protocol):
    """Decides which memories a candidate restates or supersedes, without a model. Pure."""

    def find_search_groups(self, candidate: Candidate) -> tuple[tuple[frozenset[str], ...], ...]:
        """Return keyword queries for memories that a candidate may restate or supersede.

        Returns:
            Alternative queries. Each is a list of groups of terms; a match contains a term of each
            group. Empty for a candidate that supersedes nothing.
        """
        ...

    def decide(self, candidate: Candidate, supersession_candidates: Sequence[Memory]) -> Decision:
        """Return `Restate`, `Replace`, or `Insert` if in doubt.

        Args:
            candidate: The memory to be stored.
            supersession_candidates: Active memories without a key that match the queries.
        """
        ...


@dataclass(frozen=True, slots=True)
class SameTextMerging:
    """Merges identical words only (`standard`)."""

    uses_similarity: bool = False
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Restate` for a memory with the same words, otherwise `Insert`."""
        del nearest
        existing = find_same_fact(candidate.key, same)
        return Insert() if existing is None else Restate(existing.id)

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return `Insert`; no arbitrator is ever asked."""
        del candidate, existing, verdict
        return Insert()


# --- Merging of `tiers`, `timeline` and `chunks`


class _NoArbitration:
    """For policies that never ask an arbitrator."""

    __slots__ = ()

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return `Insert`; no arbitrator is ever asked."""
        del candidate, existing, verdict
        return Insert()


@dataclass(frozen=True, slots=True)
class NearestReplacement(_NoArbitration):
    """Always stores the candidate; it supersedes the nearest memory if near enough (`tiers`).

    Attributes:
        distance: Cosine distance, 0..2, below which the nearest memory is superseded.
    """

    distance: float
    uses_similarity: bool = True
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Replace` for a nearest memory within the distance, otherwise `Insert`."""
        del candidate, same
        if nearest is None or 1.0 - nearest.similarity >= self.distance:
            return Insert()
        return Replace(nearest.memory.id)


@dataclass(frozen=True, slots=True)
class KeyedMerging(_NoArbitration):
    """Matches memories by key only (`timeline`), which happens before this policy applies.

    Agents name what they store: the same words under two keys are two memories.
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
    """Merges exactly identical texts only (`chunks`); novelty handles the rest."""

    uses_similarity: bool = False
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Restate` for the oldest active memory with that text, otherwise `Insert`."""
        del nearest
        existing = next(
            (
                memory
                for memory in same
                if memory.content == candidate.content and memory.state is State.ACTIVE
            ),
            None,
        )
        return Insert() if existing is None else Restate(existing.id)


# --- Merging of `companion`


@dataclass(frozen=True, slots=True)
class SimilarityMerging:
    """Joins a candidate with a similar memory (`companion`).

    The result has both contents without repeated sentences, the higher importance, all tags, and
    the kind of higher priority. Candidates are not joined if the result would be too long, or if
    they have a key.

    Attributes:
        kinds: The profile's kinds, highest priority first.
        threshold: Similarity above which texts are joined, 0..1.
        max_chars: Maximum length of a memory, in characters.
    """

    kinds: tuple[str, ...]
    threshold: float
    max_chars: int = 8_000
    uses_similarity: bool = True
    revives: bool = False

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Rewrite` to join a memory, or `Restate` if that changes nothing."""
        existing = find_same_fact(candidate.key, same)
        if existing is not None:
            return self._join(candidate, existing, existing.content)
        if nearest is None or candidate.key is not None or nearest.similarity <= self.threshold:
            return Insert()
        content = join_texts(nearest.memory.content, candidate.content)
        if len(content) > self.max_chars:
            return Insert()
        return self._join(candidate, nearest.memory, content)

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return `Insert`; no arbitrator is ever asked."""
        del candidate, existing, verdict
        return Insert()

    def _join(self, candidate: Candidate, existing: Memory, content: str) -> Decision:
        kind = min(existing.kind, candidate.kind, key=self._priority)
        importance = max(existing.importance, candidate.importance)
        tags = tuple(sorted({*existing.tags, *candidate.tags}))
        unchanged = (existing.content, existing.kind, candidate.importance)
        if (content, kind, importance) == unchanged:
            return Restate(existing.id)
        return Rewrite(existing.id, content, kind, importance, tags)

    def _priority(self, kind: str) -> int:
        return self.kinds.index(kind) if kind in self.kinds else len(self.kinds)


# --- Merging of `facts`


@dataclass(frozen=True, slots=True)
class ThresholdMerging:
    """Updates a very similar memory, and asks an arbitrator about a similar one (`facts`).

    An update replaces content, kind and importance, and keeps the tags of both. Expired, faded and
    evicted memories are considered too, and become active again. A candidate with a key is compared
    by its words only.

    Attributes:
        auto_merge: Similarity from which a memory is updated, 0..1.
        arbitration: Similarity from which an arbitrator is asked, 0..1.
        max_bytes: Maximum size of a memory, in bytes of UTF-8.
    """

    auto_merge: float
    arbitration: float
    max_bytes: int
    uses_similarity: bool = True
    revives: bool = True

    def decide(
        self, candidate: Candidate, same: Sequence[Memory], nearest: SimilarMemory | None
    ) -> Decision:
        """Return `Rewrite` for a known memory, `AskArbitrator` for a similar one, else `Insert`."""
        existing = _find_same_memory(candidate, same)
        if existing is not None:
            return _build_update(candidate, existing, candidate.content)
        if nearest is None or candidate.key is not None:
            return Insert()
        if nearest.similarity >= self.auto_merge:
            return _build_update(candidate, nearest.memory, candidate.content)
        return (
            AskArbitrator(nearest.memory.id) if nearest.similarity >= self.arbitration else Insert()
        )

    def apply_verdict(self, candidate: Candidate, existing: Memory, verdict: Verdict) -> Decision:
        """Return the decision for an arbitrator's answer.

        If the merged text is too long, contains a secret, or adds anything to the two texts, both
        memories are kept unchanged.
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
            case Operation.NOOP:  # a dormant memory would not be recalled: revive it
                return _build_update(candidate, existing, existing.content)
            case _:
                return Insert()

    def _clean_merged_text(self, content: str) -> str | None:
        """Return a model's text as it may be stored, or None."""
        try:
            text = clean(content)
        except InvalidInput:
            return None
        is_kept = len(text.encode()) <= self.max_bytes and not contains_secrets(text)
        return text if is_kept else None


def _adds_nothing_new(text: str, originals: Sequence[str]) -> bool:
    """Return whether a merged text adds nothing to the original texts, not even a word."""
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
    """Return the memory with these words: active before dormant, then the oldest."""
    matching = (memory for memory in same if memory.key in (None, candidate.key))
    return min(
        matching,
        key=lambda memory: (memory.state is not State.ACTIVE, memory.created_at, memory.id),
        default=None,
    )


def _build_update(candidate: Candidate, existing: Memory, content: str) -> Rewrite:
    tags = tuple(sorted({*existing.tags, *candidate.tags}))
    return Rewrite(existing.id, content, candidate.kind, candidate.importance, tags)
