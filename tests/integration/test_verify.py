"""`verify` reports injected damage of every kind and repairs derived data."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith import Memolith, Message, OwnerMemory
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.domain.memories import Memory, Source
from memolith.domain.messages import Role
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag, WorkKind
from memolith.errors import InvalidInput, MemolithError, StoreDamaged
from memolith.ports.service import ModelUsage, StoredResponse
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.databases import POSTGRES, SQLITE, execute


class Ticking(SettableClock):
    """A clock that advances by a second with each reading."""

    def now(self) -> datetime:
        self.advance(timedelta(seconds=1))
        return super().now()


def open_memory(path: Path | str, *, encrypted: bool = False) -> Memolith:
    return Memolith.open(
        path,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        clock=Ticking(datetime(2026, 1, 1, tzinfo=UTC)),
        cipher=_ciphers(Path(path).parent) if encrypted else PlainCipher(),
    )


def _ciphers(folder: Path) -> KeyRingCiphers:
    """Return ciphers with keys in a folder, which is copied with the store."""
    return KeyRingCiphers(KeyRing(folder / "key.ring", KeyFile(folder / "key")))


def run_operations(alice: OwnerMemory) -> None:
    """Run each kind of operation for an owner."""
    for number in range(4):
        alice.learn(f"I like number {number}. The sky is blue.", "I see, thanks.")
    gate = Message("Bob", "The gate code is 99-12.", external_id="m1")
    alice.log([gate, Message("Eve", "Right.")], session="s")
    alice.remember("Lives in Oslo", key="home", tags=["a", "b"], session="s")
    alice.remember("Lives in Bergen", key="home")
    alice.remember("Works at NASA", tags=["work"], happened_at=datetime(2025, 5, 5, tzinfo=UTC))
    old, new = alice.remember("Drives a red car"), alice.remember("Drives a blue car")
    alice.supersede(old.id, new.id)
    learned = alice.learn("I live in Rome. I work at home. It rains.", "I see.")
    alice.forget(learned.memories[0].id)
    alice.restore(learned.memories[0].id)
    alice.forget(learned.memories[1].id)
    alice.forget(alice.learn("A word to forget", "Forgotten.").messages[0].id)
    alice.purge(alice.learn("I prefer tea.", "So do I.").memories[0].id)
    alice.update(new.id, tags=["car"], importance=0.9)
    alice.end_session("s")
    alice.recall("where do I live?")


def add_background_work(memory: Memolith, owner: str) -> None:
    """Add pending messages, dead letters, leases and usage of every kind."""
    now, store = datetime(2026, 1, 3, tzinfo=UTC), memory._app.store
    with store.write(owner) as tx:
        first, second, third, fourth, *_ = (one.id for one in tx.messages())
        tx.mark_pending([first, second, third, fourth])
        tx.mark_learned([first], now)
        tx.schedule_retry([second], retry_at=now)
        tx.schedule_retry([third], retry_at=None)
        tx.mark_summarised([first, second], now)
        tx.add_mark(
            [
                one.id
                for one in tx.memories_without_mark(
                    ProcessingFlag.INCORPORATED, frozenset({"fact"})
                )
            ],
            ProcessingFlag(1),
        )
        tx.set_progress("s", ConsolidationProgress(1, 0, now))
        tx.set_progress("nothing was said in it", ConsolidationProgress(4, 1))
    for kind in WorkKind:
        claim = store.leases.acquire(owner, kind, now=now, lease_s=9)
        assert claim is not None
        if kind is WorkKind.CONSOLIDATE:
            store.leases.fail(claim, retry_at=None)
    store.usage.add(owner, "extract", ModelUsage(1, 2, 3), at=now)


@pytest.fixture(scope="module", params=["plain", "encrypted"])
def used_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, database: str
) -> Path:
    """A store after many operations of two owners."""
    assert database  # recreated for each database
    store: Path = tmp_path_factory.mktemp("lived") / request.param / "memory.db"
    fill(store)
    return store


def fill(store: Path) -> None:
    with reopen(store) as memory:
        for owner in ("alice", "bob"):
            run_operations(memory.owner(owner))
            for text in ("Likes tea", "Likes coffee"):
                with memory._app.store.write(owner) as tx:
                    tx.set_base_memory(text, sources=(), at=datetime(2026, 1, 2, tzinfo=UTC))
            add_background_work(memory, owner)


@pytest.fixture
def path(used_store: Path, tmp_path: Path, database: str) -> Path:
    """A used store for one test: a copy of the file, or a new store in PostgreSQL."""
    copy = tmp_path / used_store.parent.name
    if database == SQLITE:
        shutil.copytree(used_store.parent, copy)
    else:
        fill(copy / used_store.name)
    return copy / used_store.name


def reopen(path: Path) -> Memolith:
    return open_memory(path, encrypted=path.parent.name == "encrypted")


def plant(path: Path, *statements: str) -> None:
    for name, meaning in NAMES.items():
        statements = tuple(each.replace(name, meaning) for each in statements)
    assert execute(path, *statements)


def test_verify_of_an_intact_store_finds_nothing(path: Path) -> None:
    with reopen(path) as memory:
        report = memory.verify()
        assert report.findings == ()
        assert report.checked.owners == 2
        assert report.checked.memories > 16
        assert report.checked.messages > 28
        assert memory.verify(repair=True).findings == ()


class Damage(NamedTuple):
    """A statement that causes damage, the kind of its finding, and whether repair is possible."""

    kind: str
    statement: str
    repaired: bool = True


NAMES = {
    "@ONE": "owner_id = 1 AND item = (SELECT min(item) FROM memories WHERE owner_id = 1)",
    "@NAMED": "owner_id = 1 AND external_id IS NOT NULL",
    "@ITEM": "(SELECT min(item) FROM memories WHERE owner_id = 1 AND valid_to IS NULL)",
}
"""Placeholders for conditions on rows of the first owner."""

DAMAGE = {
    "a message has another digest of the caller's id": Damage(
        "key", "UPDATE messages SET external_digest = zeroblob(16) WHERE @NAMED"
    ),
    "a vector is missing": Damage("vector", "UPDATE passages SET vector = NULL WHERE @ONE"),
    "a vector is too short": Damage(
        "vector", "UPDATE passages SET vector = substr(vector, 3) WHERE @ONE"
    ),
    "a vector is not normed": Damage(
        "vector",
        "UPDATE passages SET vector = unhex(replace(hex(zeroblob(length(vector))), '00', '05'))"
        " WHERE @ONE",
    ),
    "a passage is missing": Damage("passages", "DELETE FROM passages WHERE @ONE"),
    "a passage stands elsewhere": Damage("passages", "UPDATE passages SET stop = 1 WHERE @ONE"),
    "a passage has another digest": Damage(
        "passages", "UPDATE passages SET digest = zeroblob(16) WHERE @ONE"
    ),
    "a passage has a wrong length": Damage("terms", "UPDATE passages SET length = 99 WHERE @ONE"),
    "a passage of nothing": Damage(
        "orphan", "INSERT INTO passages VALUES (1, 9999, 0, 0, 1, 1, 1, NULL, NULL, NULL)"
    ),
    "a keyword is missing": Damage(
        "terms",
        "DELETE FROM terms WHERE owner_id = 1 AND item = @ITEM AND term ="
        " (SELECT min(term) FROM terms WHERE owner_id = 1 AND item = @ITEM)",
    ),
    "a keyword is counted wrongly": Damage(
        "terms", "UPDATE terms SET tf = tf + 1 WHERE owner_id = 1 AND item = @ITEM"
    ),
    "a keyword too many": Damage(
        "terms", "INSERT INTO terms VALUES (1, x'6162636465666768', @ITEM, 0, 1)"
    ),
    "a keyword of nothing": Damage(
        "orphan", "INSERT INTO terms VALUES (1, x'6162636465666768', 9999, 0, 1)"
    ),
    "keywords of two memories are swapped": Damage(
        "terms",
        "UPDATE terms SET item = (SELECT max(item) FROM items WHERE owner_id = 1) + 1 - item"
        " WHERE owner_id = 1 AND item IN (1, (SELECT max(item) FROM items WHERE owner_id = 1))",
    ),
    "a content digest is wrong": Damage(
        "digest", "UPDATE items SET content = zeroblob(16) WHERE @ONE"
    ),
    "features are wrong": Damage("item", "UPDATE items SET words = words + 7 WHERE @ONE"),
    "an item is missing": Damage("item", "DELETE FROM items WHERE @ONE"),
    "an item of nothing": Damage(
        "orphan",
        "INSERT INTO items SELECT owner_id, 9999, zeroblob(16), kind, session, sequence, speaker,"
        " role, at, traits, words, tokens, content, valid_from, valid_to, expires_at, compressed,"
        " changed FROM items WHERE @ONE",
    ),
    "an item ends too early": Damage("item", "UPDATE items SET valid_to = 5 WHERE @ONE"),
    "an item is of another kind": Damage("item", "UPDATE items SET kind = 'event' WHERE @ONE"),
    "a tag is missing": Damage("tags", "DELETE FROM tags WHERE owner_id = 1"),
    "a tag of nothing": Damage("tags", "INSERT INTO tags VALUES (1, zeroblob(16), 9999)"),
    "a key can't be found": Damage(
        "key",
        "UPDATE memories SET key_digest = zeroblob(16) WHERE owner_id = 1"
        " AND key_digest IS NOT NULL",
    ),
    "a source is missing": Damage("sources", "DELETE FROM derived WHERE owner_id = 1"),
    "a link leads nowhere": Damage(
        "link", "INSERT INTO links SELECT 1, 'near', id, zeroblob(16) FROM memories LIMIT 1"
    ),
    "a link leads to another owner": Damage(
        "link",
        "INSERT INTO links SELECT 1, 'near', a.id, b.id FROM memories AS a, memories AS b"
        " WHERE a.owner_id = 1 AND b.owner_id = 2 LIMIT 1",
    ),
    "a successor is not there": Damage(
        "reference",
        "UPDATE memories SET superseded_by = zeroblob(16) WHERE owner_id = 1"
        " AND superseded_by IS NOT NULL",
    ),
    "an active memory has ended": Damage(
        "versions", "UPDATE memories SET valid_to = valid_from WHERE @ONE"
    ),
    "a forgotten memory has not ended": Damage(
        "versions", "UPDATE memories SET valid_to = NULL WHERE owner_id = 1 AND state <> 'active'"
    ),
    "a version is lost": Damage("versions", "DELETE FROM versions WHERE owner_id = 1", False),
    "a memory is lost, but not its versions": Damage(
        "versions",
        "DELETE FROM memories WHERE owner_id = 1 AND id IN (SELECT id FROM versions)",
        False,
    ),
    "versions overlap": Damage(
        "versions", "UPDATE versions SET valid_to = valid_to * 2 WHERE owner_id = 1", False
    ),
    "a message is lost": Damage(
        "sequence",
        "DELETE FROM messages WHERE owner_id = 1 AND number IN (3, 4, 5)",
        False,
    ),
    "a conversation counts wrongly": Damage(
        "session", "UPDATE sessions SET messages = messages + 1 WHERE owner_id = 1"
    ),
    "a conversation is lost": Damage("session", "DELETE FROM sessions WHERE owner_id = 1"),
    "a speaker is lost": Damage("speaker", "DELETE FROM participants WHERE owner_id = 1", False),
    "a speaker can't be found": Damage(
        "speaker", "UPDATE participants SET digest = randomblob(16) WHERE owner_id = 1"
    ),
    "a counter is behind": Damage("counter", "UPDATE owners SET next_item = 2 WHERE owner_id = 1"),
    "the events' counter is behind": Damage(
        "counter", "UPDATE owners SET next_event = 2 WHERE owner_id = 1"
    ),
    "a row is ahead of its owner": Damage(
        "counter", "UPDATE owners SET revision = 1 WHERE owner_id = 1"
    ),
    "a message waits in a way that there is not": Damage(
        "work", "UPDATE messages SET marks = 9 WHERE owner_id = 1 AND number = 1"
    ),
    "a message that was learned from waits": Damage(
        "work", "UPDATE messages SET marks = 1 WHERE owner_id = 1 AND learned_at IS NOT NULL"
    ),
    "a message that does not wait is to be tried again": Damage(
        "work", "UPDATE messages SET retry_at = 1 WHERE owner_id = 1 AND marks = 0"
    ),
    "a message is parked that never failed": Damage(
        "work", "UPDATE messages SET attempts = 0 WHERE owner_id = 1 AND marks = 2"
    ),
    "a mark that there is not": Damage(
        "work", "UPDATE memories SET marks = marks | 64 WHERE owner_id = 1"
    ),
    "a conversation failed less than never": Damage(
        "work", "UPDATE sessions SET failures = -1 WHERE owner_id = 1 AND name = 's'"
    ),
    "a claim of work that there is not": Damage(
        "work", "UPDATE claims SET work = 'dance' WHERE owner_id = 1 AND work = 'learn'"
    ),
    "a claim that is held for ever": Damage(
        "work", "UPDATE claims SET until = NULL WHERE owner_id = 1 AND token IS NOT NULL"
    ),
    "less than nothing was asked": Damage("work", "UPDATE usage SET calls = -1 WHERE owner_id = 1"),
    "a claim of nobody": Damage("orphan", "INSERT INTO claims VALUES (77, 'learn', NULL, 1, 1)"),
    "an event of nothing": Damage(
        "event", "INSERT INTO events VALUES (1, 0, zeroblob(16), 'updated', 0, 'user', 1, NULL)"
    ),
    "rows of nobody": Damage("orphan", "INSERT INTO tags VALUES (77, zeroblob(16), 1)"),
    "a version of the base memory is lost": Damage(
        "versions", "DELETE FROM base_memories WHERE owner_id = 1 AND version = 2", False
    ),
    "a byte of a text is flipped": Damage(
        "content",
        "UPDATE memories SET content = CAST(substr(content, 1, length(content) - 2) || x'71'"
        " || substr(content, length(content)) AS BLOB) WHERE @ONE",
        False,
    ),
    "the texts of two memories are swapped": Damage(
        "content",
        "UPDATE memories SET content = (SELECT content FROM memories AS o WHERE o.owner_id = 1"
        " AND o.item <> memories.item AND o.version = memories.version AND o.content"
        " <> memories.content ORDER BY o.item LIMIT 1)"
        " WHERE @ONE",
        False,
    ),
}

VECTORS = {
    "a vector is too short": "UPDATE passages SET vector = subvector(vector, 1, 382) WHERE @ONE",
    "a vector is not normed": "UPDATE passages SET vector = array_fill(5, ARRAY[384])::vector"
    " WHERE @ONE",
}
"""Replacements of statements for the vector columns of PostgreSQL."""


@pytest.mark.parametrize("name", DAMAGE)
def test_verify_finds_and_repairs_injected_damage(path: Path, database: str, name: str) -> None:
    damage = DAMAGE[name]
    plant(path, (database == POSTGRES and VECTORS.get(name)) or damage.statement)
    kind = damage.kind
    if kind == "content":
        kind = "sealed" if path.parent.name == "encrypted" else "text"
    with reopen(path) as memory:
        found = memory.verify()
        assert kind in {each.kind for each in found.findings}, found.findings
        assert not found.is_clean
        assert {each.owner_id for each in found.findings} <= {"alice", None}
        report = memory.verify(repair=True)
        named = [each for each in report.findings if each.kind == kind]
        assert all(each.repaired for each in named) == damage.repaired, named
        if damage.repaired:
            assert report.is_clean, report.findings
            assert memory.verify().findings == ()
        else:
            left = memory.verify().findings
            assert kind in {each.kind for each in left}


def test_recall_returns_the_same_results_after_a_repair(path: Path) -> None:
    def answers(memory: Memolith) -> list[object]:
        queries = ("where do I live?", "NASA work", "blue car", "number 3")
        return [memory.recall(query, owner="alice", touch=False) for query in queries]

    with reopen(path) as memory:
        before = answers(memory)
    plant(
        path,
        "DELETE FROM terms WHERE owner_id = 1 AND item % 2 = 0",
        "UPDATE passages SET vector = NULL WHERE owner_id = 1 AND item % 3 = 0",
        "DELETE FROM passages WHERE owner_id = 1 AND item % 5 = 0",
        "DELETE FROM items WHERE owner_id = 1 AND item % 7 = 0",
        "DELETE FROM tags WHERE owner_id = 1",
    )
    with reopen(path) as memory:
        assert memory.verify(repair=True).is_clean
        assert answers(memory) == before
    with reopen(path) as memory:
        assert answers(memory) == before
        run_operations(memory.owner("alice"))
        assert memory.verify().findings == ()


@pytest.mark.sqlite
def test_verify_finds_a_damaged_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    page = len(content) // 4096 // 2
    content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    with reopen(path) as memory:
        report = memory.verify(repair=True)
        assert "file" in {each.kind for each in report.findings}
        assert not report.is_clean


def test_replayed_older_version_of_a_row_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "encrypted" / "memory.db"
    with reopen(path) as memory:
        memory.remember("Lives in Oslo", owner="alice", key="home")
        memory.remember("Lives in Bergen", owner="alice", key="home")
    plant(path, "UPDATE memories SET content = (SELECT content FROM versions)")
    with reopen(path) as memory:
        assert [each.kind for each in memory.verify().findings] == ["sealed"]


@pytest.mark.sqlite
@pytest.mark.parametrize("repair", [False, True], ids=["looking", "repairing"])
def test_verify_reports_a_lost_owner_key_and_checks_other_owners(
    tmp_path: Path, *, repair: bool
) -> None:
    path = tmp_path / "encrypted" / "memory.db"
    with reopen(path) as memory:
        for owner in ("alice", "bob"):
            memory.remember("Likes tea", owner=owner)
    before = path.read_bytes()
    with reopen(path) as memory:
        memory.rotate_key("alice")
    path.write_bytes(before)
    with reopen(path) as memory:
        report = memory.verify(repair=repair)
    (finding,) = report.findings
    assert (finding.kind, finding.owner_id, finding.repaired) == ("sealed", "alice", False)
    assert "has no key for this owner" in finding.detail
    assert (report.checked.owners, report.checked.memories) == (2, 1)


def test_verify_finds_an_unreadable_external_id(tmp_path: Path) -> None:
    path = tmp_path / "encrypted" / "memory.db"
    messages = [
        Message("Bob", "I like tea.", Role.USER, external_id="m1"),
        Message("Bob", "I like rum.", Role.USER, external_id="m2"),
    ]
    with reopen(path) as memory:
        memory.log(messages, owner="alice")
    plant(
        path,
        "UPDATE messages AS m SET external_id ="
        " (SELECT o.external_id FROM messages AS o WHERE o.id <> m.id)",
        "UPDATE memories AS m SET sources ="
        " CAST(substr(sources, 1, length(sources) - 1) || x'00' AS BLOB)",
    )
    with reopen(path) as memory:
        findings = memory.verify().findings
        assert {each.kind for each in findings} == {"sealed"}
        assert {each.detail for each in findings} == {
            "its external id is unreadable",
            "its sources are unreadable",
        }


def test_verify_finds_an_unreadable_base_memory(tmp_path: Path) -> None:
    path = tmp_path / "encrypted" / "memory.db"
    with reopen(path) as memory:
        for text in ("Likes tea", "Likes coffee"):
            with memory._app.store.write("alice") as tx:
                tx.set_base_memory(text, sources=(), at=datetime(2026, 1, 2, tzinfo=UTC))
    plant(
        path,
        "UPDATE base_memories AS b SET content = (SELECT content FROM base_memories AS o"
        " WHERE o.version <> b.version) WHERE version = 1",
    )
    with reopen(path) as memory:
        (found,) = memory.verify().findings
        assert (found.kind, found.owner_id, found.repaired) == ("sealed", "alice", False)


ENCRYPTED_COLUMNS = {
    "messages": ("content", "external_id"),
    "message_versions": ("content",),
    "participants": ("name",),
    "memories": ("key", "content", "tags", "sources"),
    "versions": ("content",),
    "events": ("details",),
    "base_memories": ("content", "sources"),
}


_CORRUPT_COLUMN = (
    "UPDATE {table} SET {column} ="
    " CAST(substr({column}, 1, length({column}) - 3) || x'000000' AS BLOB)"
)
"""Overwrites the last bytes of encrypted values."""


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, each) for table, columns in ENCRYPTED_COLUMNS.items() for each in columns],
)
def test_verify_reports_only_the_unreadable_column_and_leaves_it(
    tmp_path: Path, table: str, column: str
) -> None:
    path = tmp_path / "encrypted" / "memory.db"
    with reopen(path) as memory:
        run_operations(memory.owner("alice"))
        said = Message("Bob", "The gate code is 99-13.", external_id="m1")
        memory.log([said], owner="alice", session="s")
        with memory._app.store.write("alice") as tx:
            sources = (Source(tx.messages()[0].id, "message", "m9"),)
            tx.set_base_memory("Likes tea", sources=sources, at=datetime(2026, 1, 2, tzinfo=UTC))
    plant(path, _CORRUPT_COLUMN.format(table=table, column=column))
    with reopen(path) as memory:
        found = memory.verify().findings
        assert {each.kind for each in found} == {"sealed"}
        if table not in ("participants", "base_memories"):
            assert all(each.record_id for each in found)
        assert memory.verify(repair=True).findings == found
        assert memory.verify().findings == found


@pytest.mark.sqlite
def test_verify_repairs_damaged_vectors_of_inactive_items(path: Path) -> None:
    plant(
        path,
        "UPDATE passages SET vector = substr(vector, 3) WHERE owner_id = 1 AND item IN"
        " (SELECT item FROM items WHERE owner_id = 1 AND kind IS NULL AND valid_from = valid_to)",
    )
    with reopen(path) as memory:
        with pytest.raises(StoreDamaged):
            memory.recall("where do I live?", owner="alice", touch=False)
        assert {each.kind for each in memory.verify().findings} == {"vector"}
        assert memory.verify(repair=True).is_clean
        assert memory.recall("where do I live?", owner="alice", touch=False).memories


def test_verify_finds_an_unreadable_stored_response(tmp_path: Path) -> None:
    path, now = tmp_path / "encrypted" / "memory.db", datetime(2026, 1, 1, tzinfo=UTC)
    with reopen(path) as memory:
        memory.remember("Lives in Oslo", owner="alice")
        replies = memory._app.store.idempotency
        for key in ("done", "being done"):
            assert replies.begin("alice", key, b"asked", now=now) is None
        replies.finish("alice", "done", StoredResponse(200, b"told"))
        assert memory.verify().findings == ()
    plant(path, _CORRUPT_COLUMN.format(table="idempotency", column="response"))
    for repair in (False, True, False):
        with reopen(path) as memory:
            (found,) = memory.verify(repair=repair).findings
            assert (found.kind, found.owner_id, found.repaired) == ("sealed", "alice", False)


def test_verify_names_only_the_unreadable_message(
    tmp_path: Path,
) -> None:
    path = tmp_path / "encrypted" / "memory.db"
    with reopen(path) as memory:
        learned = memory.learn("I am Alice and I live in Oslo.", "Noted, Alice.", owner="alice")
    plant(
        path,
        "UPDATE messages SET content = CAST(substr(content, 1, length(content) - 3) || x'000000'"
        " AS BLOB) WHERE number = 1",
    )
    for repair in (False, True, False):
        with reopen(path) as memory:
            (found,) = memory.verify(repair=repair).findings
            assert (found.kind, found.record_id) == ("sealed", learned.messages[0].id)
            assert not found.repaired


def test_verify_finds_nothing_after_sessions_are_removed(path: Path) -> None:
    with reopen(path) as memory:
        sessions = [each.id for each in memory.sessions(owner="alice")]
        for some in (sessions[:1], sessions):
            with memory._app.store.write("alice") as tx:
                tx.remove_sessions(some)
            assert memory.verify().findings == ()
        assert memory.list(owner="alice").total > 2
        assert memory.messages(sessions[0], owner="alice") == ()


def test_verify_finds_nothing_after_import_and_erase(path: Path) -> None:
    with reopen(path) as memory:
        memory.import_(list(memory.export(owner="alice")), owner="carol")
        memory.erase("alice")
        assert memory.verify().findings == ()


@pytest.mark.sqlite
def test_verify_of_an_in_memory_store_is_refused() -> None:
    with open_memory(":memory:") as memory, pytest.raises(InvalidInput):
        memory.verify()


TEXTS = ("I like tea.", "I like tea. The sky is blue.", "I live in Oslo. I work at NASA.", "Yes")
SAID = st.sampled_from(TEXTS)
PICK = st.integers(0, 30)


def operations(alice: OwnerMemory) -> dict[str, Callable[[str, int], object]]:
    """Return operations that take a text and a number, which selects a record."""

    def memory(pick: int) -> Memory:
        listed = alice.list(state="all").memories
        return listed[pick % len(listed)]

    def message(pick: int) -> str:
        said = [each.id for s in alice.sessions() for each in alice.messages(s.id)]
        return said[pick % len(said)]

    return {
        "learn": lambda text, pick: alice.learn(text, TEXTS[pick % 4], session=f"s{pick % 2}"),
        "remember": lambda text, pick: alice.remember(text, tags=[f"t{pick}"]),
        "key": lambda text, pick: alice.remember(text, key=f"k{pick % 3}"),
        "update": lambda text, pick: alice.update(memory(pick).id, text),
        "tag": lambda _, pick: alice.update(memory(pick).id, tags=[f"t{pick}"]),
        "forget": lambda _, pick: alice.forget(memory(pick).id),
        "unsay": lambda _, pick: alice.forget(message(pick)),
        "restore": lambda _, pick: alice.restore(memory(pick).id),
        "supersede": lambda _, pick: alice.supersede(memory(pick).id, memory(pick + 1).id),
        "purge": lambda _, pick: alice.purge(memory(pick).id),
        "purge message": lambda _, pick: alice.purge(message(pick)),
    }


OPERATIONS = st.sampled_from(sorted(operations(None)))  # type: ignore[arg-type]


@settings(max_examples=40)
@given(doing=st.lists(st.tuples(OPERATIONS, SAID, PICK), max_size=14))
def test_verify_finds_nothing_after_any_operations(
    tmp_path_factory: pytest.TempPathFactory, doing: list[tuple[str, str, int]]
) -> None:
    with open_memory(tmp_path_factory.mktemp("any") / "memory.db") as memory:
        alice = memory.owner("alice")
        alice.learn("I am Alice. I like coffee.", "Hello!")
        for name, text, pick in doing:
            with suppress(MemolithError, ZeroDivisionError):
                operations(alice)[name](text, pick)
        assert memory.verify().findings == ()
