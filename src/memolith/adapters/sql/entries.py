"""Index entries as rows of items, passages and terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.sql.values import micros, micros_or_none, pack_id
from memolith.domain.memories import Origin, State
from memolith.domain.messages import Role
from memolith.errors import InvalidInput
from memolith.ports.columns import MAX_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.domain.memories import Memory
    from memolith.domain.messages import Message
    from memolith.ports.store import IndexEntry, Passage

    Values = tuple[object, ...]


MAX_SEQUENCE = 2**31 - 1
"""What the columns of the index hold."""


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """What an item's row says beside its features, in columns."""

    record_id: bytes
    kind: str | None
    session: int | None
    sequence: int
    speaker: int | None
    role: str
    at: int
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    compressed: bool


def message_item_facts(message: Message, session: int, speaker: int, valid_from: int) -> ItemFacts:
    """Return the facts about a message's version.

    Raises:
        InvalidInput: See `checked`.
    """
    role, at = require_role_and_time(message)
    return ItemFacts(
        record_id=pack_id(message.id),
        kind=None,
        session=session,
        sequence=message.sequence,
        speaker=speaker,
        role=role.value,
        at=micros(at),
        valid_from=valid_from,
        valid_to=None,
        expires_at=None,
        compressed=False,
    )


def require_role_and_time(message: Message) -> tuple[Role, datetime]:
    """Return role and time of a message that can be stored.

    Raises:
        InvalidInput: One of them is not set, or its place in the session is out of range.
    """
    if message.role is None or message.at is None:
        raise InvalidInput("messages", "role and time of each must be set")
    if not 1 <= message.sequence <= MAX_SEQUENCE:
        raise InvalidInput("messages", f"a place in a session is 1 to {MAX_SEQUENCE}")
    return message.role, message.at


def memory_item_facts(memory: Memory, session: int | None) -> ItemFacts:
    """Return the facts about a memory's version; one that is not active ends as it begins."""
    valid_from = micros(memory.updated_at)
    return ItemFacts(
        record_id=pack_id(memory.id),
        kind=memory.kind,
        session=session,
        sequence=0,
        speaker=None,
        role=role_of_origin(memory.origin).value,
        at=micros(memory.happened_at or memory.created_at),
        valid_from=valid_from,
        valid_to=None if memory.state is State.ACTIVE else valid_from,
        expires_at=micros_or_none(memory.expires_at),
        compressed=memory.compressed,
    )


def start_not_before(facts: ItemFacts, earliest_start: int) -> ItemFacts:
    """Return the facts with a beginning not before the end of the version before."""
    start = max(facts.valid_from, earliest_start)
    end = None if facts.valid_to is None else start
    return replace(facts, valid_from=start, valid_to=end)


def role_of_origin(origin: Origin) -> Role:
    """Return as whose words a memory counts: the user's own, or a machine's."""
    return Role.USER if origin is Origin.USER else Role.ASSISTANT


def item_row(
    encryption: OwnerEncryption,
    owner: int,
    item: int,
    facts: ItemFacts,
    entry: IndexEntry,
    changed: int,
) -> Values:
    """Return a row of `items`."""
    features = entry.features
    return (
        owner,
        item,
        facts.record_id,
        facts.kind,
        facts.session,
        facts.sequence,
        facts.speaker,
        facts.role,
        facts.at,
        int(features.traits),
        features.words,
        features.tokens,
        encryption.digest("content", entry.content_key),
        facts.valid_from,
        facts.valid_to,
        facts.expires_at,
        int(facts.compressed),
        changed,
    )


def check_entry(entry: IndexEntry, dimension: int | None) -> None:
    """Refuse an entry that no store can hold; see `passage_rows`."""
    if len(entry.passages) > MAX_PARTS:
        raise InvalidInput("passages", f"{len(entry.passages)} of one text; at most {MAX_PARTS}")
    for passage in entry.passages:
        _check_vector(passage, dimension)


def passage_rows(
    encryption: OwnerEncryption, owner: int, item: int, entry: IndexEntry, dimension: int | None
) -> Iterator[Values]:
    """Yield rows of `passages`.

    Args:
        dimension: The length of the store's vectors; None before a model was adopted.

    Raises:
        InvalidInput: A vector of another length, or too many passages.
    """
    check_entry(entry, dimension)
    vectors = _encrypt_entry_vectors(encryption, entry)
    for part, passage in enumerate(entry.passages):
        yield (
            owner,
            item,
            part,
            passage.span.start,
            passage.span.end,
            passage.tokens,
            sum(passage.terms.values()),
            None if passage.digest is None else encryption.sign("passage", passage.digest),
            vectors.get(part),
        )


def _check_vector(passage: Passage, dimension: int | None) -> None:
    if passage.vector is None:
        return
    if passage.vector.dtype != np.int8 or passage.vector.shape != (dimension,):
        found = f"{passage.vector.dtype.name} of shape {passage.vector.shape}"
        raise InvalidInput("vector", f"is {found}; the store holds int8 of length {dimension}")


def _encrypt_entry_vectors(encryption: OwnerEncryption, entry: IndexEntry) -> dict[int, bytes]:
    """Return the vectors of an entry's passages as they are stored, by part."""
    vectors = {n: p.vector for n, p in enumerate(entry.passages) if p.vector is not None}
    if not vectors:
        return {}
    return dict(
        zip(vectors, encryption.encrypt_vectors(np.stack(list(vectors.values()))), strict=True)
    )


def term_rows(
    encryption: OwnerEncryption, owner: int, item: int, entry: IndexEntry
) -> Iterator[Values]:
    """Yield rows of `terms`."""
    for part, passage in enumerate(entry.passages):
        for term, frequency in passage.terms.items():
            yield owner, encryption.digest_term(term), item, part, frequency
