"""Memories, messages and events as rows, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.damage import decoding
from memolith.adapters.sql.values import (
    instant,
    instant_or_none,
    micros,
    micros_or_none,
    pack_id,
    unpack_id,
)
from memolith.domain.base_memory import BaseMemory
from memolith.domain.memories import DORMANT, Action, Event, Memory, Origin, Source, State
from memolith.domain.messages import Message, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.adapters.sql.sealing import Sealing

    Row = Sequence[Any]

MEMORY_COLUMNS = (
    "id, version, item, kind, state, origin, key, content, summary, tags, importance, strength,"
    " access_count, accessed_at, created_at, updated_at, happened_at, expires_at, superseded_by,"
    " session, sources, compressed, kept_kind, valid_from, valid_to"
)
"""The columns that `memories` and `versions` share, in the order of a row."""

KEYS = {
    "messages": ("id",),
    "message_versions": ("id", "version"),
    "memories": ("id",),
    "versions": ("id", "version"),
    "base_memories": ("version",),
    "passages": ("item", "part"),
}
"""By what, beside the owner, a row of a table is known."""

DORMANT_STATES = ", ".join(f"'{state.value}'" for state in sorted(DORMANT))
"""As a statement lists them."""

_MESSAGE, _MEMORY = 0, 1

_PackedSource = tuple[bytes, int, bytes | None]
"""Packed id, which of the two above, the caller's id sealed."""

_BASE_MEMORY = "base_memory"
"""What stands for its id; no memory's or message's can be like it."""


def by_key(table: str) -> str:
    """Return the condition for one row of a table: by the owner's number, and its key."""
    return " AND ".join(("WHERE owner_id = ?", *(f"{column} = ?" for column in KEYS[table])))


def memory_row(
    sealing: Sealing, memory: Memory, item: int, session: int | None, valid: tuple[int, int | None]
) -> tuple[object, ...]:
    """Return a memory as a row of `MEMORY_COLUMNS`.

    Raises:
        InvalidInput: An id is not a UUID.
    """
    return (
        pack_id(memory.id),
        memory.version,
        item,
        memory.kind,
        memory.state.value,
        memory.origin.value,
        _sealed(sealing, memory.key, memory, "key"),
        sealing.seal(memory.content, memory.id, "content", memory.version),
        _sealed(sealing, memory.summary, memory, "summary"),
        _sealed_tags(sealing, memory),
        memory.importance,
        memory.strength,
        memory.access_count,
        micros_or_none(memory.accessed_at),
        micros(memory.created_at),
        micros(memory.updated_at),
        micros_or_none(memory.happened_at),
        micros_or_none(memory.expires_at),
        pack_id(memory.superseded_by, "superseded_by") if memory.superseded_by else None,
        session,
        pack_sources(sealing, memory.sources),
        int(memory.compressed),
        memory.kept_kind,
        *valid,
    )


@decoding
def memory_of(sealing: Sealing, row: Row) -> Memory:
    """Return the memory of a row of `MEMORY_COLUMNS` and the session's name."""
    record = unpack_id(row[0])
    version = row[1]

    def opened(sealed: bytes | None, field: str) -> str | None:
        return None if sealed is None else sealing.open(sealed, record, field, version)

    tags = opened(row[9], "tags")
    return Memory(
        id=record,
        owner_id=sealing.owner_id,
        version=version,
        kind=row[3],
        state=State(row[4]),
        origin=Origin(row[5]),
        key=opened(row[6], "key"),
        content=sealing.open(row[7], record, "content", version),
        summary=opened(row[8], "summary"),
        tags=() if tags is None else _tags(tags),
        importance=row[10],
        strength=row[11],
        access_count=row[12],
        accessed_at=instant_or_none(row[13]),
        created_at=instant(row[14]),
        updated_at=instant(row[15]),
        happened_at=instant_or_none(row[16]),
        expires_at=instant_or_none(row[17]),
        superseded_by=unpack_id(row[18]) if row[18] else None,
        session_id=row[25],
        sources=unpack_sources(sealing, row[20]),
        compressed=bool(row[21]),
        kept_kind=row[22],
    )


def _sealed(sealing: Sealing, text: str | None, memory: Memory, field: str) -> bytes | None:
    return None if text is None else sealing.seal(text, memory.id, field, memory.version)


def _tags(text: str) -> tuple[str, ...]:
    import msgspec  # here and below: most recalls read nothing that is packed

    return tuple(msgspec.json.decode(text, type=list[str]))


def _sealed_tags(sealing: Sealing, memory: Memory) -> bytes | None:
    if not memory.tags:
        return None
    import msgspec

    return _sealed(sealing, msgspec.json.encode(memory.tags).decode(), memory, "tags")


def pack_sources(sealing: Sealing, sources: Sequence[Source]) -> bytes | None:
    """Return sources in one value, the callers' ids in it sealed; None without any.

    Raises:
        InvalidInput: An id is not a UUID.
    """
    return _packed([_packed_source(sealing, source) for source in sources])


@decoding
def unpack_sources(sealing: Sealing, packed: bytes | None) -> tuple[Source, ...]:
    """Return the sources of a value of `pack_sources`."""
    return tuple(
        Source(
            unpack_id(record),
            "memory" if of == _MEMORY else "message",
            open_external(sealing, record, sealed),
        )
        for record, of, sealed in _unpacked(packed)
    )


@decoding
def source_ids(packed: bytes | None) -> list[bytes]:
    """Return the packed ids of the sources of a value of `pack_sources`, and open nothing."""
    return [record for record, _, _ in _unpacked(packed)]


@decoding
def sources_without(packed: bytes, gone: frozenset[bytes]) -> bytes | None:
    """Return a value of `pack_sources` without the sources of these packed ids."""
    return _packed([source for source in _unpacked(packed) if source[0] not in gone])


def _packed(sources: Sequence[_PackedSource]) -> bytes | None:
    if not sources:
        return None
    import msgspec

    return msgspec.msgpack.encode(sources)


def _unpacked(packed: bytes | None) -> list[_PackedSource]:
    if not packed:
        return []
    import msgspec

    return msgspec.msgpack.decode(packed, type=list[_PackedSource])


def _packed_source(sealing: Sealing, source: Source) -> _PackedSource:
    record = pack_id(source.id, "sources")
    of = _MEMORY if source.of == "memory" else _MESSAGE
    return record, of, seal_external(sealing, record, source.external_id)


def seal_external(sealing: Sealing, packed_id: bytes, external_id: str | None) -> bytes | None:
    """Return the caller's id of a message, sealed."""
    if external_id is None:
        return None
    return sealing.seal(external_id, unpack_id(packed_id), "external_id")


@decoding
def open_external(sealing: Sealing, packed_id: bytes, sealed: bytes | None) -> str | None:
    """Return the caller's id of a message."""
    return None if sealed is None else sealing.open(sealed, unpack_id(packed_id), "external_id")


def external_digest(sealing: Sealing, external_id: str | None) -> bytes | None:
    """Return by what a message is found that has the caller's id."""
    return None if external_id is None else sealing.digest("external", external_id)


def seal_base_memory(sealing: Sealing, content: str, version: int) -> bytes:
    """Return what the base memory says in a version, sealed."""
    return sealing.seal(content, _BASE_MEMORY, "content", version)


@decoding
def open_base_memory(sealing: Sealing, sealed: bytes, version: int) -> str:
    """Return what the base memory says in a version."""
    return sealing.open(sealed, _BASE_MEMORY, "content", version)


@decoding
def base_memory_of(sealing: Sealing, row: Row) -> BaseMemory:
    """Return the base memory of a row: version, content, sources, valid from, valid to."""
    version, sealed, sources, valid_from, valid_to = row
    return BaseMemory(
        content=open_base_memory(sealing, sealed, version),
        version=version,
        valid_from=instant(valid_from),
        valid_to=instant_or_none(valid_to),
        sources=unpack_sources(sealing, sources),
    )


@decoding
def message_of(sealing: Sealing, row: Row, names: dict[int, str | None]) -> Message:
    """Return the message of a row.

    Args:
        row: Id, version, sequence, sealed external id, time, content, session's name, speaker's
            number, sealed name, role.
        names: The names of speakers opened so far; the row's is added.
    """
    packed, version, sequence, external_id, at, content, session, speaker, name, role = row
    record = unpack_id(packed)
    if speaker not in names:
        names[speaker] = open_name(sealing, speaker, name)
    return Message(
        speaker=names[speaker],
        content=sealing.open(content, record, "content", version),
        role=Role(role),
        at=instant(at),
        external_id=open_external(sealing, packed, external_id),
        id=record,
        session_id=session,
        sequence=sequence,
        version=version,
    )


def seal_name(sealing: Sealing, number: int, name: str | None) -> bytes | None:
    """Return a participant's name, sealed."""
    return None if name is None else sealing.seal(name, f"participant:{number}", "name")


def speaker_digest(sealing: Sealing, name: str | None, role: str) -> bytes:
    """Return by what a participant is found."""
    return sealing.digest("speaker", role if name is None else f"{role}:{name}")


@decoding
def open_name(sealing: Sealing, number: int, sealed: bytes | None) -> str | None:
    """Return a participant's name."""
    return None if sealed is None else sealing.open(sealed, f"participant:{number}", "name")


def event_row(sealing: Sealing, number: int, event: Event) -> tuple[object, ...]:
    """Return an event as a row: number, record, action, time, by, version, details."""
    details = None
    if event.details:
        import msgspec

        text = msgspec.json.encode(dict(event.details)).decode()
        details = sealing.seal(text, event.record_id, "event", number)
    return (
        number,
        pack_id(event.record_id, "record_id"),
        event.action.value,
        micros(event.at),
        event.by,
        event.version,
        details,
    )


@decoding
def event_of(sealing: Sealing, row: Row) -> Event:
    """Return the event of a row; see `event_row`."""
    number, packed, action, at, by, version, sealed = row
    record = unpack_id(packed)
    details: dict[str, str] = {}
    if sealed is not None:
        import msgspec

        text = sealing.open(sealed, record, "event", number)
        details = msgspec.json.decode(text, type=dict[str, str])
    return Event(record, Action(action), instant(at), by, version, details)
