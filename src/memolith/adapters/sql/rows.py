"""Memories, messages and events as rows, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.damage import translate_decode_errors
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

    from memolith.adapters.sql.sealing import OwnerEncryption

    RowValues = Sequence[Any]

MEMORY_COLUMNS = (
    "id, version, item, kind, state, origin, key, content, summary, tags, importance, strength,"
    " access_count, accessed_at, created_at, updated_at, happened_at, expires_at, superseded_by,"
    " session, sources, compressed, kept_kind, valid_from, valid_to"
)
"""The columns that `memories` and `versions` share, in the order of a row."""

KEY_COLUMNS = {
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

_MESSAGE_SOURCE, _MEMORY_SOURCE = 0, 1

_PackedSource = tuple[bytes, int, bytes | None]
"""Packed id, which of the two above, the caller's id sealed."""

_BASE_MEMORY_ID = "base_memory"
"""What stands for its id; no memory's or message's can be like it."""


def where_key(table: str) -> str:
    """Return the condition for one row of a table: by the owner's number, and its key."""
    return " AND ".join(("WHERE owner_id = ?", *(f"{column} = ?" for column in KEY_COLUMNS[table])))


def memory_row(
    encryption: OwnerEncryption,
    memory: Memory,
    item: int,
    session: int | None,
    valid: tuple[int, int | None],
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
        _encrypt_field(encryption, memory.key, memory, "key"),
        encryption.encrypt(memory.content, memory.id, "content", memory.version),
        _encrypt_field(encryption, memory.summary, memory, "summary"),
        _encrypt_tags(encryption, memory),
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
        pack_sources(encryption, memory.sources),
        int(memory.compressed),
        memory.previous_kind,
        *valid,
    )


@translate_decode_errors
def decode_memory(encryption: OwnerEncryption, row: RowValues) -> Memory:
    """Return the memory of a row of `MEMORY_COLUMNS` and the session's name."""
    record = unpack_id(row[0])
    version = row[1]

    def opened(sealed: bytes | None, field: str) -> str | None:
        return None if sealed is None else encryption.decrypt(sealed, record, field, version)

    tags = opened(row[9], "tags")
    return Memory(
        id=record,
        owner_id=encryption.owner_id,
        version=version,
        kind=row[3],
        state=State(row[4]),
        origin=Origin(row[5]),
        key=opened(row[6], "key"),
        content=encryption.decrypt(row[7], record, "content", version),
        summary=opened(row[8], "summary"),
        tags=() if tags is None else _decode_tags(tags),
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
        sources=unpack_sources(encryption, row[20]),
        compressed=bool(row[21]),
        previous_kind=row[22],
    )


def _encrypt_field(
    encryption: OwnerEncryption, text: str | None, memory: Memory, field: str
) -> bytes | None:
    return None if text is None else encryption.encrypt(text, memory.id, field, memory.version)


def _decode_tags(text: str) -> tuple[str, ...]:
    import msgspec  # here and below: most recalls read nothing that is packed

    return tuple(msgspec.json.decode(text, type=list[str]))


def _encrypt_tags(encryption: OwnerEncryption, memory: Memory) -> bytes | None:
    if not memory.tags:
        return None
    import msgspec

    return _encrypt_field(encryption, msgspec.json.encode(memory.tags).decode(), memory, "tags")


def pack_sources(encryption: OwnerEncryption, sources: Sequence[Source]) -> bytes | None:
    """Return sources in one value, the callers' ids in it sealed; None without any.

    Raises:
        InvalidInput: An id is not a UUID.
    """
    return _encode_sources([_pack_source(encryption, source) for source in sources])


@translate_decode_errors
def unpack_sources(encryption: OwnerEncryption, packed: bytes | None) -> tuple[Source, ...]:
    """Return the sources of a value of `pack_sources`."""
    return tuple(
        Source(
            unpack_id(record),
            "memory" if of == _MEMORY_SOURCE else "message",
            decrypt_external_id(encryption, record, sealed),
        )
        for record, of, sealed in _decode_sources(packed)
    )


@translate_decode_errors
def source_ids(packed: bytes | None) -> list[bytes]:
    """Return the packed ids of the sources of a value of `pack_sources`, and open nothing."""
    return [record for record, _, _ in _decode_sources(packed)]


@translate_decode_errors
def remove_sources(packed: bytes, removed: frozenset[bytes]) -> bytes | None:
    """Return a value of `pack_sources` without the sources of these packed ids."""
    return _encode_sources(
        [source for source in _decode_sources(packed) if source[0] not in removed]
    )


def _encode_sources(sources: Sequence[_PackedSource]) -> bytes | None:
    if not sources:
        return None
    import msgspec

    return msgspec.msgpack.encode(sources)


def _decode_sources(packed: bytes | None) -> list[_PackedSource]:
    if not packed:
        return []
    import msgspec

    return msgspec.msgpack.decode(packed, type=list[_PackedSource])


def _pack_source(encryption: OwnerEncryption, source: Source) -> _PackedSource:
    record = pack_id(source.id, "sources")
    of = _MEMORY_SOURCE if source.record_type == "memory" else _MESSAGE_SOURCE
    return record, of, encrypt_external_id(encryption, record, source.external_id)


def encrypt_external_id(
    encryption: OwnerEncryption, packed_id: bytes, external_id: str | None
) -> bytes | None:
    """Return the caller's id of a message, sealed."""
    if external_id is None:
        return None
    return encryption.encrypt(external_id, unpack_id(packed_id), "external_id")


@translate_decode_errors
def decrypt_external_id(
    encryption: OwnerEncryption, packed_id: bytes, encrypted: bytes | None
) -> str | None:
    """Return the caller's id of a message."""
    return (
        None
        if encrypted is None
        else encryption.decrypt(encrypted, unpack_id(packed_id), "external_id")
    )


def digest_external_id(encryption: OwnerEncryption, external_id: str | None) -> bytes | None:
    """Return by what a message is found that has the caller's id."""
    return None if external_id is None else encryption.digest("external", external_id)


def encrypt_base_memory(encryption: OwnerEncryption, content: str, version: int) -> bytes:
    """Return what the base memory says in a version, sealed."""
    return encryption.encrypt(content, _BASE_MEMORY_ID, "content", version)


@translate_decode_errors
def decrypt_base_memory(encryption: OwnerEncryption, encrypted: bytes, version: int) -> str:
    """Return what the base memory says in a version."""
    return encryption.decrypt(encrypted, _BASE_MEMORY_ID, "content", version)


@translate_decode_errors
def decode_base_memory(encryption: OwnerEncryption, row: RowValues) -> BaseMemory:
    """Return the base memory of a row: version, content, sources, valid from, valid to."""
    version, sealed, sources, valid_from, valid_to = row
    return BaseMemory(
        content=decrypt_base_memory(encryption, sealed, version),
        version=version,
        valid_from=instant(valid_from),
        valid_to=instant_or_none(valid_to),
        sources=unpack_sources(encryption, sources),
    )


@translate_decode_errors
def decode_message(
    encryption: OwnerEncryption, row: RowValues, names: dict[int, str | None]
) -> Message:
    """Return the message of a row.

    Args:
        row: Id, version, sequence, sealed external id, time, content, session's name, speaker's
            number, sealed name, role.
        names: The names of speakers opened so far; the row's is added.
    """
    packed, version, sequence, external_id, at, content, session, speaker, name, role = row
    record = unpack_id(packed)
    if speaker not in names:
        names[speaker] = decrypt_name(encryption, speaker, name)
    return Message(
        speaker=names[speaker],
        content=encryption.decrypt(content, record, "content", version),
        role=Role(role),
        at=instant(at),
        external_id=decrypt_external_id(encryption, packed, external_id),
        id=record,
        session_id=session,
        sequence=sequence,
        version=version,
    )


def encrypt_name(encryption: OwnerEncryption, number: int, name: str | None) -> bytes | None:
    """Return a participant's name, sealed."""
    return None if name is None else encryption.encrypt(name, f"participant:{number}", "name")


def digest_speaker(encryption: OwnerEncryption, name: str | None, role: str) -> bytes:
    """Return by what a participant is found."""
    return encryption.digest("speaker", role if name is None else f"{role}:{name}")


@translate_decode_errors
def decrypt_name(encryption: OwnerEncryption, number: int, encrypted: bytes | None) -> str | None:
    """Return a participant's name."""
    return (
        None
        if encrypted is None
        else encryption.decrypt(encrypted, f"participant:{number}", "name")
    )


def event_row(encryption: OwnerEncryption, number: int, event: Event) -> tuple[object, ...]:
    """Return an event as a row: number, record, action, time, by, version, details."""
    details = None
    if event.details:
        import msgspec

        text = msgspec.json.encode(dict(event.details)).decode()
        details = encryption.encrypt(text, event.record_id, "event", number)
    return (
        number,
        pack_id(event.record_id, "record_id"),
        event.action.value,
        micros(event.at),
        event.actor,
        event.version,
        details,
    )


@translate_decode_errors
def decode_event(encryption: OwnerEncryption, row: RowValues) -> Event:
    """Return the event of a row; see `event_row`."""
    number, packed, action, at, by, version, sealed = row
    record = unpack_id(packed)
    details: dict[str, str] = {}
    if sealed is not None:
        import msgspec

        text = encryption.decrypt(sealed, record, "event", number)
        details = msgspec.json.decode(text, type=dict[str, str])
    return Event(record, Action(action), instant(at), by, version, details)
