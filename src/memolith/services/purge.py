"""Removing for good: one memory or message, or everything of an owner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Event, Memory, State
from memolith.errors import InvalidInput, NotFound
from memolith.policies import arguments, ids
from memolith.policies.documents import left_of
from memolith.policies.folding import spoken, without
from memolith.services import condensed
from memolith.services.indexing import Text, in_window, message_text
from memolith.services.remains import is_summary, messages_of, said_by, stands_without, told_by
from memolith.services.screening import screened_name
from memolith.services.writing import Writing
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memolith.domain.messages import Message
    from memolith.policies.retold import Retold
    from memolith.ports.removal import Wording
    from memolith.ports.store import IndexEntry, Snapshot, Transaction
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.writing import Underway


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge has removed for good.

    Attributes:
        memories: Ids of the memories that are gone.
        messages: Ids of the messages that are gone, or lost a sentence in all their versions.
        settled: Whether the store's own logs hold nothing of it either. False where somebody
            was reading them for too long; the next purge, or closing the store here, tries
            again.
    """

    memories: tuple[str, ...]
    messages: tuple[str, ...]
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Erased:
    """What erasing an owner has done.

    Attributes:
        owner_id: Who.
        settled: See `Purged`.
    """

    owner_id: str
    settled: bool = True


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be removed.

    Attributes:
        memories: Ids of memories.
        messages: The messages that change: the versions left of each, none where it goes whole.
        windows: The messages just after those, whose keywords come in part from them.
        documents: What versions of the base memory still say that say something of it.
        released: What the summaries among the memories stand for.
    """

    memories: tuple[str, ...]
    messages: Mapping[str, Sequence[Wording]]
    windows: Mapping[str, Sequence[Wording]]
    documents: Mapping[int, str]
    released: condensed.Loose

    @property
    def gone(self) -> list[str]:
        """All ids that go."""
        return [*self.memories, *(id_ for id_, left in self.messages.items() if not left)]

    @property
    def left(self) -> dict[str, Sequence[Wording]]:
        """The versions of all messages that are to be indexed anew."""
        changed = {id_: left for id_, left in self.messages.items() if left}
        return {**self.windows, **changed}


class Purging:
    """Removes for good, under the owner's lock."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer
        self._writing = Writing(access.store, indexer)

    def purge(self, owner_id: str, id: str | None, key: str | None) -> Purged:
        """Remove a memory, or a message, for good, with what it came from or gave rise to.

        It reaches what `Changing.forget` reaches, and the earlier versions of it; what is
        forgotten can be purged too. Of other memories that came from it the source is lost.
        Summaries that stand for it go as a whole.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: Not just one of `id` and `key` is given.
            NotFound: The owner has no such memory or message.
        """
        self._access.check_enabled()
        if (id is None) == (key is None):
            raise InvalidInput("id", "give either an id or a key")
        now = self._access.clock.now()
        store = self._access.store
        with store.read(owner_id) as known:
            plan = self._plan(known, _target(known, id, key), now)
        ahead = list(_texts(self._access.profile(owner_id), plan.left))

        def change(underway: Underway) -> _Plan:
            plan = self._plan(underway.tx, _target(underway.tx, id, key), now)
            self._carry_out(underway, plan, now)
            return plan

        plan = self._writing.write(owner_id, change, ahead)
        self._indexer.forget_recent(owner_id)
        store.idempotency.forget_replies(owner_id)
        return Purged(plan.memories, tuple(plan.messages), store.settle())

    def erase(self, owner_id: str) -> Erased:
        """Remove everything of an owner for good, and bar the owner's return.

        Where memory is switched off too. Doing it again is no error.

        Raises:
            NotFound: The owner has nothing, and never was erased.
        """
        arguments.name(owner_id, "owner")
        store = self._access.store
        if not store.is_erased(owner_id) and owner_id not in store.owners():
            raise NotFound("owner", screened_name(owner_id, "owner"))
        store.erase(owner_id, self._access.clock.now())
        self._indexer.forget_recent(owner_id)
        return Erased(owner_id, store.settle())

    def readmit(self, owner_id: str) -> None:
        """Let an erased owner begin again, with nothing.

        Raises:
            NotFound: The owner was not erased.
        """
        if not self._access.store.readmit(arguments.name(owner_id, "owner")):
            raise NotFound("erased owner", screened_name(owner_id, "owner"))

    def _plan(self, snapshot: Snapshot, target: Memory | Message, now: datetime) -> _Plan:
        if isinstance(target, Memory) and is_summary(snapshot, target):
            documents = _documents_without(snapshot, said_by(snapshot, target), None)
            return _Plan((target.id,), {}, {}, documents, condensed.loose(()))
        memories = [target] if isinstance(target, Memory) else _only_from(snapshot, target)
        said = frozenset[str]().union(*(told_by(snapshot, memory) for memory in memories))
        messages, reached = _messages(snapshot, target, said, now)
        told = condensed.told_of(snapshot, [target, *memories])
        ids = (target.id, *(memory.id for memory in memories), *reached)
        made = condensed.made_of(snapshot, ids, told, self._access.profile(snapshot.owner_id))
        return _Plan(
            tuple(memory.id for memory in (*memories, *made)),
            messages,
            _after(snapshot, messages),
            _documents_without(snapshot, said, told),
            condensed.loose(each for each in made if each.state is State.ACTIVE),
        )

    def _carry_out(self, underway: Underway, plan: _Plan, now: datetime) -> None:
        tx, left = underway.tx, plan.left
        profile = self._access.profile(tx.owner_id)
        bare = {
            id_: [(each, underway.entry(message_text(profile, each.message))) for each in wordings]
            for id_, wordings in left.items()
        }
        before = {id_: self._before(tx, id_, plan) for id_ in left}
        versions = {memory.id: memory.version for memory in tx.memories(plan.memories)}
        plan.released.release(tx, now)
        tx.purge(plan.gone)
        tx.reword_base_memory(plan.documents)
        for id_, pairs in bare.items():
            tx.reword(
                id_,
                [
                    (wording.message, in_window(entry, self._window(wording, before[id_])))
                    for wording, entry in pairs
                ],
            )
        # Of a message 0, by which `verify` knows that its place is empty on purpose.
        tx.record(
            [Event(id_, Action.PURGED, now, "user", versions.get(id_, 0)) for id_ in plan.gone]
        )

    def _before(self, tx: Transaction, id_: str, plan: _Plan) -> Sequence[Wording]:
        """Return what the message before one will have said in its versions."""
        previous = tx.adjacent(id_, -1)
        if previous is None:
            return ()
        if previous in plan.messages:
            return plan.messages[previous]
        return tx.wordings([previous]).get(previous, ())

    def _window(self, wording: Wording, before: Sequence[Wording]) -> IndexEntry | None:
        """Return the entry of what stood before a version: now, or when it was stored."""
        for other in reversed(before):
            if _is_seen_from(wording, other):
                text = Text(other.message.content, other.message.speaker)
                return self._indexer.keywords_only(text)
        return None


def _is_seen_from(wording: Wording, before: Wording) -> bool:
    if wording.valid_to is None:
        return before.valid_to is None
    at = wording.valid_from
    return before.valid_from <= at and (before.valid_to is None or at < before.valid_to)


def _target(snapshot: Snapshot, id_: str | None, key: str | None) -> Memory | Message:
    """Return what is to be purged, in whatever state."""
    if key is not None:
        keyed = snapshot.by_key(screened_name(key, "key"))
        if keyed is None:
            raise NotFound("key", key)
        return keyed
    wanted = ids.parse(str(id_))
    for memory in snapshot.memories([wanted]):
        return memory
    for message in snapshot.originals([wanted]):
        return message
    raise NotFound("memory", wanted)


def _messages(
    snapshot: Snapshot, target: Memory | Message, said: frozenset[str], now: datetime
) -> tuple[dict[str, Sequence[Wording]], Sequence[str]]:
    """Return the messages that change, and what is left of each; and all that it came from."""
    if not isinstance(target, Memory):
        return {target.id: ()}, ()
    wordings = snapshot.wordings(messages_of(snapshot, target, now))
    left = {id_: list(_left(versions, said)) for id_, versions in wordings.items()}
    reached = () if target.state is State.UNSUPPORTED else tuple(wordings)
    return {id_: each for id_, each in left.items() if each != wordings[id_]}, reached


def _documents_without(
    snapshot: Snapshot, said: frozenset[str], told: Retold | None
) -> dict[int, str]:
    """Return what versions of the base memory say without sentences, those that change by it."""

    @cache
    def is_out(sentence: str) -> bool:
        return content_key(spoken(sentence)) in said or (told is not None and told(sentence))

    left = {each.version: left_of(each.content, is_out) for each in snapshot.base_memories()}
    return {
        each.version: left[each.version]
        for each in snapshot.base_memories()
        if left[each.version] != each.content
    }


def _left(versions: Iterable[Wording], said: frozenset[str]) -> Iterator[Wording]:
    """Yield the versions of a message without sentences, those that still say something."""
    for wording in versions:
        content = without(wording.message.content, said)
        if content:
            yield replace(wording, message=replace(wording.message, content=content))


def _only_from(snapshot: Snapshot, message: Message) -> list[Memory]:
    """Return the memories that nothing else says than this message."""
    derived = snapshot.derived([message.id]).get(message.id, [])
    return [
        each
        for each in derived
        if not is_summary(snapshot, each) and not stands_without(snapshot, each, message.id)
    ]


def _after(snapshot: Snapshot, changed: Mapping[str, object]) -> dict[str, Sequence[Wording]]:
    """Return the messages that follow changed ones, unless they change themselves."""
    found = (snapshot.adjacent(id_, 1) for id_ in changed)
    return dict(snapshot.wordings([id_ for id_ in found if id_ and id_ not in changed]))


def _texts(profile: Profile, wordings: Mapping[str, Sequence[Wording]]) -> Iterator[Text]:
    for versions in wordings.values():
        for each in versions:
            yield message_text(profile, each.message)
