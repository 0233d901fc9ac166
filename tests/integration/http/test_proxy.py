"""The chat proxy, used with OpenAI's client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from memolith import Memolith
from memolith.demo.model_server import (
    Answer,
    ModelServer,
    ReceivedRequest,
    error_answer,
    truncated_answer,
)
from memolith.server.proxy.openai import OpenAIUpstream
from memolith.server.proxy.service import ProxyOptions
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.chat_proxy import Proxied, assistant, proxied, said, streamed, user

KEY = "sk-upstream-0123456789abcdef"
NAME = "My name is Alex and I work at NASA."
WHO = "Do you remember my name?"


def upstream(server: ModelServer) -> OpenAIUpstream:
    return OpenAIUpstream("scripted", server.openai_url, KEY)


def answer(request: ReceivedRequest) -> Any:
    """Return an answer that repeats the user's message."""
    if "broken" in request.user:
        return truncated_answer("This is a long answer that will never come to its end at all.")
    return f"Noted: {request.user}"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(answer) as server:
        yield server


@pytest.fixture
def service(model: ModelServer) -> Iterator[Proxied]:
    with proxied(upstream(model)) as served:
        yield served


def test_facts_of_one_conversation_are_recalled_in_another(
    service: Proxied, model: ModelServer
) -> None:
    client = service.client()
    assert said(client, [user(NAME)]) == f"Noted: {NAME}"
    service.learned()
    raw = client.chat.completions.with_raw_response.create(
        model="scripted", messages=[{"role": "user", "content": WHO}]
    )
    assert "Alex" in model.requests[-1].system
    ids = raw.headers["X-Memolith-Memories"].split(",")
    found = {each.id for each in service.alice.context_with_results(WHO).results}
    assert ids
    assert set(ids) <= found
    assert raw.headers["X-Memolith-Memory"] == "on"


@pytest.mark.parametrize("asking", [said, streamed])
def test_each_message_of_a_long_conversation_is_logged_once(service: Proxied, asking: Any) -> None:
    client, history = service.client(), []
    for turn in range(20 if asking is streamed else 5):
        history.append(user(f"I bought {turn} blue chairs for room {turn}."))
        history.append(assistant(asking(client, history)))
    assert service.log() == [(each["role"], each["content"]) for each in history]
    assert len(service.alice.sessions()) == 1


def test_retry_adds_nothing(service: Proxied) -> None:
    client = service.client()
    for _ in range(3):
        said(client, [user(NAME)])
    assert service.log() == [("user", NAME), ("assistant", f"Noted: {NAME}")]
    assert len(service.alice.list().memories) == len({m.id for m in service.alice.list().memories})


def test_regenerated_reply_replaces_the_previous_one() -> None:
    replies = ["Oslo is rainy.", "Oslo is sunny.", "Oslo is windy."]
    with ModelServer(replies) as server, proxied(upstream(server)) as service:
        client = service.client()
        for _ in replies:
            said(client, [user("How is Oslo?")])
            service.learned()
        assert service.log() == [("user", "How is Oslo?"), ("assistant", replies[-1])]


def test_regenerated_reply_replaces_memories_of_the_exchange() -> None:
    with (
        ModelServer(["Oslo is rainy.", "Oslo is sunny."]) as server,
        Memolith.open(
            ":memory:", profile="companion", embedder=HashingEmbedder(), tokens=WordCounter()
        ) as engine,
        proxied(upstream(server), engine=engine) as service,
    ):
        for _ in range(2):
            said(service.client(), [user("How is Oslo in the spring?")])
            service.learned()
        (memory,) = service.alice.list().memories
        assert memory.content == "Q: How is Oslo in the spring?\nA: Oslo is sunny."
        assert len(service.log()) == 2


def test_regenerated_earlier_reply_is_added() -> None:
    with ModelServer(["One.", "Two.", "Three."]) as server, proxied(upstream(server)) as service:
        client = service.client()
        first, second = user("Say a number."), user("And another.")
        said(client, [first])
        said(client, [first, assistant("One."), second])
        said(client, [first])
        assert [text for _, text in service.log()] == [
            "Say a number.",
            "One.",
            "And another.",
            "Two.",
            "Three.",
        ]


def test_only_the_edited_message_is_logged_again(service: Proxied) -> None:
    client = service.client()
    before = [user("I live in Oslo."), assistant("Noted: I live in Oslo.")]
    said(client, before[:1])
    said(client, [*before, user("I have a cat.")])
    said(client, [*before, user("I have a dog.")])
    assert [text for role, text in service.log() if role == "user"] == [
        "I live in Oslo.",
        "I have a cat.",
        "I have a dog.",
    ]


def test_truncated_history_adds_one_exchange_per_turn(
    service: Proxied,
) -> None:
    client, history = service.client(**{"X-Memolith-Session": "mine"}), []
    for turn in range(8):
        history.append(user(f"Chair {turn} is blue."))
        history.append(assistant(said(client, history[-5:])))
    assert service.log() == [(each["role"], each["content"]) for each in history]


def test_conversation_started_without_the_proxy_is_logged_completely(service: Proxied) -> None:
    history = [user("I live in Oslo."), assistant("Nice."), user("I have a cat.")]
    said(service.client(), history)
    assert len(service.log()) == 4


def test_memory_off_neither_stores_nor_recalls(service: Proxied, model: ModelServer) -> None:
    service.alice.remember("Alex works at NASA", kind="fact")
    client = service.client(**{"X-Memolith-Memory": "off"})
    said(client, [user(WHO)])
    assert model.requests[-1].system == ""
    assert service.log() == []


def test_messages_sent_with_memory_off_are_not_logged_later(service: Proxied) -> None:
    client = service.client()
    history = [user("I live in Oslo.")]
    history.append(assistant(said(client, history)))
    history.append(user("I am secretly a spy."))
    history.append(assistant(said(client, history, extra_headers={"X-Memolith-Memory": "off"})))
    history.append(user("I have a cat."))
    said(client, history)
    assert "spy" not in str(service.log())
    assert ("user", "I have a cat.") in service.log()


@pytest.mark.parametrize("header", ["off", "read-only"])
def test_conversation_start_sent_with_memory_off_is_not_logged_later(
    service: Proxied, header: str
) -> None:
    client = service.client()
    history = [user("I am secretly a spy.")]
    history.append(assistant(said(client, history, extra_headers={"X-Memolith-Memory": header})))
    history.append(user("I have a cat."))
    said(client, history)
    assert service.log() == [("user", "I have a cat."), ("assistant", "Noted: I have a cat.")]


def test_read_only_mode_recalls_but_does_not_store(service: Proxied, model: ModelServer) -> None:
    service.alice.remember("Alex works at NASA", kind="fact")
    said(service.client(**{"X-Memolith-Memory": "read-only"}), [user("Where does Alex work?")])
    assert "NASA" in model.requests[-1].system
    assert service.log() == []


def test_unknown_memory_mode_is_refused(service: Proxied) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="X-Memolith-Memory: ") as raised:
        said(service.client(**{"X-Memolith-Memory": "sometimes"}), [user(NAME)])
    assert (raised.value.param, raised.value.type) == ("X-Memolith-Memory", "invalid_request_error")


def test_openai_client_shows_the_reason_of_a_refusal(service: Proxied) -> None:
    with pytest.raises(openai.NotFoundError, match="unknown path"):
        service.client().embeddings.create(model="scripted", input="Hi")
    with pytest.raises(openai.PermissionDeniedError, match="may not act for another owner"):
        said(service.client(**{"X-Owner-Id": "somebody"}), [user(NAME)])


def test_disabled_proxy_forwards_requests_unchanged(model: ModelServer) -> None:
    body = b'{"model":"scripted", "messages": [{"role":"user","content":"Hi"}], "x": 1.50}'
    with proxied(upstream(model), ProxyOptions(is_enabled=False)) as service:
        sent = httpx.post(
            f"{service.url}/v1/chat/completions",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        assert sent.json()["choices"][0]["message"]["content"] == "Noted: Hi"
        assert model.requests[-1].headers["content-length"] == str(len(body))
        assert service.log() == []


def test_upstream_receives_its_own_key_and_never_the_clients_key(
    service: Proxied, model: ModelServer
) -> None:
    said(service.client("memolith_secret"), [user(NAME)])
    assert model.requests[-1].key == KEY
    assert "memolith_secret" not in str(model.requests[-1])


def test_unknown_fields_and_multiple_choices_are_forwarded(
    service: Proxied, model: ModelServer
) -> None:
    more = {"logprobs": True, "n": 2, "seed": 7, "extra_body": {"top_k": 40, "new": {"a": [1]}}}
    said(service.client(), [user(NAME)], **more)
    body = model.requests[-1].body
    assert (body["logprobs"], body["n"], body["seed"]) == (True, 2, 7)
    assert (body["top_k"], body["new"]) == (40, {"a": [1]})
    assert service.log() == [("user", NAME)], "the next request tells which choice was used"


def test_token_usage_is_forwarded(service: Proxied) -> None:
    client = service.client()
    plain: Any = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": NAME}]
    )
    with client.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": NAME}],
        stream=True,
        stream_options={"include_usage": True},
    ) as events:
        last = list(events)[-1]
    assert plain.usage.completion_tokens > 0
    assert last.usage is not None
    assert last.usage.completion_tokens == plain.usage.completion_tokens


def test_upstream_models_are_listed(service: Proxied) -> None:
    assert [each.id for each in service.client().models.list()] == ["scripted"]


def test_only_allowed_models_can_be_requested(model: ModelServer) -> None:
    with proxied(upstream(model), ProxyOptions(allowed_models=("scripted", "small"))) as service:
        client = service.client()
        assert [each.id for each in client.models.list()] == ["scripted", "small"]
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="dear", messages=[{"role": "user", "content": ""}])
        body = b'{"Model":"dear","model":"small","messages":[{"role":"user","content":"Hi"}]}'
        head = {"Content-Type": "application/json", "X-Memolith-Memory": "off"}
        asked = httpx.post(f"{service.url}/v1/chat/completions", content=body, headers=head)
        assert asked.status_code == 200
        assert "Model" not in model.requests[-1].body
        assert model.requests[-1].body["model"] == "small"


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500, 503])
def test_upstream_errors_are_forwarded(status: int) -> None:
    script = [error_answer(status, message="no", retry_after_s=7)]
    with ModelServer(script) as server, proxied(upstream(server)) as service:
        with pytest.raises(openai.APIStatusError) as caught:
            said(service.client(), [user(NAME)])
        assert caught.value.status_code == status
        assert caught.value.response.headers["Retry-After"] == "7"
        assert caught.value.body is not None
        assert KEY not in caught.value.response.text
        assert service.log() == [], "the client will send it again"


def test_refused_upstream_key_is_a_server_error() -> None:
    with ModelServer(answer, keys=["another"]) as server, proxied(upstream(server)) as service:
        with pytest.raises(openai.InternalServerError) as caught:
            said(service.client(), [user(NAME)])
        assert caught.value.status_code == 502
        assert KEY not in caught.value.response.text


def test_unreachable_upstream_is_a_bad_gateway() -> None:
    with proxied(OpenAIUpstream("scripted", "http://127.0.0.1:9/v1", KEY)) as service:
        with pytest.raises(openai.InternalServerError) as caught:
            said(service.client(), [user(NAME)])
        assert caught.value.status_code == 502


def test_tool_calls_and_results_are_forwarded_and_logged() -> None:
    called = Answer(calls=(("weather", '{"city": "Oslo"}'),))
    with ModelServer([called, "It rains in Oslo."]) as server, proxied(upstream(server)) as service:
        client = service.client()
        tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
        history: Any = [user("Is it raining in Oslo?")]
        first = client.chat.completions.create(model="m", messages=history, tools=tools)
        message = first.choices[0].message
        assert message.tool_calls
        history.append(message.model_dump(exclude_none=True))
        history.append(
            {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain, 7 C"}
        )
        assert said(client, history, tools=tools) == "It rains in Oslo."
        assert server.requests[-1].body["tools"] == tools
        assert server.requests[-1].body["messages"][-2:] == history[-2:]
        assert service.log() == [
            ("user", "Is it raining in Oslo?"),
            ("tool", "Rain, 7 C"),
            ("assistant", "It rains in Oslo."),
        ]


def test_streamed_tool_calls_are_forwarded() -> None:
    called = Answer("Let me look.", calls=(("weather", '{"city": "Oslo"}'),))
    with ModelServer([called]) as server, proxied(upstream(server)) as service:
        client = service.client()
        with client.chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "Is it raining?"}]
        ) as events:
            for _ in events:
                pass
            final = events.get_final_completion().choices[0]
        assert final.finish_reason == "tool_calls"
        assert final.message.tool_calls
        assert final.message.tool_calls[0].function.arguments == '{"city": "Oslo"}'
        assert ("assistant", "Let me look.") in service.log()


def test_images_are_forwarded_unchanged(service: Proxied, model: ModelServer) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    message = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}
    said(service.client(), [message])
    assert model.requests[-1].body["messages"][-1] == message
    assert service.log()[0] == ("user", "What is this?")


def test_memory_is_added_to_the_clients_system_message(
    service: Proxied, model: ModelServer
) -> None:
    service.alice.remember("Alex works at NASA", kind="fact")
    for content in ("Be brief.", [{"type": "text", "text": "Be brief."}]):
        system = {"role": "system", "content": content}
        said(service.client(), [system, user("Where does Alex work?")])
        asked = model.requests[-1]
        assert len(asked.messages) == 2
        assert asked.system.startswith("Be brief.")
        assert "NASA" in asked.system


def test_interrupted_stream_fails_for_the_client_and_is_not_learned(service: Proxied) -> None:
    client = service.client()
    with pytest.raises((openai.APIError, httpx.HTTPError)):
        streamed(client, [user("broken: my name is Alex")])
    logged = service.log()
    assert logged[0] == ("user", "broken: my name is Alex")
    ids = {message.id for message in service.alice.recent() if message.role == "assistant"}
    page = service.alice.list(state="all").memories
    assert not ids & {source.id for memory in page for source in memory.sources}


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_truncated_reply_is_replaced_by_a_complete_one(finish: str) -> None:
    script = [Answer("I am half a", finish=finish), "I am whole.", Answer("Half", finish=finish)]
    with ModelServer(script) as server, proxied(upstream(server)) as service:
        client, logs = service.client(), []
        for _ in script:
            said(client, [user("Who are you?")])
            logs.append(service.log()[-1][1])
        assert logs == ["I am half a", "I am whole.", "I am whole."]


def test_owners_are_isolated(model: ModelServer) -> None:
    with proxied(upstream(model), open_for=None) as service:
        keys = {
            owner: service.engine.create_api_key(owner, role="owner", owner=owner).secret
            for owner in ("alice", "bob")
        }
        said(service.client(keys["alice"]), [user(NAME)], user="bob")
        service.learned()
        said(service.client(keys["bob"]), [user(WHO)], user="alice")
        assert "Alex" not in model.requests[-1].system
        assert "Alex" not in str(service.engine.owner("bob").recall("Alex NASA").memories)
        with pytest.raises(openai.PermissionDeniedError):
            said(service.client(keys["bob"], **{"X-Owner-Id": "alice"}), [user(WHO)])


def test_service_key_names_the_owner_by_header_or_user_field(model: ModelServer) -> None:
    with proxied(upstream(model), open_for=None) as service:
        secret = service.engine.create_api_key("app", role="service").secret
        with pytest.raises(openai.BadRequestError):
            said(service.client(secret), [user(NAME)])
        said(service.client(secret), [user(NAME)], user="alice")
        said(service.client(secret, **{"X-Owner-Id": "carol"}), [user(NAME)], user="bob")
        service.learned()
        assert service.app.state.proxy.afterwards.drain(10)
        assert set(service.engine.owners()) == {"alice", "carol"}


def test_proxy_without_an_upstream_is_not_implemented(client: Any, as_alice: Any) -> None:
    body = {"messages": [user("Hi")]}
    assert client.post("/v1/chat/completions", json=body).status_code == 401
    assert as_alice.post("/v1/chat/completions", json=body).status_code == 501
    assert as_alice.get("/v1/models").status_code == 501
