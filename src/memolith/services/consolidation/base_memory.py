"""Rewriting the base memory from summaries that have gathered, and the facts that matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin, Source, State
from memolith.domain.messages import Role
from memolith.domain.work import ProcessingFlag
from memolith.policies.echoes import strip_context
from memolith.prompts.transcripts import MAX_TRANSCRIPT_CHARS, TranscriptTurn
from memolith.services.base_memory import hide_forgotten_sentences
from memolith.services.consolidation.staging import ConsolidationResult, SourcesChanged
from memolith.services.paging import iter_memories
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memolith.ports.store import Snapshot
    from memolith.ports.work import WorkLease
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.staging import SummaryWriter
    from memolith.services.distilling import BaseMemoryComposer


@dataclass(frozen=True, slots=True)
class BaseMemoryMaterial:
    """What a base memory is made of.

    Attributes:
        base: What it says now; empty where there is none.
        version: Of what it says now; 0 where there is none.
        summaries: The summaries to take up, oldest first.
        facts: The memories that matter most, all of the user's own word.
        words: What the user said that the summaries stand for: nothing else may come in.
        retired: What memories said that were superseded, in normal form: no note says it.
    """

    current_text: str
    version: int
    summaries: Sequence[Memory]
    facts: Sequence[Memory]
    user_words: Sequence[TranscriptTurn]
    superseded_keys: frozenset[str] = frozenset()


class BaseMemoryRewriter:
    """Rewrites base memories."""

    def __init__(self, summary_writer: SummaryWriter, composer: BaseMemoryComposer) -> None:
        """Use these."""
        self._summary_writer = summary_writer
        self._access = summary_writer.access
        self._composer = composer

    def rewrite(
        self, owner_id: str, profile: Profile, claim: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Take up the oldest summaries where many have gathered; yield what was made.

        Of very many some at a time, as many as a prompt holds.
        """
        rule = profile.consolidation
        if rule.summaries is None:
            return
        while True:
            with self._access.store.read(owner_id) as snapshot:
                waiting = snapshot.memories_without_mark(
                    ProcessingFlag.INCORPORATED, frozenset({rule.kind})
                )
                taken = _take_fitting(waiting[: rule.summaries.get_batch_size(len(waiting))])
                if not taken:
                    return
                material = self._gather_material(snapshot, profile, taken)
            yield self._write_document(owner_id, profile, material, claim)

    def _write_document(
        self, owner_id: str, profile: Profile, material: BaseMemoryMaterial, claim: WorkLease | None
    ) -> ConsolidationResult:
        made = self._composer.compose(owner_id, profile, material)
        with self._access.store.write(owner_id) as tx:
            self._summary_writer.check_claim(tx, claim)
            if not _is_unchanged(tx, material):
                raise SourcesChanged
            sources = [Source(each.id, "memory") for each in (*material.summaries, *material.facts)]
            if made.text and made.text != material.current_text:
                tx.set_base_memory(made.text, sources=sources, at=self._access.clock.now())
            tx.add_mark([each.id for each in material.summaries], ProcessingFlag.INCORPORATED)
            document = tx.base_memory()
        version = str(document.version) if document else "0"
        count = len(material.summaries)
        return ConsolidationResult("base memory", version, count, by_model=made.by_model)

    def _gather_material(
        self, snapshot: Snapshot, profile: Profile, summaries: Sequence[Memory]
    ) -> BaseMemoryMaterial:
        document = snapshot.base_memory()
        retired = iter_memories(snapshot, frozenset({State.SUPERSEDED}))
        return BaseMemoryMaterial(
            current_text=""
            if document is None
            else hide_forgotten_sentences(snapshot, document).content,
            version=0 if document is None else document.version,
            summaries=summaries,
            facts=_find_most_important(snapshot, profile),
            user_words=list(_iter_user_words(snapshot, summaries)),
            superseded_keys=frozenset(content_key(each.content) for each in retired),
        )


def _take_fitting(summaries: Sequence[Memory]) -> list[Memory]:
    """Return as many of the first summaries as a prompt has room for, one in any case."""
    taken: list[Memory] = []
    left = MAX_TRANSCRIPT_CHARS
    for each in summaries:
        left -= len(each.content)
        if taken and left < 0:
            break
        taken.append(each)
    return taken


def _find_most_important(snapshot: Snapshot, profile: Profile) -> list[Memory]:
    """Return the user's memories that matter most; of equals those that were said last.

    Not those that were stored last: when that was hangs on when a model had the time.
    """
    vitals = snapshot.memory_stats(states=frozenset({State.ACTIVE}))
    kinds = frozenset(profile.kinds) - {profile.consolidation.kind}
    rows = [row for row, kind in enumerate(vitals.kind) if kind in kinds]
    said_at = snapshot.items(vitals.number).at
    rows.sort(key=lambda row: (-vitals.importance[row], -said_at[row], vitals.id[row]))
    found: list[Memory] = []
    for row in rows:
        if len(found) == profile.consolidation.facts:
            break
        found += [m for m in snapshot.memories([vitals.id[row]]) if m.origin is Origin.USER]
    return found


def _iter_user_words(snapshot: Snapshot, summaries: Sequence[Memory]) -> Iterator[TranscriptTurn]:
    """Yield what the user said of all that summaries stand for."""
    ids = [
        source.id
        for each in summaries
        for source in each.sources
        if source.record_type == "message"
    ]
    for message in snapshot.messages(ids=ids):
        content = strip_context(message.content)
        if message.role is Role.USER and content.strip():
            yield TranscriptTurn(content, at=message.at)


def _is_unchanged(tx: Snapshot, material: BaseMemoryMaterial) -> bool:
    document = tx.base_memory()
    version = 0 if document is None else document.version
    read = (*material.summaries, *material.facts)
    there = {each.id: (each.state, each.version) for each in tx.memories([m.id for m in read])}
    unmoved = all(there.get(each.id) == (State.ACTIVE, each.version) for each in read)
    waiting = tx.memories_without_mark(
        ProcessingFlag.INCORPORATED, frozenset(each.kind for each in material.summaries)
    )
    taken = {each.id for each in material.summaries}
    return unmoved and version == material.version and taken <= {each.id for each in waiting}
