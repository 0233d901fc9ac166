"""What becomes of a new memory that may restate or change what is known.

The grammar is imported when there is something to decide: to recall takes none of it.
"""

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
"""Whose sentences are about the owner's life. A document's "I" is anybody's, and what a summary
says is said elsewhere."""

_USER_ORIGINS = frozenset({Origin.USER, Origin.IMPORT})
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mein\w*|ich|mir|mich)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GrammarSupersession:
    """`standard`: what a sentence's grammar shows beyond doubt, nothing else."""

    def find_search_groups(self, candidate: Candidate) -> tuple[tuple[frozenset[str], ...], ...]:
        """Return how to find what a candidate may restate or change: see `search_terms`.

        None for a candidate that has a key, which says for itself what it is about, or an end,
        which makes it true for a time only; and for what is not said by or of the user.
        """
        if candidate.key is not None or candidate.has_expiry or candidate.said_at is None:
            return ()
        if candidate.origin not in _USER_ORIGINS and (
            candidate.origin not in _SPEAKER_ORIGINS or _FIRST_PERSON.search(candidate.content)
        ):
            return ()
        return search_terms(read_comparable(candidate.content))

    def decide(self, candidate: Candidate, supersession_candidates: Sequence[Memory]) -> Decision:
        """Return `Restate` for the oldest that it restates, `Replace` for all that it changes.

        What is believed more, or was said later, is not changed by it. `Insert` where there is
        neither.

        Args:
            candidate: What is to be stored.
            rivals: Active memories without a key that may be about the same.
        """
        said = read_comparable(candidate.content)
        found = [
            (each, relate_reading(each.content, candidate.content, said))
            for each in _filter_by_speaker(supersession_candidates)
        ]
        restated = [each for each, finding in found if finding.relation is Relation.RESTATED]
        if restated:
            return Restate(min(restated, key=_age_key).id)
        changed = [
            (each, finding)
            for each, finding in found
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


def _may_change(known: Memory, candidate: Candidate) -> bool:
    if candidate.said_at is None or is_outranked(candidate.origin, by=known.origin):
        return False
    said = known.happened_at or known.created_at
    # When it was said again is not kept, only when that was stored: an old log told late must
    # not retire what has been confirmed since.
    last = max(said, known.updated_at) if len(known.sources) > 1 else said
    return candidate.said_at >= last
