"""Model calls are counted by owner and hour, and limited."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from memolith import Memolith
from memolith.adapters.models.callables import CallableChat
from memolith.adapters.models.metering import MeteredChatProvider, UsageLimits
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.config import load
from memolith.errors import (
    InvalidInput,
    LimitReached,
    MemolithError,
    ServiceFailed,
    StoreReadOnly,
    StoreUnavailable,
)
from memolith.policies.retries import RetryPolicy
from memolith.ports.models import ChatMessage, ChatModel, Completion, Prompt
from memolith.ports.service import ModelUsage, Prices, UsageCounter
from memolith.services.chat import UsageReport
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

NOON = datetime(2026, 5, 1, 12, 45, tzinfo=UTC)
ASKED = Prompt(
    (ChatMessage("system", "Be brief."), ChatMessage("user", "Hello there")), purpose="extraction"
)


class ScriptedModel:
    """A model that reports token counts and fails a given number of times."""

    name = "told"

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.calls = 0

    def complete(self, prompt: Prompt) -> Completion:
        del prompt
        self.calls += 1
        if self.calls <= self.failures:
            raise ServiceFailed("told", "is down", retryable=True)
        return Completion("one two", 100, 20)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        reply = self.complete(prompt)
        yield "one "
        yield "two"
        yield reply


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON)


@pytest.fixture
def usage(clock: SettableClock) -> Iterator[UsageCounter]:
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(64), tokens=WordCounter(), clock=clock
    ) as engine:
        for owner in ("alice", "bob"):
            engine.remember("Likes tea", owner=owner)
        yield engine._app.store.usage


def build_chats(
    model: ChatModel, usage: UsageCounter, clock: SettableClock, limits: UsageLimits | None = None
) -> MeteredChatProvider:
    care = ServiceGuard(retry_policy=RetryPolicy(max_retries=2), sleep=lambda _seconds: None)
    return MeteredChatProvider(ResilientChat(model, care), usage, clock, WordCounter(), limits)


def test_calls_and_tokens_are_counted_by_owner_and_purpose(
    usage: UsageCounter, clock: SettableClock
) -> None:
    chats = build_chats(ScriptedModel(), usage, clock)
    chats.for_owner("alice").complete(ASKED)
    chats.for_owner("alice").complete(ASKED)
    list(chats.for_owner("alice").stream(ASKED))
    chats.for_owner("bob").complete(Prompt(ASKED.messages, purpose="summary"))
    assert usage.get_usage("alice", NOON) == {"extraction": ModelUsage(3, 300, 60)}
    assert usage.get_usage("bob", NOON) == {"summary": ModelUsage(1, 100, 20)}
    assert chats.name == "told"


def test_missing_token_counts_are_estimated(usage: UsageCounter, clock: SettableClock) -> None:
    chats = build_chats(CallableChat(lambda _: "one two three"), usage, clock)
    chats.for_owner("alice").complete(ASKED)
    list(chats.for_owner("alice").stream(ASKED))
    assert usage.get_usage("alice", NOON) == {"extraction": ModelUsage(2, 10, 6)}


def test_each_retry_counts_as_a_call(usage: UsageCounter, clock: SettableClock) -> None:
    build_chats(ScriptedModel(failures=2), usage, clock).for_owner("alice").complete(ASKED)
    assert usage.get_usage("alice", NOON) == {"extraction": ModelUsage(3, 100, 20)}


def test_abandoned_stream_counts_received_tokens(usage: UsageCounter, clock: SettableClock) -> None:
    pieces = build_chats(ScriptedModel(), usage, clock).for_owner("alice").stream(ASKED)
    assert next(pieces) == "one "
    pieces.close()  # type: ignore[attr-defined] # it is a generator
    assert usage.get_usage("alice", NOON) == {"extraction": ModelUsage(1, 5, 1)}


def test_call_limit_stops_calls_to_the_service(usage: UsageCounter, clock: SettableClock) -> None:
    model = ScriptedModel()
    chats = build_chats(model, usage, clock, UsageLimits(calls=2))
    chats.for_owner("alice").complete(ASKED)
    chats.for_owner("alice").complete(ASKED)
    with pytest.raises(LimitReached, match=r"calls_per_hour = 2 is reached: try again in 15 min"):
        chats.for_owner("alice").complete(ASKED)
    with pytest.raises(LimitReached) as caught:
        next(chats.for_owner("alice").stream(ASKED))
    assert (caught.value.retryable, caught.value.retry_after_s) == (True, 15 * 60)
    assert (caught.value.setting, caught.value.limit) == ("chat.calls_per_hour", 2)
    assert model.calls == 2
    chats.for_owner("bob").complete(ASKED)  # other owners have their own limit
    clock.advance(timedelta(minutes=15))
    chats.for_owner("alice").complete(ASKED)


def test_token_limit_stops_calls_to_the_service(usage: UsageCounter, clock: SettableClock) -> None:
    chats = build_chats(ScriptedModel(), usage, clock, UsageLimits(tokens=121))
    chats.for_owner("alice").complete(ASKED)
    chats.for_owner("alice").complete(ASKED)
    with pytest.raises(LimitReached, match=r"tokens_per_hour = 121"):
        chats.for_owner("alice").complete(ASKED)


def test_concurrent_threads_do_not_exceed_call_limit(
    usage: UsageCounter, clock: SettableClock
) -> None:
    chats = build_chats(ScriptedModel(), usage, clock, UsageLimits(calls=5))
    refused: list[LimitReached] = []

    def ask() -> None:
        try:
            chats.for_owner("alice").complete(ASKED)
        except LimitReached as error:
            refused.append(error)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert usage.get_usage("alice", NOON)["extraction"].calls == 5


def test_cost_is_computed_from_token_prices() -> None:
    assert Prices(input=3.0, output=15.0).cost(ModelUsage(7, 2_000_000, 100_000)) == 7.5
    assert Prices().cost(ModelUsage(7, 2_000_000, 100_000)) == 0


def test_limits_apply_to_owner_without_records(usage: UsageCounter, clock: SettableClock) -> None:
    chats = build_chats(ScriptedModel(), usage, clock, UsageLimits(calls=2))
    for _ in range(2):
        chats.for_owner("new").complete(ASKED)
    with pytest.raises(LimitReached, match="calls_per_hour = 2"):
        chats.for_owner("new").complete(ASKED)
    assert usage.get_usage("new", NOON) == {}
    clock.advance(timedelta(minutes=15))
    chats.for_owner("new").complete(ASKED)


class Unwritable:
    """A usage counter of a store that cannot be written."""

    def __init__(self, error: MemolithError) -> None:
        self.error = error

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        del owner_id, purpose, model_usage, at
        raise self.error

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        del owner_id, start
        return {}


@pytest.mark.parametrize(
    "error", [StoreReadOnly("memory.db", "its disk is"), StoreUnavailable("the disk is full")]
)
def test_limits_hold_when_counts_cannot_be_stored(
    error: MemolithError, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    chats = build_chats(ScriptedModel(), Unwritable(error), clock, UsageLimits(tokens=200))
    assert chats.for_owner("alice").complete(ASKED).text == "one two"
    assert list(chats.for_owner("alice").stream(ASKED))[-1] == Completion("one two", 100, 20)
    with pytest.raises(LimitReached, match="tokens_per_hour = 200"):
        chats.for_owner("alice").complete(ASKED)
    assert [record.getMessage() for record in caplog.records] == [
        f"model usage can't be recorded in the store: {error}"
    ]


def test_usage_report_contains_tokens_and_cost(clock: SettableClock) -> None:
    prices = {"MEMOLITH_CHAT__INPUT_PRICE": "2", "MEMOLITH_CHAT__OUTPUT_PRICE": "10"}
    with Memolith.open(
        ":memory:",
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        clock=clock,
        config=load(None, prices, {}),
    ) as engine:
        alice = engine.owner("alice")
        alice.remember("Likes tea")
        assert alice.usage() == UsageReport(NOON.replace(minute=0), {}, ModelUsage(), 0.0)
        add = engine._app.store.usage.add
        add("alice", "chat", ModelUsage(1, 500_000, 0), at=NOON)
        add("alice", "chat", ModelUsage(1, 500_000, 100_000), at=NOON - timedelta(hours=1))
        assert alice.usage().total == ModelUsage(1, 500_000, 0)
        found = alice.usage(since=NOON - timedelta(hours=3))
        assert found.by_purpose == {"chat": ModelUsage(2, 1_000_000, 100_000)}
        assert found.cost == 3.0
        assert engine.usage(owner="bob").total == ModelUsage()
        with pytest.raises(InvalidInput, match="time zone"):
            alice.usage(since=datetime(2026, 5, 1))  # noqa: DTZ001 - the missing time zone is under test
