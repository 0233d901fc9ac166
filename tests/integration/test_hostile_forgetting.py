from __future__ import annotations

from memolith import OwnerMemory


def said(alice: OwnerMemory) -> list[str]:
    """Return what the messages of all conversations say now."""
    return [message.content for each in alice.sessions() for message in alice.messages(each.id)]


def test_forgetting_a_memory_brings_no_forgotten_message_back(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.", session="monday")
    told = alice.learn("I live in Oslo. My PIN is on the fridge.", session="tuesday")
    alice.forget(told.messages[0].id)
    alice.forget(learned.memories[0].id)
    assert said(alice) == []
    assert "PIN" not in alice.context("Where is the PIN?")


def test_restoring_a_memory_brings_no_forgotten_message_back(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.", session="monday")
    told = alice.learn("I live in Oslo. My PIN is on the fridge.", session="tuesday")
    alice.forget(learned.memories[0].id)
    alice.forget(told.messages[0].id)
    alice.restore(learned.memories[0].id)
    assert said(alice) == ["I live in Oslo."]
    alice.restore(told.messages[0].id)
    assert said(alice) == ["I live in Oslo.", "I live in Oslo. My PIN is on the fridge."]


def test_forgetting_takes_what_was_said_before_an_update_too(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo. The river was cold.")
    alice.update(learned.memories[0].id, "I live in Bergen")
    touched = alice.forget(learned.memories[0].id)
    assert touched.messages == (learned.messages[0].id,)
    assert said(alice) == ["The river was cold."]
    alice.restore(learned.memories[0].id)
    assert said(alice) == ["I live in Oslo. The river was cold."]


def test_forgetting_by_key_takes_what_the_key_meant_before(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.")
    alice.update(learned.memories[0].id, key="home")
    alice.remember("I live in Bergen", key="home")
    alice.forget(key="home")
    assert said(alice) == []
    alice.restore(learned.memories[0].id)
    assert said(alice) == ["I live in Oslo."]


def test_a_message_that_is_partly_back_comes_back_whole(alice: OwnerMemory) -> None:
    learned = alice.learn("I work at NASA. I like tea.")
    first, message = learned.memories[0], learned.messages[0]
    alice.forget(first.id)
    alice.forget(message.id)
    alice.restore(first.id)
    alice.restore(message.id)
    assert said(alice) == ["I work at NASA. I like tea."]
    assert len(alice.list().memories) == len(learned.memories)
