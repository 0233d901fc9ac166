"""Which language model an owner has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memolith.ports.chat import ChatModel


class Models(Protocol):
    """The language model as each owner may use it."""

    def of(self, owner_id: str) -> ChatModel | None:
        """Return what answers for an owner, each call counted; None where there is no model."""
        ...


class NoModel:
    """No language model, for nobody."""

    def of(self, owner_id: str) -> None:
        """Return None."""
