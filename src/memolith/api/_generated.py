"""The methods of `OwnerMemory` on the engine, each with the owner named by `owner`.

Written by tools/doors.py: change `OwnerMemory`, then run `make doors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from memolith.api.aliases import PAGE_SIZE
from memolith.api.owner import DEFAULT_SESSION, RECENT_MESSAGES, OwnerMemory
from memolith.domain.memories import BaseMemory, History, Memory, Page
from memolith.domain.messages import Message, Session
from memolith.domain.owners import PendingWork, Statistics
from memolith.domain.recall import DEFAULT_TOKEN_BUDGET, RecallResult, SearchMode
from memolith.domain.reports import Audit, IngestResult
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import Record
from memolith.policies.arguments import DEFAULT_AUDIT_EXAMPLES
from memolith.services.chat import UsageReport

if TYPE_CHECKING:
    from memolith.services.compress import CompressionResult
    from memolith.services.context import Context
    from memolith.services.learn import LearnResult
    from memolith.services.lifecycle import ForgetResult
    from memolith.services.purge import PurgeResult
    from memolith.services.switch_profile import ProfileSwitch
    from memolith.services.transfer import ImportResult


class _OwnerSource(Protocol):
    def owner(self, owner_id: str) -> OwnerMemory: ...


class OwnerMethods:
    """What every owner has, for those who would rather name the owner each time."""

    def remember(
        self: _OwnerSource,
        content: str,
        *,
        owner: str,
        kind: str | None = None,
        importance: float | None = None,
        key: str | None = None,
        tags: Iterable[str] = (),
        expires_in: str = "",
        expires_at: datetime | None = None,
        happened_at: datetime | None = None,
        session: str | None = None,
        origin: str = "user",
    ) -> Memory:
        """See `OwnerMemory.remember`."""
        return self.owner(owner).remember(
            content,
            kind=kind,
            importance=importance,
            key=key,
            tags=tags,
            expires_in=expires_in,
            expires_at=expires_at,
            happened_at=happened_at,
            session=session,
            origin=origin,
        )

    def learn(
        self: _OwnerSource,
        user: str,
        assistant: str | None = None,
        *,
        owner: str,
        session: str = DEFAULT_SESSION,
        at: datetime | None = None,
        action: str = "",
        is_truncated: bool = False,
    ) -> LearnResult:
        """See `OwnerMemory.learn`."""
        return self.owner(owner).learn(
            user, assistant, session=session, at=at, action=action, is_truncated=is_truncated
        )

    def log(
        self: _OwnerSource,
        messages: Sequence[Message],
        *,
        owner: str,
        session: str = DEFAULT_SESSION,
    ) -> LearnResult:
        """See `OwnerMemory.log`."""
        return self.owner(owner).log(messages, session=session)

    def ingest(
        self: _OwnerSource,
        text: str,
        *,
        owner: str,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> IngestResult:
        """See `OwnerMemory.ingest`."""
        return self.owner(owner).ingest(
            text,
            kind=kind,
            session=session,
            origin=origin,
            source=source,
            tags=tags,
            happened_at=happened_at,
        )

    def ingest_stream(
        self: _OwnerSource,
        pieces: Iterable[str],
        *,
        owner: str,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> Iterator[IngestResult]:
        """See `OwnerMemory.ingest_stream`."""
        return self.owner(owner).ingest_stream(
            pieces,
            kind=kind,
            session=session,
            origin=origin,
            source=source,
            tags=tags,
            happened_at=happened_at,
        )

    def end_session(self: _OwnerSource, session: str, *, owner: str) -> None:
        """See `OwnerMemory.end_session`."""
        self.owner(owner).end_session(session)

    def recall(
        self: _OwnerSource,
        query: str,
        *,
        owner: str,
        top_k: int | None = None,
        token_budget: int = DEFAULT_TOKEN_BUDGET,
        kinds: Iterable[str] | None = None,
        session: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        mode: SearchMode = "hybrid",
        include_compressed: bool = False,
        touch: bool = True,
        trace: bool = False,
    ) -> RecallResult:
        """See `OwnerMemory.recall`."""
        return self.owner(owner).recall(
            query,
            top_k=top_k,
            token_budget=token_budget,
            kinds=kinds,
            session=session,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            mode=mode,
            include_compressed=include_compressed,
            touch=touch,
            trace=trace,
        )

    def context(
        self: _OwnerSource,
        query: str,
        *,
        owner: str,
        token_budget: int = DEFAULT_TOKEN_BUDGET,
        top_k: int | None = None,
        kinds: Iterable[str] | None = None,
        session: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        touch: bool = True,
        state: str = "",
    ) -> str:
        """See `OwnerMemory.context`."""
        return self.owner(owner).context(
            query,
            token_budget=token_budget,
            top_k=top_k,
            kinds=kinds,
            session=session,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            touch=touch,
            state=state,
        )

    def context_with_results(
        self: _OwnerSource,
        query: str,
        *,
        owner: str,
        token_budget: int = DEFAULT_TOKEN_BUDGET,
        top_k: int | None = None,
        kinds: Iterable[str] | None = None,
        session: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        touch: bool = True,
        state: str = "",
        exclude: Iterable[str] = (),
    ) -> Context:
        """See `OwnerMemory.context_with_results`."""
        return self.owner(owner).context_with_results(
            query,
            token_budget=token_budget,
            top_k=top_k,
            kinds=kinds,
            session=session,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            touch=touch,
            state=state,
            exclude=exclude,
        )

    def get(
        self: _OwnerSource, id: str | None = None, *, owner: str, key: str | None = None
    ) -> Memory:
        """See `OwnerMemory.get`."""
        return self.owner(owner).get(id, key=key)

    def message(self: _OwnerSource, id: str, *, owner: str) -> Message:
        """See `OwnerMemory.message`."""
        return self.owner(owner).message(id)

    def messages(
        self: _OwnerSource,
        session: str = DEFAULT_SESSION,
        *,
        owner: str,
        limit: int | None = None,
        after: int = 0,
    ) -> tuple[Message, ...]:
        """See `OwnerMemory.messages`."""
        return self.owner(owner).messages(session, limit=limit, after=after)

    def sessions(self: _OwnerSource, *, owner: str) -> tuple[Session, ...]:
        """See `OwnerMemory.sessions`."""
        return self.owner(owner).sessions()

    def list(
        self: _OwnerSource,
        *,
        owner: str,
        kind: str | None = None,
        state: str | None = None,
        tags: Iterable[str] = (),
        limit: int = 50,
        cursor: str | None = None,
        offset: int = 0,
    ) -> Page:
        """See `OwnerMemory.list`."""
        return self.owner(owner).list(
            kind=kind, state=state, tags=tags, limit=limit, cursor=cursor, offset=offset
        )

    def update(
        self: _OwnerSource,
        id: str,
        content: str | None = None,
        *,
        owner: str,
        kind: str | None = None,
        importance: float | None = None,
        key: str | None = None,
        tags: Iterable[str] | None = None,
        expires_in: str = "",
        expires_at: datetime | None = None,
        happened_at: datetime | None = None,
    ) -> Memory:
        """See `OwnerMemory.update`."""
        return self.owner(owner).update(
            id,
            content,
            kind=kind,
            importance=importance,
            key=key,
            tags=tags,
            expires_in=expires_in,
            expires_at=expires_at,
            happened_at=happened_at,
        )

    def supersede(self: _OwnerSource, old: str, new: str, *, owner: str) -> Memory:
        """See `OwnerMemory.supersede`."""
        return self.owner(owner).supersede(old, new)

    def forget(
        self: _OwnerSource, id: str | None = None, *, owner: str, key: str | None = None
    ) -> ForgetResult:
        """See `OwnerMemory.forget`."""
        return self.owner(owner).forget(id, key=key)

    def purge(
        self: _OwnerSource, id: str | None = None, *, owner: str, key: str | None = None
    ) -> PurgeResult:
        """See `OwnerMemory.purge`."""
        return self.owner(owner).purge(id, key=key)

    def restore(self: _OwnerSource, id: str, *, owner: str) -> Memory | Message:
        """See `OwnerMemory.restore`."""
        return self.owner(owner).restore(id)

    def review(self: _OwnerSource, *, owner: str) -> tuple[Memory | Message, ...]:
        """See `OwnerMemory.review`."""
        return self.owner(owner).review()

    def approve(self: _OwnerSource, id: str, *, owner: str) -> Memory | Message:
        """See `OwnerMemory.approve`."""
        return self.owner(owner).approve(id)

    def reject(self: _OwnerSource, id: str, *, owner: str) -> ForgetResult:
        """See `OwnerMemory.reject`."""
        return self.owner(owner).reject(id)

    def history(
        self: _OwnerSource, id: str | None = None, *, owner: str, key: str | None = None
    ) -> History:
        """See `OwnerMemory.history`."""
        return self.owner(owner).history(id, key=key)

    def profile(self: _OwnerSource, *, owner: str) -> str:
        """See `OwnerMemory.profile`."""
        return self.owner(owner).profile()

    def equivalent_kind(self: _OwnerSource, kind: str, *, owner: str) -> str:
        """See `OwnerMemory.kind_like`."""
        return self.owner(owner).equivalent_kind(kind)

    def switch_profile(
        self: _OwnerSource,
        name: str,
        *,
        owner: str,
        dry_run: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> ProfileSwitch:
        """See `OwnerMemory.switch_profile`."""
        return self.owner(owner).switch_profile(name, dry_run=dry_run, on_progress=on_progress)

    def recent(
        self: _OwnerSource, limit: int = RECENT_MESSAGES, *, owner: str, session: str | None = None
    ) -> tuple[Message, ...]:
        """See `OwnerMemory.recent`."""
        return self.owner(owner).recent(limit, session=session)

    def base_memory(
        self: _OwnerSource, *, owner: str, as_of: datetime | None = None
    ) -> BaseMemory | None:
        """See `OwnerMemory.base_memory`."""
        return self.owner(owner).base_memory(as_of=as_of)

    def base_memory_versions(self: _OwnerSource, *, owner: str) -> tuple[BaseMemory, ...]:
        """See `OwnerMemory.base_memory_versions`."""
        return self.owner(owner).base_memory_versions()

    def set_base_memory(self: _OwnerSource, content: str, *, owner: str) -> BaseMemory:
        """See `OwnerMemory.set_base_memory`."""
        return self.owner(owner).set_base_memory(content)

    def roll_back_base_memory(self: _OwnerSource, version: int, *, owner: str) -> BaseMemory:
        """See `OwnerMemory.roll_back_base_memory`."""
        return self.owner(owner).roll_back_base_memory(version)

    def summaries(self: _OwnerSource, *, owner: str) -> tuple[Memory, ...]:
        """See `OwnerMemory.summaries`."""
        return self.owner(owner).summaries()

    def undo_consolidation(self: _OwnerSource, id: str, *, owner: str) -> Memory:
        """See `OwnerMemory.undo_consolidation`."""
        return self.owner(owner).undo_consolidation(id)

    def compress(
        self: _OwnerSource,
        history: Sequence[Mapping[str, Any]],
        *,
        owner: str,
        session: str = DEFAULT_SESSION,
        context_window: int | None = None,
    ) -> CompressionResult:
        """See `OwnerMemory.compress`."""
        return self.owner(owner).compress(history, session=session, context_window=context_window)

    def backlog(self: _OwnerSource, *, owner: str) -> PendingWork:
        """See `OwnerMemory.backlog`."""
        return self.owner(owner).backlog()

    def retry(self: _OwnerSource, *, owner: str) -> None:
        """See `OwnerMemory.retry`."""
        self.owner(owner).retry()

    def usage(self: _OwnerSource, *, owner: str, since: datetime | None = None) -> UsageReport:
        """See `OwnerMemory.usage`."""
        return self.owner(owner).usage(since=since)

    def stats(self: _OwnerSource, *, owner: str) -> Statistics:
        """See `OwnerMemory.stats`."""
        return self.owner(owner).stats()

    def audit(
        self: _OwnerSource, *, owner: str, examples: int = DEFAULT_AUDIT_EXAMPLES, near: bool = True
    ) -> Audit:
        """See `OwnerMemory.audit`."""
        return self.owner(owner).audit(examples=examples, near=near)

    def export(self: _OwnerSource, *, owner: str) -> Iterator[Record]:
        """See `OwnerMemory.export`."""
        return self.owner(owner).export()

    def import_(
        self: _OwnerSource, records: Sequence[Record | ImportedMemory], *, owner: str
    ) -> ImportResult:
        """See `OwnerMemory.import_`."""
        return self.owner(owner).import_(records)

    def store_fact(
        self: _OwnerSource, content: str, importance: float | None = None, *, owner: str
    ) -> Memory:
        """See `OwnerMemory.store_fact`."""
        return self.owner(owner).store_fact(content, importance)

    def store_preference(
        self: _OwnerSource, content: str, importance: float | None = None, *, owner: str
    ) -> Memory:
        """See `OwnerMemory.store_preference`."""
        return self.owner(owner).store_preference(content, importance)

    def store_correction(
        self: _OwnerSource, content: str, importance: float | None = None, *, owner: str
    ) -> Memory:
        """See `OwnerMemory.store_correction`."""
        return self.owner(owner).store_correction(content, importance)

    def search(self: _OwnerSource, query: str, top_k: int = 5, *, owner: str) -> RecallResult:
        """See `OwnerMemory.search`."""
        return self.owner(owner).search(query, top_k)

    def hybrid_search(
        self: _OwnerSource, query: str, top_k: int = 5, *, owner: str
    ) -> RecallResult:
        """See `OwnerMemory.hybrid_search`."""
        return self.owner(owner).hybrid_search(query, top_k)

    def retrieve_context(self: _OwnerSource, query: str, limit: int = 5, *, owner: str) -> str:
        """See `OwnerMemory.retrieve_context`."""
        return self.owner(owner).retrieve_context(query, limit)

    def process_exchange(
        self: _OwnerSource, user: str, assistant: str, *, owner: str, at: datetime | None = None
    ) -> LearnResult:
        """See `OwnerMemory.process_exchange`."""
        return self.owner(owner).process_exchange(user, assistant, at=at)

    def memories(
        self: _OwnerSource, limit: int = PAGE_SIZE, offset: int = 0, *, owner: str
    ) -> tuple[tuple[Memory, ...], int]:
        """See `OwnerMemory.memories`."""
        return self.owner(owner).memories(limit, offset)

    def active_count(self: _OwnerSource, *, owner: str) -> int:
        """See `OwnerMemory.active_count`."""
        return self.owner(owner).active_count()
