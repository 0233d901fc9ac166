"""The chat models of each service, with real clients against a scripted server."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from memolith.adapters.models import http
from memolith.adapters.models.anthropic import AnthropicChat
from memolith.adapters.models.ollama import OllamaChat
from memolith.adapters.models.openai import OpenAIChat
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.demo.model_server import (
    Answer,
    Fault,
    ModelServer,
    ReceivedRequest,
    Unreliable,
    delayed_answer,
    dropped_connection,
    error_answer,
    fenced_answer,
    malformed_answer,
    reject_schemas,
    truncated_answer,
)
from memolith.errors import ServiceFailed
from memolith.policies.retries import BreakerPolicy, RetryPolicy
from memolith.ports.models import ChatMessage, Completion, Prompt, ResponseSchema

KEY = "sk-very-secret-key"
# A word, not a number: logs contain many numbers, such as ports and object addresses.
USER_TEXT = "the pet of Alice is a quokka"
PROMPT = Prompt((ChatMessage("system", "Be brief."), ChatMessage("user", USER_TEXT)), max_tokens=77)
SCHEMA = ResponseSchema(
    "facts",
    {
        "type": "object",
        "properties": {"fact": {"type": "string"}},
        "required": ["fact"],
        "additionalProperties": False,
    },
)
WITH_SCHEMA = Prompt(PROMPT.messages, SCHEMA)

Model = OpenAIChat | OllamaChat | AnthropicChat
Ask = Callable[[Model, Prompt], Completion]


def openai(server: ModelServer, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", api_key=KEY, base_url=server.openai_url, **options)


def ollama(server: ModelServer, **options: Any) -> OllamaChat:
    return OllamaChat("m", api_key=KEY, base_url=server.url, **options)


def anthropic(server: ModelServer, **options: Any) -> AnthropicChat:
    return AnthropicChat("m", api_key=KEY, base_url=server.url, **options)


SERVICES: dict[str, Callable[..., Model]] = {
    "openai": openai,
    "ollama": ollama,
    "anthropic": anthropic,
}


def complete_at_once(model: Model, prompt: Prompt) -> Completion:
    return model.complete(prompt)


def complete_by_streaming(model: Model, prompt: Prompt) -> Completion:
    *pieces, reply = model.stream(prompt)
    assert isinstance(reply, Completion)
    assert "".join(str(piece) for piece in pieces) == reply.text
    return reply


each_service = pytest.mark.parametrize("service", SERVICES)
each_way = pytest.mark.parametrize(
    "ask", [complete_at_once, complete_by_streaming], ids=["whole", "streamed"]
)


@contextmanager
def open_model(service: str, server: ModelServer, **options: Any) -> Iterator[Model]:
    model = SERVICES[service](server, **{"timeout_s": 5.0, **options})
    try:
        yield model
    finally:
        model.close()


@each_service
@each_way
def test_reply_includes_token_counts(service: str, ask: Ask) -> None:
    answer = Answer("Quite so.", input_tokens=11, output_tokens=3)
    with ModelServer([answer]) as server, open_model(service, server) as model:
        assert ask(model, PROMPT) == Completion("Quite so.", 11, 3)
    (asked,) = server.requests
    assert asked.messages == PROMPT.messages
    assert (asked.model, asked.max_tokens, asked.temperature) == ("m", 77, None)
    assert asked.key == KEY
    assert model.name == f"{service}:m"


@each_service
@each_way
def test_missing_token_counts_are_none(service: str, ask: Ask) -> None:
    answer = Answer("Yes", has_token_counts=False)
    with ModelServer([answer]) as server, open_model(service, server) as model:
        assert ask(model, PROMPT) == Completion("Yes")


@each_service
@each_way
def test_request_includes_response_schema(service: str, ask: Ask) -> None:
    answers = [{"fact": "Alice has a pet"}]
    with ModelServer(answers) as server, open_model(service, server) as model:
        assert ask(model, WITH_SCHEMA).text == '{"fact": "Alice has a pet"}'
    schema = server.requests[0].schema
    assert schema is not None
    assert schema.json == SCHEMA.json
    assert schema.name in {"facts", ""}
    if service == "openai":
        assert server.requests[0].body["response_format"]["json_schema"]["strict"] is True


@each_service
@each_way
def test_service_without_schema_support_gets_schema_in_prompt(service: str, ask: Ask) -> None:
    rule = reject_schemas(lambda _: fenced_answer({"fact": "x"}))
    with ModelServer(rule) as server, open_model(service, server) as model:
        assert "```json" in ask(model, WITH_SCHEMA).text
        assert ask(model, WITH_SCHEMA).is_complete
    assert [asked.schema is None for asked in server.requests] == [False, True, True]
    assert server.requests[1].system.startswith("Be brief.\n\nReply with one JSON value")
    assert '"additionalProperties": false' in server.requests[1].system


@each_service
def test_rejected_prompt_does_not_disable_schemas(service: str) -> None:
    script: list[Any] = [error_answer(400, code="context_length_exceeded")] * 2 + [{"fact": "x"}]
    with ModelServer(script) as server, open_model(service, server) as model:
        with pytest.raises(ServiceFailed) as caught:
            model.complete(WITH_SCHEMA)
        assert (caught.value.status, caught.value.retryable) == (400, False)
        assert model.complete(WITH_SCHEMA).text == '{"fact": "x"}'
    assert server.requests[2].schema is not None


@each_service
@each_way
def test_truncated_reply_is_not_complete(service: str, ask: Ask) -> None:
    answers = [Answer("It was", is_complete=False)]
    with ModelServer(answers) as server, open_model(service, server) as model:
        assert not ask(model, PROMPT).is_complete


@each_way
@pytest.mark.parametrize(
    ("service", "finish", "is_whole"),
    [
        ("openai", "content_filter", False),
        ("openai", "eos", True),
        ("anthropic", "refusal", False),
        ("anthropic", "stop_sequence", True),
    ],
)
def test_finish_reason_decides_whether_reply_is_complete(
    service: str, finish: str, ask: Ask, *, is_whole: bool
) -> None:
    answers = [Answer("It was", finish=finish)]
    with ModelServer(answers) as server, open_model(service, server) as model:
        assert ask(model, PROMPT).is_complete is is_whole


@each_service
@each_way
def test_empty_reply_is_accepted(service: str, ask: Ask) -> None:
    with ModelServer([""]) as server, open_model(service, server) as model:
        assert ask(model, PROMPT).text == ""


def test_stream_yields_pieces() -> None:
    with ModelServer(lambda _: "one two three") as server:
        for service in SERVICES:
            with open_model(service, server) as model:
                assert list(model.stream(PROMPT))[:-1] == ["one ", "two ", "three"]


FAILURES: dict[str, tuple[Answer, int | None, bool, str]] = {
    "500": (error_answer(500), 500, True, "failed (status 500)"),
    "503": (error_answer(503), 503, True, "failed (status 503)"),
    "529": (error_answer(529), 529, True, "is overloaded"),
    "501": (error_answer(501), 501, False, "failed (status 501)"),
    "429": (error_answer(429, retry_after_s=7), 429, True, "rate limit exceeded"),
    "401": (error_answer(401), 401, False, "rejected the API key"),
    "404": (error_answer(404), 404, False, "has no such model"),
    "400": (error_answer(400), 400, False, "rejected the request"),
    "307": (error_answer(307), 307, False, "sent an unexpected redirect"),
    "dropped": (dropped_connection(), None, True, "is unreachable or closed the connection"),
    "cut off": (truncated_answer("one two three four"), None, True, "closed the connection"),
    "malformed": (
        malformed_answer("one two three four"),
        None,
        True,
        "sent an unreadable response",
    ),
    "early": (Answer("one two three four", fault=Fault.ENDED_EARLY), None, True, ""),
    "late": (delayed_answer("x", 60), None, True, "timed out after 0.15 s"),
}


@each_service
@each_way
@pytest.mark.parametrize("failure", FAILURES)
def test_service_failure_contains_no_content_or_key(
    service: str, ask: Ask, failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, status, retryable, words = FAILURES[failure]
    timeout_s = 0.15 if failure == "late" else 5.0
    caplog.set_level(logging.DEBUG)
    with (
        ModelServer(lambda _: answer) as server,
        open_model(service, server, timeout_s=timeout_s) as model,
        pytest.raises(ServiceFailed) as caught,
    ):
        ask(model, PROMPT)
    error = caught.value
    assert (error.status, error.retryable, error.service) == (status, retryable, f"{service}:m")
    assert words in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert len(server.requests) == 1  # the clients' own retries are off
    if failure == "429":
        assert error.retry_after_s == 7
    for text in (str(error), repr(error.args), caplog.text):
        assert "quokka" not in text
        assert KEY not in text


@each_service
@each_way
def test_successful_call_logs_no_content_or_key(
    service: str, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ModelServer(["the answer is wombat"]) as server, open_model(service, server) as model:
        ask(model, PROMPT)
    for word in ("quokka", "wombat", KEY):
        assert word not in caplog.text


@each_service
def test_unreachable_service_raises_retryable_failure(service: str) -> None:
    with ModelServer() as server:
        pass
    with open_model(service, server) as model, pytest.raises(ServiceFailed) as caught:
        model.complete(PROMPT)
    assert caught.value.retryable


@each_service
def test_slow_stream_may_exceed_timeout_in_total(service: str) -> None:
    """Each piece comes within the timeout, the whole stream does not."""
    answers = [Answer("word " * 12, piece_delay_s=0.03)]
    with ModelServer(answers) as server, open_model(service, server, timeout_s=0.25) as model:
        assert complete_by_streaming(model, PROMPT).text == "word " * 12


BODIES = [
    "null", "[]", "3", '"text"', "{}", "[null]", '{"choices": 3}', '{"choices": [null]}',
    '{"choices": [{"message": []}]}', '{"choices": [{"message": {"content": 7}}]}',
    '{"message": null, "done": true}', '{"message": {"content": [1]}, "done": true}',
    '{"content": null, "stop_reason": "end_turn"}', '{"content": [7], "usage": "many"}',
    '{"error": "the pet of Alice is a quokka"}', "<html>the pet of Alice is a quokka</html>", "",
]  # fmt: skip


@each_service
@each_way
@pytest.mark.parametrize("frame", ["{}", "data: {}\n\n", "event: message_start\ndata: {}\n\n"])
def test_malformed_body_raises_retryable_failure(
    service: str, ask: Ask, frame: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = [Answer(raw=frame.replace("{}", body)) for body in BODIES]
    with ModelServer(script) as server, open_model(service, server) as model:
        for body in BODIES:
            with pytest.raises(ServiceFailed) as caught:
                ask(model, PROMPT)
            assert caught.value.retryable, body
            assert caught.value.__context__ is None
            assert "quokka" not in str(caught.value)
    assert "quokka" not in caplog.text


class _ResponseBody:
    """A response body, in parts."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        self.is_closed = True


def _limit_response(kind: str, parts: Iterator[bytes], timeout_s: float) -> Any:
    import httpx

    hooks = http.build_http_options(httpx, "http://x", timeout_s)["event_hooks"]
    request = httpx.Request("POST", "http://x")
    response = httpx.Response(200, headers={"content-type": kind}, request=request)
    response.stream = _ResponseBody(parts)  # type: ignore[assignment] # has the same interface
    for hook in hooks["request"]:
        hook(request)
    for hook in hooks["response"]:
        hook(response)
    return response.stream


def test_plain_body_must_arrive_within_timeout() -> None:
    import httpx

    def dripping() -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield b" "

    with pytest.raises(httpx.ReadTimeout):
        list(_limit_response("application/json", dripping(), 0.05))


def test_oversized_body_is_not_read_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    monkeypatch.setattr(http, "MAX_BODY_BYTES", 1000)
    with pytest.raises(httpx.ReadError):
        list(_limit_response("text/event-stream", iter([b"x" * 600] * 9), 5))


@each_service
def test_abandoned_stream_releases_its_connection(service: str) -> None:
    with ModelServer(lambda _: "one two three") as server, open_model(service, server) as model:
        pieces = model.stream(PROMPT)
        assert next(pieces) == "one "
        pieces.close()  # type: ignore[attr-defined] # it is a generator
        assert complete_by_streaming(model, PROMPT).text == "one two three"


@each_service
def test_model_can_be_shared_by_threads(service: str) -> None:
    replies: list[str] = []

    def echo(request: ReceivedRequest) -> str:
        return request.user

    with ModelServer(echo) as server, open_model(service, server) as model:

        def ask(number: int) -> None:
            replies.append(model.complete(Prompt((ChatMessage("user", str(number)),))).text)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(replies) == [str(number) for number in range(8)]


@each_service
def test_call_after_close_reopens_client(service: str) -> None:
    with ModelServer(lambda _: "yes") as server, open_model(service, server) as model:
        assert model.complete(PROMPT).text == "yes"
        model.close()
        model.close()
        assert model.complete(PROMPT).text == "yes"


def test_configured_options_are_sent() -> None:
    with ModelServer(lambda _: "yes") as server:
        for service in SERVICES:
            with open_model(service, server, temperature=0.5) as model:
                model.complete(PROMPT)
        with open_model("ollama", server, context_window=4096) as model:
            model.complete(PROMPT)
    assert [asked.temperature for asked in server.requests] == [0.5, 0.5, 0.5, None]
    assert server.requests[-1].body["options"]["num_ctx"] == 4096
    assert "num_ctx" not in server.requests[1].body["options"]


def test_environment_variables_do_not_change_address_or_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ModelServer() as elsewhere, ModelServer(lambda _: "yes") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.openai_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", elsewhere.url)
        monkeypatch.setenv("OLLAMA_HOST", elsewhere.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-other")
        for service in SERVICES:
            with open_model(service, server) as model:
                assert model.complete(PROMPT).text == "yes"
    assert elsewhere.requests == ()
    assert {asked.key for asked in server.requests} == {KEY}


@each_service
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_local_service_is_called_without_proxy(
    service: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as proxy, ModelServer(lambda _: "yes") as server:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, proxy.url)
        for variable in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(variable, raising=False)
        near = SimpleNamespace(
            url=server.url.replace("127.0.0.1", host),
            openai_url=server.openai_url.replace("127.0.0.1", host),
        )
        with open_model(service, cast("ModelServer", near)) as model:
            assert model.complete(PROMPT).text == "yes"


def test_only_local_addresses_are_exempt_from_proxy() -> None:
    assert http.proxy_exemptions("http://[::1]:80/v1") == {"all://[::1]": None}
    assert http.proxy_exemptions("http://localhost/v1") == {"all://localhost": None}
    assert http.proxy_exemptions("https://api.openai.com/v1") == {}
    assert http.proxy_exemptions("https://127.0.0.1.example.org") == {}


@each_service
def test_failed_calls_are_retried_with_backoff(service: str) -> None:
    slept: list[float] = []
    guard = ServiceGuard(
        retry_policy=RetryPolicy(max_retries=2), sleep=slept.append, chance=lambda: 0.5
    )
    script = [error_answer(500), delayed_answer("x", 60), "yes"]
    with ModelServer(script) as server, open_model(service, server, timeout_s=0.2) as model:
        assert ResilientChat(model, guard).complete(PROMPT).text == "yes"
        assert len(server.requests) == 3
    assert slept == [0.25, 0.5]


@each_service
def test_circuit_breaker_stops_calls_to_failing_service(service: str) -> None:
    guard = ServiceGuard(
        retry_policy=RetryPolicy(max_retries=0), breaker_policy=BreakerPolicy(failures=2)
    )
    with ModelServer(lambda _: error_answer(500)) as server, open_model(service, server) as model:
        steady = ResilientChat(model, guard)
        for _ in range(5):
            with pytest.raises(ServiceFailed) as caught:
                steady.complete(PROMPT)
            assert caught.value.retryable
        assert len(server.requests) == 2


def test_retries_recover_every_reply_of_unreliable_service() -> None:
    guard = ServiceGuard(
        retry_policy=RetryPolicy(max_retries=20),
        breaker_policy=BreakerPolicy(failures=100),
        sleep=lambda _seconds: None,
    )
    unreliable = Unreliable(lambda request: f"You said {request.user}", seed=3, delay_s=60)
    with ModelServer(unreliable) as server, open_model("openai", server, timeout_s=0.1) as model:
        steady = ResilientChat(model, guard)
        prompts = [Prompt((ChatMessage("user", str(number)),)) for number in range(30)]
        replies = [steady.complete(prompt).text for prompt in prompts]
    garbage = [reply for reply in replies if not reply.startswith("You said")]
    assert len(garbage) < 10  # these count as replies: the caller must detect them
    assert len(server.requests) > 30
    assert unreliable.corrupted == len(server.requests) - 30 + len(garbage)


def test_import_without_configured_model_loads_no_client_library() -> None:
    code = (
        "import sys, memolith; from memolith.bootstrap import open_chat\n"
        "from memolith.config import load\n"
        "assert open_chat(load().settings) is None\n"
        "print([name for name in ('openai', 'ollama', 'anthropic', 'httpx', 'httpx2', 'pydantic')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
