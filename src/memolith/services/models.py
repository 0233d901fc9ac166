"""Which language model an owner has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memolith.ports.chat import ChatModel


class ChatModels(Protocol):
    """The language model as each owner may use it."""

    def for_owner(self, owner_id: str) -> ChatModel | None:
        """Return what answers for an owner, each call counted; None where there is no model."""
        ...


class NoChatModel:
    """No language model, for nobody."""

    def for_owner(self, owner_id: str) -> None:
        """Return None."""
