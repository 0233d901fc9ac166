"""The base memory: one document for each owner, with versions, and its rewriting."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from memolith.domain.memories import BaseMemory, Memory, Origin, Source, State
from memolith.domain.messages import Role
from memolith.domain.owners import ProcessingFlag
from memolith.errors import NotFound
from memolith.policies import arguments
from memolith.policies.base_memory import (
    HISTORY,
    get_heading,
    merge_notes,
    parse_notes,
    remove_from_document,
    render_document,
)
from memolith.policies.context_echo import strip_context
from memolith.policies.evidence import Sources, read_sources
from memolith.policies.grounding import find_support
from memolith.policies.paraphrase import remove_sentences
from memolith.ports.models import ChatModel
from memolith.ports.store import Snapshot
from memolith.ports.work import WorkLease
from memolith.profiles.model import Profile
from memolith.prompts.fencing import MAX_TRANSCRIPT_CHARS, TranscriptTurn
from memolith.prompts.summaries import CASCADE_STYLE, build_base_memory_prompt, parse_base_memory
from memolith.services.access import Access, iter_memories
from memolith.services.chat import ChatModels, ask_model, new_nonce
from memolith.services.provenance import build_forgotten_matcher, is_summary, stated_sentence_keys
from memolith.services.summarise import (
    ConsolidationResult,
    SourcesChanged,
    Summariser,
    Summary,
    SummaryWriter,
)
from memolith.services.validation import clean_and_redact
from memolith.text.canonical_form import content_key
from memolith.text.injection import is_suspicious

MAX_BASE_MEMORY_CHARS = 20_000
"""Characters. A guess: several times the 400 words requested from a model, so that a document
edited by hand may be longer."""

_FORGOTTEN_STATES = frozenset({State.FORGOTTEN})


class BaseMemoryService:
    """Reads, replaces and rolls back base memories."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, owner_id: str, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the document, now or as of a time; None: there is none."""
        at = None if as_of is None else arguments.check_instant(as_of, "as_of")
        with self._access.store.read(owner_id) as snapshot:
            document = snapshot.base_memory(as_of=at)
            if document is None or at is None:
                return None if document is None else hide_forgotten_sentences(snapshot, document)
            return replace(
                document,
                content=remove_from_document(document.content, build_forgotten_matcher(snapshot)),
            )

    def list_versions(self, owner_id: str) -> tuple[BaseMemory, ...]:
        """Return all versions, oldest first."""
        with self._access.store.read(owner_id) as snapshot:
            return get_visible_versions(snapshot)

    def replace_content(self, owner_id: str, content: str) -> BaseMemory:
        """Replace the document and return it.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: The content is empty or too long.
        """
        self._access.check_enabled()
        text, _ = clean_and_redact(content, limit=MAX_BASE_MEMORY_CHARS)
        return self._write(owner_id, text)

    def roll_back(self, owner_id: str, version: int) -> BaseMemory:
        """Write an earlier version's content as a new version and return it.

        Raises:
            Disabled: Memory is switched off.
            NotFound: There is no such version.
        """
        self._access.check_enabled()
        number = arguments.check_count(version, "version", minimum=1)
        with self._access.store.read(owner_id) as snapshot:
            matching = [each for each in get_visible_versions(snapshot) if each.version == number]
        if not matching:
            raise NotFound("version of the base memory", str(number))
        return self._write(owner_id, matching[0].content)

    def _write(self, owner_id: str, content: str) -> BaseMemory:
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(self._access.get_profile(owner_id).name)
            tx.set_base_memory(content, sources=(), at=now)
            (*_, newest) = tx.base_memories()
        return newest


def hide_forgotten_sentences(snapshot: Snapshot, document: BaseMemory) -> BaseMemory:
    """Return the current document without the sentences of forgotten memories.

    Paraphrases of those were already removed when the memories were forgotten; for earlier
    versions, see `get_visible_versions`.
    """
    forgotten = iter_memories(snapshot, _FORGOTTEN_STATES)
    forgotten_keys = frozenset[str]().union(
        *(
            stated_sentence_keys(snapshot, memory)
            for memory in forgotten
            if not is_summary(snapshot, memory)
        )
    )
    return replace(document, content=remove_sentences(document.content, forgotten_keys))


def get_visible_versions(snapshot: Snapshot) -> tuple[BaseMemory, ...]:
    """Return all versions of the document without anything about forgotten memories."""
    is_forgotten = cache(build_forgotten_matcher(snapshot).__call__)
    return tuple(
        replace(each, content=remove_from_document(each.content, is_forgotten))
        for each in snapshot.base_memories()
    )


# --- Composing the document


MAX_REWRITE_ATTEMPTS = 2
"""Attempts to get an acceptable document from a model."""

MIN_KEPT_SHARE = 0.5
"""The share of a model's notes that the sources must support, and of the previous notes that must
remain in some wording. A reply with less is rejected. A guess."""

_log = logging.getLogger(__name__)


class BaseMemoryComposer:
    """Composes the text of a base memory."""

    def __init__(self, models: ChatModels, summariser: Summariser) -> None:
        self._models = models
        self._summariser = summariser

    def compose(self, owner_id: str, profile: Profile, material: BaseMemoryMaterial) -> Summary:
        """Return the new text of the base memory.

        Notes that neither the sources nor the previous document support are left out. Without a
        model, or if its reply is rejected, the text consists of the previous notes, the facts by
        kind, and extracted user sentences.

        Raises:
            ServiceFailed: The model failed.
        """
        model = self._models.for_owner(owner_id)
        for _ in range(MAX_REWRITE_ATTEMPTS if model is not None else 0):
            text = self._ask_model(owner_id, model, material)
            if text is not None:
                return Summary(text, by_model=True)
            _log.info("a model's base memory was rejected: it drops or adds too much")
        return Summary(self._compose_without_model(owner_id, profile, material), by_model=False)

    def _ask_model(
        self, owner_id: str, model: ChatModel | None, material: BaseMemoryMaterial
    ) -> str | None:
        if model is None:
            return None
        prompt = build_base_memory_prompt(
            material.current_text,
            [each.content for each in material.summaries],
            [each.content for each in material.facts],
            new_nonce(),
        )
        reply = parse_notes(ask_model(model, prompt, parse_base_memory))
        evidence = _build_evidence(material, owner_id)
        supported = {
            heading: [
                note for note in notes if find_support(note, evidence) and not is_suspicious(note)
            ]
            for heading, notes in reply.items()
        }
        if _count_notes(supported) < MIN_KEPT_SHARE * _count_notes(reply) or not _keeps_enough(
            material, supported
        ):
            return None
        return render_document(supported)

    def _compose_without_model(
        self, owner_id: str, profile: Profile, material: BaseMemoryMaterial
    ) -> str:
        facts: dict[str, list[str]] = {}
        for fact in material.facts:
            kind = profile.standard_kinds.get(fact.kind, fact.kind)
            if not is_suspicious(fact.content):
                facts.setdefault(get_heading(kind), []).append(" ".join(fact.content.split()))
        history = self._summariser.extract_sentences(owner_id, material.user_words, CASCADE_STYLE)
        before = {
            heading: [note for note in notes if content_key(note) not in material.superseded_keys]
            for heading, notes in parse_notes(material.current_text).items()
        }
        return render_document(merge_notes(before, facts, {HISTORY: history}))


def _build_evidence(material: BaseMemoryMaterial, owner_id: str) -> Sources:
    """Return the sources that may support a note."""
    facts = [TranscriptTurn(each.content, at=each.happened_at) for each in material.facts]
    turns = [
        each
        for each in (TranscriptTurn(material.current_text), *facts, *material.user_words)
        if each.content
    ]
    days = [None if each.at is None else each.at.date() for each in turns]
    user_texts = range(len(turns) - len(material.user_words), len(turns))
    return read_sources([each.content for each in turns], days, [owner_id], user_texts)


def _keeps_enough(material: BaseMemoryMaterial, notes: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a new document retains enough of the previous notes."""
    before = [note for texts in parse_notes(material.current_text).values() for note in texts]
    now = read_sources([note for texts in notes.values() for note in texts])
    kept_count = sum(bool(find_support(note, now)) for note in before)
    return kept_count >= MIN_KEPT_SHARE * len(before)


def _count_notes(notes: Mapping[str, Sequence[str]]) -> int:
    return sum(len(texts) for texts in notes.values())


# --- Rewriting the document from summaries and facts


@dataclass(frozen=True, slots=True)
class BaseMemoryMaterial:
    """The material for a base memory.

    Attributes:
        current_text: The current document; empty: there is none.
        version: The current document's version; 0: there is none.
        summaries: The summaries to incorporate, oldest first.
        facts: The most important memories, all stated by the user.
        user_words: The user's messages behind the summaries; notes must be supported by them.
        superseded_keys: Content keys of superseded memories; notes with these are dropped.
    """

    current_text: str
    version: int
    summaries: Sequence[Memory]
    facts: Sequence[Memory]
    user_words: Sequence[TranscriptTurn]
    superseded_keys: frozenset[str] = frozenset()


class BaseMemoryRewriter:
    """Incorporates summaries and facts into base memories."""

    def __init__(self, summary_writer: SummaryWriter, composer: BaseMemoryComposer) -> None:
        self._summary_writer = summary_writer
        self._access = summary_writer.access
        self._composer = composer

    def rewrite(
        self, owner_id: str, profile: Profile, lease: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Incorporate the oldest summaries once enough have accumulated; yield each result.

        Summaries are processed in batches that fit into one prompt.
        """
        rule = profile.consolidation
        if rule.summaries is None:
            return
        while True:
            with self._access.store.read(owner_id) as snapshot:
                summaries = snapshot.memories_without_mark(
                    ProcessingFlag.INCORPORATED, frozenset({rule.kind})
                )
                batch = _take_fitting(summaries[: rule.summaries.get_batch_size(len(summaries))])
                if not batch:
                    return
                material = self._gather_material(snapshot, profile, batch)
            yield self._write_document(owner_id, profile, material, lease)

    def _write_document(
        self, owner_id: str, profile: Profile, material: BaseMemoryMaterial, lease: WorkLease | None
    ) -> ConsolidationResult:
        composed = self._composer.compose(owner_id, profile, material)
        with self._access.store.write(owner_id) as tx:
            self._summary_writer.check_lease(tx, lease)
            if not _is_unchanged(tx, material):
                raise SourcesChanged
            sources = [Source(each.id, "memory") for each in (*material.summaries, *material.facts)]
            if composed.text and composed.text != material.current_text:
                tx.set_base_memory(composed.text, sources=sources, at=self._access.clock.now())
            tx.add_mark([each.id for each in material.summaries], ProcessingFlag.INCORPORATED)
            document = tx.base_memory()
        version = str(document.version) if document else "0"
        count = len(material.summaries)
        return ConsolidationResult("base memory", version, count, by_model=composed.by_model)

    def _gather_material(
        self, snapshot: Snapshot, profile: Profile, summaries: Sequence[Memory]
    ) -> BaseMemoryMaterial:
        document = snapshot.base_memory()
        superseded = iter_memories(snapshot, frozenset({State.SUPERSEDED}))
        return BaseMemoryMaterial(
            current_text=""
            if document is None
            else hide_forgotten_sentences(snapshot, document).content,
            version=0 if document is None else document.version,
            summaries=summaries,
            facts=_find_most_important(snapshot, profile),
            user_words=list(_iter_user_words(snapshot, summaries)),
            superseded_keys=frozenset(content_key(each.content) for each in superseded),
        )


def _take_fitting(summaries: Sequence[Memory]) -> list[Memory]:
    """Return as many of the first summaries as fit into a prompt, at least one."""
    batch: list[Memory] = []
    remaining_chars = MAX_TRANSCRIPT_CHARS
    for each in summaries:
        remaining_chars -= len(each.content)
        if batch and remaining_chars < 0:
            break
        batch.append(each)
    return batch


def _find_most_important(snapshot: Snapshot, profile: Profile) -> list[Memory]:
    """Return the user's most important memories; of equally important ones, the latest first.

    Ordered by when they were stated: the time of storing depends on when a model was available.
    """
    stats = snapshot.memory_stats(states=frozenset({State.ACTIVE}))
    kinds = frozenset(profile.kinds) - {profile.consolidation.kind}
    rows = [row for row, kind in enumerate(stats.kind) if kind in kinds]
    times = snapshot.items(stats.number).at
    rows.sort(key=lambda row: (-stats.importance[row], -times[row], stats.id[row]))
    memories: list[Memory] = []
    for row in rows:
        if len(memories) == profile.consolidation.facts:
            break
        memories += [m for m in snapshot.memories([stats.id[row]]) if m.origin is Origin.USER]
    return memories


def _iter_user_words(snapshot: Snapshot, summaries: Sequence[Memory]) -> Iterator[TranscriptTurn]:
    """Yield the user's messages that the summaries cover."""
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
    current = {each.id: (each.state, each.version) for each in tx.memories([m.id for m in read])}
    is_unchanged = all(current.get(each.id) == (State.ACTIVE, each.version) for each in read)
    pending = tx.memories_without_mark(
        ProcessingFlag.INCORPORATED, frozenset(each.kind for each in material.summaries)
    )
    summary_ids = {each.id for each in material.summaries}
    return (
        is_unchanged
        and version == material.version
        and summary_ids <= {each.id for each in pending}
    )
