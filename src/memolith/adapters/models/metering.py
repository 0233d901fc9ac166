"""Per-owner metering of chat model calls, with hourly limits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memolith.adapters.models.resilience import ResilientChat, close_stream
from memolith.errors import LimitReached, StoreReadOnly, StoreUnavailable
from memolith.ports.clock import Clock
from memolith.ports.models import ChatModel, Completion, Prompt, TokenCounter
from memolith.ports.service import ModelUsage, Prices, UsageCounter
from memolith.tracing import span

_HOUR_S: Final = 3600

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """Hourly limits of an owner; 0 for none."""

    calls: int = 0
    tokens: int = 0


class MeteredChatProvider:
    """A chat model with usage accounting per owner. Thread-safe.

    Every attempt counts before it is sent, including failed ones, so that crashes are counted too.
    Tokens are the service's counts, or estimates if it sends none. A call that starts below the
    token limit may exceed it.

    The store records nothing for owners without data or when it is read-only. Calls do not fail
    then; this process still enforces the limits on its own calls.

    Attributes:
        name: Service and model.
        prices: Token prices.
    """

    def __init__(
        self,
        chat: ResilientChat,
        usage: UsageCounter,
        clock: Clock,
        tokens: TokenCounter,
        limits: UsageLimits | None = None,
        prices: Prices | None = None,
    ) -> None:
        """Use a chat model, a usage counter, a clock, a token counter, limits and prices."""
        self.name = chat.name
        self.prices = prices or Prices()
        self._chat = chat
        self._usage = usage
        self._clock = clock
        self._tokens = tokens
        self._limits = limits or UsageLimits()
        self._local_usage = _LocalUsage()
        self._is_uncounted = False
        self._lock = threading.Lock()

    def for_owner(self, owner_id: str) -> ResilientChat:
        """Return the model for one owner."""
        return self._chat.with_wrapper(lambda model: _MeteredChat(model, owner_id, self))

    def close(self) -> None:
        """Close the connections."""
        self._chat.close()

    def record_call(self, owner_id: str, service: str, purpose: str) -> None:
        """Count a call before it is sent.

        Raises:
            LimitReached: The owner has no calls left in this hour.
        """
        with self._lock:  # no two threads may take the last call
            now = self._clock.now()
            self._check_limits(owner_id, service, now)
            self._local_usage.add(owner_id, ModelUsage(calls=1), now)
            self._store_usage(owner_id, purpose, ModelUsage(calls=1), now)

    def record_tokens(self, owner_id: str, prompt: Prompt, reply: Completion) -> None:
        """Count the tokens of a call."""
        input_tokens = reply.input_tokens or self._count_tokens(
            turn.content for turn in prompt.messages
        )
        output_tokens = reply.output_tokens or self._count_tokens([reply.text])
        now, model_usage = self._clock.now(), ModelUsage(0, input_tokens, output_tokens)
        with self._lock:
            self._local_usage.add(owner_id, model_usage, now)
        self._store_usage(owner_id, prompt.purpose, model_usage, now)

    def _store_usage(
        self, owner_id: str, purpose: str, model_usage: ModelUsage, now: datetime
    ) -> None:
        try:
            self._usage.add(owner_id, purpose, model_usage, at=now)
        except (StoreReadOnly, StoreUnavailable) as error:
            if not self._is_uncounted:
                _log.warning("model usage can't be recorded in the store: %s", error)
            self._is_uncounted = True
        else:
            self._is_uncounted = False

    def _check_limits(self, owner_id: str, service: str, now: datetime) -> None:
        if not (self._limits.calls or self._limits.tokens):
            return
        stored = sum(self._usage.get_usage(owner_id, now).values(), ModelUsage())
        local = self._local_usage.get(owner_id, now)
        usage_by_setting = {
            "chat.calls_per_hour": (max(stored.calls, local.calls), self._limits.calls),
            "chat.tokens_per_hour": (max(stored.tokens, local.tokens), self._limits.tokens),
        }
        for setting, (used, limit) in usage_by_setting.items():
            if limit and used >= limit:
                left_s = _HOUR_S - now.timestamp() % _HOUR_S
                raise LimitReached(service, setting, limit, left_s)

    def _count_tokens(self, texts: Iterable[str]) -> int:
        return sum(self._tokens.count(list(texts)))


class _LocalUsage:
    """Usage of each owner in the current hour, in this process."""

    def __init__(self) -> None:
        self._hour = 0
        self._usage_by_owner: dict[str, ModelUsage] = {}

    def add(self, owner_id: str, model_usage: ModelUsage, now: datetime) -> None:
        self._usage_by_owner[owner_id] = self.get(owner_id, now) + model_usage

    def get(self, owner_id: str, now: datetime) -> ModelUsage:
        hour = int(now.timestamp() // _HOUR_S)
        if hour != self._hour:
            self._hour, self._usage_by_owner = hour, {}
        return self._usage_by_owner.get(owner_id, ModelUsage())


class _MeteredChat:
    """A chat model whose calls are counted for one owner."""

    def __init__(self, model: ChatModel, owner_id: str, meter: MeteredChatProvider) -> None:
        self.name = model.name
        self._model: Any = model
        self._owner_id = owner_id
        self._meter = meter
        if hasattr(model, "stream"):
            self.stream = self._stream

    def complete(self, prompt: Prompt) -> Completion:
        self._meter.record_call(self._owner_id, self.name, prompt.purpose)
        with span("chat"):
            reply: Completion = self._model.complete(prompt)
        self._meter.record_tokens(self._owner_id, prompt, reply)
        return reply

    def _stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        self._meter.record_call(self._owner_id, self.name, prompt.purpose)
        reply = Completion("")
        pieces = self._model.stream(prompt)
        try:
            for piece in pieces:
                reply = piece if isinstance(piece, Completion) else Completion(reply.text + piece)
                yield piece
        finally:  # received parts are billed even if the stream ends early
            close_stream(pieces)
            if reply.text:
                self._meter.record_tokens(self._owner_id, prompt, reply)
