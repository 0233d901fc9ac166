"""What an assistant may have heard of tools and other people before it spoke."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.messages import Role

if TYPE_CHECKING:
    from memolith.domain.messages import Message
    from memolith.ports.store import Snapshot

_LOOKBACK = 40
"""How many messages before one are looked through: a guess, as much as a model is likely to have
before it beside what it is asked."""

_OUTSIDE_ROLES = frozenset({Role.TOOL, Role.PARTICIPANT})


def get_outside_messages(snapshot: Snapshot, message: Message) -> list[Message]:
    """Return what tools and other people said in a conversation shortly before a message."""
    after = max(0, message.sequence - 1 - _LOOKBACK)
    found = snapshot.messages(session_id=message.session_id, after=after, limit=_LOOKBACK)
    return [
        each for each in found if each.sequence < message.sequence and each.role in _OUTSIDE_ROLES
    ]
