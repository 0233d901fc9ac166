"""Keys by which callers of the service are known. The store has their digests, never the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from memolith.errors import Conflict


class KeyRole(StrEnum):
    """What the holder of a key may do."""

    OWNER = "owner"
    """Everything of one owner."""
    SERVICE = "service"
    """Everything of any owner, named in each call."""
    ADMIN = "admin"
    """That, and what concerns the store: decay, erasing."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key.

    Attributes:
        name: What it is called by people.
        role: What its holder may do.
        owner: Whose it is, if it is an owner's; else None.
        created_at: When it was made.
        revoked_at: When it was revoked; None: it is in force.
    """

    name: str
    role: KeyRole
    owner: str | None
    created_at: datetime
    revoked_at: datetime | None = None


class ApiKeys(Protocol):
    """The keys of a store. Thread-safe, and the same to all processes that have it open."""

    def add(self, key: ApiKey, digest: bytes) -> None:
        """Keep a new key, by the digest of what its holder shows.

        Raises:
            Conflict: A key in force has that name, or a key has that digest.
        """
        ...

    def find(self, digest: bytes) -> ApiKey | None:
        """Return the key of a digest, also a revoked one; None: there is none."""
        ...

    def all(self) -> list[ApiKey]:
        """Return all keys, revoked ones too, oldest first, by name where that is the same."""
        ...

    def revoke(self, name: str, at: datetime) -> bool:
        """Revoke the key in force of that name, at once; return whether there was one."""
        ...


# --- Requests that are done once, however often they are sent


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


# --- What language models were asked for an owner, counted by the hour


_TOKENS_PER_PRICE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What was spent on calls of a model.

    Attributes:
        calls: How many there were, failed ones too.
        input_tokens: What was asked took in all, as the services counted.
        output_tokens: Likewise, the replies.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, more: ModelUsage) -> ModelUsage:
        """Return both together."""
        return ModelUsage(
            self.calls + more.calls,
            self.input_tokens + more.input_tokens,
            self.output_tokens + more.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in whatever money they are paid; 0: nobody has said."""

    input: float = 0.0
    output: float = 0.0

    @property
    def is_configured(self) -> bool:
        """Whether there are any."""
        return self.input > 0 or self.output > 0

    def cost(self, model_usage: ModelUsage) -> float:
        """Return what was spent in money."""
        cost = model_usage.input_tokens * self.input + model_usage.output_tokens * self.output
        return cost / _TOKENS_PER_PRICE


class UsageCounter(Protocol):
    """Counts of calls, by owner, hour and purpose. Thread-safe, the same to all processes.

    Counting waits for whoever writes to the owner: it can't be done within a transaction of one's
    own.
    """

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """Count calls, in the hour (UTC) of `at`.

        Of an owner who has nothing stored nothing is kept, nor of one who was erased. No event,
        no version; the owner's counter does not move. Purposes are kept in the clear.
        """
        ...

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """Return what was spent by purpose, sorted, from the hour (UTC) of `start` on."""
        ...
