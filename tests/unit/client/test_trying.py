"""When a client retries, and the error that it raises in the end."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from memolith.client.endpoints import OWNER_METHODS
from memolith.client.protocol import (
    AttemptResult,
    Call,
    CallRunner,
    RequestAttempt,
    RequestFailure,
    Response,
    RetryPause,
    ServiceConnection,
)
from memolith.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitReached,
    ServiceFailed,
    StoreUnavailable,
)
from support.rows import check_each

URL, KEY = "http://127.0.0.1:8377", "mnk_secret"
READ = Call("GET", "/v1/owners", response_type=list[str], response_key="owners", is_retryable=True)
WRITE = Call("POST", "/v1/retry", use_idempotency_key=True)
ONLY_ONCE = Call("POST", "/v1/owner/readmit")
DONE = Response(204, {}, b"")
CUT, UNSENT = (
    RequestFailure("closed the connection"),
    RequestFailure("cannot be reached", is_unsent=True),
)


def problem(status: int, detail: str, wait_s: int | None = None, **more: Any) -> Response:
    headers = {} if wait_s is None else {"retry-after": str(wait_s)}
    body = {"type": "about:blank", "detail": detail, "errors": [], "facts": {}, **more}
    return Response(status, headers, json.dumps(body).encode())


def run_call(call: Call, *outcomes: AttemptResult) -> tuple[list[RequestAttempt], list[float], Any]:
    """Run a call against scripted outcomes; return the requests, the pauses and the result."""
    tokens = iter(range(9))
    conversation = CallRunner(
        ServiceConnection(URL, KEY, 5.0),
        "alice",
        lambda: 0.0,
        lambda: 1.0,
        lambda: str(next(tokens)),
    )
    steps, remaining = conversation.run_call(call), iter(outcomes)
    sent: list[RequestAttempt] = []
    pauses: list[float] = []
    outcome: AttemptResult = None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as end:
            assert next(remaining, None) is None
            return sent, pauses, end.value
        if isinstance(step, RetryPause):
            pauses.append(step.seconds)
            outcome = None
        else:
            sent.append(step)
            outcome = next(remaining)


def test_write_is_retried_with_the_same_idempotency_key() -> None:
    sent, pauses, _ = run_call(WRITE, CUT, CUT, DONE)
    assert [each.headers["Idempotency-Key"] for each in sent] == [b"0"] * 3
    assert pauses == [0.1, 0.2]


def test_client_gives_up_after_five_retries_without_exposing_its_key() -> None:
    with pytest.raises(StoreUnavailable, match=f"{URL} closed the connection") as failed:
        run_call(WRITE, *[CUT] * 6)
    assert KEY not in str(failed.value)


def test_reported_duration_includes_all_attempts_and_pauses() -> None:
    times = itertools.count(0.0, 10.0)
    conversation = CallRunner(
        ServiceConnection(URL, KEY, 5.0), None, lambda: next(times), lambda: 1.0, lambda: "0"
    )
    steps = conversation.run_call(ONLY_ONCE)
    next(steps)
    cut = replace(CUT, waited_s=0.1)
    with pytest.raises(StoreUnavailable, match="tried for 20 s"):
        steps.send(cut)


@check_each(
    ("call", "outcome", "again"),
    [
        (READ, CUT, True),
        (WRITE, CUT, True),
        (ONLY_ONCE, CUT, False),
        (ONLY_ONCE, UNSENT, True),
        (READ, RequestFailure("did not respond in time", is_timeout=True), False),
        (WRITE, RequestFailure("did not respond in time", is_timeout=True), False),
        (WRITE, problem(429, "too many requests", 3), True),
        (ONLY_ONCE, problem(503, "too many concurrent requests", 1), True),
        (WRITE, problem(409, "being done", 1, type="urn:memolith:error:conflict"), True),
        (WRITE, problem(409, "it is active", type="urn:memolith:error:conflict"), False),
        (WRITE, problem(429, "too many requests", 21), False),
        (WRITE, problem(429, "spent", 3, type="urn:memolith:error:limit-reached"), False),
        (WRITE, problem(503, "locked", 1, type="urn:memolith:error:store-unavailable"), False),
        (WRITE, problem(500, "internal server error"), False),
    ],
)
def test_request_is_retried_only_when_that_is_safe(
    call: Call, outcome: AttemptResult, *, again: bool
) -> None:
    if again:
        last = Response(200, {}, b'{"owners": []}')
        assert len(run_call(call, outcome, last)[0]) == 2
    else:
        with pytest.raises((StoreUnavailable, Conflict, ServiceFailed)):
            run_call(call, outcome)


def test_client_waits_as_long_as_retry_after_says() -> None:
    _, pauses, _ = run_call(WRITE, problem(429, "too many requests", 7), DONE)
    assert pauses == [7.1]


@check_each(
    ("reply", "kind", "words"),
    [
        (problem(401, "invalid API key"), Forbidden, "invalid API key"),
        (problem(404, "Not Found"), ServiceFailed, "404"),
        (problem(413, "the request body exceeds 10 bytes"), InvalidInput, "exceeds 10 bytes"),
        (problem(429, "too many requests", 60), ServiceFailed, "too many requests"),
        (Response(302, {"location": "http://elsewhere"}, b""), ServiceFailed, "302"),
        (Response(200, {}, b"<html>Welcome</html>"), ServiceFailed, "sent an invalid response"),
        (Response(200, {}, b'{"owners": 1}'), ServiceFailed, "sent an invalid response"),
        (Response(200, {}, b"[" * 100_000), ServiceFailed, "sent an invalid response"),
        (Response(502, {}, b"<html>Bad gateway</html>"), ServiceFailed, "502"),
        (Response(422, {}, b'{"errors": ["x"], "facts": []}'), InvalidInput, "request"),
        (problem(429, "spent", 9, type="urn:memolith:error:limit-reached"), LimitReached, "spent"),
    ],
)
def test_unusable_response_raises_a_matching_error(reply: Response, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        run_call(READ, reply)


def test_error_carries_the_retry_after_time() -> None:
    with pytest.raises(ServiceFailed) as failed:
        run_call(READ, problem(429, "too many requests", 60))
    assert (failed.value.retryable, failed.value.retry_after_s) == (True, 60.0)


@check_each(
    ("place", "field"),
    [("tags.0", "tags"), ("messages.1.at", "messages[1].at"), ("state.str-enum[State]", "state")],
)
def test_error_names_the_argument_as_the_library_does(place: str, field: str) -> None:
    wrong = [{"field": place, "problem": "is wrong"}]
    with pytest.raises(InvalidInput) as refused:
        run_call(READ, problem(422, "", errors=wrong))
    assert refused.value.field == field


def test_method_with_several_calls_uses_an_idempotency_key_for_writes() -> None:
    asking = OWNER_METHODS["store_fact"](content="Likes tea", importance=None)
    first = next(asking)
    assert (first.path, first.query) == ("/v1/profile/kind", (("kind", "fact"),))
    second = asking.send("semantic")
    assert (second.use_idempotency_key, second.body["kind"]) == (True, "semantic")


@check_each("errors", [5, {"a": 1}, "text", [5], True])
def test_malformed_error_details_still_raise_a_library_error(errors: object) -> None:
    with pytest.raises(InvalidInput, match="no"):
        run_call(READ, problem(422, "no", errors=errors))


def test_number_out_of_range_is_an_unreadable_response() -> None:
    call = Call("GET", "/v1/x", response_type=float, response_key="x")
    with pytest.raises(ServiceFailed, match="sent an invalid response"):
        run_call(call, Response(200, {}, b'{"x": 1' + b"0" * 400 + b"}"))
