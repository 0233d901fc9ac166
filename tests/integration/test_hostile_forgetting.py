from __future__ import annotations

from memolith import OwnerMemory


def message_texts(alice: OwnerMemory) -> list[str]:
    """Return the current texts of the messages of all conversations."""
    return [message.content for each in alice.sessions() for message in alice.messages(each.id)]


def test_forgetting_memory_does_not_restore_forgotten_message(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.", session="monday")
    second = alice.learn("I live in Oslo. My PIN is on the fridge.", session="tuesday")
    alice.forget(second.messages[0].id)
    alice.forget(learned.memories[0].id)
    assert message_texts(alice) == []
    assert "PIN" not in alice.context("Where is the PIN?")


def test_restoring_memory_does_not_restore_forgotten_message(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.", session="monday")
    second = alice.learn("I live in Oslo. My PIN is on the fridge.", session="tuesday")
    alice.forget(learned.memories[0].id)
    alice.forget(second.messages[0].id)
    alice.restore(learned.memories[0].id)
    assert message_texts(alice) == ["I live in Oslo."]
    alice.restore(second.messages[0].id)
    assert message_texts(alice) == ["I live in Oslo.", "I live in Oslo. My PIN is on the fridge."]


def test_forget_after_update_removes_original_sentence(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo. The river was cold.")
    alice.update(learned.memories[0].id, "I live in Bergen")
    touched = alice.forget(learned.memories[0].id)
    assert touched.messages == (learned.messages[0].id,)
    assert message_texts(alice) == ["The river was cold."]
    alice.restore(learned.memories[0].id)
    assert message_texts(alice) == ["I live in Oslo. The river was cold."]


def test_forget_by_key_removes_earlier_value_of_key(alice: OwnerMemory) -> None:
    learned = alice.learn("I live in Oslo.")
    alice.update(learned.memories[0].id, key="home")
    alice.remember("I live in Bergen", key="home")
    alice.forget(key="home")
    assert message_texts(alice) == []
    alice.restore(learned.memories[0].id)
    assert message_texts(alice) == ["I live in Oslo."]


def test_partly_restored_message_is_restored_completely(alice: OwnerMemory) -> None:
    learned = alice.learn("I work at NASA. I like tea.")
    first, message = learned.memories[0], learned.messages[0]
    alice.forget(first.id)
    alice.forget(message.id)
    alice.restore(first.id)
    alice.restore(message.id)
    assert message_texts(alice) == ["I work at NASA. I like tea."]
    assert len(alice.list().memories) == len(learned.memories)
