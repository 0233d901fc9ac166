"""Purging removes a memory from every byte of the store, and removes nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memolith import Memolith, Memory, Message, OwnerMemory
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.config import load
from memolith.errors import InvalidInput, NotFound
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.databases import bytes_under


def find_words(folder: Path, *words: str) -> list[str]:
    """Return the words that occur in any file of a folder."""
    found = bytes_under(folder).lower()
    return [word for word in words if word.encode().lower() in found]


def recall_everything(alice: OwnerMemory) -> str:
    """Return the results of recall and all messages, as one text."""
    texts = [one.content for one in alice.recall("said", top_k=100, token_budget=99_999).memories]
    for session in alice.sessions():
        texts += [message.content for message in alice.messages(session.id)]
    return "\n".join(texts)


def test_purged_memory_is_unavailable_to_every_method(alice: OwnerMemory) -> None:
    stored = alice.remember("The alarm code is zyxglorp", key="alarm", tags=["home"])
    alice.update(stored.id, "The alarm code is quobbish")
    gone = alice.purge(stored.id)
    assert (gone.memories, gone.compacted) == ((stored.id,), True)
    for door in (alice.get, alice.history, alice.restore, alice.purge):
        with pytest.raises(NotFound):
            door(stored.id)
    assert alice.recall("alarm code").memories == ()
    assert alice.list(state="all").total == 0
    assert alice.stats().total_count == 0


def test_purge_of_forgotten_memory_removes_only_its_sentence(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    learned = alice.learn("I saw a heron. I live in Zyxglorpia. The river was cold.", "Nice!")
    memory = next(one for one in learned.memories if "Zyxglorpia" in one.content)
    then = clock.now()
    clock.advance(timedelta(days=1))
    alice.forget(memory.id)
    assert "Zyxglorpia" in alice.recall("Zyxglorpia", as_of=then).memories[0].content
    gone = alice.purge(memory.id)
    assert gone.messages == (learned.messages[0].id,)
    for as_of in (None, then):
        found = alice.recall("Zyxglorpia heron river", as_of=as_of, top_k=9).memories
        assert not [one for one in found if "Zyxglorpia" in one.content]
        assert [one for one in found if "heron" in one.content]
    left = alice.message(learned.messages[0].id)
    assert left.content == "I saw a heron. The river was cold."


def test_purge_removes_message_without_other_content(
    alice: OwnerMemory,
) -> None:
    learned = alice.learn("I prefer zyxglorp units.", "Noted, thanks.")
    reply = learned.messages[1].id
    assert reply in [one.id for one in alice.recall("zyxglorp", mode="keyword").memories]
    gone = alice.purge(learned.memories[0].id)
    assert gone.messages == (learned.messages[0].id,)
    assert alice.recall("zyxglorp", mode="keyword").memories == ()
    with pytest.raises(NotFound):
        alice.restore(learned.messages[0].id)
    assert [one.id for one in alice.messages()] == [reply]
    assert alice.sessions()[0].messages == 1
    assert alice.learn("And more").messages[0].sequence == 3


def test_purging_a_message_purges_memories_without_other_sources(
    alice: OwnerMemory,
) -> None:
    first = alice.learn("I like tea.", session="s1")
    second = alice.learn("I like tea.", session="s2")
    assert alice.purge(first.messages[0].id).memories == ()
    kept = alice.get(first.memories[0].id)
    assert [source.id for source in kept.sources] == [second.messages[0].id]
    assert alice.purge(second.messages[0].id).memories == (kept.id,)
    with pytest.raises(NotFound):
        alice.get(kept.id)


def test_purge_clears_references_to_the_memory(alice: OwnerMemory) -> None:
    old, new = alice.remember("Lives in Oslo"), alice.remember("Lives in Bergen now")
    alice.supersede(old.id, new.id)
    alice.purge(new.id)
    left = alice.get(old.id)
    assert (left.superseded_by, left.state) == (None, "superseded")
    restored = alice.restore(old.id)
    assert isinstance(restored, Memory)


def test_purge_requires_a_memory_of_the_owner(memory: Memolith, alice: OwnerMemory) -> None:
    stored = alice.remember("Lives in Oslo", key="home")
    for wrong in ({"key": "home"}, {"id": stored.id}):
        with pytest.raises(NotFound):
            memory.purge(owner="bob", **wrong)
    with pytest.raises(InvalidInput):
        alice.purge()
    with pytest.raises(InvalidInput):
        alice.purge(stored.id, key="home")
    assert alice.purge(key="home").memories == (stored.id,)


def test_purge_restores_the_scores_of_other_memories(
    memory: Memolith, clock: SettableClock
) -> None:
    texts = [f"The {word} stands in the garden" for word in ("oak", "well", "bench", "gnome")]
    for owner in ("alice", "bob"):
        for text in texts:
            memory.remember(text, owner=owner)
            clock.advance(timedelta(minutes=1))
        clock.advance(timedelta(minutes=-len(texts)))
    extra = memory.remember("The garden has a zyxglorp", owner="alice")
    memory.recall("garden", owner="alice")
    memory.purge(extra.id, owner="alice")
    for query in ("garden gnome", "where is the well", "zyxglorp"):
        scores = [
            [(one.content, one.score) for one in memory.recall(query, owner=owner).memories]
            for owner in ("alice", "bob")
        ]
        assert scores[0] == scores[1]


def open_plain(folder: Path, *, busy_timeout_s: float = 5.0) -> Memolith:
    """Open an unencrypted store, whose bytes can be searched."""
    return Memolith.open(
        folder / "memory.db",
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=PlainCipher(),
        config=load(env={}, overrides={"busy_timeout_s": busy_timeout_s}),
    )


def test_store_files_contain_no_purged_word(tmp_path: Path) -> None:
    with open_plain(tmp_path) as memory:
        alice = memory.owner("alice")
        for number in range(30):
            alice.learn(f"I like number {number} best. Sentence {number} of many.", "I see.")
        learned = alice.learn("I live in Zyxglorp. We walk at seven.", "What a name!")
        assert learned.memories
        noted = alice.remember("The cat is called Quobbish", key="cat", tags=["vremblin"])
        alice.update(noted.id, "The cat is called Drunkel")
        alice.log(
            [Message("Bob", "the cat is called drunkel"), Message("Eve", "right")], session="s"
        )
        alice.recall("Zyxglorp Quobbish")
        secret = ["zyxglorp", "quobbish", "drunkel", "vremblin"]
        for one in (*learned.memories, noted):
            alice.forget(one.id)
        assert find_words(tmp_path, *secret) == secret
        for one in (*learned.memories, noted):
            assert alice.purge(one.id).compacted
        assert find_words(tmp_path, *secret) == []
        assert "We walk at seven" in recall_everything(alice)
    assert find_words(tmp_path, *secret) == []


@pytest.mark.sqlite
def test_purge_reports_a_compaction_delayed_by_a_reader(tmp_path: Path) -> None:
    with open_plain(tmp_path, busy_timeout_s=0.1) as memory, open_plain(tmp_path) as other:
        stored = memory.remember("The gnome is called Zyxglorp", owner="alice")
        with other._app.store.read("alice") as snapshot:
            assert snapshot.memories([stored.id])
            assert not memory.purge(stored.id, owner="alice").compacted
        assert find_words(tmp_path, "zyxglorp") == ["zyxglorp"]
        memory.close()
        assert find_words(tmp_path, "zyxglorp") == []


def test_second_connection_sees_the_purge(tmp_path: Path) -> None:
    with open_plain(tmp_path) as here, open_plain(tmp_path) as there:
        stored = here.remember("The gnome is called Zyxglorp", owner="alice")
        kept = here.remember("The gnome wears a hat", owner="alice")
        assert len(there.recall("gnome", owner="alice").memories) == 2
        here.purge(stored.id, owner="alice")
        assert [one.id for one in there.recall("gnome", owner="alice").memories] == [kept.id]
