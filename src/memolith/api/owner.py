"""`OwnerMemory`: the memory of one owner, such as a user of an assistant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memolith.api.aliases import Aliases
from memolith.domain.memories import BaseMemory, History, Memory, Page
from memolith.domain.messages import Message, Session
from memolith.domain.owners import PendingWork, Statistics
from memolith.domain.recall import (
    DEFAULT_CONTEXT_TOP_K,
    DEFAULT_TOKEN_BUDGET,
    RecallResult,
    SearchMode,
)
from memolith.domain.reports import Audit, IngestResult
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import Record
from memolith.policies.arguments import DEFAULT_AUDIT_EXAMPLES
from memolith.policies.learning import build_messages
from memolith.services.chat import UsageReport
from memolith.services.validation import validate_name

if TYPE_CHECKING:
    from memolith.bootstrap import Services
    from memolith.services.compress import CompressionResult
    from memolith.services.context import Context
    from memolith.services.learn import LearnResult
    from memolith.services.lifecycle import ForgetResult
    from memolith.services.purge import PurgeResult
    from memolith.services.switch_profile import ProfileSwitch
    from memolith.services.transfer import ImportResult

DEFAULT_SESSION = "default"
RECENT_MESSAGES = 20
"""The default number of messages of `recent`. A guess."""


class OwnerMemory(Aliases):
    """The memory of one owner. Thread-safe and cheap to create.

    Returned by `Memolith.owner`.

        alice = memory.owner("alice")
        alice.remember("Prefers metric units", kind="preference")
        print(alice.recall("Which units should I use?").memories[0].content)

    Every method raises `StoreUnavailable` if the store cannot be reached. Methods that write also
    raise it if the disk is full, `StoreReadOnly` if the store is read-only, and `Disabled` if
    memory is switched off. A failed write changes nothing.

    Attributes:
        owner_id: The owner's id.
    """

    def __init__(self, owner_id: str, services: Services) -> None:
        """Use `Memolith.owner` to create an instance."""
        self.owner_id = validate_name(owner_id, "owner")
        self._services = services

    def remember(
        self,
        content: str,
        *,
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
        """Store one memory and return it.

        If an active memory has the same content, return that one instead.

            memory = alice.remember("Prefers metric units", kind="preference", key="units")

        Args:
            content: The text, 1 to 8,000 characters.
            kind: One of the profile's kinds. None: detected from the text.
            importance: 0 to 1. None: estimated from the text.
            key: A name that is unique among active memories. If a memory has the key already, it
                gets a new version.
            tags: Words to filter by.
            expires_in: A lifetime such as "90d", "12h" or "30m", at most 365 days. Empty: no
                expiry.
            expires_at: The time of expiry, instead of `expires_in`.
            happened_at: When the fact was true or was stated.
            session: The conversation that the memory belongs to.
            origin: user, assistant, tool, document, import or summary.

        Raises:
            InvalidInput: An argument is invalid.
            Conflict: The key belongs to a memory from a more trusted origin, such as the user.
        """
        return self._services.memory_writer.remember(
            self.owner_id,
            content,
            kind=kind,
            importance=importance,
            key=key,
            tags=tags,
            expires_in=expires_in,
            expires_at=expires_at,
            happened_at=happened_at,
            session_id=session,
            origin=origin,
        )

    def learn(
        self,
        user: str,
        assistant: str | None = None,
        *,
        session: str = DEFAULT_SESSION,
        at: datetime | None = None,
        action: str = "",
        is_truncated: bool = False,
    ) -> LearnResult:
        """Log one exchange and learn memories from the user's message.

            alice.learn("My name is Alice and I live in Oslo", "Nice to meet you, Alice!")

        Args:
            user: The user's message, at most 1,000,000 characters.
            assistant: The reply. None: there is no reply yet.
            session: The conversation.
            at: When the exchange took place. None: now.
            action: The assistant's action. "IGNORE": log the exchange without learning from it.
            is_truncated: Whether the reply is incomplete. Such an exchange is logged, but not
                learned from.

        Raises:
            InvalidInput: An argument is invalid. Nothing was stored.
        """
        messages = build_messages(user, assistant, at, action, is_truncated=is_truncated)
        return self.log(messages, session=session)

    def log(self, messages: Sequence[Message], *, session: str = DEFAULT_SESSION) -> LearnResult:
        """Log messages of any number of speakers, in order, and learn memories from them.

        Stores all messages or none. Messages whose `external_id` exists in the session are skipped.

        Raises:
            InvalidInput: A message is invalid. The error's field names the message.
        """
        return self._services.learner.log(self.owner_id, messages, session_id=session)

    def ingest(
        self,
        text: str,
        *,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> IngestResult:
        """Split a long text into chunks and store those that are worth remembering.

        Args:
            text: At most 1,000,000 characters. `ingest_stream` has no limit.
            kind: The kind of all memories. None: detected for each chunk.
            session: The conversation that the memories belong to.
            origin: user, assistant, tool, document or import.
            source: A name for the text. Its memories get the tag "source:NAME".
            tags: Words to filter by.
            happened_at: When the text was true or was written.

        Returns:
            Every chunk with its status: stored, known already, or dropped.

        Raises:
            InvalidInput: An argument is invalid. Nothing was stored.
        """
        return self._services.ingester.ingest(
            self.owner_id,
            text,
            kind=kind,
            session=session,
            origin=origin,
            source=source,
            tags=tags,
            happened_at=happened_at,
        )

    def ingest_stream(
        self,
        pieces: Iterable[str],
        *,
        kind: str | None = None,
        session: str | None = None,
        origin: str = "document",
        source: str | None = None,
        tags: Iterable[str] = (),
        happened_at: datetime | None = None,
    ) -> Iterator[IngestResult]:
        """Ingest a text of any length in bounded memory.

        Yields a result for every few hundred chunks, after they are stored. Ingesting the same text
        again stores nothing new, so an interrupted run can be repeated.

        Args:
            pieces: The text, in pieces of any size.
            kind: See `ingest`.
            session: See `ingest`.
            origin: See `ingest`.
            source: See `ingest`.
            tags: See `ingest`.
            happened_at: See `ingest`.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._services.ingester.ingest_stream(
            self.owner_id,
            pieces,
            kind=kind,
            session=session,
            origin=origin,
            source=source,
            tags=tags,
            happened_at=happened_at,
        )

    def end_session(self, session: str) -> None:
        """Mark a conversation as ended."""
        self._services.learner.end_session(self.owner_id, session)

    def recall(
        self,
        query: str,
        *,
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
        """Search memories and messages; return the most relevant ones, best first.

        A search always returns its nearest results. `RecallResult.likely_unanswerable` estimates
        whether they answer the query.

            for hit in alice.recall("Which units should I use?", top_k=3).memories:
                print(f"{hit.score.total:.2f}  {hit.content}")

        Args:
            query: Any text. Of a long query, only the first 300 and last 700 characters count.
            top_k: The maximum number of results, at most 100. None: the profile's number, else the
                setting `rag_limit` (5).
            token_budget: The maximum number of prompt tokens that the results may take.
            kinds: Search only these kinds. "episode" means messages.
            session: Search only this conversation.
            tags: Search only memories that have all of these tags.
            since: Search only records that happened, or were said, at or after this time.
            until: Search only records that happened, or were said, before this time.
            as_of: Search the memory as it was at this time, instead of now.
            mode: "hybrid", "vector" or "keyword".
            include_compressed: Whether to include records that a summary replaces.
            touch: Whether to count this recall as a use of the results.
            trace: Whether to record candidates, scores and times of each stage in the result.

        Raises:
            InvalidInput: An argument is invalid.
            ServiceFailed: The embedding service failed.
        """
        retriever = self._services.retriever
        request = retriever.build_request(
            self.owner_id,
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
            trace=trace,
        )
        return retriever.recall(self.owner_id, request, touch=touch)

    def context(
        self,
        query: str,
        *,
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
        """Return relevant memories and messages as text for a system prompt.

        The text holds the nearest results, also if they do not answer the query; see
        `RecallResult.likely_unanswerable`. It is empty if the owner has no records. Arguments that
        `recall` has too mean the same here.

            prompt = alice.context("Where does the user live?", token_budget=500)

        Args:
            query: See `recall`.
            token_budget: The maximum length of the text, in tokens.
            top_k: The maximum number of results. None: the profile's number, else 100.
            kinds: See `recall`.
            session: See `recall`.
            tags: See `recall`.
            since: See `recall`.
            until: See `recall`.
            as_of: See `recall`.
            touch: See `recall`.
            state: A description of the current state. Only the profile `tiers` renders it.

        Raises:
            InvalidInput: An argument is invalid.
            ServiceFailed: The embedding service failed.
        """
        return self.context_with_results(
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
        ).text

    def context_with_results(
        self,
        query: str,
        *,
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
        """Return the text of `context` together with its results and its token count.

        Takes the arguments of `context`, and `exclude`: ids of records to leave out, such as
        messages that the prompt contains anyway.
        """
        request = self._services.retriever.build_request(
            self.owner_id,
            query,
            top_k=top_k,
            default_top_k=DEFAULT_CONTEXT_TOP_K,
            token_budget=token_budget,
            kinds=kinds,
            session=session,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
        )
        return self._services.context_builder.build(
            self.owner_id, request, touch=touch, state=state, exclude_ids=frozenset(exclude)
        )

    def get(self, id: str | None = None, *, key: str | None = None) -> Memory:
        """Return a memory: by id in any state, or the active memory of a key.

        The content of a forgotten memory is empty.

        Raises:
            InvalidInput: The id is malformed, or not exactly one of `id` and `key` is given.
            NotFound: No memory has this id or key.
        """
        return self._services.memory_reader.get(self.owner_id, id, key)

    def message(self, id: str) -> Message:
        """Return a message by its id.

        Raises:
            InvalidInput: The id is malformed.
            NotFound: No message has this id, or the message is forgotten.
        """
        return self._services.memory_reader.message(self.owner_id, id)

    def messages(
        self, session: str = DEFAULT_SESSION, *, limit: int | None = None, after: int = 0
    ) -> tuple[Message, ...]:
        """Return the messages of a conversation, in order.

        Args:
            session: The conversation.
            limit: The maximum number of messages. None: all.
            after: Return only messages with a greater sequence number.
        """
        return self._services.memory_reader.messages(
            self.owner_id, session, limit=limit, after=after
        )

    def sessions(self) -> tuple[Session, ...]:
        """Return the conversations, in the order of their first messages."""
        return self._services.memory_reader.sessions(self.owner_id)

    def list(
        self,
        *,
        kind: str | None = None,
        state: str | None = None,
        tags: Iterable[str] = (),
        limit: int = 50,
        cursor: str | None = None,
        offset: int = 0,
    ) -> Page:
        """Return a page of memories, newest first.

        The content of forgotten memories is empty.

        Args:
            kind: Return only memories of this kind.
            state: Return only memories in this state. "all": in any state. None: active memories.
            tags: Return only memories that have all of these tags.
            limit: The size of the page, at most 1,000.
            cursor: The `cursor` of the previous page.
            offset: The number of memories to skip.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._services.memory_reader.page(
            self.owner_id,
            kind=kind,
            state=state,
            tags=tags,
            limit=limit,
            cursor=cursor,
            offset=offset,
        )

    def update(
        self,
        id: str,
        content: str | None = None,
        *,
        kind: str | None = None,
        importance: float | None = None,
        key: str | None = None,
        tags: Iterable[str] | None = None,
        expires_in: str = "",
        expires_at: datetime | None = None,
        happened_at: datetime | None = None,
    ) -> Memory:
        """Change an active memory and return it. A change of content creates a new version.

        Omitted arguments leave their fields unchanged. See `remember` for their meaning.

        Raises:
            InvalidInput: An argument is invalid, or no change is given.
            NotFound: No active memory has this id.
            Conflict: Another memory has the same content or key.
        """
        return self._services.memory_editor.update(
            self.owner_id,
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

    def supersede(self, old: str, new: str) -> Memory:
        """Replace the memory `old` by the memory `new` and return the superseded memory.

        Both arguments are ids. Superseded memories are kept, but not recalled.

        Raises:
            NotFound: One of the memories does not exist.
            Conflict: Both ids are equal, a memory is not active, or the change would create a
                cycle.
        """
        return self._services.memory_editor.supersede(self.owner_id, old, new)

    def forget(self, id: str | None = None, *, key: str | None = None) -> ForgetResult:
        """Hide a memory, by id or key, or a message, by id. `restore` undoes it.

        Also hides its source sentences in messages, the summaries derived from it, and the entries
        of the base memory that mention it. Only `recall` and `context` with an earlier `as_of`
        still return the content. Use `purge` to remove it permanently.

        Returns:
            The ids of all changed memories and messages.

        Raises:
            InvalidInput: Not exactly one of `id` and `key` is given.
            NotFound: No record has this id or key, or it is forgotten already.
        """
        return self._services.memory_editor.forget(self.owner_id, id, key)

    def purge(self, id: str | None = None, *, key: str | None = None) -> PurgeResult:
        """Remove a memory, by id or key, or a message, by id, permanently.

        Removes the records that `forget` hides, in every version. Forgotten records can be purged
        too. Backups and exports that were made before still contain them.

        Returns:
            The ids of all changed and removed memories and messages.

        Raises:
            InvalidInput: Not exactly one of `id` and `key` is given.
            NotFound: No record has this id, or no active memory has this key.
        """
        return self._services.purger.purge(self.owner_id, id, key)

    def restore(self, id: str) -> Memory | Message:
        """Undo `forget` or `supersede` and return the restored memory or message.

        Raises:
            NotFound: No memory or message has this id.
            Conflict: It is active already, or another memory has its key or its content.
        """
        return self._services.memory_editor.restore(self.owner_id, id)

    def review(self) -> tuple[Memory | Message, ...]:
        """Return quarantined memories and messages, in the order in which they were stored.

        Recall excludes them until `approve`. Quarantined are suspected prompt injections from
        tools, documents, imports, assistants and other people, and memories that a model learned
        without support in the conversation (state `unsupported`). Suspicious messages of the user
        are recalled as quotations instead.
        """
        return self._services.review_queue.list_quarantined(self.owner_id)

    def approve(self, id: str) -> Memory | Message:
        """Release a quarantined memory or message, so that it can be recalled, and return it.

        Suspected prompt injections are rendered as quotations.

        Raises:
            NotFound: No quarantined record has this id.
        """
        return self._services.review_queue.approve(self.owner_id, id)

    def reject(self, id: str) -> ForgetResult:
        """Forget a quarantined memory or message. `restore` undoes it.

        Returns:
            The ids of all changed memories and messages.

        Raises:
            NotFound: No quarantined record has this id.
        """
        return self._services.review_queue.reject(self.owner_id, id)

    def history(self, id: str | None = None, *, key: str | None = None) -> History:
        """Return the versions and events of a memory, by id or key, oldest first.

        The content of a forgotten memory is empty in every version.

        Raises:
            InvalidInput: The id is malformed, or not exactly one of `id` and `key` is given.
            NotFound: No memory has this id, or no active memory has this key.
        """
        return self._services.memory_reader.history(self.owner_id, id, key)

    def profile(self) -> str:
        """Return the name of the owner's profile."""
        return self._services.memory_reader.profile_name(self.owner_id)

    def equivalent_kind(self, kind: str) -> str:
        """Return the kind of the owner's profile that corresponds to a kind of `standard`.

        Raises:
            InvalidInput: The profile `standard` has no such kind.
        """
        return self._services.memory_reader.equivalent_kind(self.owner_id, kind)

    def switch_profile(
        self,
        name: str,
        *,
        dry_run: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> ProfileSwitch:
        """Move the owner to another profile and return the changes.

        Memories keep their ids and history. A fixed map converts their kinds. The previous kinds
        are stored, so switching back loses nothing.

        Args:
            name: The new profile.
            dry_run: Return the changes without making them.
            on_progress: Called with the number of texts that were embedded since the last call.

        Raises:
            InvalidInput: No profile has this name.
            ServiceFailed: The embedding service failed. The profile is unchanged.
        """
        return self._services.profile_switcher.switch(
            self.owner_id, name, dry_run=dry_run, advance=on_progress
        )

    def recent(
        self, limit: int = RECENT_MESSAGES, *, session: str | None = None
    ) -> tuple[Message, ...]:
        """Return the last messages, oldest first: the working memory of a conversation.

        Args:
            limit: The maximum number of messages.
            session: Return only messages of this conversation. None: of all conversations.
        """
        return self._services.memory_reader.recent_messages(self.owner_id, limit, session)

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the base memory: a living document about the owner. None if there is none.

        Args:
            as_of: Return the version that was current at this time. None: the current version.
        """
        return self._services.base_memory.get(self.owner_id, as_of=as_of)

    def base_memory_versions(self) -> tuple[BaseMemory, ...]:
        """Return all versions of the base memory, oldest first."""
        return self._services.base_memory.list_versions(self.owner_id)

    def set_base_memory(self, content: str) -> BaseMemory:
        """Replace the content of the base memory. Earlier versions are kept.

        Raises:
            InvalidInput: The content is empty, or longer than 20,000 characters.
        """
        return self._services.base_memory.replace_content(self.owner_id, content)

    def roll_back_base_memory(self, version: int) -> BaseMemory:
        """Create a new version of the base memory with the content of an earlier version.

        Raises:
            NotFound: The version does not exist.
        """
        return self._services.base_memory.roll_back(self.owner_id, version)

    def summaries(self) -> tuple[Memory, ...]:
        """Return the active summaries of memories or messages, oldest first."""
        return self._services.memory_reader.summaries(self.owner_id)

    def undo_consolidation(self, id: str) -> Memory:
        """Retire a summary, so that its sources are recalled again, and return it.

        Its sources are not summarised again. `restore` reactivates the summary. For the base
        memory, use `roll_back_base_memory`.

        Raises:
            NotFound: No active summary has this id.
        """
        return self._services.consolidator.undo(self.owner_id, id)

    def compress(
        self,
        history: Sequence[Mapping[str, Any]],
        *,
        session: str = DEFAULT_SESSION,
        context_window: int | None = None,
    ) -> CompressionResult:
        """Shorten the history of a conversation if it is due, and remember the removed messages.

        Compression is due if the history takes more than half of the context window, after a number
        of turns, or after a period of silence. A summary replaces the older messages. The newest
        messages stay, and a tool call stays with its result. Failures are logged, not raised: the
        history is then returned unchanged.

        Args:
            history: Messages in the form of chat services: mappings with `role`, `content` and, for
                tools, `tool_calls`. Pass the whole history, or the result of the last call with the
                new messages.
            session: The conversation.
            context_window: The size of the model's context window, in tokens. None: as configured.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._services.history_compressor.compress(
            self.owner_id, history, session_id=session, context_window=context_window
        )

    def backlog(self) -> PendingWork:
        """Return the pending learning work, and the work that failed too often."""
        return self._services.work_runner.get_pending_work(self.owner_id)

    def retry(self) -> None:
        """Make failed work due at once, including dead letters."""
        self._services.work_runner.retry(self.owner_id)

    def usage(self, *, since: datetime | None = None) -> UsageReport:
        """Return calls, tokens and cost of language models for the owner.

        Args:
            since: Count from the start of this hour (UTC). None: from the start of the current
                hour.

        Raises:
            InvalidInput: The time has no time zone.
        """
        return self._services.usage_reporter.report(self.owner_id, since)

    def stats(self) -> Statistics:
        """Return counts of the stored memories, messages, conversations and vectors."""
        return self._services.memory_reader.statistics(self.owner_id)

    def audit(self, *, examples: int = DEFAULT_AUDIT_EXAMPLES, near: bool = True) -> Audit:
        """Count the active memories that are not worth keeping, with examples.

        These are duplicates, sentence fragments, filler (greetings, offers of help) and echoes of
        recalled memories or prompts. The classification uses word lists, no language model. Nothing
        is changed.

        Args:
            examples: The number of examples for each category, at most 1,000.
            near: Whether to also compare the first 20,000 remaining memories by their stored
                vectors, and report near duplicates.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._services.auditor.audit(self.owner_id, examples=examples, near=near)

    def export(self) -> Iterator[Record]:
        """Yield all messages by session, then all memories with their history, oldest first.

        The export is a snapshot of one instant. Forgotten records are left out.
        """
        return self._services.transfer.export_records(self.owner_id)

    def import_(self, records: Sequence[Record | ImportedMemory]) -> ImportResult:
        """Store the records of an export, all or none. Existing records stay unchanged.

        The origins, roles and speakers of the records are trusted.

        Raises:
            InvalidInput: A record is invalid. The error's field names the record.
        """
        return self._services.transfer.import_records(self.owner_id, records)

    def __repr__(self) -> str:
        """Return the class name and the owner id."""
        return f"{type(self).__name__}({self.owner_id!r})"
