"""`OwnerMemory`: the memory of one owner."""

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


class OwnerMemory(Aliases):
    """What one owner remembers. Thread-safe; costs nothing to make.

    Every method raises `StoreUnavailable` where the store can't be reached. Those that change
    something raise it where the disk is full, `StoreReadOnly` where the store can't be written,
    and `Disabled` where memory is switched off; nothing has changed then.
    """

    def __init__(self, owner_id: str, services: Services) -> None:
        """Use `Memolith.owner` to make one."""
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
        """Store one memory; return it, or the active one that says the same already.

        Args:
            content: The text, 1 to 8,000 characters.
            kind: One of the profile's kinds; None: by its cues.
            importance: 0..1; None: by its cues.
            key: A name, unique among active memories; a taken one gets a new version.
            tags: Words to filter by.
            expires_in: "90d", "12h", "30m"; at most 365 days. Empty: never.
            expires_at: When it ends instead.
            happened_at: When it was true or said in the world.
            session: The conversation it belongs to.
            origin: user, assistant, tool, document, import or summary.

        Raises:
            InvalidInput: An argument can't be taken; nothing was stored.
            Conflict: The key is of a memory that is believed more than this origin: the user's
                own word, say. Nothing was stored.
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
        """Take in one exchange: two messages, and what is worth remembering of the user's.

        Args:
            user: What the user said, at most 1,000,000 characters.
            assistant: The reply; None: there is none yet.
            session: The conversation.
            at: When it was said; None: now.
            action: What the assistant did. "IGNORE": the exchange is logged, and never learned
                from.
            cut: Whether the reply broke off: it is logged, and never learned from.

        Raises:
            InvalidInput: An argument can't be taken; nothing was stored.
        """
        messages = build_messages(user, assistant, at, action, is_truncated=is_truncated)
        return self.log(messages, session=session)

    def log(self, messages: Sequence[Message], *, session: str = DEFAULT_SESSION) -> LearnResult:
        """Take in messages of any number of speakers, in order: all of them, or none.

        Messages whose `external_id` the session has already are passed over.

        Raises:
            InvalidInput: A message can't be taken; the error's field says which.
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
        """Take in a long text, cut where its meaning is; say what was kept, what not, and why.

        Args:
            text: At most 1,000,000 characters.
            kind: The kind of all its memories; None: judged for each chunk.
            session: The conversation they belong to.
            origin: user, assistant, tool, document or import.
            source: A name of the text; its memories have the tag "source:NAME".
            tags: Words to filter by.
            happened_at: When it was true or said in the world.

        Raises:
            InvalidInput: An argument can't be taken; nothing was stored.
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
        """Take in a text of any length, in bounded memory, as `ingest` does.

        Gives what became of it some hundred chunks at a time, each time once they are stored. The
        same text again adds nothing, so that one that broke off can be given again.

        Args:
            pieces: The text, in pieces of any size.
            kind: See `ingest`, as for the rest.
            session: See `ingest`.
            origin: See `ingest`.
            source: See `ingest`.
            tags: See `ingest`.
            happened_at: See `ingest`.

        Raises:
            InvalidInput: An argument can't be taken.
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
        """Return what is relevant to a query, best first.

        Args:
            query: Any text; of a longer one the first 300 and last 700 characters count.
            top_k: At most so many results, over 100 is cut to 100; None: as many as the profile
                says, else the configuration (`rag_limit`, 5).
            token_budget: They cost at most so many tokens in a prompt.
            kinds: Only these kinds; "episode" stands for messages.
            session: Only this conversation.
            tags: Only memories that have all of these.
            since: Only what happened, or was said, at or after this.
            until: Only what happened, or was said, before this.
            as_of: What the store knew then, instead of now.
            mode: "hybrid", "vector" or "keyword".
            include_compressed: Whether to take what a summary stands for.
            touch: Whether to count this as a use of what is returned.
            trace: Whether to say how the answer came about.

        Raises:
            InvalidInput: An argument can't be taken.
            ServiceFailed: The embedder failed.
        """
        recalling = self._services.retriever
        request = recalling.build_request(
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
        return recalling.recall(self.owner_id, request, touch=touch)

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
        """Return what is relevant as text for a system prompt; empty with nothing to say.

        As many results as fit into the token budget, at most `top_k`; None: as many as the profile
        says, else 100. `state` says how things stand now, for the profile whose prompt has a place
        for it (`tiers`). See `recall`.
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
        """Return what `context` does, with the results that it shows and what it costs.

        Ids in `without` are left out: of messages, say, that stand in the prompt anyway.
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
        """Return a memory, by id in any state, or the active one of a key.

        A forgotten one is without its words, until it is restored.

        Raises:
            InvalidInput: That is no id, or not just one of `id` and `key` is given.
            NotFound: There is none of that id or key.
        """
        return self._services.memory_reader.get(self.owner_id, id, key)

    def message(self, id: str) -> Message:
        """Return a message.

        Raises:
            InvalidInput: That is no id.
            NotFound: There is none with it, or it is forgotten.
        """
        return self._services.memory_reader.message(self.owner_id, id)

    def messages(
        self, session: str = DEFAULT_SESSION, *, limit: int | None = None, after: int = 0
    ) -> tuple[Message, ...]:
        """Return a conversation's messages, in order, from the first after a sequence number."""
        return self._services.memory_reader.messages(
            self.owner_id, session, limit=limit, after=after
        )

    def sessions(self) -> tuple[Session, ...]:
        """Return the conversations, in the order in which they were first logged."""
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
        """Return a page of memories, newest first; forgotten ones are without their words.

        Args:
            kind: Only this kind.
            state: Only this state; "all": every state. None: active ones.
            tags: Only those that have all of these.
            limit: At most so many; over 1,000 is cut to 1,000.
            cursor: The `cursor` of the page before.
            offset: How many to pass over.

        Raises:
            InvalidInput: An argument can't be taken.
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
        """Change an active memory; return it as it is now. Another content is a new version.

        Raises:
            InvalidInput: An argument can't be taken, or there is none.
            NotFound: There is no active memory with that id.
            Conflict: Another memory says that already, or has that key.
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
        """Retire the memory `old` in favour of `new` (ids); return the retired one.

        Raises:
            NotFound: There is no such memory.
            Conflict: They are the same, one is not active, or a cycle would come of it.
        """
        return self._services.memory_editor.supersede(self.owner_id, old, new)

    def forget(self, id: str | None = None, *, key: str | None = None) -> ForgetResult:
        """Take a memory, by id or key, or a message out of every door; say what was touched.

        The sentences it came from go too, in the messages where they stand, with the summaries that
        stand for any of it, and the notes of the base memory that tell of it. `restore` undoes it.
        Only `recall` and `context` with an `as_of` from before still give its words; what must be
        gone for good is to be purged.

        Raises:
            InvalidInput: Not just one of `id` and `key` is given.
            NotFound: There is nothing of that id or key, or it is forgotten already.
        """
        return self._services.memory_editor.forget(self.owner_id, id, key)

    def purge(self, id: str | None = None, *, key: str | None = None) -> PurgeResult:
        """Remove a memory, by id or key, or a message for good; say what was touched.

        As `forget`, but no version of it is left anywhere, and nothing brings it back; what is
        forgotten already can be purged. Other owners, and copies made before, are not touched.

        Raises:
            InvalidInput: Not just one of `id` and `key` is given.
            NotFound: There is nothing of that id, or no active memory of that key.
        """
        return self._services.purger.purge(self.owner_id, id, key)

    def restore(self, id: str) -> Memory | Message:
        """Undo a forgetting or a supersession; return what is active again.

        Raises:
            NotFound: There is no such memory or message.
            Conflict: It is active, or another memory has its key or says the same.
        """
        return self._services.memory_editor.restore(self.owner_id, id)

    def review(self) -> tuple[Memory | Message, ...]:
        """Return what is withheld from recall until it is reviewed, in the order it was stored.

        That is what tools, documents, imports, assistants and other people said that tries to
        instruct a model. What the user says so is recalled, as a quotation. And it is what a model
        has learned that nothing said supports: of state `unsupported`.
        """
        return self._services.review_queue.list_quarantined(self.owner_id)

    def approve(self, id: str) -> Memory | Message:
        """Let a withheld memory or message be recalled, an order as a quotation; return it.

        Raises:
            NotFound: Nothing with that id waits for a review.
        """
        return self._services.review_queue.approve(self.owner_id, id)

    def reject(self, id: str) -> ForgetResult:
        """Forget a withheld memory or message; say what was touched. `restore` undoes it.

        Raises:
            NotFound: Nothing with that id waits for a review.
        """
        return self._services.review_queue.reject(self.owner_id, id)

    def history(self, id: str | None = None, *, key: str | None = None) -> History:
        """Return versions and events of a memory, by id or key, oldest first.

        A forgotten one's are without words.

        Raises:
            InvalidInput: That is no id, or not just one of `id` and `key` is given.
            NotFound: There is no memory of that id, or no active one of that key.
        """
        return self._services.memory_reader.history(self.owner_id, id, key)

    def profile(self) -> str:
        """Return the name of the owner's profile."""
        return self._services.memory_reader.profile_name(self.owner_id)

    def equivalent_kind(self, kind: str) -> str:
        """Return what the owner's profile calls a kind of `standard`.

        Raises:
            InvalidInput: There is no such kind.
        """
        return self._services.memory_reader.equivalent_kind(self.owner_id, kind)

    def switch_profile(
        self,
        name: str,
        *,
        dry_run: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> ProfileSwitch:
        """Let another profile hold from now on; say what that changes.

        Memories keep their ids and history; their kinds become those of the new profile by a
        fixed map, and what they were is kept, so that the way back loses nothing.

        Args:
            name: The profile.
            dry_run: Only say what would change.
            advance: Called with a number of texts as they are made ready.

        Raises:
            InvalidInput: There is no such profile.
            ServiceFailed: The embedder failed; the old profile holds.
        """
        return self._services.profile_switcher.switch(
            self.owner_id, name, dry_run=dry_run, advance=on_progress
        )

    def recent(
        self, limit: int = RECENT_MESSAGES, *, session: str | None = None
    ) -> tuple[Message, ...]:
        """Return the last messages, oldest first: the working memory of a conversation.

        Args:
            limit: At most so many.
            session: Only of this conversation; None: of all.
        """
        return self._services.memory_reader.recent_messages(self.owner_id, limit, session)

    def base_memory(self, *, as_of: datetime | None = None) -> BaseMemory | None:
        """Return the living document about the owner, as it stands or stood then; None: none."""
        return self._services.base_memory.get(self.owner_id, as_of=as_of)

    def base_memory_versions(self) -> tuple[BaseMemory, ...]:
        """Return all versions of the base memory, oldest first."""
        return self._services.base_memory.list_versions(self.owner_id)

    def set_base_memory(self, content: str) -> BaseMemory:
        """Let the base memory say this from now on; the version before is kept.

        Raises:
            InvalidInput: The content is empty, or longer than 20,000 characters.
        """
        return self._services.base_memory.replace_content(self.owner_id, content)

    def roll_back_base_memory(self, version: int) -> BaseMemory:
        """Let the base memory say again what it said in an earlier version.

        Raises:
            NotFound: There is no such version.
        """
        return self._services.base_memory.roll_back(self.owner_id, version)

    def summaries(self) -> tuple[Memory, ...]:
        """Return the active memories that stand for others or for messages, oldest first."""
        return self._services.memory_reader.summaries(self.owner_id)

    def undo_consolidation(self, id: str) -> Memory:
        """Take a summary back: what it stands for is recalled as before; return it, not active.

        Its sources are not summarised again. `restore` brings it back. For the base memory, see
        `roll_back_base_memory`.

        Raises:
            NotFound: There is no active summary with that id.
        """
        return self._services.consolidator.undo(self.owner_id, id)

    def compress(
        self,
        history: Sequence[Mapping[str, Any]],
        *,
        session: str = DEFAULT_SESSION,
        context_window: int | None = None,
    ) -> CompressionResult:
        """Make the history of a conversation shorter, where that is due; what goes is remembered.

        Due is it where the history takes more than half of the model's window, where so many
        turns have gathered, or after a silence. What was said before gives way to a summary; the
        newest messages stay, and a call of a tool is never parted from its result. What fails is
        logged, never raised: the history is then as it was.

        Args:
            history: As chat services take it: mappings with `role`, `content` and, where tools are
                used, `tool_calls`; with the summary of an earlier call, or all of it each time.
            session: The conversation.
            context_window: What the model's window holds, in tokens; None: as configured.

        Raises:
            InvalidInput: An argument can't be taken.
        """
        return self._services.history_compressor.compress(
            self.owner_id, history, session_id=session, context_window=context_window
        )

    def backlog(self) -> PendingWork:
        """Return what waits to be learned from with a model, and what failed too often."""
        return self._services.work_runner.get_pending_work(self.owner_id)

    def retry(self) -> None:
        """Let work that failed be tried again at once, what is parked too."""
        self._services.work_runner.retry(self.owner_id)

    def usage(self, *, since: datetime | None = None) -> UsageReport:
        """Return what language models were asked for the owner, and what it cost.

        Args:
            since: From the hour (UTC) of this time on; None: in the hour that it is.

        Raises:
            InvalidInput: The time has no zone.
        """
        return self._services.usage_reporter.report(self.owner_id, since)

    def stats(self) -> Statistics:
        """Return how much is stored."""
        return self._services.memory_reader.statistics(self.owner_id)

    def audit(self, *, examples: int = DEFAULT_AUDIT_EXAMPLES, near: bool = True) -> Audit:
        """Tell how many of the active memories are not worth keeping, and which.

        Duplicates, fragments of sentences, filler (greetings, offers of help) and echoes of what
        memory or a prompt said. By words, no model is asked; nothing is changed.

        Args:
            examples: How many of each to show; over 1,000 is cut to 1,000.
            near: Whether to look for those that are near in meaning, too, of the first 20,000
                others, by the vectors that the store has.

        Raises:
            InvalidInput: An argument can't be taken.
        """
        return self._services.auditor.audit(self.owner_id, examples=examples, near=near)

    def export(self) -> Iterator[Record]:
        """Give all messages by session, then all memories with their history, oldest first.

        As of one instant; what is forgotten is left out.
        """
        return self._services.transfer.export_records(self.owner_id)

    def import_(self, records: Sequence[Record | ImportedMemory]) -> ImportResult:
        """Store what an export gave, unchanged; all or nothing. What is there already stays.

        What the records say of who said what is believed.

        Raises:
            InvalidInput: A record can't be taken; the error's field says which.
        """
        return self._services.transfer.import_records(self.owner_id, records)

    def __repr__(self) -> str:
        """Name the owner."""
        return f"{type(self).__name__}({self.owner_id!r})"
