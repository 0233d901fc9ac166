"""What was told, recalled and rendered, and then forgotten, purged or erased: who still says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path

import apsw
import pytest

from memolith import Memolith
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.sql.codecs import OwnerEncryption
from memolith.adapters.sql.rekey import ENCRYPTED_COLUMNS
from memolith.adapters.sqlite.store import SqliteStore
from memolith.errors import KeyUnavailable, NotFound, OwnerErased
from memolith.testing.fakes import SettableClock
from support.plaintext_search import Opener, bytes_of, sealed_values
from support.random_words import Words
from support.tenant_isolation import DOORS, READING, Things, outcome

OPENING_NOTHING = {"profile", "equivalent_kind", "chat_model", "usage"}
"""Doors that read what is not sealed: the name of a profile, counts of calls; or nothing."""

UNKNOWN = "01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11"


class Fact:
    """Something told in every way there is, in words that stand nowhere else."""

    def __init__(self, memory: Memolith, clock: SettableClock) -> None:
        words = Words(7)
        self.memory, self.alice = memory, memory.owner("alice")
        alice = self.alice
        self.place, name = words.word().capitalize(), words.word()
        alice.learn("My bicycle is green. We eat at seven.", "I see.", session="before")
        learned = alice.learn(f"We met a heron. I live in {self.place}.", "Nice.", session="s")
        self.id = learned.memories[0].id
        alice.learn("Where do I live?", f"I live in {self.place}.", session="t")
        alice.update(self.id, f"I live in {self.place} beside the {words.word()}")
        again = alice.remember(f"I live in {self.place} beside the {words.all[-1]}")
        assert again.id == self.id
        alice.update(self.id, key=f"{name} key", tags=[f"{name} tag"])
        self.words = words.all
        alice.set_base_memory(f"Rides a green bicycle.\n\nI live in {self.place}. Met a heron.")
        self.before = clock.now()
        clock.advance(timedelta(days=1))
        self.messages = [message.id for each in ("s", "t") for message in alice.messages(each)]
        assert all(word in self.told() for word in self.words)

    def told(self) -> str:
        """Return all that any door says, in lower case."""
        return "\n".join(self._answers()).lower()

    def _answers(self) -> Iterator[str]:
        for query in self.words:
            for mode in ("hybrid", "vector", "keyword"):
                yield repr(self.alice.recall(query, mode=mode, top_k=100, token_budget=10**6))
            yield self.alice.context(query, token_budget=10**6)
        for state in ("all", "forgotten", "active"):
            yield repr(self.alice.list(state=state))
        for each in self.alice.sessions():
            yield repr(self.alice.messages(each.id))
        things = asked_for(self.id, *self.messages)
        for door in READING:
            step = 7 if door in ("recall", "context", "search") else 1  # one search is like another
            for call in islice(DOORS[door](things, things), 0, None, step):
                yield outcome(partial(call, self.memory, door, "alice"))


def asked_for(*ids: str) -> Things:
    """Return what to call every door with; nothing of it stands in a fact."""
    return Things(
        memories=(ids[0],) * 5,
        messages=ids[1:],
        keys=("key",),
        tags=("tag",),
        sessions=("s", "t"),
        external_ids=("m1",),
        texts=("where do I live?", "We met a heron.", "My bicycle is green."),
        cursor="cursor",
        records=(),
    )


@pytest.fixture
def fact(memory: Memolith, clock: SettableClock) -> Fact:
    return Fact(memory, clock)


def test_no_door_returns_a_word_of_what_is_forgotten(fact: Fact) -> None:
    alice = fact.alice
    alice.forget(fact.id)
    told = fact.told()
    assert [word for word in fact.words if word in told] == []
    assert "heron" in told
    assert [event.action for event in alice.history(fact.id).events][-1] == "forgotten"
    assert [one.id for one in alice.list(state="forgotten").memories] == [fact.id]
    restored = alice.restore(fact.id)
    assert fact.place in restored.content
    assert all(word in fact.told() for word in fact.words)


def test_only_the_past_asked_for_by_name_knows_the_forgotten_until_it_is_purged(
    fact: Fact,
) -> None:
    def then() -> str:
        return repr(fact.alice.recall(fact.place, as_of=fact.before)) + fact.alice.context(
            fact.place, as_of=fact.before
        )

    fact.alice.forget(fact.id)
    assert fact.place in then()
    fact.alice.purge(fact.id)
    assert fact.place not in then()


def test_no_door_returns_a_word_of_what_is_purged(fact: Fact) -> None:
    fact.alice.purge(fact.id)
    told = fact.told()
    assert [word for word in fact.words if word in told] == []
    assert "heron" in told
    with pytest.raises(NotFound):
        fact.alice.restore(fact.id)


def deciphered(store: SqliteStore, path: Path, owner_id: str) -> list[str]:
    """Open every sealed value of an owner, at its place, and return what stood in them."""
    cipher = store.cipher
    sealing = OwnerEncryption(
        cipher.get_owner_cipher(owner_id, store.key_version(owner_id)), owner_id
    )
    texts: list[str] = []
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        for number, name in connection.execute("SELECT number, name FROM participants"):
            texts += (
                [] if name is None else [sealing.decrypt(name, f"participant:{number}", "name")]
            )
        for table in ("messages", "message_versions", "memories", "versions"):
            for field in set(ENCRYPTED_COLUMNS[table]) & {"content", "key", "summary", "tags"}:
                texts += _fields(connection, sealing, table, field)
        for number, record, details in connection.execute(
            "SELECT number, hex(record_id), details FROM events WHERE details IS NOT NULL"
        ):
            texts.append(sealing.decrypt(details, _id(record), "event", number))
    return texts


def _fields(
    connection: apsw.Connection, sealing: OwnerEncryption, table: str, field: str
) -> Iterator[str]:
    asked = f"SELECT hex(id), version, {field} FROM {table} WHERE {field} IS NOT NULL"  # noqa: S608 - names of ours
    for record, version, sealed in connection.execute(asked):
        yield sealing.decrypt(sealed, _id(record), field, version)


def _id(digits: str) -> str:
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts).lower()


def store_of(memory: Memolith) -> SqliteStore:
    store = memory._app.store
    assert isinstance(store, SqliteStore)
    return store


@pytest.mark.sqlite
def test_after_a_purge_no_byte_of_an_encrypted_store_holds_it_even_when_opened(
    opened: Opener, path: Path, clock: SettableClock
) -> None:
    with opened() as memory:
        fact = Fact(memory, clock)
        store = store_of(memory)
        assert all(word in repr(deciphered(store, path, "alice")).lower() for word in fact.words)
        before = sealed_values(path)
        sealing = OwnerEncryption(store.cipher.get_owner_cipher("alice", 1), "alice")
        digests = [sealing.digest_term(word) for word in (fact.words[0], fact.words[2])]
        digests += [sealing.digest("tag", f"{fact.words[1]} tag")]
        digests += [sealing.digest("key", f"{fact.words[1]} key")]
        assert set(digests) <= before
        fact.alice.forget(fact.id)
        assert memory.purge(fact.id, owner="alice").compacted
        after = deciphered(store, path, "alice")
        assert "We met a heron." in after
        assert not [word for word in fact.words if word in repr(after).lower()]
        gone = before - sealed_values(path)
        assert set(digests) <= gone
        for name, content in bytes_of(path.parent).items():
            assert not [value for value in gone if value in content], name


@pytest.mark.sqlite
def test_what_is_erased_opens_in_no_backup_and_others_are_whole(
    opened: Opener, path: Path, ring: KeyRing, clock: SettableClock
) -> None:
    backup, again = path.with_name("backup.db"), path.with_name("again.db")
    ciphers = KeyRingCiphers(ring)
    with opened() as memory:
        things = asked_for(Fact(memory, clock).id, UNKNOWN)
        for text in ("The mill stands still", "The mill turns"):
            memory.remember(text, owner="bob", key="mill", tags=["wind"])
        memory.backup(backup)
        memory.erase("alice")
        bobs = list(memory.export(owner="bob"))
    with opened(backup) as memory:  # as it is, not restored: today's keys open nothing of hers
        assert list(memory.export(owner="bob")) == bobs
        for door in sorted(set(READING) - OPENING_NOTHING):
            for call in islice(DOORS[door](things, things), 1):
                with pytest.raises(KeyUnavailable, match="erased"):
                    _whole(call(memory, door, "alice"))
    for target in (path, again):  # over the store, and where there is none
        done = Memolith.restore_backup(backup, target, force=True, cipher=ciphers)
        assert (done.owners, done.erased_owners) == (1, 1)
        assert b"alice" not in target.read_bytes()
        with opened(target) as memory:
            assert memory.owners() == ["bob"]
            assert list(memory.export(owner="bob")) == bobs
            assert memory.recall("mill", owner="bob").memories
            with pytest.raises(OwnerErased):
                memory.remember("Back again", owner="alice")


@pytest.mark.sqlite
def test_who_came_back_is_not_barred_by_a_backup_of_before(
    opened: Opener, path: Path, ring: KeyRing
) -> None:
    backup, again = path.with_name("backup.db"), path.with_name("again.db")
    with opened() as memory:
        memory.remember("Lives in Oslo", owner="alice")
        memory.backup(backup)
        memory.erase("alice")
        memory.readmit("alice")
        memory.remember("Lives in Bergen", owner="alice")
    done = Memolith.restore_backup(backup, again, cipher=KeyRingCiphers(ring))
    assert (done.owners, done.erased_owners) == (0, 1)
    with opened(again) as memory:
        assert memory.list(owner="alice").total == 0
        memory.remember("Lives in Tromso", owner="alice")
    with opened() as memory:
        assert memory.recall("Bergen", owner="alice").memories


@pytest.mark.sqlite
def test_a_ring_that_only_lacks_a_key_takes_nobody_out_of_a_backup(
    opened: Opener, path: Path, ring: KeyRing
) -> None:
    backup, again = path.with_name("backup.db"), path.with_name("again.db")
    with opened() as memory:
        memory.remember("Lives in Oslo", owner="alice")
        memory.backup(backup)
    with closing(apsw.Connection(str(Path(str(ring.storage))))) as connection:
        connection.execute("DELETE FROM owners")  # as a ring that is older than the backup
    done = Memolith.restore_backup(backup, again, cipher=KeyRingCiphers(ring))
    assert (done.owners, done.erased_owners) == (1, 0)


def _whole(answer: object) -> None:
    """Read all of an answer that is read as it is made."""
    if isinstance(answer, Iterator):
        list(answer)
