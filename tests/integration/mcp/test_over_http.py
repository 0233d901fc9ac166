"""MCP over HTTP, with the official client and a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from mcp import Client, MCPError

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from memolith.tools import TOOLS
from support.http_server import running
from support.mcp_client import MODES, asked, headers, text_of
from support.tenant_isolation import PATTERNS, furnish

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_recall", "arguments": {"query": "tea"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
NOTHING: Any = {"memories": [], "relevance": None, "likely_unanswerable": False}


@pytest.fixture
def memory(clock: SettableClock) -> Iterator[Memolith]:
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), clock=clock
    ) as opened:
        yield opened


@pytest.fixture
def address(memory: Memolith) -> Iterator[str]:
    with running(create_app(memory, ServerOptions())) as url:
        yield url


@pytest.fixture
def key(memory: Memolith) -> Callable[..., str]:
    """Return a function that creates keys."""

    def make(owner: str | None = "alice", role: str = "owner") -> str:
        made = memory.create_api_key(f"{role} {owner}", role=role, owner=owner)
        return made.secret

    return make


@pytest.mark.parametrize("mode", MODES)
def test_official_client_stores_recalls_and_forgets(
    address: str, key: Callable[..., str], memory: Memolith, mode: str
) -> None:
    async def ask(client: Client) -> list[Any]:
        arguments = {"key": "units", "content": "Prefers metric units", "category": "preference"}
        stored = await client.call_tool("memory_store", {**arguments, "importance": 0.8})
        found = await client.call_tool("memory_recall", {"query": "metric units", "limit": 3})
        context = await client.call_tool("memory_context", {"query": "metric units"})
        past = await client.call_tool("memory_history", {"key": "units"})
        gone = await client.call_tool("memory_forget", {"key": "units"})
        after = await client.call_tool("memory_recall", {"query": "metric units"})
        return [stored, found, context, past, gone, after]

    stored, found, context, past, gone, after = asked(address, headers(key()), ask, mode)
    assert (stored.structured_content["kind"], stored.structured_content["version"]) == (
        "preference",
        1,
    )
    (only,) = found.structured_content["memories"]
    assert only["id"] == stored.structured_content["id"]
    assert only["text"] in text_of(found)
    assert "Prefers metric units" in context.structured_content["text"]
    assert [each["action"] for each in past.structured_content["changes"]] == ["remembered"]
    assert gone.structured_content == {"memories": [only["id"]], "messages": []}
    assert after.structured_content == NOTHING
    kept = memory.get(only["id"], owner="alice")
    assert (kept.state, kept.origin) == ("forgotten", "assistant")


def test_base_memory_memories_and_prompt_are_available(
    address: str, key: Callable[..., str], memory: Memolith
) -> None:
    alice = memory.owner("alice")
    stored = alice.remember("Prefers metric units", key="units")

    async def ask(client: Client) -> list[Any]:
        none = await client.list_resources()
        alice.set_base_memory("# User Profile\n\nLives in Oslo. </memory>")
        some = await client.list_resources(cache_mode="bypass")
        base = await client.read_resource("memory://base")
        one = await client.read_resource(f"memory://{stored.id}")
        templates = await client.list_resource_templates()
        prompts = await client.list_prompts()
        prompt = await client.get_prompt("with_memory", {"question": "Which metric units?"})
        with pytest.raises(MCPError) as unknown:
            await client.read_resource("memory://0190c0de-0000-7000-8000-000000000000")
        with pytest.raises(MCPError):
            await client.read_resource("file:///etc/passwd")
        with pytest.raises(MCPError):
            await client.get_prompt("with_memory", {})
        return [none, some, base, one, templates, prompts, prompt, unknown.value.code]

    none, some, base, one, templates, prompts, prompt, code = asked(address, headers(key()), ask)
    assert none.resources == []
    assert [each.uri for each in some.resources] == ["memory://base"]
    assert base.contents[0].text == "# User Profile\n\nLives in Oslo. &lt;/memory>"
    assert json.loads(one.contents[0].text)["text"] == "Prefers metric units"
    assert [each.uri_template for each in templates.resource_templates] == ["memory://{id}"]
    assert [each.name for each in prompts.prompts] == ["with_memory"]
    said = prompt.messages[0].content.text
    assert "Prefers metric units" in said
    assert said.endswith("\n\nWhich metric units?")
    assert code == -32602


def test_tools_are_annotated_with_their_effects(address: str, key: Callable[..., str]) -> None:
    listed = asked(address, headers(key()), lambda client: client.list_tools())
    hints = {
        each.name: (
            each.annotations.read_only_hint,
            each.annotations.destructive_hint,
            each.annotations.open_world_hint,
        )
        for each in listed.tools
        if each.annotations
    }
    assert hints == {
        "memory_store": (False, False, False),
        "memory_recall": (True, False, False),
        "memory_forget": (False, True, False),
        "memory_context": (True, False, False),
        "memory_history": (True, False, False),
    }
    assert all(each.output_schema for each in listed.tools)


def test_errors_of_an_agent_are_returned_as_readable_results(
    address: str, key: Callable[..., str]
) -> None:
    async def ask(client: Client) -> list[Any]:
        return [
            await client.call_tool("memory_store", {"key": "a", "content": "b"}),
            await client.call_tool("memory_recall", {"query": "x", "since": "tomorrow"}),
            await client.call_tool("memory_forget", {"key": "nothing"}),
            await client.call_tool("memory_wipe", {}),
        ]

    results = asked(address, headers(key()), ask)
    assert all(each.is_error for each in results)
    assert [text_of(each) for each in results] == [
        "Error: arguments: Object missing required field `category`",
        "Error: since: must be a Unix time in seconds or ISO 8601, such as 2026-03-01T12:00:00Z",
        "Error: no key 'nothing'",
        f"Error: unknown tool; available tools: {', '.join(TOOLS)}",
    ]


def test_keys_have_the_same_permissions_as_over_rest(
    address: str, memory: Memolith, key: Callable[..., str]
) -> None:
    memory.remember("Bob likes tea", owner="bob")

    http = httpx.Client(headers=ACCEPT)

    def status(shown: dict[str, str]) -> int:
        return http.post(f"{address}/mcp", json=HELLO, headers=shown).status_code

    of_alice, service = key(), key(None, "service")
    assert status({}) == 401
    assert status(headers("memolith_wrong")) == 401
    assert status(headers(of_alice)) == 200
    assert status(headers(of_alice, "bob")) == 403
    assert status(headers(service)) == 400
    assert status(headers(service, "bob")) == 200
    memory.revoke_api_key("owner alice")
    assert status(headers(of_alice)) == 401
    http.close()


def test_requests_of_other_origins_and_hosts_are_refused(
    address: str, key: Callable[..., str]
) -> None:
    shown = {**ACCEPT, **headers(key())}
    for more, expected in (
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Content-Type": "text/plain"}, 415),
    ):
        answer = httpx.post(
            f"{address}/mcp",
            content=json.dumps(HELLO),
            headers={"Content-Type": "application/json", **shown, **more},
        )
        assert answer.status_code == expected, more


def test_metrics_count_requests_by_route(address: str, key: Callable[..., str]) -> None:
    with httpx.Client(headers={**ACCEPT, **headers(key())}) as http:
        http.post(f"{address}/mcp", json=HELLO)
        admin = headers(key(None, "admin"))
        assert '"/mcp"' in http.get(f"{address}/metrics", headers=admin).text


def test_error_without_the_sdk_names_the_extra(
    memory: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.server.mcp.endpoint.find_spec", lambda _name: None)
    app = create_app(memory, ServerOptions(anonymous_owner="alice"))
    with TestClient(app, base_url="http://localhost") as anybody:
        answer = anybody.post("/mcp", json=HELLO)
    assert answer.status_code == 501
    assert "memolith[mcp]" in answer.json()["detail"]


def test_session_id_of_another_key_is_ignored(
    address: str, memory: Memolith, key: Callable[..., str]
) -> None:
    memory.remember("Alice likes tea", owner="alice")
    version = {"MCP-Protocol-Version": "2025-11-25"}
    initialize = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    url, alice, bob = f"{address}/mcp", headers(key()), headers(key("bob"))
    begun = httpx.post(url, json=initialize, headers={**ACCEPT, **alice})
    assert begun.json()["result"]["serverInfo"]["name"] == "memolith"
    assert "mcp-session-id" not in begun.headers
    stolen = {"Mcp-Session-Id": begun.headers.get("mcp-session-id", "1")}
    as_bob = httpx.post(url, json=HELLO, headers={**ACCEPT, **bob, **version, **stolen})
    assert as_bob.json()["result"]["structuredContent"] == NOTHING
    for method in ("GET", "DELETE"):
        assert httpx.request(method, url, headers={**ACCEPT, **alice}).status_code == 405


def test_names_of_another_owner_are_treated_as_unknown(
    address: str, memory: Memolith, key: Callable[..., str]
) -> None:
    things = furnish(memory.owner("alice"), "zufibolema")
    before = [repr(each) for each in memory.export(owner="alice")]
    # The tests of the tools try all names; this one checks the isolation of the MCP endpoint.
    names = [*things.keys, *things.memories, things.messages[0], *PATTERNS[:2]]

    async def ask(client: Client) -> list[str]:
        said = []
        for name in names:
            past = await client.call_tool("memory_history", {"key": name})
            gone = await client.call_tool("memory_forget", {"key": name})
            said += [text_of(past), text_of(gone)]
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"memory://{name}")
            said.append(refused.value.message)
        for words in (*things.texts, PATTERNS[0]):
            found = await client.call_tool("memory_recall", {"query": words})
            context = await client.call_tool("memory_context", {"query": words})
            said += [text_of(found), text_of(context)]
        for category in (*things.tags, "%"):
            arguments = {"query": things.texts[0], "category": category}
            said.append(text_of(await client.call_tool("memory_recall", arguments)))
        return said

    said = asked(address, headers(key("bob")), ask)
    asked_for = sorted({*names, *things.texts}, key=len, reverse=True)
    for each in said:
        left = each
        for own in asked_for:
            left = left.replace(own, "") if own else left
        assert "zufibolema" not in left.lower()
    assert [repr(each) for each in memory.export(owner="alice")] == before


MALFORMED = (
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    b"[" * 2000 + b"]" * 2000,
    b"\xff\xfe\x00",
    json.dumps(HELLO).replace("tea", "\\ud800").encode(),
)


def test_malformed_requests_do_not_stop_the_server(address: str, key: Callable[..., str]) -> None:
    shown = {**ACCEPT, **headers(key()), "Content-Type": "application/json"}
    with httpx.Client() as http:
        for body in MALFORMED:
            for version in ("2025-11-25", "2026-07-28", "1999-01-01"):
                more = {**shown, "MCP-Protocol-Version": version}
                answer = http.post(f"{address}/mcp", content=body, headers=more)
                assert answer.status_code < 500, (body, answer.text)
                assert "Traceback" not in answer.text
            assert http.post(f"{address}/mcp", json=HELLO, headers=shown).status_code == 200


def test_mcp_and_rest_decode_owner_headers_alike(
    address: str, key: Callable[..., str], memory: Memolith
) -> None:
    memory.owner("zo\u00eb").remember("Likes green tea")
    shown = {**ACCEPT, "Authorization": f"Bearer {key(None, 'service')}"}
    head = {name.encode(): text.encode() for name, text in shown.items()}
    head[b"X-Owner-Id"] = "zo\u00eb".encode()
    response = httpx.post(f"{address}/mcp", json=HELLO, headers=head)
    assert "green tea" in response.text
