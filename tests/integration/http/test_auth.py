"""Authentication, authorization, origins, hosts and rate limits."""

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

from .conftest import ClientFactory


def test_missing_and_wrong_keys_are_refused(client: TestClient) -> None:
    assert client.get("/v1/memories").status_code == 401
    wrong = client.get("/v1/memories", headers={"Authorization": "Bearer memolith_wrong"})
    assert wrong.status_code == 401
    assert "Bearer" in wrong.headers["WWW-Authenticate"]


def test_revoked_key_is_refused_immediately(memory: Memolith, client_for: ClientFactory) -> None:
    alice = client_for("alice")
    assert alice.get("/v1/memories").status_code == 200
    memory.revoke_api_key(memory.api_keys()[0].name)
    assert alice.get("/v1/memories").status_code == 401


def test_many_wrong_keys_are_rate_limited(client: TestClient, as_alice: TestClient) -> None:
    for _ in range(20):
        client.get("/v1/memories", headers={"Authorization": "Bearer memolith_guess"})
    refused = as_alice.get("/v1/memories")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")


def test_owner_key_is_valid_for_its_owner_only(as_alice: TestClient) -> None:
    assert as_alice.get("/v1/memories", headers={"X-Owner-Id": "alice"}).status_code == 200
    assert as_alice.get("/v1/memories", headers={"X-Owner-Id": "bob"}).status_code == 403


def test_service_key_requires_an_owner_header(client_for: ClientFactory) -> None:
    service = client_for(role="service")
    assert service.get("/v1/memories").status_code == 400
    made = service.post(
        "/v1/memories", json={"content": "Likes tea"}, headers={"X-Owner-Id": "bob"}
    )
    assert made.json()["owner_id"] == "bob"


def test_memory_of_another_owner_is_not_found(
    as_alice: TestClient, client_for: ClientFactory
) -> None:
    id_ = as_alice.post("/v1/memories", json={"content": "Likes tea"}).json()["id"]
    bob = client_for("bob")
    for method, path in (
        ("GET", f"/v1/memories/{id_}"),
        ("DELETE", f"/v1/memories/{id_}"),
        ("GET", f"/v1/memories/{id_}/history"),
        ("POST", f"/v1/memories/{id_}/restore"),
    ):
        assert bob.request(method, path).status_code == 404, path


def test_anonymous_access_is_limited_to_one_owner(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice"))
    with TestClient(app, base_url="http://localhost") as anybody:
        made = anybody.post("/v1/memories", json={"content": "Likes tea"})
        assert made.json()["owner_id"] == "alice"
        assert anybody.get("/v1/memories", headers={"X-Owner-Id": "bob"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io"])
def test_unknown_host_name_is_refused(as_alice: TestClient, host: str) -> None:
    assert as_alice.get("/v1/memories", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_pages_on_other_hosts_are_refused(as_alice: TestClient, site: str) -> None:
    assert as_alice.get("/v1/memories", headers={"Sec-Fetch-Site": site}).status_code == 403


def test_direct_browser_requests_are_allowed(as_alice: TestClient) -> None:
    for site in ("none", "same-origin"):
        assert as_alice.get("/v1/memories", headers={"Sec-Fetch-Site": site}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost"])
def test_requests_of_other_origins_are_refused(as_alice: TestClient, origin: str) -> None:
    assert as_alice.get("/v1/memories", headers={"Origin": origin}).status_code == 403


def test_write_with_another_content_type_is_refused(as_alice: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        refused = as_alice.post(
            "/v1/memories", content='{"content": "x"}', headers={"Content-Type": kind}
        )
        assert refused.status_code == 415, kind


def test_oversized_body_is_refused_with_and_without_length(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice", max_body_bytes=100))
    with TestClient(app, base_url="http://localhost") as anybody:
        headers = {"Content-Type": "application/json"}
        long = b'{"content": "' + b"x" * 200 + b'"}'
        whole = anybody.post("/v1/memories", content=long, headers=headers)
        pieces = anybody.post("/v1/memories", content=iter([long[:50], long[50:]]), headers=headers)
    assert (whole.status_code, pieces.status_code) == (413, 413)


def test_requests_per_minute_are_limited(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice", requests_per_minute=12))
    with TestClient(app, base_url="http://localhost") as anybody:
        statuses = [anybody.get("/v1/memories").status_code for _ in range(3)]
        assert statuses == [200, 200, 429]


def test_serve_command_has_no_option_for_secrets() -> None:
    names = {name for each in serve_command.params for name in each.opts}
    assert "--port" in names
    assert not [each for each in names if re.search("key|pass|secret|token", each)]


@pytest.mark.soak
def test_untrusted_forwarded_for_header_is_ignored(tmp_path: Path) -> None:
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
def test_body_is_not_read_before_authentication(client: TestClient, path: str) -> None:
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


def test_admin_key_cannot_be_created_for_an_owner(tmp_path: Path) -> None:
    command = [str(PROGRAM), "api-key", "create", "ops", "--role", "admin", "--owner", "alice"]
    ran = subprocess.run(command, env=environment(tmp_path), capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"--owner is only for --role owner" in ran.stderr
