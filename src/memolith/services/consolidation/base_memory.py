"""Rewriting the base memory from summaries that have gathered, and the facts that matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin, Source, State
from memolith.domain.messages import Role
from memolith.domain.work import Mark
from memolith.policies.echoes import without_context
from memolith.prompts.transcripts import MAX_CHARS, Spoken
from memolith.services.base_memory import shown
from memolith.services.consolidation.staging import Consolidated, Moved
from memolith.services.paging import all_memories
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memolith.ports.store import Snapshot
    from memolith.ports.work import Claim
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.staging import Staging
    from memolith.services.distilling import Distilling


@dataclass(frozen=True, slots=True)
class Material:
    """What a base memory is made of.

    Attributes:
        base: What it says now; empty where there is none.
        version: Of what it says now; 0 where there is none.
        summaries: The summaries to take up, oldest first.
        facts: The memories that matter most, all of the user's own word.
        words: What the user said that the summaries stand for: nothing else may come in.
        retired: What memories said that were superseded, in normal form: no note says it.
    """

    base: str
    version: int
    summaries: Sequence[Memory]
    facts: Sequence[Memory]
    words: Sequence[Spoken]
    retired: frozenset[str] = frozenset()


class BaseMemoryRewriting:
    """Rewrites base memories."""

    def __init__(self, staging: Staging, distilling: Distilling) -> None:
        """Use these."""
        self._staging = staging
        self._access = staging.access
        self._distilling = distilling

    def rewritten(
        self, owner_id: str, profile: Profile, claim: Claim | None
    ) -> Iterator[Consolidated]:
        """Take up the oldest summaries where many have gathered; yield what was made.

        Of very many some at a time, as many as a prompt holds.
        """
        rule = profile.condensing
        if rule.summaries is None:
            return
        while True:
            with self._access.store.read(owner_id) as snapshot:
                waiting = snapshot.unmarked(Mark.INCORPORATED, frozenset({rule.kind}))
                taken = _fitting(waiting[: rule.summaries.portion(len(waiting))])
                if not taken:
                    return
                material = self._material(snapshot, profile, taken)
            yield self._written(owner_id, profile, material, claim)

    def _written(
        self, owner_id: str, profile: Profile, material: Material, claim: Claim | None
    ) -> Consolidated:
        made = self._distilling.distilled(owner_id, profile, material)
        with self._access.store.write(owner_id) as tx:
            self._staging.check(tx, claim)
            if not _is_as_read(tx, material):
                raise Moved
            sources = [Source(each.id, "memory") for each in (*material.summaries, *material.facts)]
            if made.text and made.text != material.base:
                tx.set_base_memory(made.text, sources=sources, at=self._access.clock.now())
            tx.mark([each.id for each in material.summaries], Mark.INCORPORATED)
            document = tx.base_memory()
        version = str(document.version) if document else "0"
        count = len(material.summaries)
        return Consolidated("base memory", version, count, by_model=made.by_model)

    def _material(
        self, snapshot: Snapshot, profile: Profile, summaries: Sequence[Memory]
    ) -> Material:
        document = snapshot.base_memory()
        retired = all_memories(snapshot, frozenset({State.SUPERSEDED}))
        return Material(
            base="" if document is None else shown(snapshot, document).content,
            version=0 if document is None else document.version,
            summaries=summaries,
            facts=_most_important(snapshot, profile),
            words=list(_words(snapshot, summaries)),
            retired=frozenset(content_key(each.content) for each in retired),
        )


def _fitting(summaries: Sequence[Memory]) -> list[Memory]:
    """Return as many of the first summaries as a prompt has room for, one in any case."""
    taken: list[Memory] = []
    left = MAX_CHARS
    for each in summaries:
        left -= len(each.content)
        if taken and left < 0:
            break
        taken.append(each)
    return taken


def _most_important(snapshot: Snapshot, profile: Profile) -> list[Memory]:
    """Return the user's memories that matter most; of equals those that were said last.

    Not those that were stored last: when that was hangs on when a model had the time.
    """
    vitals = snapshot.vitals(states=frozenset({State.ACTIVE}))
    kinds = frozenset(profile.kinds) - {profile.condensing.kind}
    rows = [row for row, kind in enumerate(vitals.kind) if kind in kinds]
    said_at = snapshot.items(vitals.number).at
    rows.sort(key=lambda row: (-vitals.importance[row], -said_at[row], vitals.id[row]))
    found: list[Memory] = []
    for row in rows:
        if len(found) == profile.condensing.facts:
            break
        found += [m for m in snapshot.memories([vitals.id[row]]) if m.origin is Origin.USER]
    return found


def _words(snapshot: Snapshot, summaries: Sequence[Memory]) -> Iterator[Spoken]:
    """Yield what the user said of all that summaries stand for."""
    ids = [source.id for each in summaries for source in each.sources if source.of == "message"]
    for message in snapshot.messages(ids=ids):
        content = without_context(message.content)
        if message.role is Role.USER and content.strip():
            yield Spoken(content, at=message.at)


def _is_as_read(tx: Snapshot, material: Material) -> bool:
    document = tx.base_memory()
    version = 0 if document is None else document.version
    read = (*material.summaries, *material.facts)
    there = {each.id: (each.state, each.version) for each in tx.memories([m.id for m in read])}
    unmoved = all(there.get(each.id) == (State.ACTIVE, each.version) for each in read)
    waiting = tx.unmarked(Mark.INCORPORATED, frozenset(each.kind for each in material.summaries))
    taken = {each.id for each in material.summaries}
    return unmoved and version == material.version and taken <= {each.id for each in waiting}
