"""The lifecycle of a memory over REST."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from .conftest import ClientFactory


def test_memory_can_be_stored_found_changed_forgotten_and_restored(as_alice: TestClient) -> None:
    made = as_alice.post("/v1/memories", json={"content": "Prefers metric units", "key": "units"})
    assert made.status_code == 201
    id_ = made.json()["id"]
    assert made.json()["owner_id"] == "alice"
    assert as_alice.get("/v1/memories/keyed", params={"key": "units"}).json()["id"] == id_
    assert as_alice.get("/v1/memories/keyed", params={"key": "unit%"}).status_code == 404
    found = as_alice.get("/v1/memories/search", params={"q": "metric units"}).json()
    assert [each["id"] for each in found["memories"]] == [id_]
    changed = as_alice.patch(f"/v1/memories/{id_}", json={"content": "Prefers imperial units"})
    assert (changed.json()["version"], changed.json()["key"]) == (2, "units")
    history = as_alice.get(f"/v1/memories/{id_}/history").json()
    assert [each["memory"]["content"] for each in history["versions"]] == [
        "Prefers metric units",
        "Prefers imperial units",
    ]
    assert as_alice.delete(f"/v1/memories/{id_}").json()["memories"] == [id_]
    assert as_alice.get("/v1/memories").json()["total"] == 0
    restored = as_alice.post(f"/v1/memories/{id_}/restore")
    assert restored.json()["state"] == "active"


def test_pages_do_not_overlap(as_alice: TestClient) -> None:
    for number in range(5):
        as_alice.post("/v1/memories", json={"content": f"Owns {number + 2} red bicycles"})
    first = as_alice.get("/v1/memories", params={"limit": 3}).json()
    rest = as_alice.get("/v1/memories", params={"limit": 3, "cursor": first["cursor"]}).json()
    seen = [each["content"] for page in (first, rest) for each in page["memories"]]
    assert seen == [f"Owns {number + 2} red bicycles" for number in reversed(range(5))]
    assert (first["total"], rest["cursor"]) == (5, None)


def test_memory_can_supersede_another(as_alice: TestClient) -> None:
    old, new = (
        as_alice.post("/v1/memories", json={"content": text}).json()["id"]
        for text in ("Lives in Oslo", "Lives in Rome")
    )
    retired = as_alice.post(f"/v1/memories/{old}/supersede", json={"by": new})
    assert (retired.json()["state"], retired.json()["superseded_by"]) == ("superseded", new)
    again = as_alice.post(f"/v1/memories/{old}/supersede", json={"by": new})
    assert again.status_code == 409
    wrong = as_alice.post(f"/v1/memories/{old}/supersede", json={"by": "it"})
    assert wrong.json()["errors"] == [{"field": "by", "problem": "must be a UUID"}]


def test_forgetting_everything_requires_confirmation(as_alice: TestClient) -> None:
    for text in ("Likes tea", "Owns a cat"):
        as_alice.post("/v1/memories", json={"content": text})
    assert as_alice.delete("/v1/memories").status_code == 422
    gone = as_alice.delete("/v1/memories", params={"confirm": "all"})
    assert len(gone.json()["memories"]) == 2
    assert as_alice.get("/v1/memories").json()["total"] == 0


def test_unknown_filter_forgets_nothing(as_alice: TestClient) -> None:
    as_alice.post("/v1/memories", json={"content": "Likes tea"})
    refused = as_alice.delete("/v1/memories", params={"confirm": "all", "kind": "fact"})
    assert refused.json()["errors"] == [{"field": "kind", "problem": "unknown argument"}]
    assert as_alice.get("/v1/memories").json()["total"] == 1


def test_probes_and_chat_ignore_unknown_parameters(client: TestClient) -> None:
    assert client.get("/healthz?t=1").status_code == 200
    assert client.get("/v1/models?api-version=1").status_code != 422


def test_decay_requires_an_admin_key(as_alice: TestClient, client_for: ClientFactory) -> None:
    assert as_alice.post("/v1/memories/decay").status_code == 403
    assert client_for(role="service").post("/v1/memories/decay").status_code == 403
    assert client_for(role="admin").post("/v1/memories/decay").json() == {
        "memories": [],
        "count": 0,
    }


def test_invalid_fields_are_named(as_alice: TestClient) -> None:
    given = {"content": "Likes tea", "importance": 2, "colour": "red"}
    refused = as_alice.post("/v1/memories", json=given)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert {each["field"] for each in refused.json()["errors"]} == {"importance", "colour"}
    assert "Likes tea" not in refused.text


@pytest.mark.parametrize(
    ("method", "path", "body", "wrong"),
    [
        ("POST", "/v1/memories", '{"content": "x",', "body: invalid JSON after 16 characters"),
        ("POST", "/v1/memories", "{}", "content: is missing"),
        ("POST", "/v1/memories", '{"content": "x", "text": 1}', "text: unknown argument"),
        ("POST", "/v1/memories", '{"content": "x", "importance": "y"}', "importance: must be"),
        ("POST", "/v1/import", "{}", "body: must be lines of JSON, of type application/x-ndjson"),
        ("GET", "/v1/memories?state=dead", "", "state: Input should be"),
        ("DELETE", "/v1/memories", "", "confirm: is missing"),
        ("GET", "/v1/memories?tag=food", "", "tag: unknown argument"),
        ("GET", "/v1/stats?owner=bob", "", "owner: unknown argument"),
    ],
)
def test_error_names_the_field_and_the_problem(
    as_alice: TestClient, method: str, path: str, body: str, wrong: str
) -> None:
    headers = {"Content-Type": "application/json"} if body else {}
    refused = as_alice.request(method, path, content=body, headers=headers).json()
    assert all(
        f"{each['field']}: {each['problem']}".startswith(wrong) for each in refused["errors"]
    ), refused


def test_unknown_path_refers_to_the_openapi_document(as_alice: TestClient) -> None:
    assert "/openapi.json" in as_alice.get("/v1/memory").json()["detail"]


def test_erasing_an_owner_requires_confirmation_by_name(client_for: ClientFactory) -> None:
    admin = client_for(role="admin")
    admin.headers["X-Owner-Id"] = "alice"
    made = admin.post("/v1/memories", json={"content": "Likes tea"}).json()["id"]
    for query in ({}, {"confirm": "all"}, {"confirm": "bob"}):
        assert admin.delete("/v1/owner", params=query).status_code == 422
    assert admin.get(f"/v1/memories/{made}").status_code == 200
    assert admin.delete("/v1/owner", params={"confirm": "alice"}).status_code == 200
    assert admin.get(f"/v1/memories/{made}").status_code in {404, 410}


def test_exchange_is_learned_exported_and_imported(
    as_alice: TestClient, client_for: ClientFactory
) -> None:
    said = {"user": "My name is Alice and I live in Oslo", "assistant": "Nice to meet you!"}
    learned = as_alice.post("/v1/learn", json=said).json()
    assert [each["role"] for each in learned["messages"]] == ["user", "assistant"]
    assert learned["memories"]
    lines = as_alice.get("/v1/export")
    headers = {"Content-Type": "application/x-ndjson"}
    taken = client_for("bob").post("/v1/import", content=lines.content, headers=headers).json()
    assert (taken["messages"], taken["memories"]) == (2, len(learned["memories"]))


def test_context_returns_text_and_its_results(as_alice: TestClient) -> None:
    as_alice.post("/v1/memories", json={"content": "Prefers metric units"})
    context = as_alice.post("/v1/context", json={"query": "units"}).json()
    assert "Prefers metric units" in context["text"]
    assert context["results"][0]["text"] == "Prefers metric units"


@pytest.mark.parametrize("operation", ["cleanup", "expire", "consolidate", "drain"])
def test_maintenance_routes_need_no_body(client_for: ClientFactory, operation: str) -> None:
    operator = client_for(role="admin")
    bare = operator.post(f"/v1/upkeep/{operation}")
    assert bare.status_code == 200
    assert bare.json() == operator.post(f"/v1/upkeep/{operation}", json={}).json()
