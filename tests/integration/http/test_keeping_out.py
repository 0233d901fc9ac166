"""Who guesses keys is slowed down, pages may call only where configured, and no key is shown."""

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

from .conftest import Caller


class Times:
    """A clock that is set."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_of_an_hour_of_guessing_twenty_keys_a_minute_are_looked_at(memory: Memolith) -> None:
    times, looked_at = Times(), 0
    keeper = Authenticator(memory, None, 20, times)
    for second in range(3_600):
        times.now_s = float(second)
        for guess in range(10):
            with pytest.raises(Problem) as refused:
                keeper.authenticate(f"{KEY_PREFIX}{second}-{guess}", "10.0.0.1")
            looked_at += refused.value.status == 401
    assert 19 * 60 < looked_at <= 20 * 60  # of 36,000


def test_who_guesses_holds_up_nobody_at_another_address_and_may_come_again(
    memory: Memolith,
) -> None:
    times = Times()
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


def test_a_key_is_looked_up_by_a_digest_that_a_near_guess_does_not_share(memory: Memolith) -> None:
    # Keys are never compared. Whoever learns by the time of an answer how much of a digest is right
    # knows nothing of the key, and can't make one whose digest is nearer.
    right = memory.create_api_key("phone", owner="alice").secret
    near = right[:-1] + ("A" if right[-1] != "A" else "B")
    assert memory.find_api_key(right) is not None
    assert memory.find_api_key(near) is None
    same = [a == b for a, b in zip(_hash_secret(right), _hash_secret(near), strict=True)]
    assert len(same) == 32
    assert sum(same) < 8  # as of any two digests: one byte in 256


def test_the_first_key_closes_a_server_that_was_open(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(anonymous_owner="alice"))
    with TestClient(app, base_url="http://localhost") as anybody:
        assert anybody.get("/v1/memories").status_code == 200
        memory.create_api_key("first", role="admin")
        assert anybody.get("/v1/memories").status_code == 401
        memory.revoke_api_key("first")
        assert anybody.get("/v1/memories").status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.5", "memory.example", ""])  # noqa: S104 - what is refused
def test_no_address_but_this_machines_is_served_without_a_key(memory: Memolith, host: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"serve\.host.*memolith api-key create"):
        build_server_options(Serve(host=host), memory, "alice")
    memory.create_api_key("first", role="admin")
    assert build_server_options(Serve(host=host), memory, "alice").anonymous_owner is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_this_machines_addresses_are_served_without_one(memory: Memolith, host: str) -> None:
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
def test_nothing_is_served_behind_a_reverse_proxy_without_a_key(
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


def test_no_page_may_call_where_none_is_configured(as_alice: TestClient) -> None:
    for method, headers in (("OPTIONS", _ASKS), ("GET", {"Origin": PAGE})):
        refused = as_alice.request(method, "/v1/memories", headers=headers)
        assert refused.status_code == 403
        assert not [each for each in refused.headers if each.startswith("access-control")]
    plain = as_alice.get("/v1/memories")
    assert not [each for each in plain.headers if each.startswith("access-control")]


def test_a_page_that_is_configured_may_call_and_no_other(memory: Memolith) -> None:
    app = create_app(memory, ServerOptions(allowed_origins=frozenset({PAGE})))
    key = memory.create_api_key("page", owner="alice").secret
    with TestClient(app, base_url="http://localhost") as client:
        before = client.options("/v1/memories", headers=_ASKS)
        assert before.status_code == 200
        assert before.headers["Access-Control-Allow-Origin"] == PAGE
        assert "POST" in before.headers["Access-Control-Allow-Methods"]
        assert "authorization" in before.headers["Access-Control-Allow-Headers"]
        # Keys are sent on purpose: what a browser adds by itself, cookies, is never asked for.
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


def test_each_process_counts_requests_for_itself(memory: Memolith) -> None:
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


def test_no_log_has_a_word_or_a_key_of_any_request(
    calling: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    service = calling(role="admin")
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
