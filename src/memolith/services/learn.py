"""Stores conversations: their messages as episodes, and the memories learned from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memolith.domain.memories import Memory, Source
from memolith.domain.messages import Message, Role, get_role
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.policies.context_echo import strip_context
from memolith.policies.learning import LearnedMemory
from memolith.policies.trust import resolve_origins
from memolith.ports.store import IndexEntry, Passage, Snapshot, Transaction
from memolith.profiles.model import Profile
from memolith.services.access import Access
from memolith.services.indexing import Indexer, IndexText, apply_window_passages, message_text
from memolith.services.ingest import ChunkScorer
from memolith.services.planning import WriteRequest
from memolith.services.validation import NewMemory, classify_new_memory, validate_name
from memolith.services.write import WritePipeline
from memolith.text.cleaning import clean
from memolith.text.injection import is_suspicious
from memolith.text.screening import redact, redact_lines
from memolith.tracing import trace_calls


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The result of logging messages.

    Attributes:
        messages: The stored messages, in order.
        memories: The memories learned from them, new or restated, in order.
        duplicates_skipped: The number of messages whose external id was already stored.
        redactions: The number of secrets redacted from the stored messages.
    """

    messages: tuple[Message, ...]
    memories: tuple[Memory, ...]
    duplicates_skipped: int = 0
    redactions: int = 0


@dataclass(frozen=True, slots=True)
class _PreparedMessage:
    """A message ready to be stored, with the memories learned from it."""

    message: Message
    entry: IndexEntry
    new_memories: tuple[NewMemory, ...]
    redactions: int


class ConversationLearner:
    """Stores messages and learns memories from them."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        write_pipeline: WritePipeline,
        chunk_scorer: ChunkScorer,
        *,
        learn_memories: bool = True,
        on_pending: Callable[[], None] | None = None,
    ) -> None:
        """Configure the learner.

        Args:
            access: The store, the clock and profiles.
            indexer: Builds index entries.
            write_pipeline: Stores memories.
            chunk_scorer: Splits and scores messages.
            learn_memories: Whether to learn memories at all.
            on_pending: Called when stored messages are pending for a language model; None: there is
                no model, and messages are not marked as pending.
        """
        self._on_pending = on_pending
        self._chunk_scorer = chunk_scorer
        self._access = access
        self._indexer = indexer
        self._write_pipeline = write_pipeline
        self._learn_memories = learn_memories

    @trace_calls("log")
    def log(self, owner_id: str, messages: Sequence[Message], *, session_id: str) -> LearnResult:
        """Store a session's messages, and the memories learned from them, in one transaction.

        Messages with an external id that the session already has are skipped.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: A message is not valid; the field contains its position.
        """
        self._access.check_enabled()
        validate_name(session_id, "session")
        now = self._access.clock.now()
        raw_messages = arguments.check_list(messages, "messages")  # may be a slow iterator
        with self._access.store.read(owner_id) as snapshot:
            profile = self._access.get_snapshot_profile(snapshot)
            checked = [
                _validate_message(message, owner_id, session_id, place, now)
                for place, message in enumerate(raw_messages)
            ]
            new_messages = _find_new_messages(checked, snapshot, session_id)
        prepared = self._prepare(new_messages, owner_id, profile, now)
        if not prepared:
            return LearnResult((), (), duplicates_skipped=len(checked))
        is_pending = (
            self._learn_memories and self._on_pending is not None and profile.extraction is not None
        )
        writer = _MessageWriter(self._indexer, session_id, prepared, now, mark_pending=is_pending)
        request = WriteRequest(owner_id, profile, writer.new_memories, now, actor="learn")
        memories = self._write_pipeline.write_memories(request, writer.store)
        if is_pending and self._on_pending is not None:
            self._on_pending()
        return LearnResult(
            tuple(writer.stored_messages),
            memories,
            duplicates_skipped=len(checked) - len(writer.stored_messages),
            redactions=sum(each.redactions for each in writer.new_messages),
        )

    def end_session(self, owner_id: str, session_id: str) -> None:
        """Mark a session as ended.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: The session's name is not valid.
        """
        self._access.check_enabled()
        validate_name(session_id, "session")
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            tx.end_session(session_id, now)

    def _prepare(
        self,
        messages: Sequence[Message],
        owner_id: str,
        profile: Profile,
        now: datetime,
    ) -> list[_PreparedMessage]:
        """Redact, index and learn from messages, without holding a lock."""
        redact_content = redact_lines if profile.redacts_lines else redact
        redacted = [redact_content(message.content) for message in messages]
        messages = [
            replace(message, content=content, id=self._access.new_id(now))
            for message, (content, _) in zip(messages, redacted, strict=True)
        ]
        texts = [message_text(profile, message) for message in messages]
        entries = self._indexer.build_entries(texts, owner_id)
        new_memories = self._build_memories(messages, owner_id, profile)
        counts = [count for _, count in redacted]
        return [
            _PreparedMessage(message, entry, tuple(memories), count)
            for message, entry, memories, count in zip(
                messages, entries, new_memories, counts, strict=True
            )
        ]

    def _build_memories(
        self, messages: Sequence[Message], owner_id: str, profile: Profile
    ) -> list[list[NewMemory]]:
        """Return the memories learned from each message; those from several belong to the first."""
        new_memories: list[list[NewMemory]] = [[] for _ in messages]
        places = [
            place for place, each in enumerate(messages) if self._learn_memories and each.learn
        ]
        statements = [
            replace(messages[place], content=_own_content(messages[place])) for place in places
        ]
        candidates = self._find_memories(statements, owner_id, profile) if statements else ()
        suspicious = _find_suspicious(statements) if candidates else frozenset[int]()
        for candidate in candidates:
            sources = [statements[place] for place in candidate.places]
            new_memory = NewMemory(
                content=candidate.content,
                kind=candidate.kind or "",
                judged_importance=0.0,
                importance=candidate.importance,
                happened_at=sources[0].at,
                session_id=sources[0].session_id,
                origin=candidate.origin,
                sources=tuple(Source(each.id, "message", each.external_id) for each in sources),
                may_change_existing=suspicious.isdisjoint(candidate.places),
            )
            new_memories[places[candidate.places[0]]].append(
                classify_new_memory(new_memory, profile)
            )
        return new_memories

    def _find_memories(
        self, messages: Sequence[Message], owner_id: str, profile: Profile
    ) -> Sequence[LearnedMemory]:
        if profile.chunk_scoring is None:
            return profile.learning.build_memories(messages)
        parts = [
            (place, chunk)
            for place, message in enumerate(messages)
            for chunk in self._chunk_scorer.split([message.content], profile)
        ]
        all_origins = resolve_origins(message.role for message in messages)
        origins = [all_origins[place] for place, _ in parts]
        centre = self._chunk_scorer.get_centroid(owner_id, profile)
        chunks = [chunk for _, chunk in parts]
        scored = self._chunk_scorer.score_chunks(
            owner_id, chunks, origins, profile, centroid=centre
        )
        return [
            LearnedMemory(
                each.chunk.text,
                (place,),
                each.kind,
                None if each.score is None else each.score.importance,
                origin,
            )
            for (place, _), origin, each in zip(parts, origins, scored, strict=True)
            if each.is_kept
        ]


class _MessageWriter:
    """Stores messages and their memories, except messages that were stored concurrently."""

    def __init__(
        self,
        indexer: Indexer,
        session_id: str,
        prepared: Sequence[_PreparedMessage],
        now: datetime,
        *,
        mark_pending: bool,
    ) -> None:
        self._await_learning = mark_pending
        self.new_messages = list(prepared)
        self.stored_messages: list[Message] = []
        self._prepared = prepared
        self._indexer = indexer
        self._session_id = session_id
        self._now = now

    @property
    def new_memories(self) -> tuple[NewMemory, ...]:
        """The memories learned from the messages that are not skipped."""
        return tuple(memory for each in self.new_messages for memory in each.new_memories)

    def store(self, tx: Transaction) -> Sequence[NewMemory]:
        """Store the messages that are not stored yet; return the memories learned from them."""
        given_ids = _external_ids([each.message for each in self._prepared])
        stored_ids = tx.external_ids(self._session_id, given_ids)
        self.new_messages = [
            each for each in self._prepared if each.message.external_id not in stored_ids
        ]
        first = tx.next_sequence(self._session_id)
        previous = self._get_last_passages(tx, first)
        pairs = []
        for offset, each in enumerate(self.new_messages):
            message = replace(each.message, sequence=first + offset)
            pairs.append((message, apply_window_passages(each.entry, previous)))
            previous = each.entry.passages
        tx.log(self._session_id, pairs, at=self._now)
        self.stored_messages = [message for message, _ in pairs]
        if self._await_learning:
            tx.mark_pending([message.id for message in self.stored_messages if message.learn])
        return self.new_memories

    def _get_last_passages(self, tx: Transaction, first: int) -> tuple[Passage, ...]:
        """Return the passages of the message before the first new one; empty if there is none."""
        last = tx.messages(session_id=self._session_id, after=first - 2, limit=1)
        if first == 1 or not last:
            return ()
        return self._indexer.build_passages(IndexText(last[0].content, last[0].speaker))


def _validate_message(
    message: object, owner_id: str, session_id: str, place: int, now: datetime
) -> Message:
    """Return a message as it is stored, except for its id, sequence number and redactions."""
    field = f"messages[{place}]"
    if not isinstance(message, Message):
        raise InvalidInput(field, f"must be a Message, not {type(message).__name__}")
    speaker = (
        None if message.speaker is None else validate_name(message.speaker, f"{field}.speaker")
    )
    external = message.external_id
    return replace(
        message,
        speaker=speaker,
        content=clean(message.content, field=f"{field}.content", limit=arguments.MAX_MESSAGE_CHARS),
        role=_parse_role(message.role, speaker, owner_id, field),
        at=now if message.at is None else arguments.check_instant(message.at, f"{field}.at"),
        external_id=None if external is None else validate_name(external, f"{field}.external_id"),
        session_id=session_id,
        version=1,
    )


def _parse_role(role: Role | None, speaker: str | None, owner_id: str, field: str) -> Role:
    if role is None:
        return get_role(speaker, owner_id)
    try:
        return Role(role)
    except ValueError:
        problem = f"{arguments.format_value(role)} is not one of {', '.join(Role)}"
        raise InvalidInput(f"{field}.role", problem) from None


def _find_suspicious(messages: Sequence[Message]) -> frozenset[int]:
    """Return the positions of suspected prompt injections."""
    return frozenset(place for place, each in enumerate(messages) if is_suspicious(each.content))


def _own_content(message: Message) -> str:
    """Return a message's content without injected context."""
    return strip_context(message.content)


def _external_ids(messages: Sequence[Message]) -> list[str]:
    return [message.external_id for message in messages if message.external_id is not None]


def _find_new_messages(
    messages: Sequence[Message], snapshot: Snapshot, session_id: str
) -> list[Message]:
    """Return the messages that the session does not have, each external id once."""
    seen_ids = snapshot.external_ids(session_id, _external_ids(messages))
    new_messages = []
    for message in messages:
        if message.external_id is None:
            new_messages.append(message)
        elif message.external_id not in seen_ids:
            seen_ids.add(message.external_id)
            new_messages.append(message)
    return new_messages
