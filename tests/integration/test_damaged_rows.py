"""Unreadable values in rows are corruption: `verify` lists them and reads report them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memolith import Memolith, Message, OwnerMemory
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.domain.messages import Role
from memolith.errors import StoreDamaged
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.databases import execute

NO_TEXT = "CAST(x'cc616374697665' AS TEXT)"


def open_store(path: Path) -> Memolith:
    return Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    )


@pytest.fixture
def path(tmp_path: Path, database: str) -> Path:
    assert database
    path = tmp_path / "memory.db"
    with open_store(path) as memory:
        for owner in ("alice", "bob"):
            memory.log([Message("Eve", "I live in Oslo.")], owner=owner, session="s")
            memory.remember("Lives in Oslo", owner=owner, tags=["home"])
            changed = memory.remember("Works at NASA", owner=owner)
            memory.update(changed.id, "Works at ESA", owner=owner)
    return path


Reading = Callable[[OwnerMemory, list[str]], object]

READINGS: dict[str, Reading] = {
    "list": lambda alice, _: alice.list(state="all"),
    "history": lambda alice, ids: [alice.history(each) for each in ids],
    "messages": lambda alice, _: alice.messages("s"),
    "sessions": lambda alice, _: alice.sessions(),
    "recall": lambda alice, _: alice.recall("Who lives in Oslo?", touch=False),
    "remember": lambda alice, _: alice.remember("Drives a red car"),
}

UNREADABLE = {
    "a state that there is not": ("UPDATE memories SET state = 'bctive'", "history"),
    "an origin that there is not": ("UPDATE memories SET origin = 'qser'", "list"),
    "a time out of range": ("UPDATE memories SET created_at = 4611686018427387904", "list"),
    "tags that are no list": ("UPDATE memories SET tags = CAST('7' AS BLOB)", "list"),
    "an action that there is not": ("UPDATE events SET action = 'dreamed'", "history"),
    "an end out of range": ("UPDATE sessions SET last_at = 4611686018427387904", "sessions"),
}
NOT_TEXT = {
    "a state": ("UPDATE memories SET state = @", "history"),
    "a kind": ("UPDATE memories SET kind = @", "list"),
    "the state of an old version": ("UPDATE versions SET state = @", "history"),
    "an action": ("UPDATE events SET action = @", "history"),
    "a session's name": ("UPDATE sessions SET name = @", "sessions"),
}


def check_damage_is_reported(path: Path, statement: str, reading: str) -> None:
    """Damage rows of the first owner; check that reads and `verify` report the damage."""
    with open_store(path) as memory:
        ids, bobs = (
            [each.id for each in memory.list(owner=owner).memories] for owner in ("alice", "bob")
        )
    assert execute(path, f"{statement} WHERE owner_id = 1")
    with open_store(path) as memory:
        with pytest.raises(StoreDamaged, match=r"damaged.*run `memolith verify`"):
            READINGS[reading](memory.owner("alice"), ids)
        READINGS[reading](memory.owner("bob"), bobs)
        for repair in (False, True, False):
            report = memory.verify(repair=repair)
            found = {each for each in report.findings if each.kind == "value"}
            assert found
            assert {(each.owner_id, each.repaired) for each in found} == {("alice", False)}
            if "memories" in statement or "versions" in statement:
                assert {each.record_id for each in found} <= set(ids)
            assert report.checked.owners == 2
            assert report.checked.memories == 4


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_value_is_reported_by_read_and_verify(path: Path, name: str) -> None:
    check_damage_is_reported(path, *UNREADABLE[name])


def test_duplicate_item_is_reported_but_not_repaired(path: Path) -> None:
    assert execute(path, "UPDATE memories SET item = 1 WHERE owner_id = 1 AND item = 2")
    with open_store(path) as memory:
        assert {each.kind for each in memory.verify().findings} >= {"item"}
        assert not memory.verify(repair=True).is_clean


def test_invalid_state_is_reported_without_derived_findings(path: Path) -> None:
    assert execute(path, "UPDATE memories SET state = 'bctive' WHERE owner_id = 1")
    with open_store(path) as memory:
        before = memory.verify().findings
        assert {each.kind for each in before} == {"value"}
        assert memory.verify(repair=True).findings == before
    assert execute(path, "UPDATE memories SET state = 'active' WHERE owner_id = 1")
    with open_store(path) as memory:
        assert memory.verify().findings == ()


@pytest.mark.sqlite
@pytest.mark.parametrize("name", NOT_TEXT)
def test_invalid_text_is_reported_by_read_and_verify(path: Path, name: str) -> None:
    statement, reading = NOT_TEXT[name]
    check_damage_is_reported(path, statement.replace("@", NO_TEXT), reading)


@pytest.mark.sqlite
def test_invalid_profile_does_not_stop_verification_of_other_owners(path: Path) -> None:
    damage = "UPDATE owners SET profile = @ WHERE owner_id = 1".replace("@", NO_TEXT)
    assert execute(path, damage)
    with open_store(path) as memory:
        for repair in (False, True):
            report = memory.verify(repair=repair)
            assert {(each.kind, each.owner_id) for each in report.findings} == {("file", "alice")}
            assert report.checked.owners == 2


@pytest.mark.sqlite
def test_missing_store_metadata_is_reported_as_damage(path: Path) -> None:
    assert execute(path, "UPDATE meta SET name = 'bnalyser' WHERE name = 'analyser'")
    with pytest.raises(StoreDamaged, match="damaged"), open_store(path) as memory:
        memory.list(owner="alice")


@pytest.mark.parametrize("reading", ["recall", "remember"])
def test_invalid_item_role_is_reported_and_repaired(path: Path, reading: str) -> None:
    assert execute(path, "UPDATE items SET role = 'qser' WHERE owner_id = 1 AND kind IS NULL")
    with open_store(path) as memory:
        with pytest.raises(StoreDamaged, match="run `memolith verify`"):
            READINGS[reading](memory.owner("alice"), [])
        assert {each.kind for each in memory.verify().findings} == {"item"}
        assert memory.verify(repair=True).is_clean
        READINGS[reading](memory.owner("alice"), [])


def test_item_without_record_is_reported_and_repaired(path: Path) -> None:
    assert execute(
        path,
        "UPDATE items SET record_id = zeroblob(16) WHERE owner_id = 1 AND valid_to IS NULL",
    )
    with open_store(path) as memory:
        with pytest.raises(StoreDamaged, match="run `memolith verify`"):
            READINGS["recall"](memory.owner("alice"), [])
        assert {each.kind for each in memory.verify().findings} >= {"item"}
        assert memory.verify(repair=True).is_clean
        assert len(memory.recall("Who lives in Oslo?", owner="alice").memories) > 1


@pytest.mark.parametrize("role", ["'qser'", pytest.param(NO_TEXT, marks=pytest.mark.sqlite)])
def test_invalid_participant_role_is_reported_and_repaired(path: Path, role: str) -> None:
    damage = "UPDATE participants SET role = @ WHERE owner_id = 1".replace("@", role)
    assert execute(path, damage)
    with open_store(path) as memory:
        for reading in ("messages", "recall"):
            with pytest.raises(StoreDamaged, match="run `memolith verify`"):
                READINGS[reading](memory.owner("alice"), [])
        assert {each.kind for each in memory.verify().findings} == {"value"}
        assert memory.verify(repair=True).is_clean
        (message,) = memory.messages("s", owner="alice")
        assert (message.speaker, message.role) == ("Eve", Role.PARTICIPANT)
        assert READINGS["recall"](memory.owner("alice"), [])
