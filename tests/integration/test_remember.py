from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memolith import Memolith, OwnerMemory, State
from memolith.domain.memories import Action
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.testing.fakes import SettableClock
from support.rows import check_each


def test_remembered_memory_can_be_read_back(alice: OwnerMemory, clock: SettableClock) -> None:
    stored = alice.remember(
        "Prefers metric units",
        kind="preference",
        importance=0.8,
        expires_in="90d",
        key="units",
        tags=["style", "style", "a"],
        happened_at=datetime(2026, 2, 1, tzinfo=UTC),
    )
    read = alice.get(stored.id)
    assert read.content == "Prefers metric units"
    assert (read.kind, read.importance, read.key, read.tags) == (
        "preference",
        0.8,
        "units",
        ("a", "style"),
    )
    assert read.expires_at == clock.now() + timedelta(days=90)
    assert read.happened_at == datetime(2026, 2, 1, tzinfo=UTC)
    assert (read.state, read.version, read.created_at) == (State.ACTIVE, 1, clock.now())


def test_repeated_fact_is_one_memory_with_another_event(alice: OwnerMemory) -> None:
    first = alice.remember("Prefers metric units", tags=["a"])
    second = alice.remember("prefers the metric units!", tags=["b"], importance=0.9)
    assert second.id == first.id
    assert second.tags == ("a", "b")
    assert second.importance == 0.9
    assert alice.stats().total_count == 1
    actions = [event.action for event in alice.history(first.id).events]
    assert actions == [Action.REMEMBERED, Action.RESTATED]


def test_fact_in_another_tense_is_another_memory(alice: OwnerMemory) -> None:
    assert alice.remember("I work at NASA").id != alice.remember("I worked at NASA").id


def test_existing_key_creates_a_new_version(alice: OwnerMemory, clock: SettableClock) -> None:
    first = alice.remember("Lives in Oslo", key="home")
    clock.advance(timedelta(days=1))
    second = alice.remember("Lives in Bergen", key="home")
    assert (second.id, second.version) == (first.id, 2)
    versions = alice.history(first.id).versions
    assert [version.memory.content for version in versions] == ["Lives in Oslo", "Lives in Bergen"]
    assert versions[0].valid_to == versions[1].valid_from == clock.now()
    assert versions[1].valid_to is None
    assert alice.stats().total_count == 1


def test_same_content_under_two_keys_is_two_memories(alice: OwnerMemory) -> None:
    first = alice.remember("yes", key="likes-tea")
    second = alice.remember("yes", key="likes-coffee")
    assert first.id != second.id


def test_expired_memory_is_neither_recalled_nor_restated(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    first = alice.remember("The code word is heron", expires_in="1d")
    clock.advance(timedelta(days=2))
    assert alice.recall("code word heron").memories == ()
    second = alice.remember("The code word is heron")
    assert second.id != first.id
    assert [one.id for one in alice.recall("code word heron").memories] == [second.id]


@check_each(
    ("options", "field"),
    [
        ({"kind": "opinion"}, "kind"),
        ({"importance": float("nan")}, "importance"),
        ({"importance": -0.1}, "importance"),
        ({"importance": 1.01}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"importance": True}, "importance"),
        ({"key": ""}, "key"),
        ({"key": "k" * 257}, "key"),
        ({"key": "a\x00b"}, "key"),
        ({"tags": "style"}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"tags": [str(n) for n in range(65)]}, "tags"),
        ({"expires_in": "soon"}, "expires_in"),
        ({"expires_in": "0d"}, "expires_in"),
        ({"expires_at": datetime(2027, 1, 1)}, "expires_at"),  # noqa: DTZ001
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "expires_at"),
        ({"happened_at": datetime(2020, 1, 1)}, "happened_at"),  # noqa: DTZ001
        ({"happened_at": "yesterday"}, "happened_at"),
        ({"origin": "oracle"}, "origin"),
        ({"session": " "}, "session"),
    ],
)
def test_invalid_argument_is_named_and_nothing_is_stored(
    alice: OwnerMemory, options: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        alice.remember("A fact", **options)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert alice.stats().total_count == 0


@check_each("content", ["", "   ", "\n\n", "\x00\x01", "x" * 8_001])
def test_invalid_content_is_refused(alice: OwnerMemory, content: str) -> None:
    with pytest.raises(InvalidInput, match="content"):
        alice.remember(content)
    assert alice.stats().total_count == 0


@check_each("owner", ["", " ", "o" * 257, "a\nb", "\ud800"])
def test_invalid_owner_is_refused(memory: Memolith, owner: str) -> None:
    with pytest.raises(InvalidInput, match="owner"):
        memory.owner(owner)


def test_updating_content_creates_a_version_with_the_same_id(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    stored = alice.remember("Meeting on Monday")
    before = clock.now()
    clock.advance(timedelta(hours=1))
    changed = alice.update(stored.id, "Meeting on Tuesday", importance=1.0)
    assert (changed.id, changed.version, changed.importance) == (stored.id, 2, 1.0)
    assert [one.content for one in alice.recall("Meeting").memories] == ["Meeting on Tuesday"]
    then = alice.recall("Meeting", as_of=before).memories
    assert [one.content for one in then] == ["Meeting on Monday"]


def test_updating_other_fields_creates_no_version(alice: OwnerMemory) -> None:
    stored = alice.remember("Drinks tea", kind="fact")
    changed = alice.update(stored.id, kind="preference", tags=["drink"], key="drink")
    assert (changed.version, changed.kind, changed.tags) == (1, "preference", ("drink",))
    assert [one.id for one in alice.recall("tea", kinds=["preference"]).memories] == [stored.id]
    assert alice.recall("tea", kinds=["fact"]).memories == ()
    assert [one.id for one in alice.recall("tea", tags=["drink"]).memories] == [stored.id]


def test_update_with_invalid_arguments_is_refused(memory: Memolith, alice: OwnerMemory) -> None:
    stored = alice.remember("Drinks tea", key="drink")
    other = alice.remember("Eats bread", key="food")
    with pytest.raises(InvalidInput, match="at least one field"):
        alice.update(stored.id)
    with pytest.raises(InvalidInput, match="id"):
        alice.update("not-an-id", "x")
    with pytest.raises(NotFound):
        memory.owner("bob").update(stored.id, "Drinks blood")
    with pytest.raises(Conflict, match="key"):
        alice.update(other.id, key="drink")
    assert alice.get(stored.id).content == "Drinks tea"


def test_supersession_can_be_undone(alice: OwnerMemory, clock: SettableClock) -> None:
    old = alice.remember("Lives in Oslo")
    before = clock.now()
    clock.advance(timedelta(days=1))
    new = alice.remember("Lives in Bergen")
    retired = alice.supersede(old.id, new.id)
    assert (retired.state, retired.superseded_by) == (State.SUPERSEDED, new.id)
    assert [one.id for one in alice.recall("Lives in").memories] == [new.id]
    assert [one.id for one in alice.recall("Lives in", as_of=before).memories] == [old.id]
    alice.restore(old.id)
    assert {one.id for one in alice.recall("Lives in").memories} == {old.id, new.id}
    assert alice.get(old.id).superseded_by is None


def test_invalid_supersession_is_refused(memory: Memolith, alice: OwnerMemory) -> None:
    a, b, c = (alice.remember(text).id for text in ("One fish", "Two fish", "Red fish"))
    with pytest.raises(Conflict, match="itself"):
        alice.supersede(a, a)
    alice.supersede(a, b)
    with pytest.raises(Conflict, match="already"):
        alice.supersede(a, c)
    with pytest.raises(Conflict, match="cycle"):
        alice.supersede(b, a)
    stranger = memory.owner("bob").remember("Blue fish").id
    with pytest.raises(NotFound):
        alice.supersede(b, stranger)


def test_list_is_newest_first_and_pages_do_not_overlap(
    alice: OwnerMemory, clock: SettableClock
) -> None:
    ids = []
    for number in range(7):
        ids.append(alice.remember(f"Fact number {number}", kind="fact").id)
        clock.advance(timedelta(seconds=1))
    first = alice.list(limit=3)
    second = alice.list(limit=3, cursor=first.cursor)
    third = alice.list(limit=3, cursor=second.cursor)
    found = [memory.id for page in (first, second, third) for memory in page.memories]
    assert found == ids[::-1]
    assert (first.total, third.cursor) == (7, None)
    with pytest.raises(InvalidInput, match="cursor"):
        alice.list(cursor="nonsense")


def test_statistics_count_memories_by_kind_and_state(alice: OwnerMemory) -> None:
    assert alice.stats().avg_importance == 0.0
    alice.remember("One", kind="fact", importance=0.2)
    gone = alice.remember("Two", kind="event", importance=0.9)
    alice.remember("Three", kind="event", importance=0.4)
    alice.forget(gone.id)
    stats = alice.stats()
    assert (stats.total_count, stats.with_embeddings) == (2, 2)
    assert stats.avg_importance == pytest.approx(0.3)
    assert stats.by_kind == {"fact": 1, "event": 1}
    assert stats.by_state == {"active": 2, "forgotten": 1}


def test_memory_and_history_are_found_by_key(memory: Memolith) -> None:
    alice = memory.owner("alice")
    first = alice.remember("Prefers metric units", key="units")
    alice.remember("Prefers imperial units", key="units")
    assert alice.get(key="units").id == first.id
    assert memory.history(key="units", owner="alice") == alice.history(first.id)
    with pytest.raises(NotFound):
        memory.get(key="units", owner="bob")
    alice.forget(key="units")
    with pytest.raises(NotFound):
        alice.history(key="units")
    with pytest.raises(InvalidInput):
        alice.get(first.id, key="units")
