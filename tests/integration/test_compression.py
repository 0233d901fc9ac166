"""Compression of a caller's chat history."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corpora.hostile import HOSTILE
from memolith import Memolith, OwnerMemory
from memolith.config import load
from memolith.demo.model_server import ModelServer, ReceivedRequest, error_answer
from memolith.domain.memories import Origin, State
from memolith.errors import InvalidInput, ServiceFailed
from memolith.policies.consolidation import CompressionTrigger
from memolith.policies.histories import SUMMARY_MARK, is_entry
from memolith.policies.summaries import EXTRACT_MARK
from memolith.ports.models import TextRole
from memolith.services.compress import RAW_PREFIX
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.summarising import condensing, sentence, summarising, turns

PROFILES = ("standard", "companion", "facts", "chunks", "tiers", "timeline")

Entry = Mapping[str, Any]


OFF = {"enabled": False}


def user(number: int) -> Entry:
    return {"role": "user", "content": sentence(number)}


def reply(number: int) -> Entry:
    return {"role": "assistant", "content": f"Noted as item {number}."}


def talk(turns_: int, first: int = 0) -> list[Entry]:
    """Return turns of a conversation; the last one has no reply yet."""
    entries = [each for n in range(first, first + turns_) for each in (user(n), reply(n))]
    return entries[:-1]


def get_summary(history: tuple[Entry, ...]) -> str:
    """Return the summary in a history, or an empty string."""
    found = [each["content"] for each in history if str(each["content"]).startswith(SUMMARY_MARK)]
    assert len(found) <= 1
    return found[0] if found else ""


@pytest.fixture(params=["sqlite", "inmemory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"


@pytest.fixture
def agent(store: str | Path, clock: SettableClock) -> Iterator[OwnerMemory]:
    with condensing("timeline", clock, summarising, store) as (memory, _):
        yield memory.owner("agent")


def test_third_turn_triggers_compression(agent: OwnerMemory) -> None:
    two = talk(2)
    assert agent.compress(two, session="s").history == tuple(two)
    assert agent.list().total == 0
    made = agent.compress(talk(3), session="s")
    assert made.triggers == (CompressionTrigger.TURNS,)
    assert made.history[-4:] == tuple(talk(3)[-4:])
    assert get_summary(made.history).startswith(f"{SUMMARY_MARK} [2026-03-01 12:00] ")
    assert not made.failed


def test_summary_entry_has_key_time_and_expiry(agent: OwnerMemory, clock: SettableClock) -> None:
    made = agent.compress(talk(6), session="s 1")
    (entry,) = made.memories
    assert agent.list().memories == (entry,)
    key = entry.key or ""
    assert re.fullmatch(r"ctx_s 1_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", key)
    assert entry.content.startswith("[2026-03-01 12:00] The lathe number 100 stands in Hall 0.")
    assert (entry.kind, entry.session_id, entry.origin) == ("timeline", "s 1", Origin.ASSISTANT)
    assert entry.expires_at == clock.now() + timedelta(days=90)
    assert [each.id for each in agent.summaries()] == [entry.id]
    assert agent.recall("lathe", kinds=["timeline"]).memories[0].id == entry.id


def test_half_full_context_window_triggers_compression(agent: OwnerMemory) -> None:
    long = [user(0), {"role": "assistant", "content": "word " * 60}, reply(1), reply(2), user(1)]
    assert agent.compress(long, session="s", context_window=200).triggers == ()
    fired = agent.compress(long, session="s", context_window=140).triggers
    assert fired == (CompressionTrigger.TOKENS,)


def test_ten_idle_minutes_trigger_compression(agent: OwnerMemory, clock: SettableClock) -> None:
    history = [user(0), reply(0), reply(1), user(1), reply(2)]
    agent.learn("Hello there", session="s")
    clock.advance(timedelta(minutes=9, seconds=59))
    assert agent.compress(history, session="s").triggers == ()
    clock.advance(timedelta(seconds=1))
    assert agent.compress(history, session="other").triggers == ()
    assert agent.compress(history, session="s").triggers == (CompressionTrigger.IDLE,)


def test_full_history_is_summarised_only_once_per_message(
    clock: SettableClock,
) -> None:
    with condensing("timeline", clock) as (memory, server):
        agent = memory.owner("agent")
        shown: list[str] = []
        for count in range(1, 13):
            history = talk(count)
            made = agent.compress(history, session="s")
            assert made.history[-1] == history[-1]
            assert len(made.history) <= 12
            clock.advance(timedelta(minutes=1))
        for asked in server.requests:
            shown += turns(asked)
        assert len(shown) == len(set(shown))
        entries = agent.list(limit=100).memories[::-1]
        assert len(entries) == 4
        assert get_summary(made.history) == f"{SUMMARY_MARK} " + "\n".join(
            e.content for e in entries
        )
        kept = [str(each["content"]) for each in made.history[1:]]
        assert {*shown, *kept} == {str(each["content"]) for each in talk(12)}


def test_history_with_summary_covers_every_message(
    clock: SettableClock,
) -> None:
    with condensing("timeline", clock) as (memory, server):
        agent = memory.owner("agent")
        history: list[Entry] = [{"role": "system", "content": "Be brief."}]
        for number in range(12):
            history.append(user(number))
            history = list(agent.compress(history, session="s").history)
            assert history[0]["content"] == "Be brief."
            history.append(reply(number))
        shown = [turn for asked in server.requests for turn in turns(asked)]
        kept = [str(each["content"]) for each in history[2:]]
        assert [*shown, *kept] == [str(e["content"]) for e in [*talk(12), reply(11)]]
        assert get_summary(tuple(history)).count("[2026-03-01 12:00]") == agent.list().total == 4


def test_different_history_of_same_session_is_unchanged(agent: OwnerMemory) -> None:
    agent.compress(talk(6), session="default")
    other = talk(2, first=50)
    assert agent.compress(other, session="default").history == tuple(other)
    longer = talk(10, first=50)
    made = agent.compress(longer, session="default")
    assert "Hall 50" in get_summary(made.history)
    assert "Hall 0." not in get_summary(made.history)


def test_truncated_history_reuses_its_summary(agent: OwnerMemory) -> None:
    whole = talk(6)
    agent.compress(whole, session="s")
    made = agent.compress(whole[4:], session="s")
    assert get_summary(made.history)
    assert made.history[1:] == tuple(whole[-4:])
    assert agent.list().total == 1


def test_tool_calls_stay_with_their_results(
    agent: OwnerMemory,
) -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]}
    results = [{"role": "tool", "tool_call_id": n, "content": f"4{n}"} for n in "12"]
    history = [*talk(3), reply(2), user(3), call, *results, image, reply(4)]
    made = agent.compress(history, session="s")
    assert made.history[1:] == tuple(history[7:])
    (entry,) = made.memories
    assert "Hall 0" in entry.content


@pytest.mark.local
@pytest.mark.parametrize(
    "history",
    [
        [],
        [{"role": "system", "content": "Be brief."}],
        [{"role": "critic", "content": "…"}] * 9,
        [{"role": "user", "content": None}] * 9,
        [{"role": "user"}] * 9,
        [{"role": "assistant", "content": ["a", 7, None, {}]}] * 9,
        [{"role": "user", "content": "\ud800 x"}] * 9,
    ],
)
def test_unusual_histories_are_accepted(agent: OwnerMemory, history: list[Entry]) -> None:
    made = agent.compress(history, session="s")
    again = agent.compress(history, session="s")
    assert made.history[-1:] == again.history[-1:] == tuple(history[-1:])


@pytest.mark.parametrize("entry", ["hello", {"content": "x"}, {"role": 1}, None])
def test_invalid_history_entry_is_rejected(agent: OwnerMemory, entry: Any) -> None:
    with pytest.raises(InvalidInput, match=r"history\[1\]"):
        agent.compress([user(0), entry], session="s")
    with pytest.raises(InvalidInput, match="context_window"):
        agent.compress([user(0)], session="s", context_window=0)


@pytest.mark.parametrize("profile", PROFILES)
def test_compression_works_in_every_profile(profile: str, clock: SettableClock) -> None:
    with condensing(profile, clock) as (memory, _):
        agent = memory.owner("agent")
        made = [agent.compress(talk(count), session="s") for count in (6, 9, 12)]
        assert [len(each.memories) for each in made] == [1, 1, 1]
        assert len(agent.summaries()) == 3
        assert get_summary(made[-1].history).count("[2026-03-01 12:00]") == 3
        assert all(is_entry(each.key) for each in agent.summaries())


def test_result_includes_context_for_last_user_message(agent: OwnerMemory) -> None:
    agent.remember("The user prefers Rust", key="language")
    made = agent.compress([{"role": "user", "content": "Is Rust preferred?"}], session="s")
    assert made.context == agent.context("Is Rust preferred?")
    assert "- language: The user prefers Rust" in made.context
    assert agent.compress([], session="s").context == ""
    assert agent.compress([reply(0)], session="s").context == ""


# --- failures ---------------------------------------------------------------------------------


def fail_request(_: ReceivedRequest) -> Any:
    return error_answer(500)


def test_third_model_failure_stores_raw_messages(
    store: str | Path, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with condensing("timeline", clock, fail_request, store) as (memory, _):
        agent = memory.owner("agent")
        for _ in range(2):
            made = agent.compress(talk(6), session="s")
            assert made.history == tuple(talk(6))
            assert (made.failed, made.memories) == (True, ())
        assert caplog.text.count("a history could not be summarised") == 2
        made = agent.compress(talk(6), session="s")
        assert made.failed
        (entry,) = made.memories
        lines = entry.content.splitlines()
        assert lines[0] == f"{RAW_PREFIX} user: {sentence(0)}"
        assert lines[1] == "assistant: Noted as item 0."
        assert len(lines) == 7
        assert EXTRACT_MARK in get_summary(made.history)
        assert made.history[-4:] == tuple(talk(6)[-4:])
        for _ in range(2):  # the count starts again
            made = agent.compress(talk(9), session="s")
            assert made.memories == ()
        assert EXTRACT_MARK in get_summary(made.history)
        assert agent.compress(talk(9), session="s").memories


def test_success_resets_failure_count(clock: SettableClock) -> None:
    answers = {"unwell": True}

    def alternate(request: ReceivedRequest) -> Any:
        return error_answer(500) if answers["unwell"] else summarising(request)

    with condensing("timeline", clock, alternate) as (memory, _):
        agent = memory.owner("agent")
        for _ in range(2):
            assert agent.compress(talk(6), session="s").failed
        answers["unwell"] = False
        assert not agent.compress(talk(6), session="s").failed
        answers["unwell"] = True
        for _ in range(2):
            assert agent.compress(talk(9), session="s").memories == ()


def test_raw_long_history_is_stored_in_pieces(
    clock: SettableClock,
) -> None:
    with condensing("facts", clock, fail_request) as (memory, _):
        agent = memory.owner("agent")
        history = talk(300)
        made = [agent.compress(history, session="s") for _ in range(3)][-1]
        assert len(made.memories) > 2
        assert all(each.content.startswith(RAW_PREFIX) for each in made.memories)
        assert max(len(each.content) for each in made.memories) <= 8_000
        stored = "\n".join(each.content for each in made.memories)
        assert all(str(each["content"]) in stored for each in history[:-4])
        again = agent.compress(history, session="s")
        assert again.history[-4:] == tuple(history[-4:])
        assert len(again.history) == 5


class BrokenEmbedder(HashingEmbedder):
    """An embedder whose service is down."""

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Fail."""
        raise ServiceFailed(self.name, f"it is down for {len(texts)} {role}")


def test_failing_embedder_returns_history_unchanged(clock: SettableClock) -> None:
    with Memolith.open(
        ":memory:", embedder=BrokenEmbedder(), tokens=WordCounter(), clock=clock
    ) as memory:
        made = memory.compress(talk(6), session="s", owner="agent")
        assert made.failed
        assert made.history == tuple(talk(6))
        assert made.context == ""


def test_without_model_summary_is_an_extract(clock: SettableClock) -> None:
    with condensing("timeline", clock, None) as (memory, _):
        agent = memory.owner("agent")
        made = agent.compress(talk(6), session="s")
        assert not made.failed
        assert made.memories[0].content.startswith(f"[2026-03-01 12:00] {EXTRACT_MARK} ")


def test_disabled_memory_compresses_but_stores_nothing(clock: SettableClock) -> None:
    with condensing("timeline", clock, numbers=OFF) as (memory, _):
        agent = memory.owner("agent")
        made = agent.compress(talk(6), session="s")
        assert "Hall 0" in get_summary(made.history)
        assert made.history[-4:] == tuple(talk(6)[-4:])
        assert made.memories == ()
        assert agent.list(state="all").total == 0
    with condensing("timeline", clock, fail_request, numbers=OFF) as (memory, _):
        for _ in range(4):
            made = memory.compress(talk(6), session="s", owner="agent")
            assert made.history == tuple(talk(6))


def test_concurrent_calls_store_one_entry(tmp_path: Path, clock: SettableClock) -> None:
    both = Barrier(2, timeout=30)

    def together(request: ReceivedRequest) -> Any:
        both.wait()
        return summarising(request)

    store = tmp_path / "memory.db"
    with (
        condensing("timeline", clock, together, store) as (one, _),
        condensing("timeline", clock, together, store) as (other, _),
        ThreadPoolExecutor(2) as pool,
    ):
        history = talk(6)
        made = list(
            pool.map(lambda m: m.compress(history, session="s", owner="agent"), (one, other))
        )
        assert sorted(len(each.memories) for each in made) == [0, 1]
        assert made[0].history == made[1].history
        assert one.list(owner="agent").total == 1


def test_secret_in_history_is_not_sent_or_stored(clock: SettableClock) -> None:
    hidden = "hunter2-Kx9!"
    asking = {"role": "user", "content": f"The password: {hidden} opens Hall 7."}
    for rule in (summarising, fail_request):
        with condensing("timeline", clock, rule) as (memory, server):
            agent = memory.owner("agent")
            history = [asking, *talk(6)]
            for _ in range(3):
                made = agent.compress(history, session="s")
            assert hidden not in "".join(asked.user for asked in server.requests)
            assert hidden not in repr(agent.list().memories)
            assert hidden not in get_summary(made.history)


def test_injected_instructions_do_not_reach_system_message(clock: SettableClock) -> None:
    def obedient(request: ReceivedRequest) -> Any:
        return {"summary": HOSTILE[0]} if '"summary"' in request.system else None

    with condensing("timeline", clock, obedient) as (memory, _):
        hostile = {"role": "tool", "content": HOSTILE[0]}
        made = memory.compress([user(0), hostile, *talk(6)], session="s", owner="agent")
        assert HOSTILE[0] not in get_summary(made.history)
        assert made.memories[0].origin is Origin.TOOL


def test_summary_stays_smaller_than_context_window(agent: OwnerMemory) -> None:
    history: list[Entry] = []
    for number in range(60):
        history.append(user(number))
        made = agent.compress(history, session="s", context_window=300)
        history = [*made.history, reply(number)]
    words = len(get_summary(tuple(history)).split())
    assert 20 < words < 100
    assert agent.list(limit=100).total > 15


@pytest.mark.parametrize("turns_", [1_000, pytest.param(5_000, marks=pytest.mark.soak)])
def test_thousands_of_messages_are_compressed_in_one_call(
    clock: SettableClock, turns_: int
) -> None:
    with condensing("timeline", clock) as (memory, server):
        made = memory.compress(talk(turns_), session="s", owner="agent")
        assert len(made.history) == 5
        assert len(made.memories) == 1
        assert 2 < len(server.requests) <= 34 * turns_ / 5_000
        assert max(len(asked.user) for asked in server.requests) < 100_000


def test_forgotten_summary_entry_is_not_recreated(agent: OwnerMemory) -> None:
    (entry,) = agent.compress(talk(6), session="s").memories
    agent.forget(entry.id)
    made = agent.compress(talk(6), session="s")
    assert get_summary(made.history) == ""
    assert len(made.history) == 4
    agent.restore(entry.id)
    assert "Hall 0" in get_summary(agent.compress(talk(6), session="s").history)


def test_undone_entry_can_be_summarised_again(agent: OwnerMemory) -> None:
    (entry,) = agent.compress(talk(6), session="s").memories
    assert agent.undo_consolidation(entry.id).state is State.SUPERSEDED
    again = agent.compress(talk(6), session="s")
    assert again.memories
    assert "Hall 0" in get_summary(again.history)


def test_configured_consolidation_model_is_used(clock: SettableClock) -> None:
    with (
        ModelServer(lambda _: {"facts": []}) as chat,
        ModelServer(summarising) as small,
    ):
        numbers = {
            "chat.provider": "openai",
            "chat.model": "large",
            "chat.base_url": f"{small.openai_url}",
            "chat.api_key_env": "HOME",
            "timeline.consolidation_model": "small",
        }
        with Memolith.open(
            ":memory:",
            profile="timeline",
            embedder=HashingEmbedder(),
            tokens=WordCounter(),
            clock=clock,
            config=load(None, {}, numbers),
            worker=False,
        ) as memory:
            memory.compress(talk(6), session="s", owner="agent")
        assert [request.model for request in small.requests] == ["small"]
        assert chat.requests == ()
