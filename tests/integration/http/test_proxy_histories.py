"""The proxy compresses long histories, and frameworks work unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from memolith import Memolith
from memolith.adapters.models.openai import OpenAIChat
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.policies.histories import SUMMARY_MARK
from memolith.server.proxy.openai import OpenAIUpstream
from memolith.server.proxy.service import ProxyOptions
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.chat_proxy import Proxied, assistant, proxied, said, user

WINDOW = 512


def answer(request: ReceivedRequest) -> Any:
    if request.headers["user-agent"] == "memolith":
        return f"Noted: {request.user}"
    return {"summary": "The user told of many chairs, all of them blue."}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(answer) as server:
        yield server


def upstream(server: ModelServer) -> OpenAIUpstream:
    return OpenAIUpstream("scripted", server.openai_url, "sk-upstream")


def long(turns: int = 30) -> list[dict[str, Any]]:
    description = "A chair that is very blue, and stands in the room by the window. "
    pairs = [
        (user(f"Chair {turn}: {description}"), assistant(f"Fine, {turn}.")) for turn in range(turns)
    ]
    return [each for pair in pairs for each in pair]


@pytest.fixture
def service(model: ModelServer) -> Iterator[Proxied]:
    engine = Memolith.open(
        ":memory:",
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        chat=OpenAIChat("scripted", base_url=model.openai_url),
        worker=False,
    )
    how = ProxyOptions(memory_timeout_s=20, context_window=WINDOW)
    with proxied(upstream(model), how, engine=engine) as served:
        yield served


def last_messages(model: ModelServer) -> list[dict[str, Any]]:
    """Return the messages of the last client request that reached the model."""
    asked = [each for each in model.requests if each.headers["user-agent"] == "memolith"]
    return list(asked[-1].body["messages"])


def test_long_history_is_compressed(service: Proxied, model: ModelServer) -> None:
    history = [{"role": "system", "content": "Be brief."}, *long(), user("Which chairs?")]
    said(service.client(), history)
    messages = last_messages(model)
    assert len(messages) < 10
    assert messages[0]["content"].startswith("Be brief.")
    assert any(str(each["content"]).startswith(SUMMARY_MARK) for each in messages)
    assert messages[-1] == history[-1]
    assert service.log()[0] == ("user", history[1]["content"].strip())
    assert len(service.log()) == 62, "the log must contain the original messages"


def test_short_history_is_forwarded_unchanged(service: Proxied, model: ModelServer) -> None:
    history = [*long(2), user("Which chairs?")]
    said(service.client(), history)
    assert last_messages(model)[-5:] == history
    assert len(model.requests) == 1


@pytest.mark.parametrize("header", ["off", "read-only"])
def test_history_is_not_compressed_without_memory(
    service: Proxied, model: ModelServer, header: str
) -> None:
    history = [*long(), user("Which chairs?")]
    said(service.client(**{"X-Memolith-Memory": header}), history)
    assert last_messages(model)[-61:] == history


def test_compression_can_be_disabled(model: ModelServer) -> None:
    with proxied(upstream(model), ProxyOptions(compress=False, context_window=WINDOW)) as service:
        history = [*long(), user("Which chairs?")]
        said(service.client(), history)
        assert last_messages(model)[-61:] == history


def test_langchain_works_with_another_base_url(service: Proxied, model: ModelServer) -> None:
    chat = ChatOpenAI(
        model="scripted", base_url=f"{service.url}/v1", api_key=SecretStr("any"), max_retries=0
    )
    history: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("I live in Oslo.")]
    reply = chat.invoke(history)
    assert reply.content == "Noted: I live in Oslo."
    history += [reply, HumanMessage("I have a cat.")]
    pieces = [str(piece.content) for piece in chat.stream(history)]
    assert "".join(pieces) == "Noted: I have a cat."

    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    chat.bind_tools(tools).invoke([HumanMessage("Where do I live?")])
    assert model.requests[-1].body["tools"] == tools
    assert "Oslo" in model.requests[-1].system
    assert [text for _, text in service.log()][:4] == [
        "I live in Oslo.",
        "Noted: I live in Oslo.",
        "I have a cat.",
        "Noted: I have a cat.",
    ]
