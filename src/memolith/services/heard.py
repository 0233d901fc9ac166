"""What an assistant may have heard of tools and other people before it spoke."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.messages import Role

if TYPE_CHECKING:
    from memolith.domain.messages import Message
    from memolith.ports.store import Snapshot

_BEFORE = 40
"""How many messages before one are looked through: a guess, as much as a model is likely to have
before it beside what it is asked."""

_OTHERS = frozenset({Role.TOOL, Role.PARTICIPANT})


def heard_before(snapshot: Snapshot, message: Message) -> list[Message]:
    """Return what tools and other people said in a conversation shortly before a message."""
    after = max(0, message.sequence - 1 - _BEFORE)
    found = snapshot.messages(session_id=message.session_id, after=after, limit=_BEFORE)
    return [each for each in found if each.sequence < message.sequence and each.role in _OTHERS]
