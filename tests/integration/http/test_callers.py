"""Who may call, for whom, from where, and how much."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.cli.commands.server import serve_command
from memolith.config import load
from memolith.server.app import ServerOptions, create_app
from support.server_process import PROGRAM, environment, served

from .conftest import Caller


def test_no_key_and_a_wrong_one_open_nothing(client: TestClient) -> None:
    assert client.get("/v1/memories").status_code == 401
    wrong = client.get("/v1/memories", headers={"Authorization": "Bearer memolith_wrong"})
    assert wrong.status_code == 401
    assert "Bearer" in wrong.headers["WWW-Authenticate"]


def test_a_revoked_key_opens_nothing_at_once(memory: Memolith, calling: Caller) -> None:
    alice = calling("alice")
    assert alice.get("/v1/memories").status_code == 200
    memory.revoke_api_key(memory.api_keys()[0].name)
    assert alice.get("/v1/memories").status_code == 401


def test_who_tries_many_keys_has_to_wait(client: TestClient, as_alice: TestClient) -> None:
    for _ in range(20):
        client.get("/v1/memories", headers={"Authorization": "Bearer memolith_guess"})
    refused = as_alice.get("/v1/memories")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")


def test_an_owners_key_is_of_that_owner_alone(as_alice: TestClient) -> None:
    assert as_alice.get("/v1/memories", headers={"X-Owner-Id": "alice"}).status_code == 200
    assert as_alice.get("/v1/memories", headers={"X-Owner-Id": "bob"}).status_code == 403


def test_a_service_names_the_owner(calling: Caller) -> None:
    service = calling(role="service")
    assert service.get("/v1/memories").status_code == 400
    made = service.post(
        "/v1/memories", json={"content": "Likes tea"}, headers={"X-Owner-Id": "bob"}
    )
    assert made.json()["owner_id"] == "bob"


def test_what_is_anothers_is_not_found(as_alice: TestClient, calling: Caller) -> None:
    id_ = as_alice.post("/v1/memories", json={"content": "Likes tea"}).json()["id"]
    bob = calling("bob")
    for method, path in (
        ("GET", f"/v1/memories/{id_}"),
        ("DELETE", f"/v1/memories/{id_}"),
        ("GET", f"/v1/memories/{id_}/history"),
        ("POST", f"/v1/memories/{id_}/restore"),
    ):
        assert bob.request(method, path).status_code == 404, path


def test_without_keys_this_machine_may_call_for_one_owner(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice"))
    with TestClient(app, base_url="http://localhost") as anybody:
        made = anybody.post("/v1/memories", json={"content": "Likes tea"})
        assert made.json()["owner_id"] == "alice"
        assert anybody.get("/v1/memories", headers={"X-Owner-Id": "bob"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io"])
def test_another_name_of_the_server_is_refused(as_alice: TestClient, host: str) -> None:
    assert as_alice.get("/v1/memories", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_such_a_page_shows_of_it_is_refused_too(as_alice: TestClient, site: str) -> None:
    assert as_alice.get("/v1/memories", headers={"Sec-Fetch-Site": site}).status_code == 403


def test_what_somebody_asks_a_browser_for_is_answered(as_alice: TestClient) -> None:
    for site in ("none", "same-origin"):
        assert as_alice.get("/v1/memories", headers={"Sec-Fetch-Site": site}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost"])
def test_pages_of_other_origins_are_refused(as_alice: TestClient, origin: str) -> None:
    assert as_alice.get("/v1/memories", headers={"Origin": origin}).status_code == 403


def test_a_write_must_be_json(as_alice: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        refused = as_alice.post(
            "/v1/memories", content='{"content": "x"}', headers={"Content-Type": kind}
        )
        assert refused.status_code == 415, kind


def test_a_body_that_is_too_long_is_refused_however_it_comes(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice", max_body_bytes=100))
    with TestClient(app, base_url="http://localhost") as anybody:
        headers = {"Content-Type": "application/json"}
        long = b'{"content": "' + b"x" * 200 + b'"}'
        whole = anybody.post("/v1/memories", content=long, headers=headers)
        pieces = anybody.post("/v1/memories", content=iter([long[:50], long[50:]]), headers=headers)
    assert (whole.status_code, pieces.status_code) == (413, 413)


def test_each_key_has_so_many_requests_a_minute(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice", requests_per_minute=12))
    with TestClient(app, base_url="http://localhost") as anybody:
        statuses = [anybody.get("/v1/memories").status_code for _ in range(3)]
        assert statuses == [200, 200, 429]


def test_serving_takes_no_secret_as_an_argument() -> None:
    names = {name for each in serve_command.params for name in each.opts}
    assert "--port" in names
    assert not [each for each in names if re.search("key|pass|secret|token", each)]


@pytest.mark.soak
def test_nobody_is_believed_who_says_that_somebody_else_calls(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with Memolith.open(config=load(None, env), worker=False) as engine:
        engine.create_api_key("first", role="admin")
    with served(env) as client:
        statuses = [
            client.get(
                "/v1/memories",
                headers={"Authorization": "Bearer memolith_no", "X-Forwarded-For": f"10.0.0.{one}"},
            ).status_code
            for one in range(22)
        ]
    assert statuses == [401] * 20 + [429] * 2


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/import", "/chat/text", "/v1/recall"])
def test_a_body_is_not_read_before_the_key(client: TestClient, path: str) -> None:
    read = []

    async def body() -> AsyncIterator[bytes]:
        read.append("all")
        yield b"{}"

    async def refused() -> int:
        kind = "application/x-ndjson" if path == "/v1/import" else "application/json"
        headers = {"Content-Type": kind, "Authorization": "Bearer memolith_wrong"}
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
            answer = await asking.post(path, content=body(), headers=headers)
            return answer.status_code

    assert (asyncio.run(refused()), read) == (401, [])


def test_a_key_of_everybodys_is_made_for_nobody(tmp_path: Path) -> None:
    command = [str(PROGRAM), "api-key", "create", "ops", "--role", "admin", "--owner", "alice"]
    ran = subprocess.run(command, env=environment(tmp_path), capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"--owner is only for --role owner" in ran.stderr
