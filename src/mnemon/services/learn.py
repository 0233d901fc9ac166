"""Taking in a conversation: its messages as episodes, and typed memories by their cues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mnemon.domain.memories import Memory, Source
from mnemon.domain.messages import Message, Role, role_of
from mnemon.errors import InvalidInput
from mnemon.policies import arguments
from mnemon.services.indexing import Text, in_window
from mnemon.services.remember import Draft, Indexed, judged, near_memories, write_memory
from mnemon.services.screening import screened_name
from mnemon.text.cleaning import clean
from mnemon.text.cues import cue_sentences
from mnemon.text.screening import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from mnemon.ports.store import IndexEntry, Snapshot, Transaction
    from mnemon.profiles.model import Profile
    from mnemon.services.access import Access
    from mnemon.services.indexing import Indexer

MAX_SENTENCES = 50
"""How many sentences of one message become memories, at most: who says more of himself at once
pastes a document. A guess."""

MAX_SENTENCE_CHARS = 500
"""The longest sentence that becomes a memory: as long as a fact of `facts` may be. What is longer
without an end is a list or a listing, and is found as the message it stands in."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a call has taken in.

    Attributes:
        messages: The messages stored, in order.
        memories: The memories learned of them, new or restated, in order.
        already: How many of the messages given were there before, by their external ids.
        redactions: How many secrets were taken out of the messages that are new.
    """

    messages: tuple[Message, ...]
    memories: tuple[Memory, ...]
    already: int = 0
    redactions: int = 0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A message ready to be stored, with the memories that its sentences make."""

    message: Message
    entry: IndexEntry
    drafts: tuple[tuple[Draft, Indexed], ...]
    redactions: int


class Learning:
    """Takes in conversations."""

    def __init__(self, access: Access, indexer: Indexer, *, typed: bool = True) -> None:
        """Use these; `typed` says whether memories are made of sentences with cues."""
        self._access = access
        self._indexer = indexer
        self._typed = typed

    def log(self, owner_id: str, messages: Sequence[Message], *, session_id: str) -> Learned:
        """Store messages of one session, in order, and what is learned of them: all or nothing.

        Messages whose external id the session has already are passed over.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: A message can't be taken; the field says which.
        """
        self._access.check_enabled()
        screened_name(session_id, "session")
        now = self._access.clock.now()
        profile = self._access.profile(owner_id)
        checked = [
            _checked(message, owner_id, session_id, place, now)
            for place, message in enumerate(arguments.several(messages, "messages"))
        ]
        with self._access.store.read(owner_id) as known:
            fresh = _fresh(checked, known, session_id)
            prepared = self._prepare(fresh, known, profile, now)
        if not prepared:
            return Learned((), (), already=len(checked))
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(profile.name)
            late = tx.external_ids(session_id, _external_ids(fresh))
            kept = [each for each in prepared if each.message.external_id not in late]
            stored = self._store_messages(tx, session_id, kept, now)
            memories = self._store_memories(tx, owner_id, kept, stored, now)
        return Learned(
            tuple(stored),
            tuple(memories),
            already=len(checked) - len(stored),
            redactions=sum(each.redactions for each in kept),
        )

    def end_session(self, owner_id: str, session_id: str) -> None:
        """Mark a session as ended.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: The session's name can't be taken.
        """
        self._access.check_enabled()
        arguments.name(session_id, "session")
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            tx.end_session(session_id, now)

    def _prepare(
        self, messages: Sequence[Message], known: Snapshot, profile: Profile, now: datetime
    ) -> list[_Prepared]:
        """Do what needs no lock: screening, passages, keywords, vectors, drafts of memories."""
        redacted = [redact(message.content) for message in messages]
        messages = [
            replace(message, content=content)
            for message, (content, _) in zip(messages, redacted, strict=True)
        ]
        drafts = [self._drafts(message, profile) for message in messages]
        texts = [Text(message.content, message.speaker) for message in messages]
        flat = [Text(draft.content) for each in drafts for draft in each]
        entries = self._indexer.entries([*texts, *flat], known)
        rest = iter(entries[len(texts) :])
        prepared = []
        counts = [count for _, count in redacted]
        for message, entry, own, count in zip(messages, entries, drafts, counts, strict=False):
            indexed = []
            for draft in own:
                draft_entry = next(rest)
                near = near_memories(known, draft_entry, profile, now)
                indexed.append((draft, Indexed(draft_entry, near)))
            prepared.append(_Prepared(message, entry, tuple(indexed), count))
        return prepared

    def _drafts(self, message: Message, profile: Profile) -> tuple[Draft, ...]:
        """Return a memory for each sentence of the user's that has a cue."""
        if not self._typed or message.role is not Role.USER:
            return ()
        drafts: list[Draft] = []
        for span, _cues in cue_sentences(message.content):
            if len(drafts) == MAX_SENTENCES:
                break
            sentence = span.of(message.content)
            if len(sentence) <= MAX_SENTENCE_CHARS and not sentence.endswith("?"):
                draft = Draft(
                    content=sentence,
                    kind="",
                    judged=0.0,
                    happened_at=message.at,
                    session_id=message.session_id,
                )
                drafts.append(judged(draft, profile))
        return tuple(drafts)

    def _store_messages(
        self, tx: Transaction, session_id: str, prepared: Sequence[_Prepared], now: datetime
    ) -> list[Message]:
        first = tx.next_sequence(session_id)
        previous = self._last_entry(tx, session_id, first)
        pairs = []
        for offset, each in enumerate(prepared):
            message = replace(each.message, id=self._access.new_id(now), sequence=first + offset)
            pairs.append((message, in_window(each.entry, previous)))
            previous = each.entry
        tx.log(session_id, pairs, at=now)
        return [message for message, _ in pairs]

    def _last_entry(self, tx: Transaction, session_id: str, first: int) -> IndexEntry | None:
        """Return the keywords of the message just before the first new one."""
        last = tx.messages(session_id=session_id, after=first - 2, limit=1) if first > 1 else []
        if not last:
            return None
        return self._indexer.keywords_only(Text(last[0].content, last[0].speaker))

    def _store_memories(
        self,
        tx: Transaction,
        owner_id: str,
        prepared: Sequence[_Prepared],
        stored: Sequence[Message],
        now: datetime,
    ) -> list[Memory]:
        memories = []
        for each, message in zip(prepared, stored, strict=True):
            source = Source(message.id, "message", message.external_id)
            for draft, indexed in each.drafts:
                sourced = replace(draft, sources=(source,))
                new_id = self._access.new_id(now)
                memories.append(
                    write_memory(tx, new_id, owner_id, sourced, indexed, now, by="learn")
                )
        return memories


def _checked(message: object, owner_id: str, session_id: str, place: int, now: datetime) -> Message:
    """Return a message as it is stored, but for id, sequence number, and secrets in it."""
    field = f"messages[{place}]"
    if not isinstance(message, Message):
        raise InvalidInput(field, f"must be a Message, not {type(message).__name__}")
    speaker = (
        None if message.speaker is None else screened_name(message.speaker, f"{field}.speaker")
    )
    external = message.external_id
    return replace(
        message,
        speaker=speaker,
        content=clean(message.content, field=f"{field}.content", limit=arguments.MAX_MESSAGE_CHARS),
        role=_role(message.role, speaker, owner_id, field),
        at=now if message.at is None else arguments.instant(message.at, f"{field}.at"),
        external_id=None if external is None else screened_name(external, f"{field}.external_id"),
        session_id=session_id,
        version=1,
    )


def _role(role: Role | None, speaker: str | None, owner_id: str, field: str) -> Role:
    if role is None:
        return role_of(speaker, owner_id)
    try:
        return Role(role)
    except ValueError as error:
        raise InvalidInput(f"{field}.role", f"{role!r} is none of {', '.join(Role)}") from error


def _external_ids(messages: Sequence[Message]) -> list[str]:
    return [message.external_id for message in messages if message.external_id is not None]


def _fresh(messages: Sequence[Message], known: Snapshot, session_id: str) -> list[Message]:
    """Return the messages that the session does not have, each external id once."""
    seen = known.external_ids(session_id, _external_ids(messages))
    fresh = []
    for message in messages:
        if message.external_id is None:
            fresh.append(message)
        elif message.external_id not in seen:
            seen.add(message.external_id)
            fresh.append(message)
    return fresh
