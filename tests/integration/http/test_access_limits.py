"""Key guessing is rate-limited, CORS is configured explicitly, and logs contain no keys."""

from __future__ import annotations

import logging

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.config.settings import Serve
from memolith.errors import InvalidConfiguration
from memolith.server.app import ServerOptions, create_app
from memolith.server.auth import Authenticator
from memolith.server.problems import Problem
from memolith.server.serve import build_server_options, is_local
from memolith.services.keys import KEY_PREFIX, _hash_secret

from .conftest import ClientFactory


class ManualClock:
    """A clock that the test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_key_guesses_are_limited_to_twenty_a_minute(memory: Memolith) -> None:
    times, looked_at = ManualClock(), 0
    keeper = Authenticator(memory, None, 20, times)
    for second in range(3_600):
        times.now_s = float(second)
        for guess in range(10):
            with pytest.raises(Problem) as refused:
                keeper.authenticate(f"{KEY_PREFIX}{second}-{guess}", "10.0.0.1")
            looked_at += refused.value.status == 401
    assert 19 * 60 < looked_at <= 20 * 60  # of 36,000


def test_rate_limit_is_per_address_and_expires(
    memory: Memolith,
) -> None:
    times = ManualClock()
    keeper = Authenticator(memory, None, 3, times)
    right = memory.create_api_key("right", role="admin").secret
    for _ in range(3):
        with pytest.raises(Problem):
            keeper.authenticate("memolith_wrong", "10.0.0.1")
    with pytest.raises(Problem) as refused:
        keeper.authenticate(right, "10.0.0.1")
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "60")
    assert keeper.authenticate(right, "10.0.0.2").name == "right"
    times.now_s = 61.0
    assert keeper.authenticate(right, "10.0.0.1").name == "right"


def test_similar_keys_have_unrelated_digests(memory: Memolith) -> None:
    # Keys are looked up by digest and never compared. A timing attack on the digest reveals nothing
    # about the key, and can't be used to find a key with a closer digest.
    right = memory.create_api_key("phone", owner="alice").secret
    near = right[:-1] + ("A" if right[-1] != "A" else "B")
    assert memory.find_api_key(right) is not None
    assert memory.find_api_key(near) is None
    same = [a == b for a, b in zip(_hash_secret(right), _hash_secret(near), strict=True)]
    assert len(same) == 32
    assert sum(same) < 8  # as for any two digests: one byte in 256


def test_first_key_ends_anonymous_access(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice"))
    with TestClient(app, base_url="http://localhost") as anybody:
        assert anybody.get("/v1/memories").status_code == 200
        memory.create_api_key("first", role="admin")
        assert anybody.get("/v1/memories").status_code == 401
        memory.revoke_api_key("first")
        assert anybody.get("/v1/memories").status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.5", "memory.example", ""])  # noqa: S104 - what is refused
def test_non_local_address_requires_a_key(memory: Memolith, host: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"serve\.host.*memolith api-key create"):
        build_server_options(Serve(host=host), memory, "alice")
    memory.create_api_key("first", role="admin")
    assert build_server_options(Serve(host=host), memory, "alice").anonymous_owner is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_local_address_requires_no_key(memory: Memolith, host: str) -> None:
    assert is_local(host)
    assert build_server_options(Serve(host=host), memory, "alice").anonymous_owner == "alice"
    with pytest.raises(InvalidConfiguration, match=r"serve\.owner"):
        build_server_options(Serve(host=host), memory, "")


@pytest.mark.parametrize(
    ("behind", "setting"),
    [
        (Serve(trusted_proxies="127.0.0.1"), "serve.trusted_proxies"),
        (Serve(hosts="localhost,memory.example.org"), "serve.hosts"),
        (Serve(hosts="*"), "serve.hosts"),
    ],
)
def test_server_behind_a_reverse_proxy_requires_a_key(
    memory: Memolith, behind: Serve, setting: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=f"{setting}.*memolith api-key create"):
        build_server_options(behind, memory, "alice")
    assert (
        build_server_options(Serve(hosts="localhost,127.0.0.1"), memory, "alice").anonymous_owner
        == "alice"
    )
    memory.create_api_key("first", role="admin")
    assert build_server_options(behind, memory, "alice").anonymous_owner is None


PAGE = "https://app.example.org"
_ASKS = {
    "Origin": PAGE,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type",
}


def test_no_origin_is_allowed_by_default(as_alice: TestClient) -> None:
    for method, headers in (("OPTIONS", _ASKS), ("GET", {"Origin": PAGE})):
        refused = as_alice.request(method, "/v1/memories", headers=headers)
        assert refused.status_code == 403
        assert not [each for each in refused.headers if each.startswith("access-control")]
    plain = as_alice.get("/v1/memories")
    assert not [each for each in plain.headers if each.startswith("access-control")]


def test_only_configured_origins_are_allowed(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(allowed_origins=frozenset({PAGE})))
    key = memory.create_api_key("page", owner="alice").secret
    with TestClient(app, base_url="http://localhost") as client:
        before = client.options("/v1/memories", headers=_ASKS)
        assert before.status_code == 200
        assert before.headers["Access-Control-Allow-Origin"] == PAGE
        assert "POST" in before.headers["Access-Control-Allow-Methods"]
        assert "authorization" in before.headers["Access-Control-Allow-Headers"]
        # Clients send keys explicitly; cookies, which browsers add themselves, are not used.
        assert "Access-Control-Allow-Credentials" not in before.headers
        sent = client.post(
            "/v1/memories",
            json={"content": "Likes tea"},
            headers={"Origin": PAGE, "Authorization": f"Bearer {key}"},
        )
        assert sent.status_code == 201
        assert sent.headers["Access-Control-Allow-Origin"] == PAGE
        assert "X-Request-Id" in sent.headers["Access-Control-Expose-Headers"]
        other = client.options("/v1/memories", headers={**_ASKS, "Origin": "https://evil.example"})
        assert other.status_code == 403
        assert "Access-Control-Allow-Origin" not in other.headers


def test_each_process_has_its_own_rate_limit(memory: Memolith) -> None:
    apps = [
        create_app(memory, ServerOptions(anonymous_owner="alice", requests_per_minute=6))
        for _ in range(2)
    ]
    for app in apps:
        with TestClient(app, base_url="http://localhost") as client:
            assert client.get("/v1/memories").status_code == 200
            refused = client.get("/v1/memories")
            assert refused.status_code == 429
            assert 1 <= int(refused.headers["Retry-After"]) <= 10


WORD, KEY = "qzxjkv", f"{KEY_PREFIX}shown-by-nobody"


def test_logs_contain_no_text_or_key_of_any_request(
    client_for: ClientFactory, caplog: pytest.LogCaptureFixture
) -> None:
    service = client_for(role="admin")
    caplog.set_level(logging.DEBUG)
    paths: dict[str, dict[str, object]] = service.get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        filled = path.replace("{id}", WORD).replace("{session}", WORD)
        for method in methods:
            for body in ({"content": WORD, "text": WORD, "query": WORD}, [WORD], WORD):
                for headers in ({}, {"Authorization": f"Bearer {KEY}"}):
                    sent = service.request(
                        method,
                        filled,
                        params={"q": WORD, "kind": WORD, "cursor": WORD},
                        json=body,
                        headers={"X-Owner-Id": WORD, "Idempotency-Key": WORD, **headers},
                    )
                    assert sent.headers["X-Request-Id"]
    ours = [each for each in caplog.records if not each.name.startswith(("httpx", "asyncio"))]
    written = "".join(
        f"{each.getMessage()} {each.exc_text} {sorted(each.__dict__.items(), key=str)}"
        for each in ours
    )
    assert len(ours) > len(paths)
    assert WORD not in written
    assert KEY not in written
    assert service.headers["Authorization"].removeprefix("Bearer ") not in written
