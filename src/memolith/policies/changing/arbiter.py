"""What becomes of a new memory that may restate or change what is known.

The grammar is imported when there is something to decide: to recall takes none of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin
from memolith.policies.merging import Candidate, Decision, Insert, Replace, Restate
from memolith.policies.trust import is_outranked

if TYPE_CHECKING:
    from memolith.policies.changing.relation import Finding

_SPEAKS = frozenset({Origin.USER, Origin.ASSISTANT, Origin.IMPORT})
"""Whose sentences are about the owner's life. A document's "I" is anybody's, and what a summary
says is said elsewhere."""

_OWN_VOICE = frozenset({Origin.USER, Origin.IMPORT})
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mein\w*|ich|mir|mich)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GrammarArbiter:
    """`standard`: what a sentence's grammar shows beyond doubt, nothing else."""

    def ways(self, candidate: Candidate) -> tuple[tuple[frozenset[str], ...], ...]:
        """Return how to find what a candidate may restate or change: see `search_terms`.

        None for a candidate that has a key, which says for itself what it is about, or an end,
        which makes it true for a time only; and for what is not said by or of the user.
        """
        if candidate.key is not None or candidate.ends or candidate.said_at is None:
            return ()
        if candidate.origin not in _OWN_VOICE and (
            candidate.origin not in _SPEAKS or _FIRST_PERSON.search(candidate.content)
        ):
            return ()
        from memolith.policies.changing.relation import plainly_told
        from memolith.text.statements import search_terms

        return search_terms(plainly_told(candidate.content))

    def decide(self, candidate: Candidate, rivals: Sequence[Memory]) -> Decision:
        """Return `Restate` for the oldest that it restates, `Replace` for all that it changes.

        What is believed more, or was said later, is not changed by it. `Insert` where there is
        neither.

        Args:
            candidate: What is to be stored.
            rivals: Active memories without a key that may be about the same.
        """
        from memolith.policies.changing.relation import Relation, plainly_told, told_after

        said = plainly_told(candidate.content)
        found = [
            (each, told_after(each.content, candidate.content, said))
            for each in _of_speakers(rivals)
        ]
        restated = [each for each, finding in found if finding.relation is Relation.RESTATED]
        if restated:
            return Restate(min(restated, key=_age).id)
        changed = [
            (each, finding)
            for each, finding in found
            if finding.relation is Relation.CHANGED and _may_change(each, candidate)
        ]
        return _replaced(sorted(changed, key=lambda one: _age(one[0]))) if changed else Insert()


def _replaced(changed: Sequence[tuple[Memory, Finding]]) -> Replace:
    (first, finding), *rest = changed
    return Replace(first.id, tuple(each.id for each, _ in rest), finding.reason)


def _of_speakers(rivals: Sequence[Memory]) -> list[Memory]:
    return [each for each in rivals if each.origin in _SPEAKS]


def _age(memory: Memory) -> tuple[object, str]:
    return memory.created_at, memory.id


def _may_change(known: Memory, candidate: Candidate) -> bool:
    if candidate.said_at is None or is_outranked(candidate.origin, by=known.origin):
        return False
    said = known.happened_at or known.created_at
    # When it was said again is not kept, only when that was stored: an old log told late must
    # not retire what has been confirmed since.
    last = max(said, known.updated_at) if len(known.sources) > 1 else said
    return candidate.said_at >= last
