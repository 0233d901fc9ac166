"""Requests with an idempotency key take effect once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.adapters.sql.service_tables import REQUEST_TIMEOUT
from memolith.server.idempotency import IdempotentRequest
from memolith.testing.fakes import SettableClock

from .conftest import ClientFactory

_KEY = {"Idempotency-Key": "4b1f8a52-5d0e-4f5b-8f0e-0d6a0d5f2a11"}
_SAID = {"user": "My name is Alice and I live in Oslo", "assistant": "Nice to meet you!"}


def test_repeated_request_returns_the_stored_response(as_alice: TestClient) -> None:
    first = as_alice.post("/v1/learn", json=_SAID, headers=_KEY)
    again = as_alice.post("/v1/learn", json=_SAID, headers=_KEY)
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert as_alice.get("/v1/memories/stats").json()["messages"] == 2


def test_request_without_a_key_runs_each_time(as_alice: TestClient) -> None:
    for _ in range(2):
        as_alice.post("/v1/learn", json=_SAID)
    assert as_alice.get("/v1/memories/stats").json()["messages"] == 4


def test_key_of_another_request_is_refused(as_alice: TestClient) -> None:
    as_alice.post("/v1/learn", json=_SAID, headers=_KEY)
    other = as_alice.post("/v1/memories", json={"content": "Likes tea"}, headers=_KEY)
    assert other.status_code == 409


def test_idempotency_keys_are_separate_for_each_owner(
    as_alice: TestClient, client_for: ClientFactory
) -> None:
    as_alice.post("/v1/learn", json=_SAID, headers=_KEY)
    bobs = client_for("bob").post("/v1/learn", json=_SAID, headers=_KEY)
    assert {each["session_id"] for each in bobs.json()["messages"]} == {"default"}
    assert "Idempotency-Replayed" not in bobs.headers


def test_refused_request_can_be_sent_again(as_alice: TestClient) -> None:
    refused = as_alice.post("/v1/memories", json={"content": "x" * 9_000}, headers=_KEY)
    assert refused.status_code == 422
    taken = as_alice.post("/v1/memories", json={"content": "Likes tea"}, headers=_KEY)
    assert taken.status_code == 201


def test_request_of_a_killed_process_is_not_repeated(
    as_alice: TestClient, clock: SettableClock
) -> None:
    posts = {
        "/v1/learn": _SAID,
        "/v1/sessions/s/messages": {
            "messages": [{"content": "I like tea"}, {"content": "So do I"}]
        },
        "/v1/memories": {"content": "Likes coffee"},
    }
    for path, body in posts.items():
        headers = {"Idempotency-Key": path}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                IdempotentRequest, "complete", lambda *_: None
            )  # as if the process had been killed here
            as_alice.post(path, json=body, headers=headers)
        assert as_alice.post(path, json=body, headers=headers).status_code == 409
    before = as_alice.get("/v1/memories/stats").json()
    clock.advance(REQUEST_TIMEOUT)
    for path, body in posts.items():
        again = as_alice.post(path, json=body, headers={"Idempotency-Key": path})
        assert again.status_code == 201
    assert as_alice.get("/v1/memories/stats").json() == before


def test_response_with_a_forgotten_memory_is_not_replayed(as_alice: TestClient) -> None:
    for number, way in enumerate(("forget", "purge")):
        key, given = {"Idempotency-Key": f"k{number}"}, {"content": f"Likes tea number {number}"}
        kept = as_alice.post("/v1/memories", json=given, headers=key).json()["id"]
        gone = as_alice.post(f"/v1/{way}", json={"id": kept}, headers={"Idempotency-Key": way})
        assert gone.status_code == 200
        again = as_alice.post("/v1/memories", json=given, headers=key)
        assert (again.status_code, "tea" in again.text) == (409, False)
        assert as_alice.post(
            f"/v1/{way}", json={"id": kept}, headers={"Idempotency-Key": way}
        ).is_success
    assert as_alice.get("/v1/memories").json()["total"] == 0


def test_retention_removes_stored_responses(
    as_alice: TestClient, memory: Memolith, clock: SettableClock
) -> None:
    old = as_alice.post("/v1/memories", json={"content": "Likes tea"}).json()["id"]
    as_alice.post("/v1/forget", json={"id": old})
    clock.advance(timedelta(days=2))
    as_alice.post("/v1/learn", json=_SAID, headers=_KEY)
    (removed,) = memory.retain(1, owner="alice")
    assert removed.memories == 1
    assert as_alice.post("/v1/learn", json=_SAID, headers=_KEY).status_code == 409
