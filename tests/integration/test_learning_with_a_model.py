"""Learning with a language model: a real client, a scripted model and sixty exchanges."""

from __future__ import annotations

import threading
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest

from corpora.exchanges import KnowingModel, load_script
from memolith import Memolith
from memolith.demo.model_server import ReceivedRequest, Rule, Unreliable, fenced_answer
from memolith.domain.memories import Origin, State
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.scripted_learning import (
    OWNER,
    PROFILES,
    SHORT_TIMEOUT_S,
    START,
    TIMEOUT_S,
    End,
    end,
    remembering,
    say,
    work_off,
)

FACTS = {fact.content for exchange in load_script() for fact in exchange.facts}
REPLACED = {
    "The user drives a blue Volvo V60 from 2019.",
    "Torsten, the brother of the user, is getting married on 6 June 2026.",
}
RESTATED = {"The user's name is Johanna Lindqvist.", "The user was born on 21 September 1988."}
"""`standard` stores the user's own sentences for these and detects the paraphrase."""


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def run_script(
    profile: str, rule: Rule, clock: SettableClock, *, timeout_s: float = TIMEOUT_S
) -> tuple[End, int]:
    with remembering(profile, rule, clock, timeout_s=timeout_s) as (memory, _):
        say(memory, clock)
        failed = work_off(memory, clock)
        return end(memory), failed


@pytest.fixture(scope="module")
def results(database: str) -> dict[str, End]:
    assert database  # recreate the fixture for each database
    return {
        profile: run_script(profile, KnowingModel(), SettableClock(START))[0]
        for profile in PROFILES
    }


def active_contents(found: End) -> set[str]:
    return {content for _, state, _, content in found.memories if state == State.ACTIVE}


@pytest.mark.parametrize("profile", PROFILES)
def test_sixty_exchanges_produce_the_facts_of_the_script(
    results: dict[str, End], profile: str
) -> None:
    found = results[profile]
    assert FACTS - active_contents(found) <= REPLACED | (
        RESTATED if profile == "standard" else set()
    )
    assert {origin for _, _, origin, content in found.memories if content in FACTS} == {"user"}
    kinds = {kind for kind, _, _, content in found.memories if content in FACTS}
    assert kinds == {getattr(fact, profile) for one in load_script() for fact in one.facts}


def test_facts_and_tiers_remember_only_scripted_facts(results: dict[str, End]) -> None:
    for profile in ("facts", "tiers"):
        assert active_contents(results[profile]) <= FACTS


def test_tiers_writes_summaries_and_base_memory(results: dict[str, End]) -> None:
    found = results["tiers"]
    assert len(found.summaries) >= 8
    assert "Johanna Lindqvist" in found.base_memory
    assert found.base_memory.startswith("User Profile:\n- ")


def test_standard_summarises_each_conversation(results: dict[str, End]) -> None:
    assert len(results["standard"].summaries) == 3
    assert results["facts"].summaries == ()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
def test_failing_calls_do_not_change_the_result(
    results: dict[str, End], clock: SettableClock, profile: str, seed: int
) -> None:
    rule = Unreliable(KnowingModel(), seed=seed, delay_s=2 * SHORT_TIMEOUT_S)
    found, _ = run_script(profile, rule, clock, timeout_s=SHORT_TIMEOUT_S)
    assert rule.corrupted > 10
    assert found == results[profile]


def test_logging_never_waits_for_the_model(clock: SettableClock) -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def slow(_asked: ReceivedRequest) -> Any:
        asked.set()
        goes_on.wait(30)
        return {"facts": []}

    with remembering("facts", slow, clock, worker=True) as (memory, _):
        own = memory.owner(OWNER)
        own.learn("My name is Johanna.", "Hello Johanna!")
        assert asked.wait(10)
        begun = monotonic()
        own.learn("I live in Gothenburg.", "Nice.")
        assert own.recent(1)[0].content == "Nice."
        assert monotonic() - begun < 20
        assert own.backlog().pending_messages == 4
        goes_on.set()


def test_background_worker_learns_automatically(clock: SettableClock) -> None:
    with remembering("facts", KnowingModel(), clock, worker=True) as (memory, _):
        own = memory.owner(OWNER)
        exchange = load_script()[0]
        own.learn(exchange.user, exchange.assistant)
        patience = threading.Event()
        for _ in range(500):
            if not own.backlog().pending_messages:
                break
            patience.wait(0.02)
        assert [each.content for each in own.list().memories] == [exchange.facts[0].content]


def test_invented_fact_is_quarantined_until_reviewed(clock: SettableClock) -> None:
    def inventive(_asked: ReceivedRequest) -> Any:
        kind = {"category": "identity", "importance": 9, "expires_in": "", "from": [1]}
        invented = "The user owns a castle in Scotland."
        return {"facts": [{"content": invented, **kind}]}

    with remembering("facts", inventive, clock) as (memory, _):
        own = memory.owner(OWNER)
        own.learn("My cat likes to sleep on the stairs.", "Cats do.")
        work_off(memory, clock)
        assert own.recall("Does the user own a castle in Scotland?").memories == ()
        assert "castle" not in own.context("castle in Scotland")
        (waiting,) = own.review()
        assert waiting.content == "The user owns a castle in Scotland."
        own.approve(waiting.id)
        assert own.recall("castle in Scotland").memories[0].content == waiting.content
        assert own.review() == ()


def test_fact_from_assistant_has_assistant_origin(clock: SettableClock) -> None:
    def believing(_asked: ReceivedRequest) -> Any:
        kind = {"category": "identity", "importance": 9, "expires_in": "", "from": [2]}
        return {"facts": [{"content": "The user was born in Malmö.", **kind}]}

    with remembering("facts", believing, clock) as (memory, _):
        own = memory.owner(OWNER)
        own.learn("Guess where I was born!", "You were born in Malmö.")
        work_off(memory, clock)
        (claim,) = own.list().memories
        assert claim.origin is Origin.ASSISTANT


def test_memory_repeated_by_assistant_is_not_learned_again(clock: SettableClock) -> None:
    def believing(_asked: ReceivedRequest) -> Any:
        kind = {"category": "identity", "importance": 9, "expires_in": "", "from": [2]}
        return {"facts": [{"content": "The user lives in Gothenburg by the river.", **kind}]}

    with remembering("facts", believing, clock) as (memory, _):
        own = memory.owner(OWNER)
        known = own.remember("The user lives in Gothenburg by the river.", kind="identity")
        own.learn("Hello!", "Hello! You live in Gothenburg by the river.")
        work_off(memory, clock)
        assert own.list().memories == (own.get(known.id),)
        assert own.get(known.id).sources == ()


@pytest.mark.parametrize("action", ["IGNORE", " ignore "])
def test_ignored_exchange_is_logged_but_not_learned(clock: SettableClock, action: str) -> None:
    with remembering("standard", KnowingModel(), clock) as (memory, server):
        own = memory.owner(OWNER)
        exchange = load_script()[0]
        assert own.learn(exchange.user, exchange.assistant, action=action).memories == ()
        clock.advance(timedelta(hours=1))
        assert memory.work() == ()
        assert server.requests == ()
        assert own.stats().messages == 2


def test_truncated_reply_is_not_learned(clock: SettableClock) -> None:
    with remembering("facts", KnowingModel(), clock) as (memory, server):
        memory.learn(
            "My name is Johanna Lindqvist.", "You are Quee", owner=OWNER, is_truncated=True
        )
        clock.advance(timedelta(hours=1))
        work_off(memory, clock)
        (asked,) = server.requests
        assert "Johanna Lindqvist" in asked.user
        assert "Quee" not in asked.user


def test_reply_in_code_fence_is_parsed(clock: SettableClock) -> None:
    model = KnowingModel()

    def talkative(request: ReceivedRequest) -> Any:
        return fenced_answer(model(request))

    found, failed = run_script("facts", talkative, clock)
    assert failed == 0
    assert active_contents(found) <= FACTS


def test_unlearnable_messages_become_dead_letters_and_can_be_retried(
    clock: SettableClock,
) -> None:
    answers = {"now": "I can't."}
    first, second = load_script()[0], load_script()[2]
    model = KnowingModel()

    def stubborn(request: ReceivedRequest) -> Any:
        return answers["now"] if first.user in request.user and answers else model(request)

    with remembering("facts", stubborn, clock) as (memory, _):
        own = memory.owner(OWNER)
        own.learn(first.user, first.assistant)
        own.learn(second.user, second.assistant)
        for _ in range(10):
            memory.work()
            clock.advance(timedelta(hours=1))
        assert (own.backlog().pending_messages, own.backlog().dead_letters) == (0, 2)
        assert [each.content for each in own.list().memories] == [second.facts[0].content]
        answers.clear()
        own.retry()
        memory.work()
        assert (own.backlog().pending_messages, own.backlog().dead_letters) == (0, 0)
        assert len(own.list().memories) == 2


def test_without_model_no_work_is_pending(clock: SettableClock) -> None:
    with Memolith.open(
        ":memory:", profile="facts", embedder=HashingEmbedder(), tokens=WordCounter(), clock=clock
    ) as memory:
        memory.learn("My name is Johanna.", "Hello!", owner=OWNER)
        clock.advance(timedelta(hours=1))
        assert memory.backlog(owner=OWNER).pending_messages == 0
        assert memory.work() == ()


@pytest.mark.parametrize("profile", ["standard", "companion", "chunks"])
def test_context_echoed_in_message_is_not_learned(clock: SettableClock, profile: str) -> None:
    with Memolith.open(
        ":memory:", profile=profile, embedder=HashingEmbedder(), tokens=WordCounter(), clock=clock
    ) as memory:
        own = memory.owner(OWNER)
        own.remember("I always drink green tea with honey.")
        context = own.context("I drink green tea with honey")
        assert "green tea" in context
        before = own.list(state="all").memories
        own.learn(f"{context}\n\nI prefer short answers.", "Noted.")
        new = [each for each in own.list(state="all").memories if each not in before]
        assert new
        assert not any("green tea" in each.content for each in new)
