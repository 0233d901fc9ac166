"""Requests that are done once, however often they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memolith.errors import Conflict

if TYPE_CHECKING:
    from datetime import datetime


class RequestInProgress(Conflict):
    """The same request is being done: its reply is there in a moment."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What was answered.

    Attributes:
        status: The status.
        body: The body.
    """

    status: int
    body: bytes


class IdempotencyStore(Protocol):
    """What was answered to requests that have a key. Thread-safe, and the same to all processes.

    Keys and requests are kept as digests, replies as memories are: sealed where the store is. A key
    is of one owner and means nothing to another. Erasing an owner forgets theirs, and so does a
    new encryption key.
    """

    def begin(
        self, owner_id: str, key: str, request: bytes, *, now: datetime
    ) -> StoredResponse | None:
        """Take a request; return the reply if it was done before, None if it is to be done now.

        Of several who send it at once, one is to do it. What was begun more than a minute ago and
        never finished is to be done again. What was begun more than a day ago is forgotten.

        Raises:
            Conflict: The key was used for another request, or its reply was forgotten.
            BeingDone: The same is being done.
        """
        ...

    def finish(self, owner_id: str, key: str, response: StoredResponse) -> None:
        """Keep the reply to a request that was begun; of an erased owner nothing is kept."""
        ...

    def abandon(self, owner_id: str, key: str) -> None:
        """Forget a request that was begun and not done."""
        ...

    def forget_responses(self, owner_id: str) -> None:
        """Forget what was answered to an owner's requests: it may hold words that are to be gone.

        The requests are not done again: `begin` refuses them.
        """
        ...
