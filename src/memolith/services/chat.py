"""Language models for owners: requests, arbitration, and usage reports."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from memolith.errors import ServiceFailed
from memolith.policies import arguments
from memolith.policies.merging import Verdict
from memolith.ports.models import ChatModel, Prompt
from memolith.ports.service import ModelUsage, Prices
from memolith.prompts.learning import build_arbitration_prompt, parse_verdict
from memolith.prompts.replies import InvalidReply
from memolith.services.access import Access


class ChatModels(Protocol):
    """Provides the language model for each owner."""

    def for_owner(self, owner_id: str) -> ChatModel | None:
        """Return the owner's model, with its calls counted; None: there is no model."""
        ...


class NoChatModel:
    """The provider when no language model is configured."""

    def for_owner(self, owner_id: str) -> None:
        """Return None."""


# --- Requests


T = TypeVar("T")

MAX_ATTEMPTS = 2
"""The maximum number of requests while replies can't be parsed."""

_NONCE_BYTES = 16


def new_nonce() -> str:
    """Return a random code for the fences of a prompt."""
    return secrets.token_hex(_NONCE_BYTES)


def ask_model(model: ChatModel, prompt: Prompt, parse: Callable[[str], T]) -> T:
    """Return a model's parsed reply; ask again if it can't be parsed.

    Raises:
        ServiceFailed: There is no reply, or it can't be parsed.
    """
    problem = ""
    for _ in range(MAX_ATTEMPTS):
        reply = model.complete(prompt)
        try:
            return parse(reply.text)
        except InvalidReply as error:
            problem = error.problem if reply.is_complete else f"was truncated, and {error.problem}"
    raise ServiceFailed(model.name, f"its reply {problem}")


class ChatArbitrator:
    """An arbitrator that asks a language model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the model's verdict.

        Raises:
            ServiceFailed: There is no valid verdict.
        """
        prompt = build_arbitration_prompt(existing, candidate, new_nonce())
        return ask_model(self._model, prompt, parse_verdict)


# --- Usage reports


@dataclass(frozen=True, slots=True)
class UsageReport:
    """An owner's usage of the language model.

    Attributes:
        since: The start of the period: the beginning of an hour, in UTC.
        by_purpose: Usage for "extraction", "arbitration", "summary", "base memory" and "chat".
        total: The sum.
        cost: In the currency of the configured prices; None: no prices are configured.
    """

    since: datetime
    by_purpose: Mapping[str, ModelUsage]
    total: ModelUsage
    cost: float | None


class UsageReporter:
    """Reports model usage and its cost."""

    def __init__(self, access: Access, prices: Prices) -> None:
        self._access = access
        self._prices = prices

    def report(self, owner_id: str, since: datetime | None) -> UsageReport:
        """Return an owner's usage since the hour of a time; None: the current hour.

        Raises:
            InvalidInput: The time has no time zone.
        """
        at = self._access.clock.now() if since is None else arguments.check_instant(since, "since")
        usage = self._access.store.usage.get_usage(owner_id, at)
        total = sum(usage.values(), ModelUsage())
        return UsageReport(
            since=at.replace(minute=0, second=0, microsecond=0),
            by_purpose=usage,
            total=total,
            cost=self._prices.cost(total) if self._prices.is_configured else None,
        )
