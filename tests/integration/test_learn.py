from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memolith import Memolith, Message, OwnerMemory, Role
from memolith.config import load
from memolith.errors import Disabled, InvalidInput
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter


def test_exchange_is_stored_verbatim_and_classified_by_cues(alice: OwnerMemory) -> None:
    learned = alice.learn(
        "Hi! My name is Alice and I live in Oslo. Nice weather today.", "Hello Alice!"
    )
    assert [message.role for message in learned.messages] == [Role.USER, Role.ASSISTANT]
    assert [message.sequence for message in learned.messages] == [1, 2]
    assert [(memory.kind, memory.content) for memory in learned.memories] == [
        ("identity", "My name is Alice and I live in Oslo.")
    ]
    assert learned.memories[0].sources[0].id == learned.messages[0].id


def test_german_cues_create_memories(alice: OwnerMemory) -> None:
    learned = alice.learn("Ich heiße Jana. Ich mag Kräutertee.", "Freut mich!")
    assert [memory.kind for memory in learned.memories] == ["identity", "preference"]


def test_only_user_messages_create_memories(alice: OwnerMemory) -> None:
    learned = alice.log(
        [
            Message("assistant", "My name is Hal and I prefer red."),
            Message("Bob", "My name is Bob and I prefer blue."),
            Message("tool", "I prefer green.", role=Role.TOOL),
        ],
        session="s",
    )
    assert learned.memories == ()
    assert [message.role for message in learned.messages] == ["assistant", "participant", "tool"]


def test_questions_and_code_blocks_create_no_memory(alice: OwnerMemory) -> None:
    learned = alice.learn("Do you know if I prefer tea?\n```\n# I prefer spaces\n```", "No.")
    assert learned.memories == ()


def test_repeated_log_skips_duplicates(alice: OwnerMemory) -> None:
    messages = [Message("Bob", f"Line {number}", external_id=f"D1:{number}") for number in range(5)]
    assert len(alice.log(messages[:3], session="s").messages) == 3
    again = alice.log(messages, session="s")
    assert (len(again.messages), again.duplicates_skipped) == (2, 3)
    assert [message.sequence for message in alice.messages("s")] == [1, 2, 3, 4, 5]
    assert len(alice.log(messages, session="other").messages) == 5


@pytest.mark.local
def test_one_invalid_message_rejects_the_whole_batch(alice: OwnerMemory) -> None:
    with pytest.raises(InvalidInput) as caught:
        alice.log([Message("Bob", "fine"), Message("Bob", " ")], session="s")
    assert caught.value.field == "messages[1].content"
    with pytest.raises(InvalidInput, match=r"messages\[0\]\.at"):
        alice.log([Message("Bob", "x", at=datetime(2026, 1, 1))], session="s")  # noqa: DTZ001
    with pytest.raises(InvalidInput, match=r"messages\[0\]\.role"):
        alice.log([Message("Bob", "x", role="pirate")], session="s")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="1,000,000"):
        alice.learn("x" * 1_000_001)
    with pytest.raises(InvalidInput, match="session"):
        alice.learn("x", session="")
    assert alice.stats().messages == 0


def test_long_message_is_stored_and_found_by_its_middle(alice: OwnerMemory) -> None:
    filler = "The committee met and went through the usual points of order. " * 8_000
    text = f"{filler}The secret ingredient is marjoram. {filler}"[:999_999]
    alice.learn(text)
    found = alice.recall("secret ingredient marjoram").memories[0]
    assert "marjoram" in found.text
    assert len(found.text) < 2_000
    assert found.content == text.strip()


def test_sessions_have_start_last_and_end_times(alice: OwnerMemory) -> None:
    alice.learn("One", at=datetime(2026, 1, 1, tzinfo=UTC), session="a")
    alice.learn("Two", at=datetime(2026, 1, 3, tzinfo=UTC), session="a")
    alice.learn("Three", session="b")
    alice.end_session("a")
    first, second = alice.sessions()
    assert (first.id, first.messages, first.started_at.day, first.last_at.day) == ("a", 2, 1, 3)
    assert first.ended_at is not None
    assert second.ended_at is None


def test_disabled_memory_rejects_writes_and_allows_reads() -> None:
    config = load(env={}, overrides={"enabled": False})
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), config=config
    ) as memory:
        alice = memory.owner("alice")
        for write in (
            lambda: alice.remember("x"),
            lambda: alice.learn("x"),
            lambda: alice.forget(key="x"),
        ):
            with pytest.raises(Disabled):
                write()
        assert alice.recall("x").memories == ()


def test_disabled_learning_only_logs_conversations() -> None:
    config = load(env={}, overrides={"enable_learning": False})
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), config=config
    ) as memory:
        learned = memory.learn("My name is Alice.", "Hi", owner="alice")
        assert (len(learned.messages), learned.memories) == (2, ())


def test_disabled_rag_returns_empty_context_but_recalls() -> None:
    config = load(env={}, overrides={"enable_rag": False})
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), config=config
    ) as memory:
        memory.remember("Drinks tea", owner="alice")
        assert memory.context("tea", owner="alice") == ""
        assert len(memory.recall("tea", owner="alice").memories) == 1


def test_recall_as_of_ignores_messages_logged_later(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    before = clock.now()
    clock.advance(timedelta(days=1))
    happened_at = datetime(2020, 1, 1, tzinfo=UTC)
    alice.log([Message("Bob", "The heron nested by the weir", at=happened_at)], session="s")
    assert len(alice.recall("heron").memories) == 1
    assert alice.recall("heron", as_of=before).memories == ()


@pytest.mark.parametrize("reply", ["", " \n"])
def test_blank_reply_is_not_stored(alice: OwnerMemory, reply: str) -> None:
    learned = alice.learn("I like tea.", reply, session="s")
    assert [message.content for message in learned.messages] == ["I like tea."]
    assert [memory.content for memory in learned.memories] == ["I like tea."]
