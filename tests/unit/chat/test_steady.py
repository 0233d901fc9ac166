"""A model with retries and a circuit breaker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from memolith.adapters.models.callables import CallableChat
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.errors import LimitReached, ServiceFailed
from memolith.policies.retries import BreakerPolicy, RetryPolicy
from memolith.ports.models import ChatMessage, Completion, Prompt

PROMPT = Prompt((ChatMessage("user", "Hello"),))


def make_failure(retry_after_s: float | None = None) -> ServiceFailed:
    return ServiceFailed("m", "is down", retryable=True, retry_after_s=retry_after_s)


class FakeClock:
    """A clock that advances by the time slept."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []

    def monotonic_s(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds

    def make_guard(
        self, retrying: RetryPolicy | None = None, breaking: BreakerPolicy | None = None
    ) -> ServiceGuard:
        return ServiceGuard(
            retry_policy=retrying or RetryPolicy(),
            breaker_policy=breaking or BreakerPolicy(failures=100),
            monotonic_s=self.monotonic_s,
            sleep=self.sleep,
            chance=lambda: 0.5,
        )


class ScriptedFunction:
    """A function that returns or raises its answers in turn and repeats the last."""

    name = "scripted"

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.calls = 0

    def __call__(self, messages: list[dict[str, str]]) -> str:
        del messages
        answer = self.answers[min(self.calls, len(self.answers) - 1)]
        self.calls += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_failed_call_is_retried_with_growing_pauses(clock: FakeClock) -> None:
    script = ScriptedFunction(make_failure(), make_failure(), "yes")
    model = ResilientChat(CallableChat(script), clock.make_guard())
    assert model.complete(PROMPT) == Completion("yes")
    assert model.name == "scripted"
    assert clock.slept_s == [0.25, 0.5]


def test_retries_are_bounded(clock: FakeClock) -> None:
    script = ScriptedFunction(make_failure())
    with pytest.raises(ServiceFailed, match="is down"):
        ResilientChat(CallableChat(script), clock.make_guard(RetryPolicy(max_retries=3))).complete(
            PROMPT
        )
    assert script.calls == 4


def test_total_retry_time_is_bounded(clock: FakeClock) -> None:
    script = ScriptedFunction(make_failure())
    retrying = RetryPolicy(max_retries=1000, first_pause_s=8, max_pause_s=8, max_total_s=20)
    with pytest.raises(ServiceFailed):
        ResilientChat(CallableChat(script), clock.make_guard(retrying)).complete(PROMPT)
    assert sum(clock.slept_s) < 20
    assert script.calls == 5


def test_permanent_failure_is_not_retried(clock: FakeClock) -> None:
    script = ScriptedFunction(ServiceFailed("m", "refused the key", status=401))
    with pytest.raises(ServiceFailed, match="refused the key"):
        ResilientChat(CallableChat(script), clock.make_guard()).complete(PROMPT)
    assert script.calls == 1


def test_retry_waits_as_long_as_service_requests(clock: FakeClock) -> None:
    model = ResilientChat(
        CallableChat(ScriptedFunction(make_failure(7), "yes")), clock.make_guard()
    )
    assert model.complete(PROMPT).text == "yes"
    assert clock.slept_s == [7.25]


def test_too_long_requested_wait_fails_immediately(clock: FakeClock) -> None:
    script = ScriptedFunction(make_failure(3600), "yes")
    with pytest.raises(ServiceFailed) as caught:
        ResilientChat(CallableChat(script), clock.make_guard()).complete(PROMPT)
    assert (script.calls, clock.slept_s) == (1, [])
    assert caught.value.retry_after_s == 3600


def test_limit_does_not_count_as_service_failure(clock: FakeClock) -> None:
    script = ScriptedFunction(LimitReached("m", "chat.calls_per_hour", 3, 60), "yes")
    model = ResilientChat(
        CallableChat(script), clock.make_guard(breaking=BreakerPolicy(failures=1))
    )
    with pytest.raises(LimitReached, match=r"chat\.calls_per_hour = 3"):
        model.complete(PROMPT)
    assert model.complete(PROMPT).text == "yes"


def test_failing_service_is_paused_then_tried_once(clock: FakeClock) -> None:
    script = ScriptedFunction(make_failure(), make_failure(), make_failure(), "yes")
    care = clock.make_guard(RetryPolicy(max_retries=0), BreakerPolicy(failures=2, pause_s=30))
    model = ResilientChat(CallableChat(script), care)
    for _ in range(2):
        with pytest.raises(ServiceFailed, match="is down"):
            model.complete(PROMPT)
    with pytest.raises(ServiceFailed, match="circuit open after 2 consecutive failures") as caught:
        model.complete(PROMPT)
    assert caught.value.retryable
    assert caught.value.retry_after_s == 30
    assert script.calls == 2
    clock.now_s += 30
    with pytest.raises(ServiceFailed, match="is down"):
        model.complete(PROMPT)
    with pytest.raises(ServiceFailed, match="circuit open after 3"):
        model.complete(PROMPT)
    clock.now_s += 30
    assert model.complete(PROMPT).text == "yes"
    assert model.complete(PROMPT).text == "yes"


def test_client_errors_do_not_open_circuit_breaker(clock: FakeClock) -> None:
    script = ScriptedFunction(ServiceFailed("m", "refused what it was asked", status=400))
    model = ResilientChat(
        CallableChat(script), clock.make_guard(breaking=BreakerPolicy(failures=1))
    )
    for _ in range(3):
        with pytest.raises(ServiceFailed, match="refused what it was asked"):
            model.complete(PROMPT)


def test_unexpected_error_releases_breaker_trial(clock: FakeClock) -> None:
    class FailingTwice:
        name = "odd"

        def __init__(self) -> None:
            self.errors: list[Exception] = [make_failure(), ZeroDivisionError()]

        def complete(self, prompt: Prompt) -> Completion:
            if self.errors:
                raise self.errors.pop(0)
            return Completion(prompt.messages[0].content)

    care = clock.make_guard(RetryPolicy(max_retries=0), BreakerPolicy(failures=1, pause_s=30))
    model = ResilientChat(FailingTwice(), care)
    with pytest.raises(ServiceFailed):
        model.complete(PROMPT)
    clock.now_s += 30
    with pytest.raises(ZeroDivisionError):
        model.complete(PROMPT)
    assert model.complete(PROMPT).text == "Hello"


class StreamingModel:
    """A model that streams scripted pieces and raises scripted errors."""

    name = "streaming"

    def __init__(self, *scripts: list[str | Exception]) -> None:
        self.scripts = list(scripts)
        self.closed = 0

    def complete(self, prompt: Prompt) -> Completion:
        raise NotImplementedError

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        del prompt
        text = ""
        try:
            for piece in self.scripts.pop(0):
                if isinstance(piece, Exception):
                    raise piece
                text += piece
                yield piece
            yield Completion(text)
        finally:
            self.closed += 1


def test_stream_is_retried_before_first_piece(clock: FakeClock) -> None:
    model = ResilientChat(StreamingModel([make_failure()], ["a", "b"]), clock.make_guard())
    assert list(model.stream(PROMPT)) == ["a", "b", Completion("ab")]


def test_interrupted_stream_is_not_restarted(clock: FakeClock) -> None:
    source = StreamingModel(["a", make_failure()], ["b"])
    model = ResilientChat(source, clock.make_guard(breaking=BreakerPolicy(failures=1)))
    pieces = model.stream(PROMPT)
    assert next(pieces) == "a"
    with pytest.raises(ServiceFailed, match="is down"):
        next(pieces)
    with pytest.raises(ServiceFailed, match="circuit open"):
        list(model.stream(PROMPT))


def test_abandoned_stream_is_closed(clock: FakeClock) -> None:
    source = StreamingModel(["a", "b"])
    pieces = ResilientChat(source, clock.make_guard()).stream(PROMPT)
    assert next(pieces) == "a"
    pieces.close()  # type: ignore[attr-defined] # it is a generator
    assert source.closed == 1


def test_model_without_streaming_returns_one_piece(clock: FakeClock) -> None:
    class PlainModel:
        name = "plain"

        def complete(self, prompt: Prompt) -> Completion:
            return Completion(prompt.messages[0].content)

    assert list(ResilientChat(PlainModel(), clock.make_guard()).stream(PROMPT)) == [
        "Hello",
        Completion("Hello"),
    ]
    function = CallableChat(lambda messages: messages[0]["content"])
    assert list(ResilientChat(function, clock.make_guard()).stream(PROMPT)) == [
        "Hello",
        Completion("Hello"),
    ]


def test_wrapper_sees_every_attempt(clock: FakeClock) -> None:
    seen: list[str] = []

    class RecordingModel:
        def __init__(self, complete: Callable[[Prompt], Completion]) -> None:
            self.name = "seen"
            self._complete = complete

        def complete(self, prompt: Prompt) -> Completion:
            seen.append(prompt.purpose)
            return self._complete(prompt)

    model = ResilientChat(CallableChat(ScriptedFunction(make_failure(), "yes")), clock.make_guard())
    assert (
        model.with_wrapper(lambda inner: RecordingModel(inner.complete)).complete(PROMPT).text
        == "yes"
    )
    assert seen == ["chat", "chat"]


def test_concurrent_calls_are_limited() -> None:
    together, most = 0, 0
    lock, gate = threading.Lock(), threading.Barrier(2)

    def slow(messages: list[dict[str, str]]) -> str:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        gate.wait(5)
        with lock:
            together -= 1
        return messages[0]["content"]

    model = ResilientChat(CallableChat(slow), ServiceGuard(max_concurrent_calls=2))
    threads = [threading.Thread(target=model.complete, args=(PROMPT,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_call_without_free_slot_fails_as_busy() -> None:
    started, done = threading.Event(), threading.Event()

    def slow(messages: list[dict[str, str]]) -> str:
        started.set()
        done.wait(5)
        return messages[0]["content"]

    model = ResilientChat(
        CallableChat(slow),
        ServiceGuard(max_concurrent_calls=1, retry_policy=RetryPolicy(max_total_s=0.01)),
    )
    other = threading.Thread(target=model.complete, args=(PROMPT,))
    other.start()
    started.wait(5)
    with pytest.raises(ServiceFailed, match="too many concurrent calls") as caught:
        model.complete(PROMPT)
    assert caught.value.retryable
    done.set()
    other.join()
