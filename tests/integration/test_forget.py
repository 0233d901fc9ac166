from __future__ import annotations

from datetime import timedelta

import pytest

from memolith import Memolith, Memory, Message, OwnerMemory, State
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.testing.fakes import SettableClock


def visible_text(alice: OwnerMemory, query: str) -> str:
    """Return all text that recall, context, lists and messages show for a query."""
    texts = [one.content for one in alice.recall(query, top_k=100, token_budget=100_000).memories]
    texts.append(alice.context(query))
    texts += [memory.content for memory in alice.list().memories]
    texts += [message.content for each in alice.sessions() for message in alice.messages(each.id)]
    return "\n".join(texts)


def test_forgotten_memory_is_hidden_everywhere_until_restored(alice: OwnerMemory) -> None:
    stored = alice.remember("The alarm code is 4711")
    touched = alice.forget(stored.id)
    assert touched.memories == (stored.id,)
    assert "4711" not in visible_text(alice, "alarm code 4711")
    assert alice.get(stored.id).state is State.FORGOTTEN
    back = alice.restore(stored.id)
    assert isinstance(back, Memory)
    assert (back.state, back.version) == (State.ACTIVE, 2)
    assert "4711" in visible_text(alice, "alarm code 4711")


def test_forget_removes_only_the_sentence_from_its_message(alice: OwnerMemory) -> None:
    learned = alice.learn(
        "I saw a heron today. My name is Alice and I live in Oslo. The river was cold.", "Nice!"
    )
    memory = learned.memories[0]
    touched = alice.forget(memory.id)
    assert touched.messages == (learned.messages[0].id,)
    assert "Oslo" not in visible_text(alice, "Where does Alice live? Oslo")
    assert "heron" in visible_text(alice, "heron")
    assert "river was cold" in visible_text(alice, "river")
    alice.restore(memory.id)
    message = alice.message(learned.messages[0].id)
    assert message.content == learned.messages[0].content


def test_message_without_other_text_is_hidden_until_restored(alice: OwnerMemory) -> None:
    learned = alice.learn("I prefer metric units.", "Noted.")
    alice.forget(learned.memories[0].id)
    with pytest.raises(NotFound):
        alice.message(learned.messages[0].id)
    assert "metric" not in visible_text(alice, "metric units")
    assert (alice.stats().messages, alice.sessions()[0].messages) == (1, 1)
    alice.restore(learned.memories[0].id)
    assert (alice.stats().messages, alice.sessions()[0].messages) == (2, 2)
    assert alice.message(learned.messages[0].id).content == "I prefer metric units."


def test_forgotten_words_leave_context_window_of_neighbours(alice: OwnerMemory) -> None:
    learned = alice.learn("The password hint is zebrafish", "Understood, thanks.")
    reply = learned.messages[1].id
    found = alice.recall("zebrafish", mode="keyword").memories
    assert reply in [one.id for one in found]
    alice.forget(learned.messages[0].id)
    assert alice.recall("zebrafish", mode="keyword").memories == ()
    alice.restore(learned.messages[0].id)
    assert reply in [one.id for one in alice.recall("zebrafish", mode="keyword").memories]


def test_forgetting_message_forgets_memories_without_other_source(alice: OwnerMemory) -> None:
    first = alice.learn("I like tea.", session="s1")
    second = alice.learn("I like tea.", session="s2")
    assert first.memories[0].id == second.memories[0].id
    assert alice.forget(first.messages[0].id).memories == ()
    assert alice.get(first.memories[0].id).state is State.ACTIVE
    assert alice.forget(second.messages[0].id).memories == (first.memories[0].id,)
    only = alice.learn("I like coffee.", session="s3")
    assert alice.forget(only.messages[0].id).memories == (only.memories[0].id,)
    restored = alice.restore(only.messages[0].id)
    assert isinstance(restored, Message)
    assert alice.get(only.memories[0].id).state is State.ACTIVE


def test_forget_also_forgets_identical_message(alice: OwnerMemory) -> None:
    logged = alice.log([Message("Bob", "the gate code is 99-12")], session="s")
    stored = alice.remember("The gate code is 99-12")
    touched = alice.forget(stored.id)
    assert touched.messages == (logged.messages[0].id,)
    assert "99-12" not in visible_text(alice, "gate code 99-12")


def test_forget_requires_existing_record_of_owner(memory: Memolith, alice: OwnerMemory) -> None:
    stored = alice.remember("Lives in Oslo", key="home")
    with pytest.raises(NotFound):
        memory.owner("bob").forget(key="home")
    with pytest.raises(NotFound):
        memory.owner("bob").forget(stored.id)
    with pytest.raises(InvalidInput):
        alice.forget()
    with pytest.raises(InvalidInput):
        alice.forget(stored.id, key="home")
    alice.forget(key="home")
    with pytest.raises(NotFound):
        alice.forget(key="home")
    with pytest.raises(NotFound):
        alice.forget(stored.id)


def test_reused_key_prevents_restore(alice: OwnerMemory) -> None:
    old = alice.remember("Lives in Oslo", key="home")
    alice.forget(key="home")
    new = alice.remember("Lives in Bergen", key="home")
    assert new.id != old.id
    with pytest.raises(Conflict, match="key"):
        alice.restore(old.id)


def test_restore_rejects_active_and_duplicate_memories(
    memory: Memolith, alice: OwnerMemory
) -> None:
    stored = alice.remember("Lives in Oslo")
    with pytest.raises(Conflict):
        alice.restore(stored.id)
    alice.forget(stored.id)
    with pytest.raises(NotFound):
        memory.owner("bob").restore(stored.id)
    same = alice.remember("Lives in Oslo")
    assert same.id != stored.id
    with pytest.raises(Conflict, match="already has that content"):
        alice.restore(stored.id)


def test_recall_as_of_earlier_time_returns_forgotten_memory(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    stored = alice.remember("Lives in Oslo")
    then = clock.now()
    clock.advance(timedelta(days=1))
    alice.forget(stored.id)
    assert [one.id for one in alice.recall("Oslo", as_of=then).memories] == [stored.id]
    assert alice.recall("Oslo").memories == ()


def test_forget_and_restore_include_echoes_of_sentence(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.", "Sure! I live in Oslo. Noted.")
    later = alice.log([Message("Bob", "She said: it rains. I live in Oslo.")], session="later")
    touched = alice.forget(learned.memories[0].id)
    assert set(touched.messages) == {
        *(message.id for message in learned.messages),
        later.messages[0].id,
    }
    assert "Oslo" not in visible_text(alice, "Oslo")
    assert alice.message(learned.messages[1].id).content == "Sure! Noted."
    alice.restore(learned.memories[0].id)
    for message in (*learned.messages, *later.messages):
        assert alice.message(message.id).content == message.content


def test_message_is_restored_after_its_fact_was_repeated(alice: OwnerMemory) -> None:
    first = alice.learn("I prefer metric units.", "Noted.", session="a")
    alice.forget(first.messages[0].id)
    again = alice.learn("I prefer metric units!", "You said so.", session="b")
    assert again.memories[0].id != first.memories[0].id
    alice.restore(first.messages[0].id)
    kept = alice.get(again.memories[0].id)
    assert alice.message(first.messages[0].id).content == "I prefer metric units."
    assert {source.id for source in kept.sources} == {
        first.messages[0].id,
        again.messages[0].id,
    }
    old = alice.get(first.memories[0].id)
    assert (old.state, old.superseded_by, old.sources) == (State.SUPERSEDED, kept.id, ())
    assert alice.list().memories == (kept,)
    assert not any(one.changed_later for one in alice.recall("metric units").memories)
    alice.forget(kept.id)
    assert "metric" not in visible_text(alice, "metric units")
