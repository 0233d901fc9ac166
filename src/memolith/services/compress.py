"""Compresses chat histories: old messages become summaries in the memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memolith.domain.memories import Memory, State
from memolith.domain.messages import Role
from memolith.domain.owners import ConsolidationProgress
from memolith.domain.recall import SearchFilter
from memolith.errors import InvalidInput, ServiceFailed, StoreReadOnly, StoreUnavailable
from memolith.policies import arguments
from memolith.policies.classification import get_profile_kind
from memolith.policies.consolidation import SUMMARY_KIND, CompressionTrigger
from memolith.policies.histories import (
    SUMMARY_SHARE,
    CompressedPrefix,
    HistoryMessage,
    HistoryParts,
    build_entry_key,
    build_unique_suffix,
    count_turns,
    describe_message,
    find_compressed_prefix,
    get_entry_digest,
    get_text,
    is_entry,
    is_user_message,
    pack_texts,
    replace_with_summary,
    select_newest,
    split_history,
)
from memolith.policies.rendering.layout import estimate_prompt_tokens
from memolith.policies.trust import get_origin
from memolith.ports.store import Snapshot
from memolith.profiles.model import Profile
from memolith.prompts.fencing import TranscriptTurn
from memolith.prompts.summaries import HISTORY_STYLE
from memolith.services.access import Access, iter_memories
from memolith.services.maintenance import evict
from memolith.services.summarise import Summariser, Summary, SummaryWriter
from memolith.services.validation import validate_name
from memolith.text.cleaning import clean_text
from memolith.text.screening import redact

RAW_PREFIX = "[RAW]"
"""The prefix of an entry with original messages, stored because summarising failed."""

COMPRESSION_ACTOR = "compression"

_TOLERATED_ERRORS = (ServiceFailed, StoreUnavailable, StoreReadOnly)
"""Errors after which the history stays unchanged."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompressionResult:
    """A history after compression.

    Attributes:
        history: The messages to send to a model instead of the original history.
        context: Memories relevant to the last user message, as text for the system prompt; may be
            empty.
        triggers: Why the history was compressed; empty: it was not.
        memories: The entries stored for the removed messages.
        failed: Whether the compression was due and failed.
    """

    history: tuple[Mapping[str, Any], ...]
    context: str = ""
    triggers: tuple[CompressionTrigger, ...] = ()
    memories: tuple[Memory, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _CompressionInput:
    """A history to compress, with the state of its conversation.

    Attributes:
        owner_id: The owner.
        profile: The owner's profile.
        session_id: The conversation.
        parts: The parsed history.
        window: The model's context window, in tokens.
        progress: The stored progress of the compression.
        last_at: The time of the conversation's last logged message; None: none is logged.
        lines: The summaries of the removed messages, oldest first.
    """

    owner_id: str
    profile: Profile
    session_id: str
    parts: HistoryParts
    window: int
    progress: ConsolidationProgress
    last_at: datetime | None
    lines: Sequence[str]

    @property
    def new_compressed_count(self) -> int:
        """The number of compressed messages once the new ones are."""
        before = (
            self.progress.consolidated_to if self.parts.summary else self.parts.compressed_count
        )
        return before + len(self.parts.new)


class HistoryCompressor:
    """Compresses chat histories."""

    def __init__(
        self,
        access: Access,
        summary_writer: SummaryWriter,
        summariser: Summariser,
        recall_context: Callable[[str, str], str],
        *,
        context_window: int,
        max_failures: int,
    ) -> None:
        """Configure the compressor.

        Args:
            access: The store, the clock and profiles.
            summary_writer: Stores the entries.
            summariser: Writes summaries.
            recall_context: Returns the owner's relevant memories for a text, as text for a prompt.
            context_window: The default context window, in tokens.
            max_failures: Consecutive failures after which messages are stored unsummarised.
        """
        self._access = access
        self._summary_writer = summary_writer
        self._summariser = summariser
        self._recall_context = recall_context
        self._context_window = context_window
        self._max_failures = max_failures

    def compress(
        self,
        owner_id: str,
        history: Sequence[Mapping[str, Any]],
        *,
        session_id: str,
        context_window: int | None = None,
    ) -> CompressionResult:
        """Compress a history if that is due; store entries for the removed messages.

        Failures of the model or the store are logged, not raised: the history then stays unchanged.
        After `max_failures` consecutive failures, the messages are stored unsummarised.

        Args:
            owner_id: The owner.
            history: The messages in order, in the format of chat services.
            session_id: The conversation.
            context_window: The model's context window, in tokens; None: as configured.

        Raises:
            InvalidInput: An argument is not valid.
        """
        entries = tuple(_validate_entry(each, place) for place, each in enumerate(history))
        session = validate_name(session_id, "session")
        window = self._context_window
        if context_window is not None:
            window = arguments.check_count(context_window, "context_window", minimum=1)
        try:
            result = self._compress(self._load(owner_id, session, entries, window), entries)
        except _TOLERATED_ERRORS as error:
            _log.warning("a history could not be compressed: %s", error)
            result = CompressionResult(entries, failed=True)
        return replace(result, context=self._build_context(owner_id, entries))

    def _build_context(self, owner_id: str, history: Sequence[HistoryMessage]) -> str:
        query = next((get_text(each) for each in reversed(history) if is_user_message(each)), "")
        if not clean_text(query):
            return ""
        try:
            return self._recall_context(owner_id, query)
        except _TOLERATED_ERRORS as error:
            _log.warning("no context could be recalled for a history: %s", error)
            return ""

    def _load(
        self, owner_id: str, session_id: str, history: Sequence[HistoryMessage], window: int
    ) -> _CompressionInput:
        profile = self._access.get_profile(owner_id)
        with self._access.store.read(owner_id) as snapshot:
            progress = snapshot.progress(session_id)
            sessions = {session.id: session for session in snapshot.sessions()}
            entries = self._get_entries(snapshot, profile, session_id)
        marks = [get_entry_digest(each.key or "") for each, _ in entries]
        compressed = find_compressed_prefix(
            history, progress.consolidated_to, marks, _redacted_text
        )
        parts = split_history(history, compressed.messages)
        last = sessions.get(session_id)
        return _CompressionInput(
            owner_id,
            profile,
            session_id,
            parts,
            window,
            progress,
            None if last is None else last.last_at,
            self._get_lines(parts, compressed, entries),
        )

    def _get_entries(
        self, snapshot: Snapshot, profile: Profile, session_id: str
    ) -> list[tuple[Memory, bool]]:
        """Return a conversation's entries, oldest first, each with whether it may be shown.

        Forgotten and quarantined ones may not be shown. Their messages are not compressed again.
        """
        if not snapshot.progress(session_id).consolidated_to:
            return []
        kinds = frozenset({get_profile_kind(SUMMARY_KIND, profile)})
        scope = SearchFilter(now=self._access.clock.now(), kinds=kinds, session_id=session_id)
        visible = snapshot.items_in_scope(replace(scope, include_quarantined=False))
        visible_ids = set(snapshot.items(visible).record_id)
        active = snapshot.memories(list(snapshot.items(snapshot.items_in_scope(scope)).record_id))
        forgotten = iter_memories(snapshot, frozenset({State.FORGOTTEN}), kinds)
        entries = [
            (each, each.id in visible_ids)
            for each in (*active, *forgotten)
            if is_entry(each.key) and each.session_id == session_id
        ]
        return sorted(entries, key=lambda entry: entry[0].id)

    def _get_lines(
        self,
        parts: HistoryParts,
        compressed: CompressedPrefix,
        entries: Sequence[tuple[Memory, bool]],
    ) -> list[str]:
        """Return the summaries of the removed messages: from the history, or else as stored."""
        if parts.summary:
            return parts.summary.splitlines()
        if not parts.compressed_count:
            return []
        return [
            self._entry_line(each.content)
            for each, is_visible in entries[: compressed.entries]
            if is_visible
        ]

    def _entry_line(self, content: str) -> str:
        """Return an entry as one line of a prompt; of unsummarised messages, return an extract."""
        if not content.startswith(RAW_PREFIX):
            return " ".join(content.split())
        return self._summariser.extract_by_words(
            [TranscriptTurn(content.removeprefix(RAW_PREFIX))], HISTORY_STYLE
        ).text

    def _compress(
        self, inputs: _CompressionInput, entries: tuple[HistoryMessage, ...]
    ) -> CompressionResult:
        parts = inputs.parts
        history = self._build_history(replace(parts, kept=(*parts.new, *parts.kept)), inputs)
        if not parts.compressed_count:
            history = entries
        triggers = self._find_triggers(inputs, history) if parts.new else ()
        if not triggers:
            return CompressionResult(history)
        transcript = _build_transcript(parts.new)
        if not transcript:  # without any text
            return CompressionResult(history)
        try:
            summary = self._summariser.summarise(inputs.owner_id, transcript, HISTORY_STYLE)
        except ServiceFailed as error:
            _log.warning("a history could not be summarised: %s", error)
            return replace(
                self._degrade(inputs, transcript, history), triggers=triggers, failed=True
            )
        line = f"[{self._access.clock.now():%Y-%m-%d %H:%M}] {summary.text}".rstrip()
        stored = self._store(inputs, [replace(summary, text=line)])
        return CompressionResult(
            self._build_history(parts, inputs, line), triggers=triggers, memories=stored
        )

    def _build_history(
        self, parts: HistoryParts, inputs: _CompressionInput, *new: str
    ) -> tuple[HistoryMessage, ...]:
        """Return the history with as many of the newest summaries as fit."""
        lines = [*inputs.lines, *new]
        room = SUMMARY_SHARE * inputs.window
        return tuple(
            replace_with_summary(
                parts, "\n".join(select_newest(lines, self._count_tokens(lines), room))
            )
        )

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [
            estimate_prompt_tokens(pieces)
            for pieces in self._summary_writer.indexer.count_word_pieces(texts)
        ]

    def _find_triggers(
        self, inputs: _CompressionInput, history: Sequence[HistoryMessage]
    ) -> tuple[CompressionTrigger, ...]:
        now = self._access.clock.now()
        latest = max(filter(None, (inputs.last_at, inputs.progress.at)), default=now)
        return inputs.profile.consolidation.history.find_triggers(
            tokens=sum(
                self._count_tokens([clean_text(describe_message(each)) for each in history])
            ),
            context_window=inputs.window,
            turns=count_turns(inputs.parts.messages_since),
            idle_minutes=(now - latest).total_seconds() / 60,
            new=len(inputs.parts.new),
        )

    def _degrade(
        self,
        inputs: _CompressionInput,
        transcript: Sequence[TranscriptTurn],
        history: tuple[HistoryMessage, ...],
    ) -> CompressionResult:
        """Record a failure; after too many, store the messages unsummarised."""
        failures = inputs.progress.failures + 1
        if failures < self._max_failures:
            self._count_failure(inputs, failures)
            return CompressionResult(history)
        room = inputs.profile.max_memory_chars - len(RAW_PREFIX) - 1
        texts = pack_texts([f"{each.speaker}: {each.content}" for each in transcript], room)
        stored = self._store(
            inputs, [Summary(f"{RAW_PREFIX} {text}", by_model=False) for text in texts]
        )
        extract = self._summariser.extract_by_words(transcript, HISTORY_STYLE).text
        return CompressionResult(
            self._build_history(inputs.parts, inputs, extract), memories=stored
        )

    def _count_failure(self, inputs: _CompressionInput, failures: int) -> None:
        """Store the number of failures, unless a concurrent call has made progress."""
        if not self._access.enabled:
            return
        with self._access.store.write(inputs.owner_id) as tx:
            if tx.progress(inputs.session_id) == inputs.progress:
                tx.set_progress(inputs.session_id, replace(inputs.progress, failures=failures))

    def _store(self, inputs: _CompressionInput, summaries: Sequence[Summary]) -> tuple[Memory, ...]:
        """Store entries and the progress of the compression in one transaction."""
        if not self._access.enabled:
            return ()
        now = self._access.clock.now()
        staged = [
            self._summary_writer.build_memory(
                inputs.owner_id,
                inputs.profile,
                each,
                get_profile_kind(SUMMARY_KIND, inputs.profile),
                (),
                [get_origin(_parse_role(entry)) for entry in inputs.parts.new],
                session_id=inputs.session_id,
                happened_at=now,
                key=self._build_key(inputs, now),
            )
            for each in summaries
        ]
        with self._access.store.write(inputs.owner_id) as tx:
            if tx.progress(inputs.session_id) != inputs.progress:  # a concurrent call was faster
                return ()
            for each, (memory, entry) in zip(summaries, staged, strict=True):
                self._summary_writer.insert(
                    tx,
                    memory,
                    entry,
                    inputs.profile,
                    by_model=each.by_model,
                    actor=COMPRESSION_ACTOR,
                )
            tx.set_progress(
                inputs.session_id, ConsolidationProgress(inputs.new_compressed_count, 0, now)
            )
            evict(tx, inputs.profile, now)
        return tuple(memory for memory, _ in staged)

    def _build_key(self, inputs: _CompressionInput, now: datetime) -> str:
        last = _redacted_text(inputs.parts.new[-1])
        return build_entry_key(
            inputs.session_id, build_unique_suffix(self._access.new_id(now), last)
        )


def _validate_entry(entry: object, place: int) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("role"), str):
        raise InvalidInput(f"history[{place}]", "must be a mapping with `role` and `content`")
    return entry


def _redacted_text(entry: HistoryMessage) -> str:
    """Return a message's role and text without secrets, for hashing."""
    return f"{_role_name(entry)}\n{redact(clean_text(describe_message(entry)))[0]}"


def _build_transcript(entries: Sequence[HistoryMessage]) -> list[TranscriptTurn]:
    """Return non-empty messages without secrets, as shown to a model."""
    turns = (
        TranscriptTurn(redact(clean_text(describe_message(each)))[0], _role_name(each))
        for each in entries
    )
    return [each for each in turns if each.content.strip()]


def _role_name(entry: Mapping[str, Any]) -> str:
    return str(_parse_role(entry) or "system")


def _parse_role(entry: Mapping[str, Any]) -> Role | None:
    role = {"function": "tool", "developer": "system"}.get(entry["role"], entry["role"])
    return Role(role) if role in tuple(Role) else None
