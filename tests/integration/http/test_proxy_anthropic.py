"""The chat proxy for Anthropic models, used with OpenAI's client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from memolith.demo.model_server import (
    Answer,
    ModelServer,
    ReceivedRequest,
    error_answer,
    truncated_answer,
)
from memolith.server.proxy.anthropic import AnthropicUpstream
from support.chat_proxy import Proxied, proxied, said, streamed, user

KEY = "sk-ant-0123456789abcdef"


def answer(request: ReceivedRequest) -> Any:
    if "broken" in request.user:
        return truncated_answer("This is a long answer that will never come to its end at all.")
    if "weather" in request.user:
        return Answer("Let me look.", calls=(("weather", '{"city": "Oslo"}'),))
    return f"Noted: {request.user}"


def upstream(server: ModelServer) -> AnthropicUpstream:
    return AnthropicUpstream("scripted", server.url, KEY)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(answer) as server:
        yield server


@pytest.fixture(scope="module")
def service(model: ModelServer) -> Iterator[Proxied]:
    with proxied(upstream(model)) as served:
        yield served


@pytest.mark.parametrize("asking", [said, streamed])
def test_proxy_answers_and_logs_the_exchange(
    service: Proxied, model: ModelServer, asking: Any
) -> None:
    system = {"role": "system", "content": "Be brief."}
    text = f"I live in Oslo, and use {asking.__name__}."
    assert asking(service.client(), [system, user(text)]) == f"Noted: {text}"
    assert model.requests[-1].key == KEY
    assert model.requests[-1].system.startswith("Be brief.")
    assert {("user", text), ("assistant", f"Noted: {text}")} <= set(service.log())


def test_tool_calls_and_results_are_translated(service: Proxied, model: ModelServer) -> None:
    client = service.client()
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool: Any = {"type": "function", "function": {"name": "weather", "parameters": schema}}
    history: Any = [user("Tell me the weather.")]
    with client.chat.completions.stream(model="m", messages=history, tools=[tool]) as events:
        final = events.get_final_completion().choices[0]
    plain = client.chat.completions.create(model="m", messages=history, tools=[tool]).choices[0]
    assert final.finish_reason == plain.finish_reason == "tool_calls"
    assert final.message.tool_calls
    call: Any = plain.message.tool_calls
    assert final.message.tool_calls[0].function.arguments == '{"city": "Oslo"}'
    assert call[0].function.arguments == '{"city": "Oslo"}'
    history.append(plain.message.model_dump(exclude_none=True))
    history.append({"role": "tool", "tool_call_id": "call_0", "content": "Rain"})
    said(client, [*history, user("Thanks.")], tools=[tool], tool_choice="required")
    body = model.requests[-1].body
    assert body["tools"] == [{"name": "weather", "input_schema": schema}]
    assert body["tool_choice"] == {"type": "any"}
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"][1]["input"] == {"city": "Oslo"}
    result = body["messages"][2]["content"][0]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "call_0")


def test_images_and_limits_are_translated(service: Proxied, model: ModelServer) -> None:
    images = ["data:image/png;base64,iVBORw0KGgo=", "https://example.org/a.png"]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in images]
    message = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, *parts]}
    said(service.client(), [message], max_tokens=99, stop="END", temperature=0.5)
    body = model.requests[-1].body
    assert [part["source"] for part in body["messages"][0]["content"][1:]] == [
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        {"type": "url", "url": "https://example.org/a.png"},
    ]
    assert (body["max_tokens"], body["stop_sequences"], body["temperature"]) == (99, ["END"], 0.5)


def test_token_usage_is_translated(service: Proxied) -> None:
    client = service.client()
    plain: Any = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "One two"}]
    )
    with client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "One two"}],
        stream=True,
        stream_options={"include_usage": True},
    ) as events:
        last = list(events)[-1]
    assert last.usage is not None
    assert last.usage.completion_tokens == plain.usage.completion_tokens > 0
    assert plain.usage.total_tokens > plain.usage.completion_tokens


def test_unsupported_features_are_refused(service: Proxied) -> None:
    client = service.client()
    with pytest.raises(openai.BadRequestError):
        said(client, [user("Hi")], n=2)
    sound = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    with pytest.raises(openai.BadRequestError):
        said(client, [{"role": "user", "content": [sound]}])


@pytest.mark.parametrize("status", [400, 429, 529])
def test_upstream_errors_are_forwarded(status: int) -> None:
    script = [error_answer(status, message="no", retry_after_s=7)] * 2
    with ModelServer(script) as server, proxied(upstream(server)) as service:
        for asking in (said, streamed):
            with pytest.raises(openai.APIStatusError) as caught:
                asking(service.client(), [user("Hi")])
            assert caught.value.status_code == status
            assert caught.value.response.headers["Retry-After"] == "7"
            assert KEY not in caught.value.response.text
            assert "no" in caught.value.message


def test_refused_key_and_unreachable_upstream_are_server_errors() -> None:
    with ModelServer(answer, keys=["another"]) as server, proxied(upstream(server)) as service:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError) as caught:
                said(service.client(), [user("Hi")])
            assert caught.value.status_code == 502
            server.close()


def test_interrupted_stream_fails_for_the_client(service: Proxied) -> None:
    client = service.client(**{"X-Memolith-Session": "broken"})
    with pytest.raises(Exception, match=r"peer closed|incomplete|[Cc]onnection"):
        streamed(client, [user("broken")])
    service.learned()
    last = service.alice.messages("broken")[-1]
    assert "~" in str(last.external_id)


def test_upstream_models_are_listed() -> None:
    with ModelServer(answer) as server, proxied(upstream(server)) as service:
        assert [each.id for each in service.client().models.list()] == ["scripted"]
