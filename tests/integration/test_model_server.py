"""The scripted model server, called by real service clients over a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import anthropic
import httpx
import numpy as np
import ollama
import openai
import pytest

from memolith.demo.model_server import (
    Answer,
    Fault,
    ModelServer,
    ReceivedRequest,
    Unreliable,
    answer_in_sequence,
    delayed_answer,
    dropped_connection,
    error_answer,
    fenced_answer,
    malformed_answer,
    reject_schemas,
    truncated_answer,
)
from memolith.ports.models import ChatMessage

MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"fact": {"type": "string"}},
    "required": ["fact"],
    "additionalProperties": False,
}


@contextmanager
def openai_client(server: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=server.openai_url, api_key="sk-1", max_retries=0, timeout=5
    ) as client:
        yield client


@contextmanager
def anthropic_client(server: ModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=server.url, api_key="sk-2", max_retries=0, timeout=5
    ) as client:
        yield client


@contextmanager
def ollama_client(server: ModelServer) -> Iterator[ollama.Client]:
    with ollama.Client(server.url, timeout=5, trust_env=False) as client:
        yield client


def ask_openai(server: ModelServer) -> str:
    with openai_client(server) as client:
        done = client.chat.completions.create(model="m", messages=MESSAGES)
    return done.choices[0].message.content or ""


def ask_ollama(server: ModelServer) -> str:
    with ollama_client(server) as client:
        return client.chat("m", MESSAGES).message.content or ""


def ask_anthropic(server: ModelServer) -> str:
    with anthropic_client(server) as client:
        done = client.messages.create(
            model="m", max_tokens=9, system="Be brief.", messages=MESSAGES[1:]
        )
    return "".join(block.text for block in done.content if block.type == "text")


PROTOCOLS = {"openai": ask_openai, "ollama": ask_ollama, "anthropic": ask_anthropic}
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def echo(request: ReceivedRequest) -> str:
    return f"You said {request.user}"


@each_protocol
def test_rule_answers_request_and_server_records_it(protocol: str) -> None:
    with ModelServer(echo) as server:
        assert PROTOCOLS[protocol](server) == "You said Hello"
    (asked,) = server.requests
    assert asked.protocol == protocol
    assert asked.model == "m"
    assert asked.messages == (ChatMessage("system", "Be brief."), ChatMessage("user", "Hello"))
    assert asked.system == "Be brief."
    assert asked.schema is None
    assert not asked.is_stream
    assert asked.key == {"openai": "sk-1", "ollama": "", "anthropic": "sk-2"}[protocol]


@each_protocol
def test_script_is_answered_in_order_then_fails(protocol: str) -> None:
    with ModelServer(["one", {"two": 2}, fenced_answer([3])]) as server:
        assert PROTOCOLS[protocol](server) == "one"
        assert json.loads(PROTOCOLS[protocol](server)) == {"two": 2}
        assert "```json\n[3]\n```" in PROTOCOLS[protocol](server)
        with pytest.raises(Exception, match="nobody has said what to answer"):
            PROTOCOLS[protocol](server)


def test_first_rule_with_an_answer_decides() -> None:
    with ModelServer(lambda request: "hi" if request.model == "m" else None, ["else"]) as server:
        assert ask_openai(server) == "hi"


def test_rule_exception_is_raised_on_server_exit() -> None:
    def wrong(request: ReceivedRequest) -> str:
        raise LookupError(request.model)

    def run() -> None:
        with ModelServer(wrong) as server, pytest.raises(openai.InternalServerError):
            ask_openai(server)

    with pytest.raises(LookupError, match="m"):
        run()


def test_openai_streams_with_usage() -> None:
    with (
        ModelServer([Answer("one two three", input_tokens=7)]) as server,
        openai_client(server) as client,
    ):
        stream = client.chat.completions.create(
            model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert [text for text in texts if text] == ["one ", "two ", "three"]
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (7, 3)


def test_ollama_streams() -> None:
    with (
        ModelServer([Answer("one two", is_complete=False)]) as server,
        ollama_client(server) as client,
    ):
        parts = list(client.chat("m", MESSAGES, stream=True))
    assert [part.message.content for part in parts] == ["one ", "two", ""]
    assert (parts[-1].done, parts[-1].done_reason, parts[-1].eval_count) == (True, "length", 2)


def test_anthropic_streams() -> None:
    with (
        ModelServer(["one two"]) as server,
        anthropic_client(server) as client,
        client.messages.stream(model="m", max_tokens=9, messages=MESSAGES[1:]) as stream,
    ):
        assert list(stream.text_stream) == ["one ", "two"]
        done = stream.get_final_message()
    assert (done.stop_reason, done.usage.output_tokens) == ("end_turn", 2)


def test_server_records_requested_schema() -> None:
    with ModelServer(lambda _: {"fact": "x"}) as server:
        with openai_client(server) as client:
            client.chat.completions.create(
                model="m",
                messages=MESSAGES,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "facts", "schema": SCHEMA, "strict": True},
                },
            )
        with ollama_client(server) as other:
            other.chat("m", MESSAGES, format=SCHEMA)
        with anthropic_client(server) as third:
            third.messages.create(
                model="m",
                max_tokens=9,
                messages=MESSAGES[1:],
                output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
            )
    schemas = [asked.schema for asked in server.requests]
    assert [schema.name for schema in schemas if schema] == ["facts", "", ""]
    assert [schema.json for schema in schemas if schema] == [SCHEMA] * 3


def test_server_can_refuse_schemas() -> None:
    with ModelServer(reject_schemas(echo)) as server:
        with ollama_client(server) as client, pytest.raises(ollama.ResponseError) as caught:
            client.chat("m", MESSAGES, format=SCHEMA)
        assert caught.value.status_code == 400
        assert ask_ollama(server) == "You said Hello"


FAILURES = {
    "openai": (openai.OpenAIError, "status_code"),
    "ollama": (ollama.ResponseError, "status_code"),
    "anthropic": (anthropic.AnthropicError, "status_code"),
}


@each_protocol
@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_failure_has_its_status_code(protocol: str, status: int) -> None:
    kind, attribute = FAILURES[protocol]
    with (
        ModelServer([error_answer(status, message="so it is")]) as server,
        pytest.raises(kind, match=r"so it is: you, .*, said: Hello") as caught,
    ):
        PROTOCOLS[protocol](server)
    assert getattr(caught.value, attribute) == status


def test_failure_has_retry_after_header() -> None:
    with (
        ModelServer([error_answer(429, retry_after_s=7)]) as server,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        ask_openai(server)
    assert caught.value.response.headers["retry-after"] == "7"


@each_protocol
@pytest.mark.parametrize(
    "answer",
    [dropped_connection(), truncated_answer("a b c d"), malformed_answer()],
    ids=["dropped", "cut", "malformed"],
)
def test_broken_reply_raises_error(protocol: str, answer: Answer) -> None:
    with ModelServer([answer]) as server, pytest.raises(Exception, match=r".") as caught:
        PROTOCOLS[protocol](server)
    assert not isinstance(caught.value, AssertionError)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [Fault.BROKEN, Fault.ENDED_EARLY, Fault.MALFORMED])
def test_broken_stream_yields_first_pieces(fault: Fault) -> None:
    with (
        ModelServer([Answer("one two three four", fault=fault)]) as server,
        openai_client(server) as client,
    ):
        stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        pieces = []
        finish = None
        breaks = pytest.raises((openai.OpenAIError, ValueError))
        with nullcontext() if fault is Fault.ENDED_EARLY else breaks:
            for chunk in stream:
                pieces.append(chunk.choices[0].delta.content)
                finish = finish or chunk.choices[0].finish_reason
    assert "one " in pieces
    assert finish is None


def test_late_answer_does_not_block_other_requests() -> None:
    with (
        ModelServer(
            lambda request: delayed_answer("x", 60) if request.model == "m" else "soon"
        ) as server,
        openai_client(server) as client,
    ):
        with pytest.raises(openai.APITimeoutError):
            client.with_options(timeout=0.05).chat.completions.create(model="m", messages=MESSAGES)
        done = client.chat.completions.create(model="other", messages=MESSAGES)
        assert done.choices[0].message.content == "soon"


def test_server_lists_models() -> None:
    with ModelServer(models=["a", "b"]) as server:
        with openai_client(server) as client:
            assert [model.id for model in client.models.list()] == ["a", "b"]
        with ollama_client(server) as other:
            assert [model.model for model in other.list().models] == ["a", "b"]
        with httpx.Client(trust_env=False) as plain:
            assert plain.get(f"{server.url}/api/version").json() == {"version": "0.0.0-scripted"}
            assert plain.get(f"{server.url}/api/nothing").status_code == 404
            assert plain.post(f"{server.url}/v1/nothing").status_code == 404
            assert plain.post(f"{server.url}/api/chat", json={"model": 1}).status_code == 400


def test_server_can_require_api_key() -> None:
    with ModelServer(echo, keys=["sk-1"]) as server:
        assert ask_openai(server) == "You said Hello"
        with pytest.raises(anthropic.AuthenticationError):
            ask_anthropic(server)


def test_texts_with_shared_words_have_similar_vectors() -> None:
    texts = ["the cat sleeps", "the cat sleeps here", "quite another thing"]
    with ModelServer() as server:
        with openai_client(server) as client:
            found = client.embeddings.create(model="e", input=texts).data
            short = client.embeddings.create(model="e", input=texts, dimensions=64).data
            plain = client.embeddings.create(model="e", input=texts, encoding_format="float").data
        with ollama_client(server) as other:
            also = other.embed("e", texts).embeddings
            also_short = other.embed("e", texts, dimensions=64).embeddings
    vectors = np.array([item.embedding for item in found])
    assert vectors.shape == (3, 384)
    assert np.allclose(vectors, [item.embedding for item in plain])
    assert np.allclose(vectors, also)
    assert vectors[0] @ vectors[1] > 0.7
    assert vectors[0] @ vectors[2] < 0.2
    shortened = np.array([item.embedding for item in short])
    assert shortened.shape == (3, 64)
    assert np.allclose(np.linalg.norm(shortened, axis=1), 1)
    assert np.allclose(shortened, also_short)
    assert server.requests[0].texts == tuple(texts)
    assert server.requests[1].dimensions == 64


def test_embedding_failures_can_be_scripted() -> None:
    script = answer_in_sequence([error_answer(500), Answer(vectors=[[1.0, 0.0]])])
    with ModelServer(embed=script) as server, openai_client(server) as client:
        with pytest.raises(openai.InternalServerError):
            client.embeddings.create(model="e", input="a")
        assert client.embeddings.create(model="e", input="a").data[0].embedding == [1.0, 0.0]
        assert len(client.embeddings.create(model="e", input="a").data[0].embedding) == 384


def build_request(text: str) -> ReceivedRequest:
    return ReceivedRequest(
        "openai", "/v1/chat/completions", "m", messages=(ChatMessage("user", text),)
    )


def test_unreliable_rule_fails_independently_of_order() -> None:
    questions = [build_request(str(number)) for number in range(600)]
    one = Unreliable(echo, seed=5, delay_s=3)
    answers = [Answer.from_value(one(asked)) for asked in questions]
    assert 150 < one.corrupted < 250
    assert sum(answer.status == 500 for answer in answers) > 30
    assert sum(answer.delay_s == 3 for answer in answers) > 30
    assert sum(answer.fault is Fault.BROKEN for answer in answers) > 30
    assert sum(not answer.text.startswith("You said") for answer in answers) > 30
    other = Unreliable(echo, seed=5, delay_s=3)
    backwards = [Answer.from_value(other(asked)) for asked in reversed(questions)]
    assert backwards[::-1] == answers


def test_repeated_request_may_succeed() -> None:
    unreliable = Unreliable(echo, seed=1, rate=0.5)
    answers = {Answer.from_value(unreliable(build_request("again"))) for _ in range(30)}
    assert Answer("You said again") in answers
    assert len(answers) > 1
