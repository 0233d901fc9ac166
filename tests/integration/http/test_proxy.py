"""A chat service that remembers, by OpenAI's own client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from memolith import Memolith
from memolith.demo.model_server import Answer, Asked, ModelServer, cut_off, refused
from memolith.server.proxy.openai import OpenAIUpstream
from memolith.server.proxy.service import ProxyOptions
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.chat_proxy import Proxied, assistant, proxied, said, streamed, user

KEY = "sk-upstream-0123456789abcdef"
NAME = "My name is Alex and I work at NASA."
WHO = "Do you remember my name?"


def upstream(server: ModelServer) -> OpenAIUpstream:
    return OpenAIUpstream("scripted", server.openai_url, KEY)


def answer(asked: Asked) -> Any:
    """Answer what a model would that reads its prompt."""
    if "broken" in asked.user:
        return cut_off("This is a long answer that will never come to its end at all.")
    return f"Noted: {asked.user}"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(answer) as server:
        yield server


@pytest.fixture
def service(model: ModelServer) -> Iterator[Proxied]:
    with proxied(upstream(model)) as served:
        yield served


def test_what_was_said_in_one_conversation_is_told_in_another(
    service: Proxied, model: ModelServer
) -> None:
    client = service.client()
    assert said(client, [user(NAME)]) == f"Noted: {NAME}"
    service.learned()
    raw = client.chat.completions.with_raw_response.create(
        model="scripted", messages=[{"role": "user", "content": WHO}]
    )
    assert "Alex" in model.asked[-1].system
    ids = raw.headers["X-Memolith-Memories"].split(",")
    found = {each.id for each in service.alice.context_with_results(WHO).results}
    assert ids
    assert set(ids) <= found
    assert raw.headers["X-Memolith-Memory"] == "on"


@pytest.mark.parametrize("asking", [said, streamed])
def test_a_conversation_of_twenty_turns_is_logged_once(service: Proxied, asking: Any) -> None:
    client, history = service.client(), []
    for turn in range(20 if asking is streamed else 5):
        history.append(user(f"I bought {turn} blue chairs for room {turn}."))
        history.append(assistant(asking(client, history)))
    assert service.log() == [(each["role"], each["content"]) for each in history]
    assert len(service.alice.sessions()) == 1


def test_a_retry_adds_nothing(service: Proxied) -> None:
    client = service.client()
    for _ in range(3):
        said(client, [user(NAME)])
    assert service.log() == [("user", NAME), ("assistant", f"Noted: {NAME}")]
    assert len(service.alice.list().memories) == len({m.id for m in service.alice.list().memories})


def test_another_reply_takes_the_place_of_the_one_before() -> None:
    replies = ["Oslo is rainy.", "Oslo is sunny.", "Oslo is windy."]
    with ModelServer(replies) as server, proxied(upstream(server)) as service:
        client = service.client()
        for _ in replies:
            said(client, [user("How is Oslo?")])
            service.learned()
        assert service.log() == [("user", "How is Oslo?"), ("assistant", replies[-1])]


def test_what_was_learned_of_an_exchange_goes_and_comes_with_its_reply() -> None:
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


def test_where_the_conversation_went_on_another_reply_to_an_earlier_part_is_added() -> None:
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


def test_an_edited_message_is_new_and_what_came_before_is_not(service: Proxied) -> None:
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


def test_a_history_that_its_client_cuts_makes_no_more_than_one_exchange_a_turn(
    service: Proxied,
) -> None:
    client, history = service.client(**{"X-Memolith-Session": "mine"}), []
    for turn in range(8):
        history.append(user(f"Chair {turn} is blue."))
        history.append(assistant(said(client, history[-5:])))
    assert service.log() == [(each["role"], each["content"]) for each in history]


def test_a_conversation_that_began_elsewhere_is_taken_in_whole(service: Proxied) -> None:
    history = [user("I live in Oslo."), assistant("Nice."), user("I have a cat.")]
    said(service.client(), history)
    assert len(service.log()) == 4


def test_off_remembers_nothing_and_tells_nothing(service: Proxied, model: ModelServer) -> None:
    service.alice.remember("Alex works at NASA", kind="fact")
    client = service.client(**{"X-Memolith-Memory": "off"})
    said(client, [user(WHO)])
    assert model.asked[-1].system == ""
    assert service.log() == []


def test_what_passed_by_with_the_memory_off_is_not_learned_later(service: Proxied) -> None:
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
def test_so_it_is_with_the_beginning_of_a_conversation(service: Proxied, header: str) -> None:
    client = service.client()
    history = [user("I am secretly a spy.")]
    history.append(assistant(said(client, history, extra_headers={"X-Memolith-Memory": header})))
    history.append(user("I have a cat."))
    said(client, history)
    assert service.log() == [("user", "I have a cat."), ("assistant", "Noted: I have a cat.")]


def test_read_only_tells_and_learns_nothing(service: Proxied, model: ModelServer) -> None:
    service.alice.remember("Alex works at NASA", kind="fact")
    said(service.client(**{"X-Memolith-Memory": "read-only"}), [user("Where does Alex work?")])
    assert "NASA" in model.asked[-1].system
    assert service.log() == []


def test_a_switch_that_there_is_not_is_refused(service: Proxied) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="X-Memolith-Memory: ") as refused:
        said(service.client(**{"X-Memolith-Memory": "sometimes"}), [user(NAME)])
    assert (refused.value.param, refused.value.type) == (
        "X-Memolith-Memory",
        "invalid_request_error",
    )


def test_a_client_of_openai_shows_why_it_is_refused(service: Proxied) -> None:
    with pytest.raises(openai.NotFoundError, match="unknown path"):
        service.client().embeddings.create(model="scripted", input="Hi")
    with pytest.raises(openai.PermissionDeniedError, match="may not act for another owner"):
        said(service.client(**{"X-Owner-Id": "somebody"}), [user(NAME)])


def test_switched_off_everything_passes_through_as_it_came(model: ModelServer) -> None:
    body = b'{"model":"scripted", "messages": [{"role":"user","content":"Hi"}], "x": 1.50}'
    with proxied(upstream(model), ProxyOptions(is_enabled=False)) as service:
        sent = httpx.post(
            f"{service.url}/v1/chat/completions",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        assert sent.json()["choices"][0]["message"]["content"] == "Noted: Hi"
        assert model.asked[-1].headers["content-length"] == str(len(body))
        assert service.log() == []


def test_our_key_is_never_sent_on_and_the_services_own_is(
    service: Proxied, model: ModelServer
) -> None:
    said(service.client("memolith_secret"), [user(NAME)])
    assert model.asked[-1].key == KEY
    assert "memolith_secret" not in str(model.asked[-1])


def test_unknown_fields_and_several_choices_pass(service: Proxied, model: ModelServer) -> None:
    more = {"logprobs": True, "n": 2, "seed": 7, "extra_body": {"top_k": 40, "new": {"a": [1]}}}
    said(service.client(), [user(NAME)], **more)
    body = model.asked[-1].body
    assert (body["logprobs"], body["n"], body["seed"]) == (True, 2, 7)
    assert (body["top_k"], body["new"]) == (40, {"a": [1]})
    assert service.log() == [("user", NAME)], "which of several was taken, the next request tells"


def test_usage_is_kept(service: Proxied) -> None:
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


def test_the_models_of_the_service_are_listed(service: Proxied) -> None:
    assert [each.id for each in service.client().models.list()] == ["scripted"]


def test_only_the_models_that_are_named_may_be_asked_for(model: ModelServer) -> None:
    with proxied(upstream(model), ProxyOptions(allowed_models=("scripted", "small"))) as service:
        client = service.client()
        assert [each.id for each in client.models.list()] == ["scripted", "small"]
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="dear", messages=[{"role": "user", "content": ""}])
        body = b'{"Model":"dear","model":"small","messages":[{"role":"user","content":"Hi"}]}'
        head = {"Content-Type": "application/json", "X-Memolith-Memory": "off"}
        asked = httpx.post(f"{service.url}/v1/chat/completions", content=body, headers=head)
        assert asked.status_code == 200
        assert "Model" not in model.asked[-1].body
        assert model.asked[-1].body["model"] == "small"


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500, 503])
def test_what_the_model_says_against_it_is_passed_on(status: int) -> None:
    script = [refused(status, message="no", retry_after_s=7)]
    with ModelServer(script) as server, proxied(upstream(server)) as service:
        with pytest.raises(openai.APIStatusError) as caught:
            said(service.client(), [user(NAME)])
        assert caught.value.status_code == status
        assert caught.value.response.headers["Retry-After"] == "7"
        assert caught.value.body is not None
        assert KEY not in caught.value.response.text
        assert service.log() == [], "it will be said again"


def test_a_refused_key_of_ours_is_our_failure_and_not_the_clients() -> None:
    with ModelServer(answer, keys=["another"]) as server, proxied(upstream(server)) as service:
        with pytest.raises(openai.InternalServerError) as caught:
            said(service.client(), [user(NAME)])
        assert caught.value.status_code == 502
        assert KEY not in caught.value.response.text


def test_a_service_that_is_not_there_is_told() -> None:
    with proxied(OpenAIUpstream("scripted", "http://127.0.0.1:9/v1", KEY)) as service:
        with pytest.raises(openai.InternalServerError) as caught:
            said(service.client(), [user(NAME)])
        assert caught.value.status_code == 502


def test_tools_and_their_results_pass_and_results_are_the_tools() -> None:
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
        assert server.asked[-1].body["tools"] == tools
        assert server.asked[-1].body["messages"][-2:] == history[-2:]
        assert service.log() == [
            ("user", "Is it raining in Oslo?"),
            ("tool", "Rain, 7 C"),
            ("assistant", "It rains in Oslo."),
        ]


def test_tools_are_called_in_a_stream() -> None:
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


def test_images_pass_untouched(service: Proxied, model: ModelServer) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    told = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}
    said(service.client(), [told])
    assert model.asked[-1].body["messages"][-1] == told
    assert service.log()[0] == ("user", "What is this?")


def test_memory_joins_what_the_client_tells_the_model(service: Proxied, model: ModelServer) -> None:
    service.alice.remember("Alex works at NASA", kind="fact")
    for content in ("Be brief.", [{"type": "text", "text": "Be brief."}]):
        system = {"role": "system", "content": content}
        said(service.client(), [system, user("Where does Alex work?")])
        asked = model.asked[-1]
        assert len(asked.turns) == 2
        assert asked.system.startswith("Be brief.")
        assert "NASA" in asked.system


def test_a_cut_stream_breaks_off_for_the_client_and_is_not_learned(service: Proxied) -> None:
    client = service.client()
    with pytest.raises((openai.APIError, httpx.HTTPError)):
        streamed(client, [user("broken: my name is Alex")])
    logged = service.log()
    assert logged[0] == ("user", "broken: my name is Alex")
    ids = {message.id for message in service.alice.recent() if message.role == "assistant"}
    page = service.alice.list(state="all").memories
    assert not ids & {source.id for memory in page for source in memory.sources}


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_reply_that_was_cut_gives_way_to_one_that_is_whole(finish: str) -> None:
    script = [Answer("I am half a", finish=finish), "I am whole.", Answer("Half", finish=finish)]
    with ModelServer(script) as server, proxied(upstream(server)) as service:
        client, logs = service.client(), []
        for _ in script:
            said(client, [user("Who are you?")])
            logs.append(service.log()[-1][1])
        assert logs == ["I am half a", "I am whole.", "I am whole."]


def test_two_owners_never_mix(model: ModelServer) -> None:
    with proxied(upstream(model), open_for=None) as service:
        keys = {
            owner: service.engine.create_api_key(owner, role="owner", owner=owner).secret
            for owner in ("alice", "bob")
        }
        said(service.client(keys["alice"]), [user(NAME)], user="bob")
        service.learned()
        said(service.client(keys["bob"]), [user(WHO)], user="alice")
        assert "Alex" not in model.asked[-1].system
        assert "Alex" not in str(service.engine.owner("bob").recall("Alex NASA").memories)
        with pytest.raises(openai.PermissionDeniedError):
            said(service.client(keys["bob"], **{"X-Owner-Id": "alice"}), [user(WHO)])


def test_a_services_key_names_the_owner_by_header_or_user(model: ModelServer) -> None:
    with proxied(upstream(model), open_for=None) as service:
        secret = service.engine.create_api_key("app", role="service").secret
        with pytest.raises(openai.BadRequestError):
            said(service.client(secret), [user(NAME)])
        said(service.client(secret), [user(NAME)], user="alice")
        said(service.client(secret, **{"X-Owner-Id": "carol"}), [user(NAME)], user="bob")
        service.learned()
        assert service.app.state.proxy.afterwards.drain(10)
        assert set(service.engine.owners()) == {"alice", "carol"}


def test_without_a_service_behind_it_says_so(client: Any, as_alice: Any) -> None:
    body = {"messages": [user("Hi")]}
    assert client.post("/v1/chat/completions", json=body).status_code == 401
    assert as_alice.post("/v1/chat/completions", json=body).status_code == 501
    assert as_alice.get("/v1/models").status_code == 501
