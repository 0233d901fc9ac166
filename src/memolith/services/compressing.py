"""Compressing a history that a caller holds: what is old becomes an entry of the memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, State
from memolith.domain.messages import Role
from memolith.domain.recall import Scope
from memolith.domain.work import Progress
from memolith.errors import InvalidInput, ServiceFailed, StoreReadOnly, StoreUnavailable
from memolith.policies import arguments
from memolith.policies.budgeting import prompt_tokens
from memolith.policies.condensing import SUMMARY
from memolith.policies.histories import (
    SUMMARY_SHARE,
    Done,
    Entry,
    Parts,
    apart,
    done_of,
    entry_key,
    fitting,
    is_entry,
    mark_of,
    raw,
    shortened,
    speaks,
    text_of,
    told_of,
    turns_of,
    unique_of,
)
from memolith.policies.kinds import own_kind
from memolith.policies.trust import origin_of
from memolith.prompts.summary import HISTORY
from memolith.prompts.transcripts import Spoken
from memolith.services.maintain import evict
from memolith.services.paging import all_memories
from memolith.services.screening import screened_name
from memolith.services.summarising import Summary
from memolith.text.cleaning import cleaned
from memolith.text.screening import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from typing import Any

    from memolith.policies.triggers import Trigger
    from memolith.ports.store import Snapshot
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.consolidation.staging import Staging
    from memolith.services.summarising import Summarising

RAW = "[RAW]"
"""What an entry begins with that holds messages as they were: nothing could summarise them."""

BY = "compression"

_ASIDE = (ServiceFailed, StoreUnavailable, StoreReadOnly)
"""What makes no history wait: it stays as it is."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compressed:
    """A history after it was made shorter, or not.

    Attributes:
        history: What to send to a model in place of the history.
        context: What is remembered for the last thing that the user says, as text for the system
            prompt; empty: nothing.
        fired: Why it was made shorter; empty: it was not.
        memories: The entries stored for what it no longer holds.
        failed: Whether it was to be made shorter, and could not be as usual.
    """

    history: tuple[Mapping[str, Any], ...]
    context: str = ""
    fired: tuple[Trigger, ...] = ()
    memories: tuple[Memory, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A history to make shorter, and what is known of its conversation.

    Attributes:
        owner_id: Whose.
        profile: The owner's.
        session_id: The conversation.
        parts: The history, taken apart.
        window: What the model's window holds, in tokens.
        progress: How far the conversation's history was made shorter.
        last_at: When anything of it was logged last; None: nothing was.
        lines: What stands for what is gone of the history, oldest first.
    """

    owner_id: str
    profile: Profile
    session_id: str
    parts: Parts
    window: int
    progress: Progress
    last_at: datetime | None
    lines: Sequence[str]

    @property
    def reached(self) -> int:
        """How many messages will have been made shorter once the new ones are."""
        before = self.progress.consolidated_to if self.parts.summary else self.parts.done
        return before + len(self.parts.new)


class Compressing:
    """Makes histories shorter."""

    def __init__(
        self,
        access: Access,
        staging: Staging,
        summarising: Summarising,
        recalled: Callable[[str, str], str],
        *,
        context_window: int,
        max_failures: int,
    ) -> None:
        """Use these.

        Args:
            access: The way to the memories.
            staging: Makes the entries.
            summarising: Writes summaries.
            recalled: Returns what an owner's memory has for a text, as text for a prompt.
            context_window: What the model's window holds, in tokens, where it is not said.
            max_failures: After how many failures in a row messages are stored as they are.
        """
        self._access = access
        self._staging = staging
        self._summarising = summarising
        self._recalled = recalled
        self._context_window = context_window
        self._max_failures = max_failures

    def compress(
        self,
        owner_id: str,
        history: Sequence[Mapping[str, Any]],
        *,
        session_id: str,
        context_window: int | None = None,
    ) -> Compressed:
        """Return a history, made shorter where that is due; what goes is stored.

        What fails is logged and never raised: the history is then as it was. After so many
        failures in a row the messages are stored as they are.

        Args:
            owner_id: Whose.
            history: In order, as chat services take it.
            session_id: The conversation.
            context_window: What the model's window holds, in tokens; None: as configured.

        Raises:
            InvalidInput: An argument can't be taken.
        """
        given = tuple(_entry(each, place) for place, each in enumerate(history))
        session = screened_name(session_id, "session")
        window = self._context_window
        if context_window is not None:
            window = arguments.count(context_window, "context_window", least=1)
        try:
            made = self._compressed(self._read(owner_id, session, given, window), given)
        except _ASIDE as error:
            _log.warning("a history could not be made shorter: %s", error)
            made = Compressed(given, failed=True)
        return replace(made, context=self._context(owner_id, given))

    def _context(self, owner_id: str, history: Sequence[Entry]) -> str:
        said = next((text_of(each) for each in reversed(history) if speaks(each)), "")
        if not cleaned(said):
            return ""
        try:
            return self._recalled(owner_id, said)
        except _ASIDE as error:
            _log.warning("nothing could be recalled for a history: %s", error)
            return ""

    def _read(self, owner_id: str, session_id: str, given: Sequence[Entry], window: int) -> _Asked:
        profile = self._access.profile(owner_id)
        with self._access.store.read(owner_id) as snapshot:
            progress = snapshot.progress(session_id)
            sessions = {session.id: session for session in snapshot.sessions()}
            entries = self._entries(snapshot, profile, session_id)
        marks = [mark_of(each.key or "") for each, _ in entries]
        done = done_of(given, progress.consolidated_to, marks, _read_out)
        parts = apart(given, done.messages)
        last = sessions.get(session_id)
        return _Asked(
            owner_id,
            profile,
            session_id,
            parts,
            window,
            progress,
            None if last is None else last.last_at,
            self._lines(parts, done, entries),
        )

    def _entries(
        self, snapshot: Snapshot, profile: Profile, session_id: str
    ) -> list[tuple[Memory, bool]]:
        """Return the entries of a conversation, oldest first, each with whether it may be told.

        What is forgotten, or waits for a review, may not; but its messages are not written again.
        """
        if not snapshot.progress(session_id).consolidated_to:
            return []
        kinds = frozenset({own_kind(SUMMARY, profile)})
        scope = Scope(now=self._access.clock.now(), kinds=kinds, session_id=session_id)
        shown = snapshot.within(replace(scope, include_withheld=False))
        told = set(snapshot.items(shown).record_id)
        active = snapshot.memories(list(snapshot.items(snapshot.within(scope)).record_id))
        forgotten = all_memories(snapshot, frozenset({State.FORGOTTEN}), kinds)
        found = [
            (each, each.id in told)
            for each in (*active, *forgotten)
            if is_entry(each.key) and each.session_id == session_id
        ]
        return sorted(found, key=lambda entry: entry[0].id)

    def _lines(self, parts: Parts, done: Done, entries: Sequence[tuple[Memory, bool]]) -> list[str]:
        """Return what stands for what is gone: as the history has it, or as it is stored."""
        if parts.summary:
            return parts.summary.splitlines()
        if not parts.done:
            return []
        return [self._line(each.content) for each, is_told in entries[: done.entries] if is_told]

    def _line(self, content: str) -> str:
        """Return what stands for an entry in a prompt: of messages as they were, an extract."""
        if not content.startswith(RAW):
            return " ".join(content.split())
        return self._summarising.by_words([Spoken(content.removeprefix(RAW))], HISTORY).text

    def _compressed(self, asked: _Asked, given: tuple[Entry, ...]) -> Compressed:
        parts = asked.parts
        whole = self._with(replace(parts, kept=(*parts.new, *parts.kept)), asked)
        if not parts.done:
            whole = given
        fired = self._fired(asked, whole) if parts.new else ()
        if not fired:
            return Compressed(whole)
        told = _spoken(parts.new)
        if not told:  # they say nothing
            return Compressed(whole)
        try:
            summary = self._summarising.summary(asked.owner_id, told, HISTORY)
        except ServiceFailed as error:
            _log.warning("a history could not be summarised: %s", error)
            return replace(self._degraded(asked, told, whole), fired=fired, failed=True)
        line = f"[{self._access.clock.now():%Y-%m-%d %H:%M}] {summary.text}".rstrip()
        stored = self._store(asked, [replace(summary, text=line)])
        return Compressed(self._with(parts, asked, line), fired=fired, memories=stored)

    def _with(self, parts: Parts, asked: _Asked, *new: str) -> tuple[Entry, ...]:
        """Return a history with as much of what stands for the rest as there is room for."""
        lines = [*asked.lines, *new]
        room = SUMMARY_SHARE * asked.window
        return tuple(shortened(parts, "\n".join(fitting(lines, self._costs(lines), room))))

    def _costs(self, texts: Sequence[str]) -> list[int]:
        return [prompt_tokens(pieces) for pieces in self._staging.indexer.prompt_pieces(texts)]

    def _fired(self, asked: _Asked, whole: Sequence[Entry]) -> tuple[Trigger, ...]:
        now = self._access.clock.now()
        latest = max(filter(None, (asked.last_at, asked.progress.at)), default=now)
        return asked.profile.condensing.history.fired(
            tokens=sum(self._costs([cleaned(told_of(each)) for each in whole])),
            context_window=asked.window,
            turns=turns_of(asked.parts.since),
            idle_minutes=(now - latest).total_seconds() / 60,
            new=len(asked.parts.new),
        )

    def _degraded(
        self, asked: _Asked, told: Sequence[Spoken], whole: tuple[Entry, ...]
    ) -> Compressed:
        """Count a failure; after too many, store the messages as they are."""
        failures = asked.progress.failures + 1
        if failures < self._max_failures:
            self._count(asked, failures)
            return Compressed(whole)
        room = asked.profile.max_memory_chars - len(RAW) - 1
        texts = raw([f"{each.who}: {each.content}" for each in told], room)
        stored = self._store(asked, [Summary(f"{RAW} {text}", by_model=False) for text in texts])
        extract = self._summarising.by_words(told, HISTORY).text
        return Compressed(self._with(asked.parts, asked, extract), memories=stored)

    def _count(self, asked: _Asked, failures: int) -> None:
        """Keep that it failed, unless another call has come further meanwhile."""
        if not self._access.enabled:
            return
        with self._access.store.write(asked.owner_id) as tx:
            if tx.progress(asked.session_id) == asked.progress:
                tx.set_progress(asked.session_id, replace(asked.progress, failures=failures))

    def _store(self, asked: _Asked, made: Sequence[Summary]) -> tuple[Memory, ...]:
        """Store entries and how far the history has been made shorter, both or neither."""
        if not self._access.enabled:
            return ()
        now = self._access.clock.now()
        staged = [
            self._staging.memory(
                asked.owner_id,
                asked.profile,
                each,
                own_kind(SUMMARY, asked.profile),
                (),
                [origin_of(_known_role(entry)) for entry in asked.parts.new],
                session_id=asked.session_id,
                happened_at=now,
                key=self._key(asked, now),
            )
            for each in made
        ]
        with self._access.store.write(asked.owner_id) as tx:
            if tx.progress(asked.session_id) != asked.progress:  # another call was first
                return ()
            for each, (memory, entry) in zip(made, staged, strict=True):
                self._staging.insert(
                    tx, memory, entry, asked.profile, by_model=each.by_model, by=BY
                )
            tx.set_progress(asked.session_id, Progress(asked.reached, 0, now))
            evict(tx, asked.profile, now)
        return tuple(memory for memory, _ in staged)

    def _key(self, asked: _Asked, now: datetime) -> str:
        last = _read_out(asked.parts.new[-1])
        return entry_key(asked.session_id, unique_of(self._access.new_id(now), last))


def _entry(given: object, place: int) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not isinstance(given.get("role"), str):
        raise InvalidInput(f"history[{place}]", "must be a mapping with a role and a content")
    return given


def _read_out(entry: Entry) -> str:
    """Return a message as it may leave the process: without secrets."""
    return f"{_role(entry)}\n{redact(cleaned(told_of(entry)))[0]}"


def _spoken(entries: Sequence[Entry]) -> list[Spoken]:
    """Return messages as a model may read them: without secrets, and those that say something."""
    told = (Spoken(redact(cleaned(told_of(each)))[0], _role(each)) for each in entries)
    return [each for each in told if each.content.strip()]


def _role(entry: Mapping[str, Any]) -> str:
    return str(_known_role(entry) or "system")


def _known_role(entry: Mapping[str, Any]) -> Role | None:
    role = {"function": "tool", "developer": "system"}.get(entry["role"], entry["role"])
    return Role(role) if role in tuple(Role) else None
