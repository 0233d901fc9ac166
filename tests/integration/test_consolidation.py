"""Consolidation: triggers, summaries, rollback, and no loss of content."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from corpora.hostile import HOSTILE
from memolith import Memolith, Memory, Message, OwnerMemory
from memolith.demo.model_server import (
    ModelServer,
    ReceivedRequest,
    answer_in_sequence,
    error_answer,
)
from memolith.domain.memories import Origin, State
from memolith.domain.messages import Role
from memolith.errors import NotFound, ServiceFailed
from memolith.policies.base_memory import MAX_WORDS
from memolith.policies.summaries import EXTRACT_MARK
from memolith.testing.fakes import SettableClock
from support.summarising import condensing, say, sentence, summarising, turns


@pytest.fixture(params=["sqlite", "inmemory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"


@pytest.fixture
def tiers(store: str | Path, clock: SettableClock) -> Iterator[tuple[Memolith, ModelServer]]:
    with condensing("tiers", clock, summarising, store) as pair:
        yield pair


def consolidate(memory: Memolith) -> list[tuple[str, int, bool]]:
    return [(m.output, m.sources, m.by_model) for m in memory.consolidate(owner="alice")]


def summary_texts(own: OwnerMemory) -> list[str]:
    return [each.content for each in own.summaries()]


# --- the short cascade ------------------------------------------------------------------------


def test_thirty_messages_trigger_summary_of_all_but_newest_ten(
    tiers: tuple[Memolith, ModelServer],
) -> None:
    memory, server = tiers
    alice = memory.owner("alice")
    say(alice, 29)
    assert consolidate(memory) == []
    say(alice, 1, first=29)
    assert consolidate(memory) == [("summary", 20, True)]
    (summary,) = alice.summaries()
    messages = alice.messages("s")
    assert [each.id for each in summary.sources] == [each.id for each in messages[:20]]
    assert turns(server.requests[0]) == [sentence(number) for number in range(20)]
    assert (summary.origin, summary.kind) == (Origin.SUMMARY, "summary")
    assert consolidate(memory) == []
    say(alice, 19, first=30)
    assert consolidate(memory) == []
    say(alice, 1, session="t", first=49)
    assert consolidate(memory) == [("summary", 20, True)]
    assert len(server.requests) == 2
    assert [len(each.sources) for each in alice.summaries()] == [20, 20]


def test_messages_of_all_conversations_are_summarised_in_order(
    tiers: tuple[Memolith, ModelServer],
) -> None:
    memory, server = tiers
    alice = memory.owner("alice")
    for number in range(30):
        say(alice, 1, session=f"s{number % 3}", first=number)
    assert consolidate(memory) == [("summary", 20, True)]
    assert turns(server.requests[0]) == [sentence(number) for number in range(20)]


def test_large_import_is_summarised_in_short_prompts(
    clock: SettableClock,
) -> None:
    with condensing("tiers", clock) as (memory, server):
        alice = memory.owner("alice")
        alice.log([Message(None, sentence(number), Role.USER) for number in range(700)])
        made = consolidate(memory)
        of_messages = [sources for what, sources, _ in made if what == "summary"]
        assert sum(of_messages) == 690
        assert max(of_messages) < 60
        assert max(len(asked.user) for asked in server.requests) < 40_000
        assert {what for what, _, _ in made} == {"summary", "base memory"}
        assert consolidate(memory) == []
        document = alice.base_memory()
        assert document is not None
        notes = [line[2:] for line in document.content.splitlines() if line.startswith("- ")]
        assert sum(len(note.split()) for note in notes) <= MAX_WORDS


def test_tool_results_are_not_summarised(
    tiers: tuple[Memolith, ModelServer],
) -> None:
    memory, server = tiers
    alice = memory.owner("alice")
    alice.log([Message(None, sentence(number), Role.TOOL) for number in range(70)])
    assert consolidate(memory) == []
    assert not server.requests
    say(alice, 20, first=70)
    assert consolidate(memory) == [("summary", 20, True)]
    assert turns(server.requests[0]) == [sentence(number) for number in range(70, 80)]
    (summary,) = alice.summaries()
    assert summary.origin is Origin.SUMMARY


def test_quarantined_and_injected_context_is_not_summarised(
    tiers: tuple[Memolith, ModelServer],
) -> None:
    memory, server = tiers
    alice = memory.owner("alice")
    alice.log([Message(None, f"{HOSTILE[0]} zebrafish", Role.ASSISTANT)])
    alice.learn("<memory>\nFacts:\n- Owns a walrus.\n</memory>\nWhat do I own?")
    say(alice, 30)
    consolidate(memory)
    assert "zebrafish" not in server.requests[0].user
    assert "walrus" not in server.requests[0].user
    assert "What do I own?" in server.requests[0].user


# --- the long cascade -------------------------------------------------------------------------

SMALL = {"tiers.short_term_threshold": 4, "tiers.short_term_keep": 1}


def summarise(memory: Memolith, count: int, first: int = 0) -> None:
    """Create a number of summaries, each of three messages."""
    alice = memory.owner("alice")
    for number in range(first, first + count):
        say(alice, 3 if first + number else 4, first=3 * number)
        memory.consolidate(owner="alice")


def test_twenty_summaries_trigger_base_memory_update(
    store: str | Path, clock: SettableClock
) -> None:
    with condensing("tiers", clock, summarising, store, numbers=SMALL) as (memory, server):
        alice = memory.owner("alice")
        summarise(memory, 19)
        assert alice.base_memory() is None
        asked = len(server.requests)
        say(alice, 3, first=900)
        assert consolidate(memory) == [("summary", 3, True), ("base memory", 10, True)]
        assert len(server.requests) == asked + 2
        document = alice.base_memory()
        assert document is not None
        assert [each.id for each in document.sources] == [m.id for m in alice.summaries()[:10]]
        assert sentence(0) in document.content
        assert consolidate(memory) == []
        summarise(memory, 10, first=400)
        assert [each.version for each in alice.base_memory_versions()] == [1, 2]


def test_base_memory_accepts_only_user_statements(clock: SettableClock) -> None:
    def credulous(request: ReceivedRequest) -> Any:
        if '"user_profile"' not in request.system:
            return summarising(request)
        notes = [sentence(0), sentence(3), "The user owns a castle in Hall 1.", HOSTILE[0]]
        return {
            "user_profile": [*notes, "The user lives in Paris."],
            "preferences": [],
            "ongoing_topics": [],
            "key_history": [sentence(number) for number in range(6, 12)],
        }

    with condensing("tiers", clock, credulous, numbers=SMALL) as (memory, _):
        alice = memory.owner("alice")
        alice.learn("Where do I live?", "You live in Paris.")
        alice.log([Message(None, "The user lives in Paris.", Role.TOOL)])
        alice.remember("The user lives in Paris.", kind="knowledge", origin="tool")
        summarise(memory, 20)
        document = alice.base_memory()
        assert document is not None
        assert sentence(0) in document.content
        assert "Paris" not in document.content
        assert "castle" not in document.content
        assert HOSTILE[0] not in document.content


def test_base_memory_update_dropping_notes_is_rejected(clock: SettableClock) -> None:
    def forgetful(request: ReceivedRequest) -> Any:
        if '"user_profile"' not in request.system:
            return summarising(request)
        return {
            "user_profile": [sentence(1)],
            "preferences": [],
            "ongoing_topics": [],
            "key_history": [],
        }

    with condensing("tiers", clock, forgetful, numbers=SMALL) as (memory, _):
        alice = memory.owner("alice")
        alice.set_base_memory("User Profile:\n- Is Ada.\n- Plays chess.\n- Has a boat.")
        summarise(memory, 20)
        found = memory.consolidate(owner="alice")
        assert found == ()
        document = alice.base_memory()
        assert document is not None
        assert document.version == 2
        for note in ("Is Ada.", "Plays chess.", "Has a boat."):
            assert note in document.content


def test_base_memory_is_limited_to_400_words(
    clock: SettableClock,
) -> None:
    for rule in (summarising, None):
        with condensing("tiers", clock, rule, numbers=SMALL) as (memory, _):
            alice = memory.owner("alice")
            guests = "\n".join(f"- The guest number {n} is called Guest{n}." for n in range(120))
            alice.set_base_memory(f"Key History:\n{guests}")
            summarise(memory, 20)
            document = alice.base_memory()
            assert document is not None
            assert document.version == 2
            notes = [line for line in document.content.splitlines() if line.startswith("- ")]
            assert sum(len(line.split()) - 1 for line in notes) <= 400


def test_superseded_note_is_removed_without_model(clock: SettableClock) -> None:
    with condensing("tiers", clock, None, numbers=SMALL) as (memory, _):
        alice = memory.owner("alice")
        old = alice.remember("The user lives in Portland by the river.", kind="personal")
        alice.set_base_memory("User Profile:\n- The user lives in Portland by the river.")
        new = alice.remember("The user lives in Seattle.", kind="personal")
        if alice.get(old.id).state is State.ACTIVE:
            alice.supersede(old.id, new.id)
        summarise(memory, 20)
        document = alice.base_memory()
        assert document is not None
        assert "Seattle" in document.content
        assert "Portland" not in document.content


def test_base_memory_can_be_rolled_back(clock: SettableClock) -> None:
    with condensing("tiers", clock, numbers=SMALL) as (memory, _):
        alice = memory.owner("alice")
        alice.set_base_memory("Plays chess.")
        summarise(memory, 20)
        assert alice.roll_back_base_memory(1).content == "Plays chess."
        assert [each.version for each in alice.base_memory_versions()] == [1, 2, 3]
        assert consolidate(memory) == []


# --- conversations ----------------------------------------------------------------------------


def test_conversation_is_summarised_after_end_or_idle_day(
    store: str | Path, clock: SettableClock
) -> None:
    with condensing("standard", clock, summarising, store) as (memory, server):
        alice = memory.owner("alice")
        say(alice, 5, session="short")
        alice.end_session("short")
        say(alice, 6, session="ended", first=10)
        alice.end_session("ended")
        say(alice, 6, session="silent", first=20)
        assert consolidate(memory) == [("summary", 6, True)]
        clock.advance(timedelta(hours=23, minutes=59))
        assert consolidate(memory) == []
        clock.advance(timedelta(minutes=1))
        assert consolidate(memory) == [("summary", 6, True)]
        assert [each.session_id for each in alice.summaries()] == ["ended", "silent"]
        assert consolidate(memory) == []
        say(alice, 1, session="short", first=30)
        assert consolidate(memory) == []
        alice.end_session("short")
        assert consolidate(memory) == [("summary", 6, True)]
        assert len(server.requests) == 3


def test_resumed_conversation_gets_second_summary(
    clock: SettableClock,
) -> None:
    with condensing("standard", clock) as (memory, _):
        alice = memory.owner("alice")
        say(alice, 6)
        alice.end_session("s")
        assert consolidate(memory) == [("summary", 6, True)]
        clock.advance(timedelta(minutes=1))
        say(alice, 7, first=6)
        assert consolidate(memory) == []
        clock.advance(timedelta(hours=24))
        assert consolidate(memory) == [("summary", 7, True)]


def test_long_conversation_gets_several_disjoint_summaries(clock: SettableClock) -> None:
    with condensing("standard", clock) as (memory, server):
        alice = memory.owner("alice")
        alice.log([Message(None, sentence(n), Role.USER) for n in range(300)], session="s")
        alice.end_session("s")
        assert [sources for _, sources, _ in consolidate(memory)] == [60, 60, 60, 60, 60]
        turns_sent = [turn for asked in server.requests for turn in turns(asked)]
        assert turns_sent == [sentence(n) for n in range(300)]


def test_recall_still_finds_summarised_messages(clock: SettableClock) -> None:
    with condensing("standard", clock) as (memory, _):
        alice = memory.owner("alice")
        say(alice, 12)
        query = "Where does the kiln number 102 stand?"
        before = alice.recall(query, top_k=3, touch=False).memories
        alice.end_session("s")
        assert consolidate(memory) == [("summary", 12, True)]
        found = alice.recall(query, top_k=100, token_budget=10_000, touch=False).memories
        assert {each.id for each in before} <= {each.id for each in found}
        assert [each.id for each in found if not isinstance(each.record, Memory)][:3] == [
            each.id for each in before
        ]
        (summary,) = alice.summaries()
        assert summary.id in {each.id for each in found}
        alice.undo_consolidation(summary.id)
        again = alice.recall(query, top_k=3, touch=False).memories
        assert [each.id for each in again] == [each.id for each in before]
        assert not any(each.changed_later for each in again)
        assert [each.content for each in alice.messages("s")] == [sentence(n) for n in range(12)]


def test_compression_does_not_affect_session_summary(
    clock: SettableClock,
) -> None:
    with condensing("standard", clock) as (memory, _):
        alice = memory.owner("alice")
        say(alice, 8)
        history = [{"role": "user", "content": sentence(n)} for n in range(20)]
        assert alice.compress(history, session="s").memories
        alice.end_session("s")
        assert consolidate(memory) == [("summary", 8, True)]
        assert alice.compress(history, session="s").history[-4:] == tuple(history[-4:])


# --- sessions of chunks -----------------------------------------------------------------------


def store_sessions(alice: OwnerMemory, clock: SettableClock, sessions: int, first: int = 0) -> None:
    """Remember two episodes in each of a number of successive sessions."""
    for number in range(first, first + sessions):
        for part in (0, 1):
            text = sentence(2 * number + part)
            alice.remember(text, kind="episodic", session=f"session {number}")
            clock.advance(timedelta(minutes=1))


def test_eleventh_session_compresses_oldest_five(store: str | Path, clock: SettableClock) -> None:
    with condensing("chunks", clock, summarising, store) as (memory, server):
        alice = memory.owner("alice")
        alice.remember("I always want short answers.", kind="procedural", session="session 0")
        store_sessions(alice, clock, 10)
        assert consolidate(memory) == []
        store_sessions(alice, clock, 1, first=10)
        assert consolidate(memory) == [("session", 2, True)] * 5
        assert consolidate(memory) == []
        made = alice.summaries()
        assert [each.session_id for each in made] == [f"session {n}" for n in range(5)]
        assert {each.kind for each in made} == {"semantic"}
        assert turns(server.requests[0]) == [sentence(0), sentence(1)]
        first = [alice.get(each.id) for each in made[0].sources]
        assert [each.content for each in first] == [sentence(0), sentence(1)]
        assert all(each.compressed and each.state is State.ACTIVE for each in first)
        query = sentence(0)
        hidden = [one.id for one in alice.recall(query, top_k=100, token_budget=9_999).memories]
        assert made[0].id in hidden
        assert not {each.id for each in first} & set(hidden)
        everything = alice.recall(query, top_k=100, token_budget=9_999, include_compressed=True)
        assert {each.id for each in first} <= {one.id for one in everything.memories}
        store_sessions(alice, clock, 4, first=11)
        assert consolidate(memory) == []
        store_sessions(alice, clock, 1, first=15)
        assert len(consolidate(memory)) == 5


def test_undone_session_is_recalled_and_not_compressed_again(
    store: str | Path, clock: SettableClock
) -> None:
    with condensing("chunks", clock, summarising, store) as (memory, _):
        alice = memory.owner("alice")
        store_sessions(alice, clock, 11)
        consolidate(memory)
        (first, *_) = alice.summaries()
        assert alice.undo_consolidation(first.id).state is State.SUPERSEDED
        with pytest.raises(NotFound):
            alice.undo_consolidation(first.id)
        sources = {each.id for each in first.sources}

        def recalled() -> set[str]:
            found = alice.recall(sentence(0), top_k=100, token_budget=9_999).memories
            return {each.id for each in found}

        assert sources <= recalled()
        assert first.id not in recalled()
        store_sessions(alice, clock, 5, first=11)
        assert len(consolidate(memory)) == 5
        assert not sources & {s.id for each in alice.summaries() for s in each.sources}
        alice.restore(first.id)
        assert first.id in recalled()
        assert not sources & recalled()


def test_threshold_of_one_compresses_one_session(clock: SettableClock) -> None:
    with condensing("chunks", clock, numbers={"chunks.compression_threshold": 1}) as (memory, _):
        store_sessions(memory.owner("alice"), clock, 2)
        assert consolidate(memory) == [("session", 2, True)]


# --- staged, checked, committed ---------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        "Things were said.",
        "The lathe number 100 was bought by Maximilian in Paris.",
        f"{sentence(0)} {sentence(1)} {sentence(2)} {sentence(0)} {sentence(1)} {sentence(2)}",
        " ".join(sentence(number) for number in range(20)),
        HOSTILE[0],
    ],
    ids=["loses", "invents", "repeats", "too long", "instructs"],
)
def test_bad_summary_is_retried_once_then_extracted(
    bad: str, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with condensing("tiers", clock, lambda _: {"summary": bad}) as (memory, server):
        alice = memory.owner("alice")
        say(alice, 30)
        assert consolidate(memory) == [("summary", 20, False)]
        assert len(server.requests) == 2
        (text,) = summary_texts(alice)
        assert text.startswith(EXTRACT_MARK)
        sentences = {sentence(number) for number in range(20)}
        assert sum(each in text for each in sentences) >= 3
        assert caplog.text.count("a model's summary was rejected") == 2
        assert "Hall" not in caplog.text


def test_better_second_summary_is_accepted(clock: SettableClock) -> None:
    good = f"{sentence(0)} {sentence(4)} {sentence(9)} {sentence(13)} {sentence(17)}"
    answers = answer_in_sequence([{"summary": "Things were said."}, {"summary": good}])
    with condensing("tiers", clock, answers) as (memory, _):
        alice = memory.owner("alice")
        say(alice, 30)
        assert consolidate(memory) == [("summary", 20, True)]
        assert summary_texts(alice) == [good]


def test_summary_without_model_is_marked_as_extract(
    store: str | Path, clock: SettableClock
) -> None:
    with condensing("tiers", clock, None, store) as (memory, server):
        alice = memory.owner("alice")
        say(alice, 30)
        assert consolidate(memory) == [("summary", 20, False)]
        (text,) = summary_texts(alice)
        assert text.startswith(f"{EXTRACT_MARK} ")
        assert server.requests == ()


def test_failed_consolidation_is_retried_later(store: str | Path, clock: SettableClock) -> None:
    broken = {"now": True}

    def fail_request(request: ReceivedRequest) -> Any:
        return error_answer(500) if broken["now"] else summarising(request)

    with condensing("tiers", clock, fail_request, store) as (memory, _):
        alice = memory.owner("alice")
        say(alice, 30)
        with pytest.raises(ServiceFailed):
            memory.consolidate(owner="alice")
        assert alice.summaries() == ()
        clock.advance(timedelta(minutes=10))
        memory.work()
        assert alice.summaries() == ()
        broken["now"] = False
        for _ in range(6):
            clock.advance(timedelta(hours=1))
            memory.work()
        assert [len(each.sources) for each in alice.summaries()] == [20]


def test_failure_at_third_session_loses_no_session(clock: SettableClock) -> None:
    left = [2]

    def fail_request(request: ReceivedRequest) -> Any:
        left[0] -= 1
        return summarising(request) if left[0] >= 0 else error_answer(500)

    with condensing("chunks", clock, fail_request) as (memory, _):
        store_sessions(memory.owner("alice"), clock, 11)
        with pytest.raises(ServiceFailed):
            memory.consolidate(owner="alice")
        assert memory.owner("alice").summaries() == ()
        left[0] = 99
        assert len(consolidate(memory)) == 5


def test_message_forgotten_during_summary_restarts_it(
    store: str | Path, clock: SettableClock
) -> None:
    alice: list[OwnerMemory] = []
    shown: list[list[str]] = []

    def meddling(request: ReceivedRequest) -> Any:
        shown.append(turns(request))
        if len(shown) == 1:
            alice[0].forget(alice[0].messages("s")[3].id)
        return summarising(request)

    with condensing("tiers", clock, meddling, store) as (memory, _):
        alice.append(memory.owner("alice"))
        say(alice[0], 31)
        assert consolidate(memory) == [("summary", 20, True)]
        assert len(shown) == 2
        assert sentence(3) in shown[0]
        assert sentence(3) not in shown[1]
        assert sentence(3) not in "".join(summary_texts(alice[0]))


def test_session_summary_uses_memory_updated_meanwhile(
    store: str | Path, clock: SettableClock
) -> None:
    alice: list[OwnerMemory] = []
    asked_of: list[list[str]] = []

    def meddling(request: ReceivedRequest) -> Any:
        asked_of.append(turns(request))
        if len(asked_of) == 1:
            found = alice[0].list(kind="episodic", limit=100).memories
            (first,) = [each for each in found if each.content == sentence(0)]
            alice[0].update(first.id, "The lathe number 100 was sold.")
        return summarising(request)

    with condensing("chunks", clock, meddling, store) as (memory, _):
        alice.append(memory.owner("alice"))
        store_sessions(alice[0], clock, 11)
        assert len(consolidate(memory)) == 5
        assert len(asked_of) == 6
        assert "was sold" in summary_texts(alice[0])[-1] + summary_texts(alice[0])[0]
        assert sentence(0) not in "".join(summary_texts(alice[0]))


def test_base_memory_omits_fact_forgotten_meanwhile(
    store: str | Path, clock: SettableClock
) -> None:
    alice: list[OwnerMemory] = []
    asked_of: list[str] = []

    def meddling(request: ReceivedRequest) -> Any:
        if '"user_profile"' in request.system:
            asked_of.append(request.user)
            if len(asked_of) == 1:
                alice[0].forget(key="home")
        return summarising(request)

    with condensing("tiers", clock, meddling, store, numbers=SMALL) as (memory, _):
        alice.append(memory.owner("alice"))
        alice[0].remember("The user lives in Oslo.", kind="personal", key="home")
        summarise(memory, 20)
        assert len(asked_of) == 2
        document = alice[0].base_memory()
        assert document is not None
        assert "Oslo" not in document.content


def test_concurrent_consolidations_write_each_summary_once(
    tmp_path: Path, clock: SettableClock
) -> None:
    store = tmp_path / "memory.db"
    both = threading.Barrier(2, timeout=30)

    def together(request: ReceivedRequest) -> Any:
        if len(turns(request)) == 20:
            both.wait()
        return summarising(request)

    with (
        condensing("tiers", clock, together, store) as (one, _),
        condensing("tiers", clock, together, store) as (other, _),
        ThreadPoolExecutor(2) as pool,
    ):
        say(one.owner("alice"), 30)
        made = list(pool.map(consolidate, (one, other)))
        assert sorted(map(len, made)) == [0, 1]
        assert [len(each.sources) for each in other.owner("alice").summaries()] == [20]


def test_model_call_holds_no_lock(tmp_path: Path, clock: SettableClock) -> None:
    store = tmp_path / "memory.db"
    others: list[Memolith] = []

    def watching(request: ReceivedRequest) -> Any:
        others[0].remember("Written meanwhile", owner="alice", kind="event")
        return summarising(request)

    with (
        condensing("tiers", clock, watching, store) as (memory, _),
        condensing("tiers", clock, summarising, store) as (other, _),
    ):
        others.append(other)
        say(memory.owner("alice"), 30)
        assert consolidate(memory) == [("summary", 20, True)]
        assert memory.owner("alice").list(kind="event").total == 1


# --- undoing ---------------------------------------------------------------------------------


def test_undone_message_summary_is_not_recreated(
    tiers: tuple[Memolith, ModelServer],
) -> None:
    memory, server = tiers
    alice = memory.owner("alice")
    say(alice, 30)
    consolidate(memory)
    (summary,) = alice.summaries()
    alice.undo_consolidation(summary.id)
    assert alice.summaries() == ()
    assert consolidate(memory) == []
    assert len(server.requests) == 1
    assert [e.action for e in alice.history(summary.id).events] == ["condensed", "undone"]
    alice.restore(summary.id)
    assert [each.id for each in alice.summaries()] == [summary.id]


def test_fact_cannot_be_undone_as_summary(tiers: tuple[Memolith, ModelServer]) -> None:
    memory, _ = tiers
    fact = memory.remember("Lives in Oslo", owner="alice", kind="personal")
    with pytest.raises(NotFound):
        memory.undo_consolidation(fact.id, owner="alice")


def test_long_texts_are_summarised_in_parts(clock: SettableClock) -> None:
    with condensing("tiers", clock) as (memory, server):
        alice = memory.owner("alice")
        long = " ".join(sentence(number) for number in range(80))
        alice.log([Message(None, f"{sentence(n)} {long}", Role.USER) for n in range(30)])
        assert consolidate(memory)[0][1] == 20
        assert len(server.requests) > 5
        assert max(len(asked.user) for asked in server.requests) < 30_000


# --- export to another store ------------------------------------------------------------------


def test_imported_summaries_cover_their_messages(store: str | Path, clock: SettableClock) -> None:
    with condensing("tiers", clock) as (memory, _):
        say(memory.owner("alice"), 30)
        memory.consolidate(owner="alice")
        records = list(memory.export(owner="alice"))
    with condensing("tiers", clock, summarising, store) as (memory, server):
        alice = memory.owner("alice")
        alice.import_(records)
        assert len(alice.summaries()) == 1
        say(alice, 19, first=30)
        assert consolidate(memory) == []
        say(alice, 1, first=49)
        assert consolidate(memory) == [("summary", 20, True)]
        assert turns(server.requests[0]) == [sentence(number) for number in range(20, 40)]


def test_imported_summary_hides_its_sources(store: str | Path, clock: SettableClock) -> None:
    with condensing("chunks", clock) as (memory, _):
        store_sessions(memory.owner("alice"), clock, 11)
        memory.consolidate(owner="alice")
        records = list(memory.export(owner="alice"))
    with condensing("chunks", clock, summarising, store) as (memory, _):
        alice = memory.owner("alice")
        alice.import_(records)
        found = {one.id for one in alice.recall(sentence(0), top_k=99, token_budget=9_999).memories}
        summary = alice.summaries()[0]
        assert summary.id in found
        assert not {each.id for each in summary.sources} & found
        assert consolidate(memory) == []


def test_imported_summary_without_messages_has_no_dangling_sources(
    tmp_path: Path, clock: SettableClock
) -> None:
    with condensing("tiers", clock) as (memory, _):
        say(memory.owner("alice"), 30)
        memory.consolidate(owner="alice")
        records = list(memory.export(owner="alice"))
    with condensing("tiers", clock, store=tmp_path / "other.db") as (memory, _):
        alice = memory.owner("alice")
        alice.import_([each for each in records if not isinstance(each, Message)])
        assert len(alice.summaries()) == 1
        assert memory.verify().findings == ()


def test_summary_survives_profile_switch_and_return(
    store: str | Path, clock: SettableClock
) -> None:
    with condensing("tiers", clock, summarising, store) as (memory, _):
        alice = memory.owner("alice")
        say(alice, 30)
        memory.consolidate(owner="alice")
        before = alice.summaries()
        alice.switch_profile("standard")
        assert [each.id for each in alice.summaries()] == [before[0].id]
        alice.switch_profile("tiers")
        assert [(each.id, each.kind) for each in alice.summaries()] == [(before[0].id, "summary")]
        assert alice.recall(before[0].content).memories == ()
        assert memory.consolidate(owner="alice") == ()
