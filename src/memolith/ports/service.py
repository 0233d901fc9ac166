"""Service state in the store: API keys, idempotent requests and model usage.

The store has only digests of API keys, never the keys themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from memolith.errors import Conflict


class KeyRole(StrEnum):
    """Permissions of an API key."""

    OWNER = "owner"
    """Full access to one owner."""
    SERVICE = "service"
    """Full access to any owner, named in each call."""
    ADMIN = "admin"
    """Everything of `SERVICE`, plus store-wide operations such as decay and erasure."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key's metadata.

    Attributes:
        name: The display name.
        role: The permissions.
        owner: The owner, for a key with the role `OWNER`; else None.
        created_at: When the key was created.
        revoked_at: When the key was revoked; None while it is valid.
    """

    name: str
    role: KeyRole
    owner: str | None
    created_at: datetime
    revoked_at: datetime | None = None


class ApiKeys(Protocol):
    """The API keys of a store. Thread-safe and consistent across processes."""

    def add(self, key: ApiKey, digest: bytes) -> None:
        """Store a new key with the digest of its secret.

        Raises:
            Conflict: A valid key has the same name, or any key has the same digest.
        """
        ...

    def find(self, digest: bytes) -> ApiKey | None:
        """Return the key with a digest, even if revoked; None if there is none."""
        ...

    def all(self) -> list[ApiKey]:
        """Return all keys, including revoked ones, oldest first; ties by name."""
        ...

    def revoke(self, name: str, at: datetime) -> bool:
        """Revoke the valid key of that name immediately; return whether there was one."""
        ...


# --- Idempotent requests


class RequestInProgress(Conflict):
    """The same request is already being processed; retry shortly to get its response."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A stored response.

    Attributes:
        status: The status code.
        body: The body.
    """

    status: int
    body: bytes


class IdempotencyStore(Protocol):
    """Responses to requests with an idempotency key. Thread-safe and consistent across processes.

    Keys and requests are stored as digests. Responses are encrypted if the store is. A key belongs
    to one owner and has no meaning for another. Erasing an owner removes the owner's entries; so
    does a new encryption key.
    """

    def begin(
        self, owner_id: str, key: str, request: bytes, *, now: datetime
    ) -> StoredResponse | None:
        """Begin a request; return its response if it was completed before, else None.

        None means that the caller must process the request. Of concurrent callers with the same
        request, only one gets None. A request that began over a minute ago and never finished may
        begin again. Entries older than a day are deleted.

        Raises:
            Conflict: The key was used for another request, or its response was forgotten.
            RequestInProgress: The same request is being processed.
        """
        ...

    def finish(self, owner_id: str, key: str, response: StoredResponse) -> None:
        """Store the response to a request that was begun; nothing is stored for an erased owner."""
        ...

    def abandon(self, owner_id: str, key: str) -> None:
        """Remove a request that was begun but not completed."""
        ...

    def forget_responses(self, owner_id: str) -> None:
        """Delete the responses to an owner's requests, since they may contain deleted content.

        The requests are not repeated: `begin` refuses them.
        """
        ...


# --- Model usage


_TOKENS_PER_PRICE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Usage of a language model.

    Attributes:
        calls: Number of calls, including failed ones.
        input_tokens: Total prompt tokens, as counted by the services.
        output_tokens: Total reply tokens, likewise.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Total of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, more: ModelUsage) -> ModelUsage:
        """Return the sum of both."""
        return ModelUsage(
            self.calls + more.calls,
            self.input_tokens + more.input_tokens,
            self.output_tokens + more.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, in any currency; 0 if not configured."""

    input: float = 0.0
    output: float = 0.0

    @property
    def is_configured(self) -> bool:
        """Whether any price is set."""
        return self.input > 0 or self.output > 0

    def cost(self, model_usage: ModelUsage) -> float:
        """Return the cost of the usage."""
        cost = model_usage.input_tokens * self.input + model_usage.output_tokens * self.output
        return cost / _TOKENS_PER_PRICE


class UsageCounter(Protocol):
    """Model usage by owner, hour and purpose. Thread-safe and consistent across processes.

    Adding usage waits for other writers of the owner, so it can't be done within a transaction of
    one's own on that owner.
    """

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """Add usage to the hour (UTC) of `at`.

        Does nothing for an owner without stored data, including erased owners. Creates no event and
        no version, and does not change the owner's counter. Purposes are stored unencrypted.
        """
        ...

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """Return usage by purpose, sorted, since the hour (UTC) of `start`."""
        ...
