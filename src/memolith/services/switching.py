"""Moving an owner to another profile: the kinds by their map, nothing lost on the way back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Event, Memory, State
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.policies.kinds import kept_kinds, kind_in, with_kept
from memolith.services.indexing import Text, in_window, memory_text, message_text
from memolith.services.paging import all_memories
from memolith.services.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memolith.domain.messages import Message
    from memolith.ports.store import IndexEntry, Snapshot
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.writing import Underway

_ALL = frozenset(State)
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Switched:
    """What a change of profile does, or would do.

    Attributes:
        before: The profile the owner had.
        after: The profile the owner has.
        kinds: How many memories went from which kind to which, most first.
        messages: How many messages were embedded, because they are recalled now.
        dry_run: Whether nothing was changed.
    """

    before: str
    after: str
    kinds: tuple[tuple[str, str, int], ...]
    messages: int
    dry_run: bool = False


class Switching:
    """Moves owners between profiles."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer
        self._writing = Writing(access.store, indexer)

    def switch(
        self,
        owner_id: str,
        name: str,
        *,
        dry_run: bool = False,
        advance: Callable[[int], None] | None = None,
    ) -> Switched:
        """Let another profile hold for an owner, in one step; interrupted, the old one holds.

        Args:
            owner_id: Whose.
            name: The profile.
            dry_run: Only tell what would change.
            advance: Called with a number of texts as they are made ready.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: There is no such profile.
            ServiceFailed: The embedder failed; the old profile holds.
        """
        self._access.check_enabled()
        target = self._named(name)
        source = self._access.profile_or_none(owner_id)
        if source is None:  # no map leads from it: a kind that the new one has keeps its name
            source = replace(target, name=self._access.profile_name(owner_id))
        with self._access.store.read(owner_id) as known:
            memories = list(all_memories(known, _ALL))
            missing = self._unembedded(known, target) if target.embeds(None) else []
        pairs = Counter((each.kind, _moved(each, source, target).kind) for each in memories)
        counted = tuple((old, new, count) for (old, new), count in pairs.most_common())
        done = Switched(source.name, target.name, counted, len(missing), dry_run)
        if dry_run or source.name == target.name:
            return done
        moved = [_moved(each, source, target) for each in memories if each.state is State.ACTIVE]
        texts = [message_text(target, message) for message in missing]
        texts += [_text_in(target, memory) for memory in moved]
        now = self._access.clock.now()

        def change(underway: Underway) -> None:
            self._write(underway, source, target, now)

        self._writing.write(owner_id, change, texts, advance)
        return done

    def _named(self, name: str) -> Profile:
        found = self._access.profiles.get(name)
        if found is None:
            known = ", ".join(self._access.profiles)
            raise InvalidInput("profile", f"{arguments.shown(name)} is none of {known}")
        return found

    def _write(self, underway: Underway, source: Profile, target: Profile, now: datetime) -> None:
        tx = underway.tx
        for memory in list(all_memories(tx, _ALL)):
            self._move(underway, memory, source, target, now)
        if target.embeds(None):
            for message in self._unembedded(tx, target):
                tx.reindex(message.id, self._entry_of(underway, message, target))
        tx.set_profile(target.name)

    def _move(
        self,
        underway: Underway,
        memory: Memory,
        source: Profile,
        target: Profile,
        now: datetime,
    ) -> None:
        tx = underway.tx
        moved = _moved(memory, source, target)
        if memory.state is State.ACTIVE and _lacks(
            _text_in(source, memory), _text_in(target, moved)
        ):
            moved = replace(moved, version=memory.version + 1)
            tx.revise(replace(moved, updated_at=now), underway.entry(_text_in(target, moved)))
        elif moved != memory:
            tx.amend(moved)
        else:
            return
        details = {"fields": "kind", "was": memory.kind, "profile": target.name}
        tx.record([Event(memory.id, Action.UPDATED, now, "profile", moved.version, details)])

    def _unembedded(self, known: Snapshot, target: Profile) -> list[Message]:
        """Return the messages that have no vectors."""
        messages = known.messages()
        found = []
        for first in range(0, len(messages), _BATCH):
            some = messages[first : first + _BATCH]
            bare = [self._indexer.keywords_only(message_text(target, each)) for each in some]
            digests = [{part.digest for part in entry.passages if part.digest} for entry in bare]
            there = known.vectors([digest for each in digests for digest in each])
            found += [
                message
                for message, wanted in zip(some, digests, strict=True)
                if not wanted <= there.keys()
            ]
        return found

    def _entry_of(self, underway: Underway, message: Message, target: Profile) -> IndexEntry:
        tx = underway.tx
        entry = underway.entry(message_text(target, message))
        before = tx.messages(session_id=message.session_id, after=message.sequence - 2, limit=1)
        if not before or before[0].sequence >= message.sequence:
            return entry
        return in_window(
            entry, self._indexer.keywords_only(Text(before[0].content, before[0].speaker))
        )


def _text_in(profile: Profile, memory: Memory) -> Text:
    return memory_text(profile, memory.content, memory.kind, memory.key)


def _lacks(was: Text, now: Text) -> bool:
    """Tell whether what is in the index of a text would be too little."""
    return (now.embedded and not was.embedded) or (now.key is not None and was.key is None)


def _moved(memory: Memory, source: Profile, target: Profile) -> Memory:
    """Return a memory as it is in another profile."""
    kept = kept_kinds(memory.kept_kind)
    own = kept.get(target.name)
    is_own = own in (*target.kinds, target.condensing.kind)
    kind = own if own and is_own else kind_in(memory.kind, source, target)
    return replace(
        memory, kind=kind, kept_kind=with_kept(memory.kept_kind, source.name, memory.kind)
    )
