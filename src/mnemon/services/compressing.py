"""Compressing a history that a caller holds: what is old becomes an entry of the memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mnemon.domain.memories import Memory, Origin
from mnemon.domain.messages import Role
from mnemon.domain.recall import Scope
from mnemon.domain.work import Progress
from mnemon.errors import InvalidInput, ServiceFailed
from mnemon.policies import arguments
from mnemon.policies.budgeting import prompt_tokens
from mnemon.policies.condensing import SUMMARY
from mnemon.policies.histories import (
    Entry,
    Parts,
    apart,
    entry_key,
    raw,
    shortened,
    text_of,
    turns_of,
)
from mnemon.policies.kinds import own_kind
from mnemon.policies.trust import least_trusted, origin_of
from mnemon.prompts.summary import HISTORY
from mnemon.prompts.transcripts import Spoken
from mnemon.services.drafts import Draft, judged
from mnemon.services.planning import Order
from mnemon.services.screening import screened_name
from mnemon.text.screening import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from mnemon.policies.triggers import Trigger
    from mnemon.ports.store import Snapshot, Transaction
    from mnemon.profiles.model import Profile
    from mnemon.services.access import Access
    from mnemon.services.indexing import Indexer
    from mnemon.services.settling import Settling
    from mnemon.services.summarising import Summarising

RAW = "[RAW]"
"""What an entry begins with that holds messages as they were: nothing could summarise them."""

BY = "compression"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compressed:
    """A history after it was made shorter, or not.

    Attributes:
        history: What to send to a model in place of the history.
        fired: Why it was made shorter; empty: it was not.
        memories: The entries stored for what it no longer holds.
        failed: Whether it was to be made shorter, and could not be.
    """

    history: tuple[Mapping[str, Any], ...]
    fired: tuple[Trigger, ...] = ()
    memories: tuple[Memory, ...] = ()
    failed: bool = False


class Compressing:
    """Makes histories shorter."""

    def __init__(
        self,
        access: Access,
        indexer: Indexer,
        settling: Settling,
        summarising: Summarising,
        *,
        context_window: int,
        max_failures: int,
    ) -> None:
        """Use these.

        Args:
            access: The way to the memories.
            indexer: Counts tokens.
            settling: Stores the entries.
            summarising: Writes summaries.
            context_window: What the model's window holds, in tokens, where it is not said.
            max_failures: After how many failures in a row messages are stored as they are.
        """
        self._access = access
        self._indexer = indexer
        self._settling = settling
        self._summarising = summarising
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
        given = [_entry(each, place) for place, each in enumerate(history)]
        session = screened_name(session_id, "session")
        window = self._context_window
        if context_window is not None:
            window = arguments.count(context_window, "context_window", least=1)
        profile = self._access.profile(owner_id)
        with self._access.store.read(owner_id) as snapshot:
            progress = snapshot.progress(session)
            last_at = next((s.last_at for s in snapshot.sessions() if s.id == session), None)
            known = self._summaries(snapshot, profile, session)
        parts = apart(given, progress.consolidated_to)
        if parts.done:
            parts = replace(parts, summary="\n".join(known))
        before = shortened(replace(parts, kept=(*parts.new, *parts.kept)), parts.summary)
        fired = self._fired(profile, parts, before, window, progress, last_at)
        if not fired:
            return Compressed(tuple(before if parts.done else given))
        try:
            return self._shortened(owner_id, profile, session, parts, progress, fired)
        except ServiceFailed as error:
            _log.warning("a history could not be summarised: %s", error)
            return self._degraded(owner_id, profile, session, parts, progress, fired)

    def _fired(
        self,
        profile: Profile,
        parts: Parts,
        before: Sequence[Mapping[str, Any]],
        window: int,
        progress: Progress,
        last_at: datetime | None,
    ) -> tuple[Trigger, ...]:
        now = self._access.clock.now()
        latest = max(filter(None, (last_at, progress.at)), default=now)
        texts = [text_of(each) for each in before]
        return profile.condensing.history.fired(
            tokens=sum(prompt_tokens(n) for n in self._indexer.prompt_pieces(texts)),
            context_window=window,
            turns=turns_of((*parts.new, *parts.kept)),
            idle_minutes=(now - latest).total_seconds() / 60,
            new=len(parts.new),
        )

    def _shortened(
        self,
        owner_id: str,
        profile: Profile,
        session: str,
        parts: Parts,
        progress: Progress,
        fired: tuple[Trigger, ...],
    ) -> Compressed:
        summary = self._summarising.summary(owner_id, _spoken(parts.new), HISTORY)
        entry = f"[{self._access.clock.now():%Y-%m-%d %H:%M}] {summary.text}"
        stored = self._store(owner_id, profile, session, parts, progress, [entry])
        told_now = "\n".join(filter(None, (parts.summary, entry)))
        return Compressed(tuple(shortened(parts, told_now)), fired, stored)

    def _degraded(
        self,
        owner_id: str,
        profile: Profile,
        session: str,
        parts: Parts,
        progress: Progress,
        fired: tuple[Trigger, ...],
    ) -> Compressed:
        """Count a failure; after too many, store the messages as they are."""
        failures = progress.failures + 1
        whole = shortened(replace(parts, kept=(*parts.new, *parts.kept)), parts.summary)
        if failures < self._max_failures:
            if self._access.enabled:
                with self._access.store.write(owner_id) as tx:
                    tx.set_progress(session, replace(progress, failures=failures))
            return Compressed(tuple(whole), fired, failed=True)
        room = profile.max_memory_chars - len(RAW) - 1
        entries = [f"{RAW} {text}" for text in raw(parts.new, room)]
        stored = self._store(owner_id, profile, session, parts, progress, entries)
        extracted = self._summarising.extracted(owner_id, _spoken(parts.new), HISTORY)
        told = "\n".join(filter(None, (parts.summary, extracted.text)))
        return Compressed(tuple(shortened(parts, told)), fired, stored, failed=True)

    def _store(
        self,
        owner_id: str,
        profile: Profile,
        session: str,
        parts: Parts,
        progress: Progress,
        texts: Sequence[str],
    ) -> tuple[Memory, ...]:
        """Store entries and how far the history has been made shorter, both or neither."""
        if not self._access.enabled:
            return ()
        now = self._access.clock.now()
        origin = least_trusted(Origin.SUMMARY, *(origin_of(_known_role(e)) for e in parts.new))
        kind = own_kind(SUMMARY, profile)
        drafts = tuple(
            judged(
                Draft(
                    content=text,
                    kind=kind,
                    judged=0.0,
                    key=entry_key(session, self._access.new_id(now)),
                    happened_at=now,
                    session_id=session,
                    origin=origin,
                ),
                profile,
            )
            for text in texts
        )
        done = progress.consolidated_to if not parts.done else parts.done
        reached = Progress(done + len(parts.new), 0, now)

        def along(tx: Transaction) -> Sequence[Draft]:
            if tx.progress(session) != progress:  # another call was first
                return ()
            tx.set_progress(session, reached)
            return drafts

        return self._settling.settle(Order(owner_id, profile, drafts, now, by=BY), along)

    def _summaries(self, snapshot: Snapshot, profile: Profile, session: str) -> list[str]:
        """Return what stands for what is gone of a conversation, oldest first."""
        kind = own_kind(SUMMARY, profile)
        scope = Scope(
            now=self._access.clock.now(),
            kinds=frozenset({kind}),
            session_id=session,
            include_withheld=False,
        )
        found = snapshot.items(snapshot.within(scope)).record_id
        memories = snapshot.memories(list(found))
        return [m.content for m in memories if (m.key or "").startswith(entry_key(session))]


def _entry(given: object, place: int) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not isinstance(given.get("role"), str):
        raise InvalidInput(f"history[{place}]", "must be a mapping with a role and a content")
    return given


def _spoken(entries: Sequence[Entry]) -> list[Spoken]:
    """Return messages as a model may read them: without secrets, and those that say something."""
    told = (Spoken(redact(text_of(each))[0], _role(each)) for each in entries)
    return [each for each in told if each.content.strip()]


def _role(entry: Mapping[str, Any]) -> str:
    return str(_known_role(entry) or "system")


def _known_role(entry: Mapping[str, Any]) -> Role | None:
    role = {"function": "tool", "developer": "system"}.get(entry["role"], entry["role"])
    return Role(role) if role in tuple(Role) else None
