"""A plain function as a language model."""

from __future__ import annotations

import threading

import pytest

from memolith.adapters.models.callables import CallableChat
from memolith.errors import ServiceFailed
from memolith.ports.models import ChatMessage, Completion, Prompt, ResponseSchema

PROMPT = Prompt((ChatMessage("system", "Be brief."), ChatMessage("user", "My PIN is 4711")))


def echo(messages: list[dict[str, str]]) -> str:
    return " / ".join(f"{message['role']}: {message['content']}" for message in messages)


def test_callable_receives_messages_and_returns_text() -> None:
    model = CallableChat(echo)
    assert model.complete(PROMPT) == Completion("system: Be brief. / user: My PIN is 4711")
    assert model.name == f"{__name__}.echo"


def test_schema_is_described_in_system_message() -> None:
    schema = ResponseSchema("facts", {"type": "object", "properties": {"fact": {"type": "string"}}})
    prompt = Prompt(PROMPT.messages, schema)
    reply = CallableChat(echo).complete(prompt).text
    assert reply.startswith("system: Be brief.\n\nReply with one JSON value and nothing else")
    assert '{"fact": {"type": "string"}}' in reply
    alone = CallableChat(echo).complete(Prompt(PROMPT.messages[1:], schema)).text
    assert alone.startswith("system: Reply with one JSON value")


def test_callable_error_is_reported_without_its_message() -> None:
    def fail(messages: list[dict[str, str]]) -> str:
        raise ValueError(messages[1]["content"])

    with pytest.raises(ServiceFailed, match="raised ValueError") as caught:
        CallableChat(fail).complete(PROMPT)
    assert caught.value.retryable
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "4711" not in str(caught.value)


def test_callables_own_service_failure_is_reraised() -> None:
    failure = ServiceFailed("mine", "is tired")

    def fail_as_service(messages: list[dict[str, str]]) -> str:
        del messages
        raise failure

    with pytest.raises(ServiceFailed, match="mine: is tired"):
        CallableChat(fail_as_service).complete(PROMPT)


def test_non_text_reply_is_rejected() -> None:
    def reply_with_number(messages: list[dict[str, str]]) -> str:
        return len(messages)  # type: ignore[return-value] # what is tested

    with pytest.raises(ServiceFailed, match="returned int instead of str"):
        CallableChat(reply_with_number).complete(PROMPT)


def test_call_fails_after_timeout() -> None:
    done = threading.Event()

    def slow(messages: list[dict[str, str]]) -> str:
        done.wait(5)
        return messages[0]["content"]

    with pytest.raises(ServiceFailed, match=r"timed out after 0\.01 s") as caught:
        CallableChat(slow, timeout_s=0.01).complete(PROMPT)
    assert caught.value.retryable
    done.set()


def test_empty_reply_streams_only_completion() -> None:
    assert list(CallableChat(lambda _: "").stream(PROMPT)) == [Completion("")]
