"""A model that is asked again where it fails, and left alone where it keeps failing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from memolith.adapters.models.callables import CallableChat
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.errors import LimitReached, ServiceFailed
from memolith.policies.retries import BreakerPolicy, RetryPolicy
from memolith.ports.models import ChatMessage, Completion, Prompt

ASKED = Prompt((ChatMessage("user", "Hello"),))


def down(retry_after_s: float | None = None) -> ServiceFailed:
    return ServiceFailed("m", "is down", retryable=True, retry_after_s=retry_after_s)


class Time:
    """A clock that goes on by what is slept."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []

    def monotonic_s(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds

    def care(
        self, retrying: RetryPolicy | None = None, breaking: BreakerPolicy | None = None
    ) -> ServiceGuard:
        return ServiceGuard(
            retry_policy=retrying or RetryPolicy(),
            breaker_policy=breaking or BreakerPolicy(failures=100),
            monotonic_s=self.monotonic_s,
            sleep=self.sleep,
            chance=lambda: 0.5,
        )


class Script:
    """A function that gives or raises what it is told to, in turn; the last for ever."""

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
def time() -> Time:
    return Time()


def test_what_fails_is_asked_again_after_growing_pauses(time: Time) -> None:
    script = Script(down(), down(), "yes")
    model = ResilientChat(CallableChat(script), time.care())
    assert model.complete(ASKED) == Completion("yes")
    assert model.name == "scripted"
    assert time.slept_s == [0.25, 0.5]


def test_retries_are_bounded(time: Time) -> None:
    script = Script(down())
    with pytest.raises(ServiceFailed, match="is down"):
        ResilientChat(CallableChat(script), time.care(RetryPolicy(max_retries=3))).complete(ASKED)
    assert script.calls == 4


def test_the_whole_time_is_bounded(time: Time) -> None:
    script = Script(down())
    retrying = RetryPolicy(max_retries=1000, first_pause_s=8, max_pause_s=8, max_total_s=20)
    with pytest.raises(ServiceFailed):
        ResilientChat(CallableChat(script), time.care(retrying)).complete(ASKED)
    assert sum(time.slept_s) < 20
    assert script.calls == 5


def test_a_failure_that_stays_is_not_tried_again(time: Time) -> None:
    script = Script(ServiceFailed("m", "refused the key", status=401))
    with pytest.raises(ServiceFailed, match="refused the key"):
        ResilientChat(CallableChat(script), time.care()).complete(ASKED)
    assert script.calls == 1


def test_what_the_service_asks_is_waited(time: Time) -> None:
    model = ResilientChat(CallableChat(Script(down(7), "yes")), time.care())
    assert model.complete(ASKED).text == "yes"
    assert time.slept_s == [7.25]


def test_a_wait_that_is_too_long_is_a_failure_at_once(time: Time) -> None:
    script = Script(down(3600), "yes")
    with pytest.raises(ServiceFailed) as caught:
        ResilientChat(CallableChat(script), time.care()).complete(ASKED)
    assert (script.calls, time.slept_s) == (1, [])
    assert caught.value.retry_after_s == 3600


def test_a_limit_is_no_failure_of_the_service(time: Time) -> None:
    script = Script(LimitReached("m", "chat.calls_per_hour", 3, 60), "yes")
    model = ResilientChat(CallableChat(script), time.care(breaking=BreakerPolicy(failures=1)))
    with pytest.raises(LimitReached, match=r"chat\.calls_per_hour = 3"):
        model.complete(ASKED)
    assert model.complete(ASKED).text == "yes"


def test_a_service_that_keeps_failing_is_left_alone_then_tried_once(time: Time) -> None:
    script = Script(down(), down(), down(), "yes")
    care = time.care(RetryPolicy(max_retries=0), BreakerPolicy(failures=2, pause_s=30))
    model = ResilientChat(CallableChat(script), care)
    for _ in range(2):
        with pytest.raises(ServiceFailed, match="is down"):
            model.complete(ASKED)
    with pytest.raises(ServiceFailed, match="circuit open after 2 consecutive failures") as caught:
        model.complete(ASKED)
    assert caught.value.retryable
    assert caught.value.retry_after_s == 30
    assert script.calls == 2
    time.now_s += 30
    with pytest.raises(ServiceFailed, match="is down"):
        model.complete(ASKED)
    with pytest.raises(ServiceFailed, match="circuit open after 3"):
        model.complete(ASKED)
    time.now_s += 30
    assert model.complete(ASKED).text == "yes"
    assert model.complete(ASKED).text == "yes"


def test_failures_that_are_the_askers_fault_do_not_count(time: Time) -> None:
    script = Script(ServiceFailed("m", "refused what it was asked", status=400))
    model = ResilientChat(CallableChat(script), time.care(breaking=BreakerPolicy(failures=1)))
    for _ in range(3):
        with pytest.raises(ServiceFailed, match="refused what it was asked"):
            model.complete(ASKED)


def test_an_error_of_ours_frees_the_trial(time: Time) -> None:
    class Odd:
        name = "odd"

        def __init__(self) -> None:
            self.errors: list[Exception] = [down(), ZeroDivisionError()]

        def complete(self, prompt: Prompt) -> Completion:
            if self.errors:
                raise self.errors.pop(0)
            return Completion(prompt.messages[0].content)

    care = time.care(RetryPolicy(max_retries=0), BreakerPolicy(failures=1, pause_s=30))
    model = ResilientChat(Odd(), care)
    with pytest.raises(ServiceFailed):
        model.complete(ASKED)
    time.now_s += 30
    with pytest.raises(ZeroDivisionError):
        model.complete(ASKED)
    assert model.complete(ASKED).text == "Hello"


class Streaming:
    """A model that streams what it is told, and breaks off where it is told."""

    name = "streaming"

    def __init__(self, *scripts: list[str | Exception]) -> None:
        self.scripts = list(scripts)
        self.closed = 0

    def complete(self, prompt: Prompt) -> Completion:
        raise NotImplementedError

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        del prompt
        said = ""
        try:
            for piece in self.scripts.pop(0):
                if isinstance(piece, Exception):
                    raise piece
                said += piece
                yield piece
            yield Completion(said)
        finally:
            self.closed += 1


def test_a_stream_is_asked_again_until_it_begins(time: Time) -> None:
    model = ResilientChat(Streaming([down()], ["a", "b"]), time.care())
    assert list(model.stream(ASKED)) == ["a", "b", Completion("ab")]


def test_a_stream_that_breaks_off_is_not_begun_again(time: Time) -> None:
    source = Streaming(["a", down()], ["b"])
    model = ResilientChat(source, time.care(breaking=BreakerPolicy(failures=1)))
    pieces = model.stream(ASKED)
    assert next(pieces) == "a"
    with pytest.raises(ServiceFailed, match="is down"):
        next(pieces)
    with pytest.raises(ServiceFailed, match="circuit open"):
        list(model.stream(ASKED))


def test_a_stream_that_nobody_reads_on_is_ended(time: Time) -> None:
    source = Streaming(["a", "b"])
    pieces = ResilientChat(source, time.care()).stream(ASKED)
    assert next(pieces) == "a"
    pieces.close()  # type: ignore[attr-defined] # it is a generator
    assert source.closed == 1


def test_a_model_that_can_not_stream_gives_its_reply_in_one_piece(time: Time) -> None:
    class Plain:
        name = "plain"

        def complete(self, prompt: Prompt) -> Completion:
            return Completion(prompt.messages[0].content)

    assert list(ResilientChat(Plain(), time.care()).stream(ASKED)) == ["Hello", Completion("Hello")]
    function = CallableChat(lambda messages: messages[0]["content"])
    assert list(ResilientChat(function, time.care()).stream(ASKED)) == [
        "Hello",
        Completion("Hello"),
    ]


def test_a_wrapping_sees_each_try(time: Time) -> None:
    seen: list[str] = []

    class Seen:
        def __init__(self, complete: Callable[[Prompt], Completion]) -> None:
            self.name = "seen"
            self._complete = complete

        def complete(self, prompt: Prompt) -> Completion:
            seen.append(prompt.purpose)
            return self._complete(prompt)

    model = ResilientChat(CallableChat(Script(down(), "yes")), time.care())
    assert model.with_wrapper(lambda inner: Seen(inner.complete)).complete(ASKED).text == "yes"
    assert seen == ["chat", "chat"]


def test_only_so_many_calls_are_under_way() -> None:
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
    threads = [threading.Thread(target=model.complete, args=(ASKED,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_who_finds_no_place_is_told_so() -> None:
    held, done = threading.Event(), threading.Event()

    def slow(messages: list[dict[str, str]]) -> str:
        held.set()
        done.wait(5)
        return messages[0]["content"]

    model = ResilientChat(
        CallableChat(slow),
        ServiceGuard(max_concurrent_calls=1, retry_policy=RetryPolicy(max_total_s=0.01)),
    )
    other = threading.Thread(target=model.complete, args=(ASKED,))
    other.start()
    held.wait(5)
    with pytest.raises(ServiceFailed, match="too many concurrent calls") as caught:
        model.complete(ASKED)
    assert caught.value.retryable
    done.set()
    other.join()
