"""Encoding and decoding of database rows: times, ids, memories, messages, events and cursors."""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import (
    DORMANT,
    Action,
    BaseMemory,
    Event,
    Memory,
    Origin,
    Source,
    State,
)
from memolith.domain.messages import Message, Role
from memolith.domain.owners import ConsolidationProgress
from memolith.errors import InvalidInput, StoreDamaged
from memolith.ports.cipher import EncryptionContext, OwnerCipher
from memolith.ports.service import ModelUsage
from memolith.ports.snapshot import MemoryStats

RowValues = Sequence[Any]

P = ParamSpec("P")
T = TypeVar("T")

_DECODE_ERRORS = (LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""Errors raised by columns with a wrong type, an unknown value, invalid text or a time out of
range."""


def translate_decode_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function that only decodes rows raise `StoreDamaged`.

    The error does not quote the row, which may contain content; its cause does.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except _DECODE_ERRORS as error:
            raise StoreDamaged(
                f"the store is damaged: a row can't be decoded ({type(error).__name__}); run"
                " `memolith verify`"
            ) from error

    return wrapper


# --- Times and ids


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000
_SECONDS_PER_DAY = 86_400
_ID_BYTES = 16

NEVER = int(np.iinfo(np.int64).max)
"""In microseconds since 1970, the end of anything without an end."""


def micros(at: datetime) -> int:
    """Return microseconds since 1970, exactly."""
    since = at - _EPOCH
    return (since.days * _SECONDS_PER_DAY + since.seconds) * _MICROSECONDS + since.microseconds


def instant(microseconds: int) -> datetime:
    """Return the time in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def micros_or_none(at: datetime | None) -> int | None:
    """Return microseconds since 1970; None stays None."""
    return None if at is None else micros(at)


def instant_or_none(microseconds: int | None) -> datetime | None:
    """Return the time in UTC; None stays None."""
    return None if microseconds is None else instant(microseconds)


def unpack_id(packed: bytes) -> str:
    """Return a UUID in canonical form."""
    digits = packed.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def pack_id_or_none(text: str) -> bytes | None:
    """Return the 16 bytes of a UUID in canonical form; None for any other text."""
    try:
        packed = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return None
    return packed if len(packed) == _ID_BYTES and unpack_id(packed) == text else None


def pack_id(text: str, field: str = "id") -> bytes:
    """Return the 16 bytes of a UUID.

    Raises:
        InvalidInput: It is not a UUID in canonical form (lower case, with dashes).
    """
    packed = pack_id_or_none(text)
    if packed is None:
        raise InvalidInput(field, "must be a UUID in lower case with dashes")
    return packed


def pack_valid_ids(texts: Sequence[str]) -> tuple[bytes, ...]:
    """Return the 16 bytes of each UUID; other texts are left out."""
    return tuple(packed for packed in map(pack_id_or_none, texts) if packed is not None)


_DASH = 32
"""Index of the column that holds a dash, after the columns of the 32 digits."""

_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
_DIGIT_POSITIONS = np.array([place for group in _GROUPS for place in (*range(*group), _DASH)][:-1])


def unpack_ids(packed: NDArray[np.uint8]) -> list[str]:
    """Return the canonical form of UUIDs, given as bytes of shape (n, 16)."""
    letters = np.full((len(packed), _DASH + 1), ord("-"), dtype=np.uint8)
    digits = np.frombuffer(packed.tobytes().hex().encode(), dtype=np.uint8)
    letters[:, :_DASH] = digits.reshape(len(packed), _DASH)
    text = letters.take(_DIGIT_POSITIONS, axis=1).tobytes().decode("ascii")
    return [text[start : start + 36] for start in range(0, len(text), 36)]


# --- Memories, messages and events


MEMORY_COLUMNS = (
    "id, version, item, kind, state, origin, key, content, summary, tags, importance, strength,"
    " access_count, accessed_at, created_at, updated_at, happened_at, expires_at, superseded_by,"
    " session, sources, compressed, kept_kind, valid_from, valid_to"
)
"""The columns that `memories` and `versions` share, in row order."""

KEY_COLUMNS = {
    "messages": ("id",),
    "message_versions": ("id", "version"),
    "memories": ("id",),
    "versions": ("id", "version"),
    "base_memories": ("version",),
    "passages": ("item", "part"),
}
"""Key columns of each table, in addition to the owner."""

DORMANT_STATES = ", ".join(f"'{state.value}'" for state in sorted(DORMANT))
"""SQL list of the dormant states."""

_MESSAGE_SOURCE, _MEMORY_SOURCE = 0, 1

_PackedSource = tuple[bytes, int, bytes | None]
"""Packed id, record type (one of the two constants above), and the encrypted external id."""

_BASE_MEMORY_ID = "base_memory"
"""Stands for the record id in the encryption context; never equal to a memory's or message's id."""


def build_where_clause(table: str) -> str:
    """Return the WHERE clause for one row of a table, by owner number and key."""
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
    """Decode a memory from a row of `MEMORY_COLUMNS` followed by the session's name."""
    record = unpack_id(row[0])
    version = row[1]

    def decrypt_field(ciphertext: bytes | None, field: str) -> str | None:
        return (
            None if ciphertext is None else encryption.decrypt(ciphertext, record, field, version)
        )

    tags = decrypt_field(row[9], "tags")
    return Memory(
        id=record,
        owner_id=encryption.owner_id,
        version=version,
        kind=row[3],
        state=State(row[4]),
        origin=Origin(row[5]),
        key=decrypt_field(row[6], "key"),
        content=encryption.decrypt(row[7], record, "content", version),
        summary=decrypt_field(row[8], "summary"),
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
    import msgspec  # here and below, since most recalls decode no packed columns

    return tuple(msgspec.json.decode(text, type=list[str]))


def _encrypt_tags(encryption: OwnerEncryption, memory: Memory) -> bytes | None:
    if not memory.tags:
        return None
    import msgspec

    return _encrypt_field(encryption, msgspec.json.encode(memory.tags).decode(), memory, "tags")


def pack_sources(encryption: OwnerEncryption, sources: Sequence[Source]) -> bytes | None:
    """Return sources encoded as one value with encrypted external ids; None if there are none.

    Raises:
        InvalidInput: An id is not a UUID.
    """
    return _encode_sources([_pack_source(encryption, source) for source in sources])


@translate_decode_errors
def unpack_sources(encryption: OwnerEncryption, packed: bytes | None) -> tuple[Source, ...]:
    """Return the sources encoded by `pack_sources`."""
    return tuple(
        Source(
            unpack_id(record),
            "memory" if record_type == _MEMORY_SOURCE else "message",
            decrypt_external_id(encryption, record, ciphertext),
        )
        for record, record_type, ciphertext in _decode_sources(packed)
    )


@translate_decode_errors
def source_ids(packed: bytes | None) -> list[bytes]:
    """Return the packed ids of sources encoded by `pack_sources`, without decrypting anything."""
    return [record for record, _, _ in _decode_sources(packed)]


@translate_decode_errors
def remove_sources(packed: bytes, removed: frozenset[bytes]) -> bytes | None:
    """Return a value of `pack_sources` without the sources with these packed ids."""
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
    record_type = _MEMORY_SOURCE if source.record_type == "memory" else _MESSAGE_SOURCE
    return record, record_type, encrypt_external_id(encryption, record, source.external_id)


def encrypt_external_id(
    encryption: OwnerEncryption, packed_id: bytes, external_id: str | None
) -> bytes | None:
    """Return a message's external id, encrypted."""
    if external_id is None:
        return None
    return encryption.encrypt(external_id, unpack_id(packed_id), "external_id")


@translate_decode_errors
def decrypt_external_id(
    encryption: OwnerEncryption, packed_id: bytes, encrypted: bytes | None
) -> str | None:
    """Return a message's external id, decrypted."""
    return (
        None
        if encrypted is None
        else encryption.decrypt(encrypted, unpack_id(packed_id), "external_id")
    )


def digest_external_id(encryption: OwnerEncryption, external_id: str | None) -> bytes | None:
    """Return the digest for finding a message by its external id."""
    return None if external_id is None else encryption.digest("external", external_id)


def encrypt_base_memory(encryption: OwnerEncryption, content: str, version: int) -> bytes:
    """Return the content of a base memory version, encrypted."""
    return encryption.encrypt(content, _BASE_MEMORY_ID, "content", version)


@translate_decode_errors
def decrypt_base_memory(encryption: OwnerEncryption, encrypted: bytes, version: int) -> str:
    """Return the content of a base memory version, decrypted."""
    return encryption.decrypt(encrypted, _BASE_MEMORY_ID, "content", version)


@translate_decode_errors
def decode_base_memory(encryption: OwnerEncryption, row: RowValues) -> BaseMemory:
    """Decode the base memory from a row: version, content, sources, valid from, valid to."""
    version, ciphertext, sources, valid_from, valid_to = row
    return BaseMemory(
        content=decrypt_base_memory(encryption, ciphertext, version),
        version=version,
        valid_from=instant(valid_from),
        valid_to=instant_or_none(valid_to),
        sources=unpack_sources(encryption, sources),
    )


@translate_decode_errors
def decode_message(
    encryption: OwnerEncryption, row: RowValues, names: dict[int, str | None]
) -> Message:
    """Decode a message from a row.

    Args:
        row: Id, version, sequence, encrypted external id, time, content, session's name, speaker's
            number, encrypted speaker's name, role.
        names: Cache of decrypted speaker names; the row's is added.
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
    """Return a participant's name, encrypted."""
    return None if name is None else encryption.encrypt(name, f"participant:{number}", "name")


def digest_speaker(encryption: OwnerEncryption, name: str | None, role: str) -> bytes:
    """Return the digest for finding a participant by name and role."""
    return encryption.digest("speaker", role if name is None else f"{role}:{name}")


@translate_decode_errors
def decrypt_name(encryption: OwnerEncryption, number: int, encrypted: bytes | None) -> str | None:
    """Return a participant's name, decrypted."""
    return (
        None
        if encrypted is None
        else encryption.decrypt(encrypted, f"participant:{number}", "name")
    )


def event_row(encryption: OwnerEncryption, number: int, event: Event) -> tuple[object, ...]:
    """Return an event as a row: number, record, action, time, actor, version, details."""
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
    """Decode an event from a row; see `event_row`."""
    number, packed, action, at, by, version, ciphertext = row
    record = unpack_id(packed)
    details: dict[str, str] = {}
    if ciphertext is not None:
        import msgspec

        text = encryption.decrypt(ciphertext, record, "event", number)
        details = msgspec.json.decode(text, type=dict[str, str])
    return Event(record, Action(action), instant(at), by, version, details)


# --- Encryption


class OwnerEncryption:
    """Encrypts and digests the texts of one owner."""

    __slots__ = ("_cipher", "owner_id")

    def __init__(self, cipher: OwnerCipher, owner_id: str) -> None:
        self._cipher = cipher
        self.owner_id = owner_id

    def encrypt(self, text: str, record: str, field: str, version: int = 1) -> bytes:
        """Return a text, encrypted for this record and field."""
        return self._cipher.encrypt(
            text.encode(), EncryptionContext(self.owner_id, record, field, version)
        )

    @translate_decode_errors
    def decrypt(self, ciphertext: bytes, record: str, field: str, version: int = 1) -> str:
        """Return the text that was encrypted for this record and field."""
        return self._cipher.decrypt(
            ciphertext, EncryptionContext(self.owner_id, record, field, version)
        ).decode()

    def can_decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bool:
        """Return whether a value can be decrypted in this context."""
        try:
            self._cipher.decrypt(ciphertext, context)
        except StoreDamaged:
            return False
        return True

    def digest(self, purpose: str, text: str) -> bytes:
        """Return a 16-byte digest for finding the text."""
        return self._cipher.digest(purpose, text.encode())

    def sign(self, purpose: str, data: bytes) -> bytes:
        """Return a 16-byte digest of the data, specific to this owner and purpose."""
        return self._cipher.digest(purpose, data)

    def digest_term(self, term: str) -> bytes:
        """Return the index value of a keyword."""
        return self._cipher.digest_term(term)

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return vectors of shape (n, d) in stored form."""
        return self._cipher.encrypt_vectors(vectors)

    @translate_decode_errors
    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return the original vectors, shape (n, dimension)."""
        return self._cipher.decrypt_vectors(stored, dimension)


# --- Cursors


_TIME_BYTES = 8
_POSITION_BYTES = _TIME_BYTES + 16
_CHECK_BYTES = 8


def encode_cursor(encryption: OwnerEncryption, created_at: int, packed_id: bytes) -> str:
    """Return a cursor for the memories after this one."""
    return _sign_cursor(
        encryption, created_at.to_bytes(_TIME_BYTES, "big", signed=True) + packed_id
    )


def decode_cursor(encryption: OwnerEncryption, cursor: str) -> tuple[int, bytes]:
    """Return creation time and packed id of the memory at a cursor.

    Raises:
        InvalidInput: The cursor is not from a page of this owner.
    """
    try:
        raw = urlsafe_b64decode(cursor.encode())
    except ValueError:
        raise _invalid_cursor() from None
    position = raw[:_POSITION_BYTES]
    if len(raw) != _POSITION_BYTES + _CHECK_BYTES or cursor != _sign_cursor(encryption, position):
        raise _invalid_cursor()
    created_at = int.from_bytes(position[:_TIME_BYTES], "big", signed=True)
    return created_at, position[_TIME_BYTES:]


def _sign_cursor(encryption: OwnerEncryption, position: bytes) -> str:
    check = encryption.sign("cursor", position)[:_CHECK_BYTES]
    return urlsafe_b64encode(position + check).decode()


def _invalid_cursor() -> InvalidInput:
    return InvalidInput("cursor", "must come from a page of this owner")


# --- Memory stats


_STATS_COLUMNS = 12


@translate_decode_errors
def decode_memory_stats(rows: Sequence[Sequence[Any]]) -> MemoryStats:
    """Decode memory stats from rows with their columns, in order."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * _STATS_COLUMNS
    items, ids, kinds, states, importance, strength, *integers = columns
    access, used_at, created, updated, expires, session = (
        np.array(column, dtype=np.int64) for column in integers
    )
    return MemoryStats(
        number=np.array(items, dtype=np.int64),
        id=list(ids),
        kind=list(kinds),
        state=[State(state) for state in states],
        importance=np.array(importance, dtype=np.float64),
        strength=np.array(strength, dtype=np.float64),
        access_count=access,
        used_at=used_at,
        created_at=created,
        updated_at=updated,
        expires_at=expires,
        session=session,
    )


# --- Background work


PENDING, DEAD_LETTER = 1, 2
"""Marks of a message that is pending for learning, and of a dead-lettered one; 0 marks all
others."""

_TOKEN_BYTES = 16
_HOUR_MICROSECONDS = 3_600_000_000
"""Microseconds per hour."""


def create_token() -> bytes:
    """Return a new random token that identifies a lease."""
    return os.urandom(_TOKEN_BYTES)


def hour_of(at: datetime) -> int:
    """Return the number of hours since 1970 in UTC."""
    return micros(at) // _HOUR_MICROSECONDS


@translate_decode_errors
def decode_progress(row: Sequence[Any] | None) -> ConsolidationProgress:
    """Decode progress from a row: consolidated to, failures, time; None for an unknown session."""
    if row is None:
        return ConsolidationProgress()
    last_message, failures, at = row
    return ConsolidationProgress(last_message, failures, instant_or_none(at))


@translate_decode_errors
def decode_usage(rows: Iterable[Sequence[Any]]) -> dict[str, ModelUsage]:
    """Decode usage by purpose from rows: purpose, calls, input tokens, output tokens."""
    return {purpose: ModelUsage(*counts) for purpose, *counts in rows}
