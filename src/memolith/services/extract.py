"""Extracts facts from exchanges with a language model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from memolith.domain.memories import EPISODE, Action, Event, Memory, Origin, Source, State
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchFilter
from memolith.errors import InvalidInput
from memolith.policies.context_echo import is_echo, strip_context
from memolith.policies.evidence import read_sources
from memolith.policies.grounding import find_grounding, find_support
from memolith.policies.learning import group_exchanges
from memolith.policies.trust import (
    can_have_kind,
    get_least_trusted,
    get_origin,
    get_trusted_kind,
    resolve_origins,
)
from memolith.ports.store import IndexEntry, Snapshot, Transaction
from memolith.ports.work import WorkLease
from memolith.profiles.model import Profile
from memolith.prompts.fencing import build_transcript_turn
from memolith.prompts.learning import Fact, build_extraction_prompt, parse_facts
from memolith.services.access import Access
from memolith.services.chat import ChatModels, ask_model, new_nonce
from memolith.services.indexing import Indexer, memory_text
from memolith.services.maintenance import refresh_strengths
from memolith.services.planning import WriteRequest
from memolith.services.validation import NewMemory, classify_new_memory, parse_expiry
from memolith.services.write import WritePipeline
from memolith.text.injection import is_suspicious
from memolith.tracing import trace_calls

_LOOKBACK = 40
"""Messages of tools and other people to look back for. A guess: about as many as a model's context
is likely to contain."""

_OUTSIDE_ROLES = frozenset({Role.TOOL, Role.PARTICIPANT})


def get_outside_messages(snapshot: Snapshot, message: Message) -> list[Message]:
    """Return messages of tools and other people shortly before a message of a conversation."""
    after = max(0, message.sequence - 1 - _LOOKBACK)
    messages = snapshot.messages(session_id=message.session_id, after=after, limit=_LOOKBACK)
    return [
        each
        for each in messages
        if each.sequence < message.sequence and each.role in _OUTSIDE_ROLES
    ]


# --- Extraction


LEARN_ACTOR = "learn"

REPLY_TIMEOUT = timedelta(minutes=1)
"""How long to wait for the reply before learning from an exchange without one. A guess."""

_KNOWN_LIMIT = 8
"""Similar memories that an assistant's fact is compared with. A guess."""

_log = logging.getLogger(__name__)

Exchange = tuple["Message", ...]


class LeaseLost(Exception):
    """Control flow, not an error: another process has taken over the work."""


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The facts that a model extracted from an exchange.

    Attributes:
        exchange: The messages, in order.
        read_messages: Those shown to the model.
        facts: The extracted facts.
    """

    exchange: Exchange
    read_messages: tuple[Message, ...]
    facts: tuple[Fact, ...]


class FactExtractor:
    """Learns facts from pending messages. Reading and model calls hold no lock."""

    def __init__(
        self, access: Access, indexer: Indexer, write_pipeline: WritePipeline, models: ChatModels
    ) -> None:
        self._access = access
        self._indexer = indexer
        self._write_pipeline = write_pipeline
        self._models = models

    def find_pending(self, owner_id: str, limit: int) -> list[Exchange]:
        """Return the oldest complete exchanges that are pending."""
        now = self._access.clock.now()
        with self._access.store.read(owner_id) as snapshot:
            messages = snapshot.pending_messages(limit * 8, now=now)
        return list(group_exchanges(messages, open_since=now - REPLY_TIMEOUT))[:limit]

    @trace_calls("extract")
    def extract(self, owner_id: str, exchange: Exchange) -> ExtractionResult:
        """Ask the model for the facts of an exchange. Thread-safe.

        Raises:
            ServiceFailed: There is no reply, or it can't be parsed.
        """
        dialect = self._access.get_profile(owner_id).extraction
        model = self._models.for_owner(owner_id)
        read = self._select_readable(owner_id, exchange)
        if dialect is None or model is None or not any(each.role is Role.USER for each in read):
            return ExtractionResult(exchange, read, ())
        prompt = build_extraction_prompt(
            dialect, [build_transcript_turn(each) for each in read], new_nonce()
        )
        facts = ask_model(model, prompt, lambda text: parse_facts(text, dialect, len(read)))
        return ExtractionResult(exchange, read, facts)

    def store(
        self, owner_id: str, lease: WorkLease, extracted: ExtractionResult
    ) -> tuple[Memory, ...]:
        """Store the facts of an exchange, mark it as learned, and return the memories.

        If a message has changed since it was read, nothing is stored and the exchange stays
        pending.

        Raises:
            LeaseLost: Another process has the work now; nothing was stored.
        """
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        new_memories = self._build_memories(owner_id, profile, extracted, now)
        supported = tuple(new_memory for new_memory, is_supported in new_memories if is_supported)
        unsupported = [new_memory for new_memory, is_supported in new_memories if not is_supported]
        quarantined = self._build_quarantined(owner_id, profile, unsupported, now)
        ids = [message.id for message in extracted.exchange]

        def mark_learned(tx: Transaction) -> Sequence[NewMemory]:
            if not tx.holds_lease(lease):
                raise LeaseLost
            if tx.messages(ids=ids) != list(extracted.exchange):
                return ()
            tx.mark_learned(ids, now)
            for memory, entry in quarantined:
                tx.insert([(memory, entry)])
                tx.record([Event(memory.id, Action.DOUBTED, now, LEARN_ACTOR, memory.version)])
            return supported

        return self._write_pipeline.write_memories(
            WriteRequest(owner_id, profile, supported, now, actor=LEARN_ACTOR), mark_learned
        )

    def _select_readable(self, owner_id: str, exchange: Exchange) -> tuple[Message, ...]:
        """Return the messages that a model may read.

        Quarantined messages, system messages, and injected context are left out.
        """
        scope = SearchFilter(
            now=self._access.clock.now(), kinds=frozenset({EPISODE}), include_quarantined=False
        )
        with self._access.store.read(owner_id) as snapshot:
            numbers = snapshot.item_numbers([message.id for message in exchange], scope)
        allowed = (
            replace(message, content=strip_context(message.content))
            for message, number in zip(exchange, numbers.tolist(), strict=True)
            if number >= 0 and message.role is not Role.SYSTEM
        )
        return tuple(message for message in allowed if message.content.strip())

    def _build_memories(
        self, owner_id: str, profile: Profile, extracted: ExtractionResult, now: datetime
    ) -> list[tuple[NewMemory, bool]]:
        """Return the facts as memories, each with whether its sources support it."""
        read = extracted.read_messages
        origin_by_id = dict(
            zip(
                (each.id for each in extracted.exchange),
                resolve_origins(each.role for each in extracted.exchange),
                strict=True,
            )
        )
        origins = [origin_by_id[each.id] for each in read]
        days = [None if message.at is None else message.at.date() for message in read]
        user_texts = [place for place, message in enumerate(read) if message.role is Role.USER]
        sources = read_sources([message.content for message in read], days, [owner_id], user_texts)
        with self._access.store.read(owner_id) as snapshot:
            before = get_outside_messages(snapshot, extracted.exchange[0])
        new_memories = []
        for fact in extracted.facts:
            grounding = find_grounding(fact.content, sources, origins)
            cited = read if grounding is None else [read[place] for place in grounding.places]
            # Unsupported facts are made up by the model: trust them as little as the worst message.
            origin = (
                get_least_trusted(Origin.ASSISTANT, *origins)
                if grounding is None
                else grounding.origin
            )
            if origin is Origin.ASSISTANT:
                origin = get_least_trusted(origin, *_find_repeated_origins(fact.content, before))
            try:
                new_memory = _build_memory(fact, cited, origin, profile, now)
            except InvalidInput as error:
                _log.info("an extracted fact was skipped: %s", error)
                continue
            if new_memory.origin is Origin.USER or not self._is_echo(owner_id, new_memory, read):
                new_memories.append((new_memory, grounding is not None))
        return new_memories

    def _is_echo(self, owner_id: str, new_memory: NewMemory, read: Sequence[Message]) -> bool:
        """Return whether a fact only repeats memories that were shown to the assistant."""
        profile = self._access.get_profile(owner_id)
        text = memory_text(profile, new_memory.content, new_memory.kind, None)
        (entry,) = self._indexer.build_entries([text], owner_id)
        user_sources = read_sources(
            [message.content for message in read if message.role is Role.USER], names=[owner_id]
        )
        with self._access.store.read(owner_id) as snapshot:
            similar = [memory.content for memory in self._find_similar(snapshot, entry, profile)]
        return is_echo(new_memory.content, user_sources, similar)

    def _find_similar(
        self, snapshot: Snapshot, entry: IndexEntry, profile: Profile
    ) -> list[Memory]:
        vectors = [each.vector for each in entry.passages if each.vector is not None]
        if not vectors:
            return []
        scope = SearchFilter(now=self._access.clock.now(), kinds=frozenset(profile.kinds))
        numbers = snapshot.nearest(vectors[0], _KNOWN_LIMIT, scope)
        return snapshot.memories(list(snapshot.items(numbers).record_id))

    def _build_quarantined(
        self, owner_id: str, profile: Profile, new_memories: Sequence[NewMemory], now: datetime
    ) -> list[tuple[Memory, IndexEntry]]:
        """Return memories of unsupported facts: quarantined for review, never recalled."""
        texts = [memory_text(profile, new.content, new.kind, None) for new in new_memories]
        entries = self._indexer.build_entries(texts, owner_id)
        memories = [
            Memory(
                id=self._access.new_id(now),
                owner_id=owner_id,
                kind=new.kind,
                content=new.content,
                created_at=now,
                updated_at=now,
                importance=new.effective_importance,
                happened_at=new.happened_at,
                state=State.UNSUPPORTED,
                session_id=new.session_id,
                sources=new.sources,
                origin=new.origin,
            )
            for new in new_memories
        ]
        return list(zip(refresh_strengths(profile, memories, now), entries, strict=True))


def _find_repeated_origins(fact: str, messages: Sequence[Message]) -> list[Origin]:
    """Return the origins of the messages that state a fact."""
    sources = read_sources([message.content for message in messages])
    return [get_origin(messages[place].role) for place in find_support(fact, sources)]


def _build_memory(
    fact: Fact, sources: Sequence[Message], origin: Origin, profile: Profile, now: datetime
) -> NewMemory:
    """Return the memory of a fact.

    Raises:
        InvalidInput: The fact is too long for the profile.
    """
    kind = get_trusted_kind(origin, fact.kind, profile.external_kinds)
    if not can_have_kind(origin, kind):
        kind = profile.own_kinds.get("context", "context")
    new_memory = NewMemory(
        content=fact.content,
        kind=kind,
        judged_importance=0.0,
        importance=fact.importance,
        expires_at=parse_expiry(fact.expires_in, None, now),
        happened_at=_fact_date(fact) or sources[0].at,
        session_id=sources[0].session_id,
        origin=origin,
        sources=tuple(Source(each.id, "message", each.external_id) for each in sources),
        may_change_existing=not any(is_suspicious(each.content) for each in sources),
    )
    return classify_new_memory(new_memory, profile)


def _fact_date(fact: Fact) -> datetime | None:
    return None if fact.happened_on is None else datetime.combine(fact.happened_on, time(), UTC)
