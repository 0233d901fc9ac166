"""No API method returns a fact after it was forgotten, purged or erased."""

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

PLAINTEXT_METHODS = {"profile", "equivalent_kind", "chat_model", "usage"}
"""API methods that read no encrypted data: profile names and call counts, or nothing."""

UNKNOWN = "01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11"


class Fact:
    """A fact stored in every possible way, in words that occur in nothing else."""

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
        assert all(word in self.visible_text() for word in self.words)

    def visible_text(self) -> str:
        """Return all text that any API method returns, in lower case."""
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
        things = call_arguments(self.id, *self.messages)
        for api_method in READING:
            # All searches work alike: a sample of them is enough.
            step = 7 if api_method in ("recall", "context", "search") else 1
            for call in islice(DOORS[api_method](things, things), 0, None, step):
                yield outcome(partial(call, self.memory, api_method, "alice"))


def call_arguments(*ids: str) -> Things:
    """Return arguments for every API method; they contain no word of the fact."""
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


def test_forgotten_fact_is_not_returned_by_any_api_method(fact: Fact) -> None:
    alice = fact.alice
    alice.forget(fact.id)
    text = fact.visible_text()
    assert [word for word in fact.words if word in text] == []
    assert "heron" in text
    assert [event.action for event in alice.history(fact.id).events][-1] == "forgotten"
    assert [one.id for one in alice.list(state="forgotten").memories] == [fact.id]
    restored = alice.restore(fact.id)
    assert fact.place in restored.content
    assert all(word in fact.visible_text() for word in fact.words)


def test_recall_as_of_earlier_time_returns_forgotten_until_purged(
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


def test_purged_fact_is_not_returned_by_any_api_method(fact: Fact) -> None:
    fact.alice.purge(fact.id)
    text = fact.visible_text()
    assert [word for word in fact.words if word in text] == []
    assert "heron" in text
    with pytest.raises(NotFound):
        fact.alice.restore(fact.id)


def decrypt_all(store: SqliteStore, path: Path, owner_id: str) -> list[str]:
    """Decrypt every encrypted value of an owner in its place; return the plaintexts."""
    cipher = store.cipher
    encryption = OwnerEncryption(
        cipher.get_owner_cipher(owner_id, store.key_version(owner_id)), owner_id
    )
    texts: list[str] = []
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        for number, name in connection.execute("SELECT number, name FROM participants"):
            texts += (
                [] if name is None else [encryption.decrypt(name, f"participant:{number}", "name")]
            )
        for table in ("messages", "message_versions", "memories", "versions"):
            for field in set(ENCRYPTED_COLUMNS[table]) & {"content", "key", "summary", "tags"}:
                texts += _fields(connection, encryption, table, field)
        for number, record, details in connection.execute(
            "SELECT number, hex(record_id), details FROM events WHERE details IS NOT NULL"
        ):
            texts.append(encryption.decrypt(details, _id(record), "event", number))
    return texts


def _fields(
    connection: apsw.Connection, encryption: OwnerEncryption, table: str, field: str
) -> Iterator[str]:
    query = f"SELECT hex(id), version, {field} FROM {table} WHERE {field} IS NOT NULL"  # noqa: S608 - our own names
    for record, version, encrypted in connection.execute(query):
        yield encryption.decrypt(encrypted, _id(record), field, version)


def _id(digits: str) -> str:
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts).lower()


def store_of(memory: Memolith) -> SqliteStore:
    store = memory._app.store
    assert isinstance(store, SqliteStore)
    return store


@pytest.mark.sqlite
def test_purge_removes_fact_from_decrypted_store(
    opened: Opener, path: Path, clock: SettableClock
) -> None:
    with opened() as memory:
        fact = Fact(memory, clock)
        store = store_of(memory)
        assert all(word in repr(decrypt_all(store, path, "alice")).lower() for word in fact.words)
        before = sealed_values(path)
        encryption = OwnerEncryption(store.cipher.get_owner_cipher("alice", 1), "alice")
        digests = [encryption.digest_term(word) for word in (fact.words[0], fact.words[2])]
        digests += [encryption.digest("tag", f"{fact.words[1]} tag")]
        digests += [encryption.digest("key", f"{fact.words[1]} key")]
        assert set(digests) <= before
        fact.alice.forget(fact.id)
        assert memory.purge(fact.id, owner="alice").compacted
        after = decrypt_all(store, path, "alice")
        assert "We met a heron." in after
        assert not [word for word in fact.words if word in repr(after).lower()]
        gone = before - sealed_values(path)
        assert set(digests) <= gone
        for name, content in bytes_of(path.parent).items():
            assert not [value for value in gone if value in content], name


@pytest.mark.sqlite
def test_erased_owner_cannot_be_decrypted_from_backup(
    opened: Opener, path: Path, ring: KeyRing, clock: SettableClock
) -> None:
    backup, again = path.with_name("backup.db"), path.with_name("again.db")
    ciphers = KeyRingCiphers(ring)
    with opened() as memory:
        things = call_arguments(Fact(memory, clock).id, UNKNOWN)
        for text in ("The mill stands still", "The mill turns"):
            memory.remember(text, owner="bob", key="mill", tags=["wind"])
        memory.backup(backup)
        memory.erase("alice")
        bobs = list(memory.export(owner="bob"))
    # Opened without a restore: the current keys decrypt nothing of Alice.
    with opened(backup) as memory:
        assert list(memory.export(owner="bob")) == bobs
        for api_method in sorted(set(READING) - PLAINTEXT_METHODS):
            for call in islice(DOORS[api_method](things, things), 1):
                with pytest.raises(KeyUnavailable, match="erased"):
                    _consume(call(memory, api_method, "alice"))
    for target in (path, again):  # over the store, and at a new path
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
def test_readmitted_owner_can_write_to_store_restored_from_backup(
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
def test_missing_key_does_not_remove_owner_from_backup(
    opened: Opener, path: Path, ring: KeyRing
) -> None:
    backup, again = path.with_name("backup.db"), path.with_name("again.db")
    with opened() as memory:
        memory.remember("Lives in Oslo", owner="alice")
        memory.backup(backup)
    with closing(apsw.Connection(str(Path(str(ring.storage))))) as connection:
        connection.execute("DELETE FROM owners")  # like a key ring older than the backup
    done = Memolith.restore_backup(backup, again, cipher=KeyRingCiphers(ring))
    assert (done.owners, done.erased_owners) == (1, 0)


def _consume(answer: object) -> None:
    """Read an iterator result completely."""
    if isinstance(answer, Iterator):
        list(answer)
