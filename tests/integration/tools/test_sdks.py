"""The unchanged SDKs of model providers, with a scripted model that calls the tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import OpenAI

from memolith import Memolith, tools
from memolith.demo.model_server import Answer, ModelServer, ReceivedRequest
from memolith.errors import InvalidConfiguration

NOTES = "/memories/notes.md"


def anthropic_tool_calls(*calls: dict[str, Any], name: str = "memory") -> Answer:
    """Return a reply that calls a tool, in Anthropic's format."""
    blocks = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": call}
        for number, call in enumerate(calls)
    ]
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": blocks,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return Answer(raw=json.dumps(message))


def results(request: ReceivedRequest) -> list[dict[str, Any]]:
    """Return the tool results in the last message of a request."""
    content = request.body["messages"][-1]["content"]
    return [each for each in content if each["type"] == "tool_result"]


MEMORY_CALLS: Sequence[dict[str, Any]] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": NOTES, "file_text": "Likes coffee"},
    {"command": "str_replace", "path": NOTES, "old_str": "coffee", "new_str": "tea"},
    {"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": "No sugar"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "view", "path": NOTES},
)


def check_run(server: ModelServer, memory: Memolith, said: str) -> None:
    outputs = [results(asked)[0] for asked in server.requests[1:]]
    assert said == "Noted."
    assert [bool(each.get("is_error")) for each in outputs] == [False] * 4 + [True, False]
    assert outputs[-1]["content"].endswith("     1\tLikes tea\n     2\tNo sugar")
    assert server.requests[0].body["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert memory.get(key=NOTES, owner="alice").version == 3


def test_anthropic_tool_runner_stores_its_files(memory: Memolith) -> None:
    script = [*(anthropic_tool_calls(call) for call in MEMORY_CALLS), "Noted."]
    with ModelServer(script) as server, Anthropic(api_key="k", base_url=server.url) as client:
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=100,
            messages=[{"role": "user", "content": "Remember that I like coffee"}],
            tools=[tools.memory_tool(memory.owner("alice"))],
        )
        final = runner.until_done()
        check_run(server, memory, final.content[0].text)  # type: ignore[union-attr]


def test_async_anthropic_tool_runner_stores_its_files(memory: Memolith) -> None:
    script = [*(anthropic_tool_calls(call) for call in MEMORY_CALLS), "Noted."]

    async def run(server: ModelServer) -> str:
        async with AsyncAnthropic(api_key="k", base_url=server.url) as client:
            runner = client.beta.messages.tool_runner(
                model="scripted",
                max_tokens=100,
                messages=[{"role": "user", "content": "Remember that I like coffee"}],
                tools=[tools.async_memory_tool(memory.owner("alice"))],
            )
            final = await runner.until_done()
            return str(final.content[0].text)  # type: ignore[union-attr]

    with ModelServer(script) as server:
        check_run(server, memory, anyio.run(run, server))


STORE = {"key": "units", "content": "Prefers metric units", "category": "preference"}


def test_anthropic_model_calls_all_tools(memory: Memolith) -> None:
    alice = memory.owner("alice")
    script = [
        anthropic_tool_calls(STORE, name="memory_store"),
        anthropic_tool_calls({"query": "units"}, {"query": 5}, name="memory_recall"),
        "Metric.",
    ]
    messages: list[Any] = [{"role": "user", "content": "Which units?"}]
    with ModelServer(script) as server, Anthropic(api_key="k", base_url=server.url) as client:
        while True:
            reply = client.messages.create(
                model="scripted",
                max_tokens=100,
                messages=messages,
                tools=tools.anthropic(),  # type: ignore[arg-type]
            )
            messages.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                break
            answers = []
            for block in reply.content:
                assert block.type == "tool_use"
                result = tools.call(alice, block.name, block.input)
                answers.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": block.id,
                        "content": result.text,
                        "is_error": result.is_error,
                    }
                )
            messages.append({"role": "user", "content": answers})
        outputs = results(server.requests[-1])
    assert "Prefers metric units" in outputs[0]["content"]
    assert (outputs[1]["is_error"], outputs[1]["content"]) == (
        True,
        "Error: arguments: Expected `str`, got `int` - at `$.query`",
    )


def openai_tool_call(name: str, arguments: dict[str, Any]) -> Answer:
    """Return a reply that calls a tool, in OpenAI's format."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    reply = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
    }
    return Answer(raw=json.dumps(reply))


def test_openai_model_calls_all_tools(memory: Memolith) -> None:
    alice = memory.owner("alice")
    script = [
        openai_tool_call("memory_store", STORE),
        openai_tool_call("memory_recall", {"query": "units", "limit": "2"}),
        openai_tool_call("memory_forget", {"key": "units"}),
        openai_tool_call("memory_history", {"key": "units"}),
        "Metric.",
    ]
    messages: list[Any] = [{"role": "user", "content": "Which units?"}]
    with ModelServer(script) as server, OpenAI(api_key="k", base_url=f"{server.url}/v1") as client:
        while True:
            reply = client.chat.completions.create(
                model="scripted",
                messages=messages,
                tools=tools.openai(),  # type: ignore[arg-type]
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for each in message.tool_calls:
                assert each.type == "function"
                result = tools.call(alice, each.function.name, each.function.arguments)
                messages.append({"role": "tool", "tool_call_id": each.id, "content": result.text})
        assert server.requests[0].body["tools"] == tools.openai()
    said = [each["content"] for each in messages if each["role"] == "tool"]
    assert "Prefers metric units" in said[1]
    assert said[2:] == ["Forgotten. Memories: 1; messages changed: 0.", "Error: no key 'units'"]


def test_without_the_sdk_it_is_said_which_extra_brings_it(
    memory: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.adapters.models.http.find_spec", lambda _name: None)
    with pytest.raises(InvalidConfiguration, match=r"pip install 'memolith\[anthropic\]'"):
        tools.memory_tool(memory.owner("alice"))
