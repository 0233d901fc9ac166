"""Forgotten and purged content is removed from summaries, notes and history entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpora.exchanges import KnowingModel
from memolith import Memolith, OwnerMemory
from memolith.domain.memories import State
from memolith.errors import Conflict, NotFound
from memolith.policies.consolidation import SUMMARY_KIND
from memolith.testing.fakes import SettableClock
from support.plaintext_search import Opener, bytes_of
from support.scripted_learning import OWNER, START, remembering, work_off
from support.scripted_learning import say as say_all
from support.summarising import condensing, say, sentence, summarising

SMALL = {
    "tiers.short_term_threshold": 6,
    "tiers.short_term_keep": 2,
    "tiers.long_term_threshold": 3,
    "tiers.long_term_keep": 1,
}


@pytest.fixture(params=["sqlite", "inmemory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"


@pytest.fixture
def memory(store: str | Path, clock: SettableClock) -> Iterator[Memolith]:
    with condensing("tiers", clock, summarising, store, numbers=SMALL) as (engine, _):
        yield engine


def visible_text(own: OwnerMemory) -> str:
    """Return all text that the API shows, without recall as of an earlier time."""
    return "\n".join(
        (
            repr(own.list(state="all", limit=1_000)),
            repr(own.summaries()),
            repr(own.base_memory()),
            repr(own.base_memory_versions()),
            repr([own.messages(each.id) for each in own.sessions()]),
            repr([own.history(each.id) for each in own.list(state="all", limit=999).memories]),
            repr(list(own.export())),
            own.context("Where does it stand?", token_budget=10**6),
        )
    )


def test_forgetting_message_forgets_its_summary(memory: Memolith) -> None:
    alice = memory.owner("alice")
    say(alice, 6)
    memory.consolidate(owner="alice")
    (summary,) = alice.summaries()
    gone = alice.messages("s")[1]
    touched = alice.forget(gone.id)
    assert touched.memories == (summary.id,)
    assert "Hall 1." not in visible_text(alice)
    assert alice.summaries() == ()
    assert [e.action for e in alice.history(summary.id).events] == ["condensed", "forgotten"]
    assert memory.consolidate(owner="alice") == ()  # five are too few
    say(alice, 1, first=6)
    memory.consolidate(owner="alice")
    (again,) = alice.summaries()
    assert len(again.sources) == 4
    assert sentence(0) in again.content
    assert "Hall 1." not in again.content


def test_restoring_message_restores_its_summary(memory: Memolith) -> None:
    alice = memory.owner("alice")
    say(alice, 6)
    memory.consolidate(owner="alice")
    (summary,) = alice.summaries()
    first, second = alice.messages("s")[:2]
    alice.forget(first.id)
    alice.forget(second.id)
    with pytest.raises(Conflict, match="are forgotten"):
        alice.restore(summary.id)
    alice.restore(first.id)
    assert alice.summaries() == ()
    alice.restore(second.id)
    (back,) = alice.summaries()
    assert (back.id, back.content) == (summary.id, summary.content)
    say(alice, 3, first=6)
    assert memory.consolidate(owner="alice") == ()  # its four count as summarised again


def test_restored_message_does_not_restore_replaced_summary(memory: Memolith) -> None:
    alice = memory.owner("alice")
    say(alice, 6)
    memory.consolidate(owner="alice")
    gone = alice.messages("s")[1]
    alice.forget(gone.id)
    say(alice, 1, first=6)
    memory.consolidate(owner="alice")
    (newer,) = alice.summaries()
    alice.restore(gone.id)
    assert [each.id for each in alice.summaries()] == [newer.id]
    sources = [s.id for each in alice.summaries() for s in each.sources]
    assert len(sources) == len(set(sources))


def test_forget_and_restore_update_base_memory_notes(memory: Memolith) -> None:
    alice = memory.owner("alice")
    alice.set_base_memory("User Profile:\n- The user's name is Ada.\n- Lives in Oslo.")
    message = alice.learn("I live in Oslo.", session="s").messages[0]
    alice.forget(message.id)
    (first, second) = alice.base_memory_versions()
    assert first.content == second.content == "User Profile:\n- The user's name is Ada."
    assert alice.roll_back_base_memory(1).content == second.content
    assert "Oslo" not in visible_text(alice)
    alice.restore(message.id)
    document = alice.base_memory()
    assert document is not None
    assert "Lives in Oslo." in document.content


def test_restore_keeps_later_manual_base_memory(memory: Memolith) -> None:
    alice = memory.owner("alice")
    alice.set_base_memory("Lives in Oslo. Plays chess.")
    alice.set_base_memory("Lives in Oslo.")
    message = alice.learn("I have a boat.").messages[0]
    alice.forget(message.id)
    alice.restore(message.id)
    document = alice.base_memory()
    assert document is not None
    assert (document.version, document.content) == (2, "Lives in Oslo.")


def test_base_memory_notes_are_restored_in_any_order(memory: Memolith) -> None:
    alice = memory.owner("alice")
    text = "Lives in Oslo. Plays chess. Has a boat."
    alice.set_base_memory(text)
    oslo = alice.learn("I live in Oslo.").messages[0]
    chess = alice.learn("I play chess.").messages[0]
    alice.forget(oslo.id)
    alice.forget(chess.id)
    document = alice.base_memory()
    assert document is not None
    assert document.content == "Has a boat."
    alice.restore(oslo.id)
    document = alice.base_memory()
    assert document is not None
    assert document.content == "Lives in Oslo. Has a boat."
    alice.restore(chess.id)
    document = alice.base_memory()
    assert document is not None
    assert document.content == text


def test_forgotten_fact_leaves_consolidated_base_memory(memory: Memolith) -> None:
    alice = memory.owner("alice")
    for number in range(5):
        say(alice, 4, first=4 * number)
        memory.consolidate(owner="alice")
    document = alice.base_memory()
    assert document is not None
    assert "Hall 1." in document.content
    gone = next(each for each in alice.messages("s") if "Hall 1." in each.content)
    alice.forget(gone.id)
    assert "Hall 1." not in visible_text(alice)
    assert "Hall 0." in visible_text(alice)


def test_forgetting_source_forgets_summary_and_uncovers_others(
    store: str | Path, clock: SettableClock
) -> None:
    numbers = {"chunks.compression_threshold": 2, "chunks.sessions_to_compress": 1}
    with condensing("chunks", clock, summarising, store, numbers=numbers) as (memory, _):
        alice = memory.owner("alice")
        kept = [
            alice.remember(sentence(number), kind="episodic", session=f"s{number // 2}")
            for number in range(6)
        ]
        memory.consolidate(owner="alice")
        (summary,) = alice.summaries()
        assert [each.id for each in summary.sources] == [kept[0].id, kept[1].id]
        assert alice.forget(kept[0].id).memories == (kept[0].id, summary.id)
        assert "Hall 0." not in visible_text(alice)
        assert not alice.get(kept[1].id).compressed
        found = alice.recall(sentence(1), top_k=99, token_budget=9_999).memories
        assert kept[1].id in {one.id for one in found}
        memory.consolidate(owner="alice")
        (again,) = alice.summaries()
        assert [each.id for each in again.sources] == [kept[1].id]
        alice.restore(kept[0].id)
        assert [each.id for each in alice.summaries()] == [again.id]


def test_restoring_source_restores_summary_of_memories(
    store: str | Path, clock: SettableClock
) -> None:
    numbers = {"chunks.compression_threshold": 2, "chunks.sessions_to_compress": 1}
    with condensing("chunks", clock, summarising, store, numbers=numbers) as (memory, _):
        alice = memory.owner("alice")
        for number in range(6):
            alice.remember(sentence(number), kind="episodic", session=f"s{number // 2}")
        memory.consolidate(owner="alice")
        (summary,) = alice.summaries()
        alice.forget(summary.sources[0].id)
        alice.restore(summary.sources[0].id)
        assert [each.id for each in alice.summaries()] == [summary.id]
        assert all(alice.get(each.id).compressed for each in summary.sources)


def test_forget_and_purge_remove_history_entries_with_the_fact(
    store: str | Path, clock: SettableClock
) -> None:
    with condensing("timeline", clock, summarising, store) as (memory, _):
        alice = memory.owner("alice")
        fact = alice.remember(sentence(0), key="lathe")
        for first in (0, 50):
            history = [{"role": "user", "content": sentence(first + n)} for n in range(9)]
            alice.compress(history, session=f"s{first}")
        first_entry, other = alice.summaries()
        assert alice.forget(key="lathe").memories == (fact.id, first_entry.id)
        assert [each.id for each in alice.summaries()] == [other.id]
        assert "Hall 0." not in visible_text(alice)
        alice.restore(fact.id)
        assert [each.id for each in alice.summaries()] == [first_entry.id, other.id]
        alice.purge(key="lathe")
        assert [each.id for each in alice.summaries()] == [other.id]
        with pytest.raises(NotFound):
            alice.get(first_entry.id)


def test_forgetting_extracted_fact_forgets_its_source_sentence(
    clock: SettableClock,
) -> None:
    for profile in ("standard", "tiers", "facts"):
        with remembering(profile, KnowingModel(), SettableClock(START)) as (memory, _):
            own = memory.owner(OWNER)
            say_all(memory, clock)
            work_off(memory, clock)
            fact = next(
                each
                for each in own.list(limit=999).memories
                if "Volvo" in each.content and each.kind != SUMMARY_KIND
            )
            messages = [m for each in own.sessions() for m in own.messages(each.id)]
            source_ids = {source.id for source in fact.sources}
            before = {m.id: m.content for m in messages if m.id in source_ids}
            assert any("Volvo" in content for content in before.values())
            touched = own.forget(fact.id)
            assert set(touched.messages) >= {i for i in before if "Volvo" in before[i]}
            left = [m for each in own.sessions() for m in own.messages(each.id)]
            assert not [m for m in left if m.id in source_ids and "Volvo" in m.content]
            document = own.base_memory()
            assert fact.content not in (document.content if document else "")
            own.restore(fact.id)
            now = [m for each in own.sessions() for m in own.messages(each.id)]
            assert {m.id: m.content for m in now if m.id in source_ids} == before


def test_forgetting_summary_leaves_its_sources(memory: Memolith) -> None:
    alice = memory.owner("alice")
    say(alice, 6)
    memory.consolidate(owner="alice")
    (summary,) = alice.summaries()
    assert alice.forget(summary.id).memories == (summary.id,)
    assert len(alice.messages("s")) == 6
    assert memory.consolidate(owner="alice") == ()
    alice.restore(summary.id)
    assert alice.get(summary.id).state is State.ACTIVE


def test_rejecting_invented_fact_leaves_summary_of_source(clock: SettableClock) -> None:
    with remembering("tiers", KnowingModel(), clock) as (memory, _):
        own = memory.owner(OWNER)
        say_all(memory, clock)
        work_off(memory, clock)
        before = [each.id for each in own.summaries()]
        for each in own.review():
            own.reject(each.id)
        assert [each.id for each in own.summaries()] == before


@pytest.mark.sqlite
def test_purge_removes_summaries_and_notes_from_encrypted_store(opened: Opener, path: Path) -> None:
    with opened() as memory:
        alice = memory.owner("alice")
        memory.switch_profile("tiers", owner="alice")
        for number in range(5):
            say(alice, 30, first=30 * number)
            memory.consolidate(owner="alice")
        alice.set_base_memory(f"Key History:\n- {sentence(1)}\n- {sentence(200)}")
        summaries = alice.summaries()
        gone = next(each for each in alice.messages("s") if "Hall 1." in each.content)
        (made,) = [m for m in summaries if gone.id in {s.id for s in m.sources}]
        alice.forget(gone.id)
        done = alice.purge(gone.id)
        assert done.compacted
        assert done.memories == (made.id,)
        with pytest.raises(NotFound):
            alice.get(made.id)
        assert "Hall 1." not in visible_text(alice)
        document = alice.base_memory()
        assert document is not None
        assert document.content == f"Key History:\n- {sentence(200)}"
        assert len(alice.summaries()) == len(summaries) - 1
        assert memory.verify().findings == ()
        before = len(alice.summaries())
        say(alice, 1, first=300)
        memory.consolidate(owner="alice")
        assert len(alice.summaries()) == before + 1
    for name, content in bytes_of(path.parent).items():
        assert made.id.encode() not in content, name


@pytest.mark.sqlite
def test_purge_removes_words_from_files_of_open_store(tmp_path: Path, clock: SettableClock) -> None:
    store = tmp_path / "data" / "memory.db"
    numbers = {**SMALL, "enable_encryption": False}
    with condensing("tiers", clock, summarising, store, numbers=numbers) as (memory, _):
        alice = memory.owner("alice")
        alice.learn("My word is zymurgyst.", session="s")
        for number in range(5):
            say(alice, 4, first=4 * number)
            memory.consolidate(owner="alice")
        assert any(b"zymurgyst" in content for content in bytes_of(store.parent).values())
        assert "zymurgyst" in repr(alice.summaries()) + repr(alice.base_memory())
        gone = alice.messages("s")[0]
        assert alice.purge(gone.id).compacted
        for name, content in bytes_of(store.parent).items():
            assert b"zymurg" not in content.lower(), name


def test_erase_removes_summaries(memory: Memolith) -> None:
    say(memory.owner("alice"), 6)
    memory.consolidate(owner="alice")
    memory.erase("alice")
    assert memory.summaries(owner="alice") == ()
    assert SUMMARY_KIND not in repr(memory.list(owner="alice", state="all"))
