"""Recall marks questions as likely unanswerable in every interface, with the local model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith, OwnerMemory, tools
from memolith.adapters.models.local import LocalEmbedder
from memolith.cli.display import show_recall
from memolith.cli.output import console
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchMode
from memolith.policies.ranking.relevance import RELEVANCE_THRESHOLD, Relevance
from memolith.profiles.standard import standard
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.http_server import running

FACTS = (
    *("I live in Oslo.", "I am allergic to peanuts.", "My sister Anna is a nurse."),
    *("The new kitchen is to cost 18,000 euros.", "I bought a red bicycle in May."),
)
KNOWN = ("Where do I live?", "What am I allergic to?", "What will the kitchen cost?")
FOREIGN = (
    *("Which database does the billing service use?", "Which bands played at the festival?"),
    *("Who won the chess tournament?", "What did the landlord write about the deposit?"),
)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def memory(embedder: LocalEmbedder) -> Iterator[Memolith]:
    with Memolith.open(":memory:", embedder=embedder) as opened:
        yield opened


@pytest.fixture
def alice(memory: Memolith) -> OwnerMemory:
    owner = memory.owner("alice")
    for fact in FACTS:
        owner.remember(fact)
    return owner


def test_relevance_separates_answerable_from_unanswerable_questions(alice: OwnerMemory) -> None:
    known = [alice.recall(query) for query in KNOWN]
    foreign = [alice.recall(query) for query in FOREIGN]
    assert all(one.relevance and one.relevance > 0.8 for one in known)
    assert not any(one.likely_unanswerable for one in known)
    assert all(one.likely_unanswerable for one in foreign)


def test_likely_unanswerable_question_still_returns_all_results(alice: OwnerMemory) -> None:
    found = alice.recall(FOREIGN[0])
    assert found.likely_unanswerable
    assert len(found.memories) == len(FACTS)


def test_empty_memory_is_likely_unanswerable(memory: Memolith) -> None:
    found = memory.owner("bob").recall("anything")
    assert (found.memories, found.relevance, found.likely_unanswerable) == ((), 0.0, True)


def test_relevance_ignores_memories_of_another_owner(memory: Memolith, alice: OwnerMemory) -> None:
    bob = memory.owner("bob")
    bob.remember("I bought a boat.")
    assert bob.recall(KNOWN[1]).likely_unanswerable
    assert not alice.recall(KNOWN[1]).likely_unanswerable


def test_relevance_does_not_depend_on_result_limits(alice: OwnerMemory) -> None:
    relevances = {
        alice.recall(KNOWN[0], top_k=k, token_budget=b).relevance for k, b in ((0, 9), (9, 0))
    }
    assert relevances == {alice.recall(KNOWN[0]).relevance}


def test_relevance_counts_only_memories_that_pass_the_filters(alice: OwnerMemory) -> None:
    assert not alice.recall(KNOWN[0]).likely_unanswerable
    assert alice.recall(KNOWN[0], tags=["work"]).relevance == 0.0


def test_single_search_modes_report_no_relevance(alice: OwnerMemory) -> None:
    modes: tuple[SearchMode, ...] = "keyword", "vector"
    for mode in modes:
        found = alice.recall(FOREIGN[0], mode=mode)
        assert (found.relevance, found.likely_unanswerable) == (None, False)


@pytest.mark.parametrize("profile", ["companion", "facts", "chunks", "tiers", "timeline"])
def test_other_profiles_report_no_relevance(alice: OwnerMemory, profile: str) -> None:
    alice.switch_profile(profile)
    found = alice.recall(FOREIGN[0])
    assert (found.relevance, found.likely_unanswerable) == (None, False)


def test_embedder_without_fitted_weights_reports_no_relevance() -> None:
    with Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter()) as opened:
        opened.remember("I live in Oslo", owner="alice")
        assert opened.recall("chess", owner="alice").relevance is None


def test_profile_can_add_relevance_weights_for_an_embedder() -> None:
    weights = Relevance(-4.0, 8.0, 8.0, 0.0, 0.0, 0.0)
    own = replace(standard(), relevance_by_embedder={HashingEmbedder().name: weights})
    with Memolith.open(
        ":memory:", profile=own, embedder=HashingEmbedder(), tokens=WordCounter()
    ) as opened:
        opened.remember("I live in Oslo", owner="alice")
        assert opened.recall("chess", owner="alice").likely_unanswerable
        assert not opened.recall("live in Oslo", owner="alice").likely_unanswerable


def test_statement_of_another_speaker_is_less_relevant(memory: Memolith) -> None:
    owner = memory.owner("alice")
    said = (
        *(("Cleo", "I have taken up pottery, my bowl is drying."), ("Ben", "How lovely!")),
        *(("Ben", "I run every morning before work."), ("Cleo", "I could never do that.")),
    )
    owner.log([Message(who, text, Role.PARTICIPANT) for who, text in said], session="s")
    hers, his = (owner.recall(f"What bowl did {who} make?").relevance for who in ("Cleo", "Ben"))
    assert hers is not None
    assert his is not None
    assert his < hers


# --- interfaces -----------------------------------------------------------------------------------


def test_server_and_client_report_relevance(memory: Memolith, alice: OwnerMemory) -> None:
    key = memory.create_api_key("alice", role="owner", owner="alice").secret
    app = create_app(memory, ServerOptions())
    with TestClient(app, base_url="http://localhost") as client:
        headers = {"Authorization": f"Bearer {key}"}
        for query in (KNOWN[0], FOREIGN[0]):
            answer = client.post("/v1/recall", json={"query": query}, headers=headers).json()
            here = alice.recall(query)
            reported = answer["relevance"], answer["likely_unanswerable"]
            assert reported == (here.relevance, here.likely_unanswerable)
    with running(create_app(memory, ServerOptions())) as url, Memolith.connect(url, key=key) as far:
        found = far.owner("alice").recall(FOREIGN[0])
        assert (found.relevance, found.likely_unanswerable) == (here.relevance, True)


def test_command_line_warns_about_unanswerable_questions(
    alice: OwnerMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    show_recall(console(), alice.recall(FOREIGN[0]))
    assert capsys.readouterr().out.startswith("Possibly no stored record answers this question")
    show_recall(console(), alice.recall(KNOWN[0]))
    assert "no stored record answers" not in capsys.readouterr().out


def test_command_line_prints_relevance_as_json(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from memolith.cli.main import cli

    store = ["--store", str(tmp_path / "memory.db")]
    with Memolith.open(tmp_path / "memory.db") as opened:
        opened.remember("I live in Oslo.", owner="alice")
    ran = CliRunner().invoke(cli, ["recall", *store, "--owner", "alice", "--json", FOREIGN[0]])
    found: dict[str, Any] = json.loads(ran.stdout)
    assert found["relevance"] < RELEVANCE_THRESHOLD
    assert found["likely_unanswerable"] is True


def test_recall_tool_reports_unanswerable_questions(alice: OwnerMemory) -> None:
    known = tools.call(alice, "memory_recall", {"query": KNOWN[0]})
    foreign = tools.call(alice, "memory_recall", {"query": FOREIGN[0]})
    assert (known.data["likely_unanswerable"], foreign.data["likely_unanswerable"]) == (False, True)
    assert "nothing of this answers" in foreign.text
    assert "nothing of this answers" not in known.text
