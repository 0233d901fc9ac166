"""Reads memories, messages, sessions, profiles and statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memolith.domain.memories import History, Memory, Page, State
from memolith.domain.messages import Message, Session
from memolith.domain.owners import Statistics
from memolith.errors import InvalidInput, NotFound
from memolith.policies import arguments
from memolith.policies.classification import get_profile_kind
from memolith.policies.consolidation import SUMMARY_KIND
from memolith.policies.histories import is_entry
from memolith.ports.admin import SupportsExternalVectors
from memolith.ports.store import Snapshot
from memolith.services.access import Access
from memolith.services.maintenance import refresh_strengths
from memolith.services.validation import validate_kind, validate_name

MAX_PAGE_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """A profile's description.

    Attributes:
        name: The name used to choose it.
        description: When to choose it, in a phrase.
        kinds: Its kinds of memories.
    """

    name: str
    description: str
    kinds: tuple[str, ...]


class MemoryReader:
    """Reads single records, lists and statistics."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, owner_id: str, id: str | None, key: str | None = None) -> Memory:
        """Return a memory in any state by id, or an active one by key, with its current strength.

        A forgotten memory is returned without content.

        Raises:
            InvalidInput: `id` is not valid, or not exactly one of `id` and `key` is given.
            NotFound: The owner has no such memory.
        """
        with self._access.store.read(owner_id) as snapshot:
            memory = _find_memory(snapshot, id, key)
        return self._refresh_strengths(owner_id, hide_forgotten([memory]))[0]

    def summaries(self, owner_id: str) -> tuple[Memory, ...]:
        """Return the active summaries of memories, messages or histories, oldest first."""
        profile = self._access.get_profile(owner_id)
        kinds = {
            profile.consolidation.kind,
            get_profile_kind(SUMMARY_KIND, profile),
        }
        with self._access.store.read(owner_id) as snapshot:
            stats = snapshot.memory_stats(states=frozenset({State.ACTIVE}))
            rows = [row for row, kind in enumerate(stats.kind) if kind in kinds]
            memories = snapshot.memories([stats.id[row] for row in rows])
        return tuple(
            self._refresh_strengths(owner_id, [each for each in memories if _is_summary(each)])
        )

    def message(self, owner_id: str, id: str) -> Message:
        """Return a message.

        Raises:
            InvalidInput: `id` is not a valid id.
            NotFound: The owner has no such message, or it is forgotten.
        """
        id_ = arguments.parse_id(id)
        with self._access.store.read(owner_id) as snapshot:
            messages = snapshot.messages(ids=[id_])
        if not messages:
            raise NotFound("message", id_)
        return messages[0]

    def page(
        self,
        owner_id: str,
        *,
        kind: str | None,
        state: str | None,
        tags: Iterable[str],
        limit: int,
        cursor: str | None,
        offset: int = 0,
    ) -> Page:
        """Return memories, newest first; by default the active ones of all kinds.

        Forgotten memories are returned without content.

        Raises:
            InvalidInput: An argument is not valid.
        """
        profile = self._access.get_profile(owner_id)
        if kind is not None and kind not in profile.kinds:
            raise InvalidInput(
                "kind", f"{arguments.format_value(kind)} is not one of {', '.join(profile.kinds)}"
            )
        if cursor is not None:
            arguments.check_name(cursor, "cursor")
        with self._access.store.read(owner_id) as snapshot:
            page = snapshot.page(
                states=_parse_states(state),
                kinds=None if kind is None else frozenset({kind}),
                tags=arguments.check_tags(tags),
                limit=arguments.check_count(limit, "limit", minimum=0, maximum=MAX_PAGE_SIZE),
                cursor=cursor,
                offset=arguments.check_count(offset, "offset", minimum=0),
            )
        return replace(
            page, memories=tuple(self._refresh_strengths(owner_id, hide_forgotten(page.memories)))
        )

    def messages(
        self, owner_id: str, session_id: str, *, limit: int | None, after: int
    ) -> tuple[Message, ...]:
        """Return the messages of a session with sequence numbers above `after`, in order.

        Raises:
            InvalidInput: An argument is not valid.
        """
        arguments.check_name(session_id, "session")
        count = None if limit is None else arguments.check_count(limit, "limit", minimum=0)
        first = arguments.check_count(after, "after", minimum=0)
        with self._access.store.read(owner_id) as snapshot:
            return tuple(snapshot.messages(session_id=session_id, after=first, limit=count))

    def recent_messages(
        self, owner_id: str, limit: int, session: str | None
    ) -> tuple[Message, ...]:
        """Return the last messages, oldest first.

        Raises:
            InvalidInput: An argument is not valid.
        """
        count = arguments.check_count(limit, "limit", minimum=0, maximum=MAX_PAGE_SIZE)
        name = None if session is None else validate_name(session, "session")
        with self._access.store.read(owner_id) as snapshot:
            return tuple(snapshot.recent_messages(count, session_id=name))

    def sessions(self, owner_id: str) -> tuple[Session, ...]:
        """Return the owner's conversations, ordered by first logged message."""
        with self._access.store.read(owner_id) as snapshot:
            return tuple(snapshot.sessions())

    def history(self, owner_id: str, id: str | None, key: str | None = None) -> History:
        """Return a memory's versions and events, oldest first; without content if it is forgotten.

        Raises:
            InvalidInput: `id` is not valid, or not exactly one of `id` and `key` is given.
            NotFound: The owner has no memory with this id, or no active one with this key.
        """
        with self._access.store.read(owner_id) as snapshot:
            memory = _find_memory(snapshot, id, key)
            history = snapshot.history(memory.id)
        if history is None:
            raise NotFound("memory", memory.id)
        return _hide_history(history) if memory.state is State.FORGOTTEN else history

    def profiles(self) -> tuple[ProfileInfo, ...]:
        """Return all profiles, the default one first."""
        default = self._access.default_profile
        profiles = sorted(self._access.profiles.values(), key=lambda each: each.name != default)
        return tuple(ProfileInfo(each.name, each.description, each.kinds) for each in profiles)

    def profile_name(self, owner_id: str) -> str:
        """Return the name of the owner's profile, even if its definition is missing."""
        return self._access.get_profile_name(owner_id)

    def has_profile(self, owner_id: str) -> bool:
        """Return whether the owner's profile is defined."""
        return self._access.find_profile(owner_id) is not None

    def equivalent_kind(self, owner_id: str, kind: str) -> str:
        """Return the owner's equivalent of a kind of the `standard` profile, or the kind itself.

        Raises:
            InvalidInput: There is no such kind.
        """
        profile = self._access.get_profile(owner_id)
        return validate_kind(profile.own_kinds.get(kind, kind), profile)

    def statistics(self, owner_id: str) -> Statistics:
        """Return statistics of the owner's stored records."""
        store = self._access.store
        with store.read(owner_id) as snapshot:
            statistics = snapshot.statistics()
        if isinstance(store, SupportsExternalVectors):
            return replace(statistics, vectors_pending=store.vectors_pending(owner_id))
        return statistics

    def _refresh_strengths(self, owner_id: str, memories: Sequence[Memory]) -> list[Memory]:
        """Return memories with their current strength."""
        return refresh_strengths(
            self._access.get_profile(owner_id), memories, self._access.clock.now()
        )


def _find_memory(snapshot: Snapshot, id: str | None, key: str | None) -> Memory:
    """Return a memory in any state by id, or an active one by key."""
    if (id is None) == (key is None):
        raise InvalidInput("id", "give exactly one of id and key")
    if key is not None:
        keyed = snapshot.find_by_key(validate_name(key, "key"))
        if keyed is None:
            raise NotFound("key", key)
        return keyed
    id_ = arguments.parse_id(str(id))
    memories = snapshot.memories([id_])
    if not memories:
        raise NotFound("memory", id_)
    return memories[0]


def _is_summary(memory: Memory) -> bool:
    has_sources = memory.kind == SUMMARY_KIND and bool(memory.sources)
    return (
        has_sources
        or is_entry(memory.key)
        or any(each.record_type == "memory" for each in memory.sources)
    )


def hide_forgotten(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories with the content of forgotten ones removed."""
    return [_remove_content(each) if each.state is State.FORGOTTEN else each for each in memories]


def _remove_content(memory: Memory) -> Memory:
    return replace(memory, content="", summary=None, key=None, tags=())


def _hide_history(history: History) -> History:
    versions = (replace(each, memory=_remove_content(each.memory)) for each in history.versions)
    return replace(history, versions=tuple(versions))


def _parse_states(state: str | None) -> frozenset[State]:
    if state is None:
        return frozenset({State.ACTIVE})
    if state == "all":
        return frozenset(State)
    try:
        return frozenset({State(state)})
    except ValueError:
        problem = f"{arguments.format_value(state)} is not one of all, {', '.join(State)}"
        raise InvalidInput("state", problem) from None
