"""Storing one memory: clean, find out whether it is known, store or restate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mnemon.domain.memories import Action, Event, Link, Memory, Origin, Source
from mnemon.domain.recall import Scope
from mnemon.errors import InvalidInput
from mnemon.policies import arguments
from mnemon.policies.dedup import same_fact
from mnemon.policies.trust import kind_for, may_hold
from mnemon.services.indexing import Text
from mnemon.services.screening import screened, screened_name, screened_tags
from mnemon.text.cues import found as cues_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from mnemon.ports.store import IndexEntry, Snapshot, Transaction
    from mnemon.profiles.model import Profile
    from mnemon.services.access import Access
    from mnemon.services.indexing import Indexer

NEAR = 0.9
"""From which cosine two memories are linked as near. A guess: true restatements stand at 0.95
with the local embedder, and nothing but the display of links depends on it."""

_NEIGHBOURS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory to be stored, checked and cleaned.

    Attributes:
        importance: None where it was not given, but judged: `judged`.
        sources: What it was made from.
        redactions: How many secrets were taken out of the content.
    """

    content: str
    kind: str
    judged: float
    importance: float | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    happened_at: datetime | None = None
    session_id: str | None = None
    origin: Origin = Origin.USER
    sources: tuple[Source, ...] = ()
    redactions: int = 0


class Remembering:
    """Stores single memories."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer

    def remember(
        self,
        owner_id: str,
        content: str,
        *,
        kind: str | None = None,
        importance: float | None = None,
        key: str | None = None,
        tags: Iterable[str] = (),
        expires_in: str = "",
        expires_at: datetime | None = None,
        happened_at: datetime | None = None,
        session_id: str | None = None,
        origin: str = Origin.USER,
    ) -> Memory:
        """Store one memory and return it, or the one that said the same already.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: An argument can't be taken.
        """
        self._access.check_enabled()
        now = self._access.clock.now()
        profile = self._access.profile(owner_id)
        draft = Draft(
            content=content,
            kind="" if kind is None else trusted_kind(checked_kind(kind, profile), origin),
            judged=0.0,
            importance=None if importance is None else arguments.share(importance, "importance"),
            key=None if key is None else screened_name(key, "key"),
            tags=screened_tags(tags),
            expires_at=end_of(expires_in, expires_at, now),
            happened_at=None
            if happened_at is None
            else arguments.instant(happened_at, "happened_at"),
            session_id=None if session_id is None else screened_name(session_id, "session"),
            origin=checked_origin(origin),
        )
        draft = judged(draft, profile)
        with self._access.store.read(owner_id) as known:
            entry = self._indexer.entries([Text(draft.content)], known)[0]
            near = near_memories(known, entry, profile, now)
        with self._access.store.write(owner_id) as tx:
            tx.adopt_profile(profile.name)
            new_id = self._access.new_id(now)
            return write_memory(
                tx, new_id, owner_id, draft, Indexed(entry, near), now, by=draft.origin
            )


def judged(draft: Draft, profile: Profile) -> Draft:
    """Return a draft with its content screened, and kind and importance judged by its cues.

    Raises:
        InvalidInput: The content is empty or too long.
    """
    content, redactions = screened(draft.content, limit=profile.max_memory_chars)
    cues = cues_of(content)
    return replace(
        draft,
        content=content,
        redactions=redactions,
        kind=draft.kind or kind_for(draft.origin, profile.kind_of(cues)),
        judged=profile.importance(cues, words=len(content.split())),
    )


@dataclass(frozen=True, slots=True)
class Indexed:
    """A draft's index entry, and the ids of the memories that it is near to."""

    entry: IndexEntry
    near: tuple[str, ...] = ()


def write_memory(
    tx: Transaction,
    new_id: str,
    owner_id: str,
    draft: Draft,
    indexed: Indexed,
    now: datetime,
    *,
    by: str,
) -> Memory:
    """Store a draft in a transaction: as new, as a new version of its key, or as restated."""
    keyed = tx.by_key(draft.key) if draft.key is not None else None
    if keyed is not None and keyed.content != draft.content:
        return _rewrite(tx, keyed, draft, indexed.entry, now, by)
    known = keyed or _same(tx, draft, indexed.entry.content_key, now)
    if known is not None:
        return _restate(tx, known, draft, now, by)
    memory = _new(new_id, owner_id, draft, now)
    tx.insert([(memory, indexed.entry)])
    tx.link([Link(memory.id, near, "near") for near in indexed.near])
    tx.record([Event(memory.id, Action.REMEMBERED, now, by, 1, told(draft.redactions))])
    return memory


def _same(tx: Transaction, draft: Draft, content_key: str, now: datetime) -> Memory | None:
    alike = [record for record in tx.by_content(content_key) if isinstance(record, Memory)]
    return same_fact(draft.key, [memory for memory in alike if not _ended(memory, now)])


def _ended(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def _new(new_id: str, owner_id: str, draft: Draft, now: datetime) -> Memory:
    importance = draft.judged if draft.importance is None else draft.importance
    return Memory(
        id=new_id,
        owner_id=owner_id,
        kind=draft.kind,
        content=draft.content,
        created_at=now,
        updated_at=now,
        key=draft.key,
        tags=draft.tags,
        importance=importance,
        strength=importance,
        happened_at=draft.happened_at,
        expires_at=draft.expires_at,
        session_id=draft.session_id,
        sources=draft.sources,
        origin=draft.origin,
    )


def _rewrite(
    tx: Transaction, old: Memory, draft: Draft, entry: IndexEntry, now: datetime, by: str
) -> Memory:
    importance = draft.judged if draft.importance is None else draft.importance
    memory = replace(
        old,
        kind=draft.kind,
        content=draft.content,
        summary=None,
        tags=draft.tags or old.tags,
        importance=importance,
        strength=importance,
        happened_at=draft.happened_at,
        expires_at=draft.expires_at,
        session_id=draft.session_id,
        sources=draft.sources,
        origin=draft.origin,
        updated_at=now,
        version=old.version + 1,
    )
    tx.revise(memory, entry)
    tx.record([Event(memory.id, Action.UPDATED, now, by, memory.version, told(draft.redactions))])
    return memory


def _restate(tx: Transaction, known: Memory, draft: Draft, now: datetime, by: str) -> Memory:
    sources = (*known.sources, *(each for each in draft.sources if each not in known.sources))
    importance = known.importance if draft.importance is None else draft.importance
    is_told = draft.origin is Origin.USER is not known.origin
    memory = replace(
        known,
        origin=draft.origin if is_told else known.origin,
        kind=draft.kind if is_told else known.kind,
        key=known.key or draft.key,
        tags=tuple(sorted({*known.tags, *draft.tags})),
        importance=importance,
        strength=importance,
        happened_at=known.happened_at or draft.happened_at,
        expires_at=draft.expires_at or known.expires_at,
        sources=sources,
        updated_at=now,
    )
    tx.amend(memory)
    tx.record([Event(memory.id, Action.RESTATED, now, by, memory.version, told(draft.redactions))])
    return memory


def told(redactions: int) -> dict[str, str]:
    """Return what an event says of the secrets that were taken out."""
    return {"redactions": str(redactions)} if redactions else {}


def near_memories(
    known: Snapshot, entry: IndexEntry, profile: Profile, now: datetime
) -> tuple[str, ...]:
    """Return the ids of the memories that are near to a text's first passage."""
    vector = entry.passages[0].vector if entry.passages else None
    if vector is None:
        return ()
    numbers = known.nearest(vector, _NEIGHBOURS, Scope(now=now, kinds=frozenset(profile.kinds)))
    found = known.similarities(vector, numbers)
    near = {int(row) for row, cosine in zip(found.row, found.cosine, strict=True) if cosine >= NEAR}
    ids = known.items(numbers).record_id
    return tuple(ids[row] for row in sorted(near))


def checked_kind(kind: str, profile: Profile) -> str:
    """Return a kind of the profile.

    Raises:
        InvalidInput: The profile has no such kind.
    """
    if kind not in profile.kinds:
        raise InvalidInput("kind", f"{kind!r} is none of {', '.join(profile.kinds)}")
    return kind


def trusted_kind(kind: str, origin: str) -> str:
    """Return a kind that a memory of that origin may have.

    Raises:
        InvalidInput: It says of the user what only the user can, and comes from outside.
    """
    if not may_hold(checked_origin(origin), kind):
        raise InvalidInput("kind", f"{kind!r} can't come from {origin}, only from what was said")
    return kind


def checked_origin(origin: str) -> Origin:
    """Return an origin.

    Raises:
        InvalidInput: There is no such origin.
    """
    try:
        return Origin(origin)
    except ValueError as error:
        raise InvalidInput("origin", f"{origin!r} is none of {', '.join(Origin)}") from error


def end_of(expires_in: str, expires_at: datetime | None, now: datetime) -> datetime | None:
    """Return when a memory ends by itself; None: never.

    Raises:
        InvalidInput: Both are given, or either can't be taken.
    """
    lasting = arguments.expires_in(expires_in)
    if expires_at is None:
        return None if lasting is None else now + lasting
    if lasting is not None:
        raise InvalidInput("expires_at", "give either expires_in or expires_at")
    end = arguments.instant(expires_at, "expires_at")
    if end <= now:
        raise InvalidInput("expires_at", "has passed already")
    return end
