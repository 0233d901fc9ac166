"""Which language model an owner has."""

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
    """The language model as each owner may use it."""

    def for_owner(self, owner_id: str) -> ChatModel | None:
        """Return what answers for an owner, each call counted; None where there is no model."""
        ...


class NoChatModel:
    """No language model, for nobody."""

    def for_owner(self, owner_id: str) -> None:
        """Return None."""


# --- Asking a language model on behalf of an owner, and reading what it replies


T = TypeVar("T")

MAX_ATTEMPTS = 2
"""How often a model is asked that replies in another form than it was told to."""

_NONCE_BYTES = 16


def new_nonce() -> str:
    """Return a fresh code for the fences of a prompt."""
    return secrets.token_hex(_NONCE_BYTES)


def ask_model(model: ChatModel, prompt: Prompt, parse: Callable[[str], T]) -> T:
    """Return a model's reply as what it was asked for; ask again where it has another form.

    Raises:
        ServiceFailed: There is no reply, or none in the form asked for.
    """
    problem = ""
    for _ in range(MAX_ATTEMPTS):
        reply = model.complete(prompt)
        try:
            return parse(reply.text)
        except InvalidReply as error:
            problem = error.problem if reply.is_complete else f"was cut, and {error.problem}"
    raise ServiceFailed(model.name, f"its reply {problem}")


class ChatArbitrator:
    """An arbitrator that asks a language model."""

    def __init__(self, model: ChatModel) -> None:
        """Ask this one."""
        self._model = model

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the model's verdict.

        Raises:
            ServiceFailed: It gave none.
        """
        prompt = build_arbitration_prompt(existing, candidate, new_nonce())
        return ask_model(self._model, prompt, parse_verdict)


# --- What language models were asked for an owner, and what it cost


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What was spent on calls of a language model.

    Attributes:
        since: From when on: the beginning of an hour.
        by_purpose: For what: "extraction", "arbitration", "summary", "base memory", "chat".
        total: All of it.
        cost: In whatever money the prices are configured in; None where there are none.
    """

    since: datetime
    by_purpose: Mapping[str, ModelUsage]
    total: ModelUsage
    cost: float | None


class UsageReporter:
    """Says what was spent."""

    def __init__(self, access: Access, prices: Prices) -> None:
        """Use these."""
        self._access = access
        self._prices = prices

    def report(self, owner_id: str, since: datetime | None) -> UsageReport:
        """Return what was spent for an owner from the hour of a time on; None: this hour.

        Raises:
            InvalidInput: The time has no zone.
        """
        at = self._access.clock.now() if since is None else arguments.check_instant(since, "since")
        found = self._access.store.usage.get_usage(owner_id, at)
        total = sum(found.values(), ModelUsage())
        return UsageReport(
            since=at.replace(minute=0, second=0, microsecond=0),
            by_purpose=found,
            total=total,
            cost=self._prices.cost(total) if self._prices.is_configured else None,
        )
