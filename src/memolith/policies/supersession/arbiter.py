"""Decide by grammar whether a new memory restates or supersedes known ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memolith.domain.memories import Memory, Origin
from memolith.policies.merging import Candidate, Decision, Insert, Replace, Restate
from memolith.policies.supersession.relation import (
    Finding,
    Relation,
    read_comparable,
    relate_reading,
)
from memolith.policies.trust import is_outranked
from memolith.text.statements import search_terms

_SPEAKER_ORIGINS = frozenset({Origin.USER, Origin.ASSISTANT, Origin.IMPORT})
"""Origins of sentences about the owner's life. The "I" of a document is anybody, and summaries
repeat other text.
"""

_USER_ORIGINS = frozenset({Origin.USER, Origin.IMPORT})
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mein\w*|ich|mir|mich)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GrammarSupersession:
    """Supersedes only if the grammar of both sentences leaves no doubt (`standard`)."""

    def find_search_groups(self, candidate: Candidate) -> tuple[tuple[frozenset[str], ...], ...]:
        """Return keyword queries for what a candidate may restate or supersede; see `search_terms`.

        Empty for a candidate with a key, which already states its subject, or with an expiry, which
        makes it temporary. Also empty for statements that are not by or about the user.
        """
        if candidate.key is not None or candidate.has_expiry or candidate.stated_at is None:
            return ()
        if candidate.origin not in _USER_ORIGINS and (
            candidate.origin not in _SPEAKER_ORIGINS or _FIRST_PERSON.search(candidate.content)
        ):
            return ()
        return search_terms(read_comparable(candidate.content))

    def decide(self, candidate: Candidate, supersession_candidates: Sequence[Memory]) -> Decision:
        """Return `Restate` for the oldest restated memory, or `Replace` for all superseded ones.

        A memory that is more trusted, or was said later, is not superseded. `Insert` if there is
        neither.

        Args:
            candidate: The memory to be stored.
            supersession_candidates: Active memories without a key that match the queries.
        """
        reading = read_comparable(candidate.content)
        findings = [
            (each, relate_reading(each.content, candidate.content, reading))
            for each in _filter_by_speaker(supersession_candidates)
        ]
        restated = [each for each, finding in findings if finding.relation is Relation.RESTATED]
        if restated:
            return Restate(min(restated, key=_age_key).id)
        changed = [
            (each, finding)
            for each, finding in findings
            if finding.relation is Relation.CHANGED and _may_change(each, candidate)
        ]
        return (
            _build_replace(sorted(changed, key=lambda one: _age_key(one[0])))
            if changed
            else Insert()
        )


def _build_replace(changed: Sequence[tuple[Memory, Finding]]) -> Replace:
    (first, finding), *rest = changed
    return Replace(first.id, tuple(each.id for each, _ in rest), finding.reason)


def _filter_by_speaker(supersession_candidates: Sequence[Memory]) -> list[Memory]:
    return [each for each in supersession_candidates if each.origin in _SPEAKER_ORIGINS]


def _age_key(memory: Memory) -> tuple[object, str]:
    return memory.created_at, memory.id


def _may_change(existing: Memory, candidate: Candidate) -> bool:
    if candidate.stated_at is None or is_outranked(candidate.origin, by=existing.origin):
        return False
    said_at = existing.happened_at or existing.created_at
    # The time of a restatement is unknown, only when it was stored. A log imported late must not
    # supersede a memory that was confirmed since.
    last = max(said_at, existing.updated_at) if len(existing.sources) > 1 else said_at
    return candidate.stated_at >= last
