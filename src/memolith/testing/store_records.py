"""Store contract: memories and reviews; see `store_contract`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, timezone

import numpy as np
import pytest

from memolith.domain.memories import (
    EPISODE,
    Action,
    Event,
    Link,
    Memory,
    Origin,
    Source,
    State,
    Trait,
)
from memolith.domain.messages import Message
from memolith.domain.recall import SearchFilter
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.ports.store import IndexEntry, Snapshot, Store
from memolith.testing.builders import (
    DIMENSION,
    at,
    entry,
    memory,
    message,
    passage,
    record_id,
    short_entry,
    vector,
)

ALL = frozenset(State)

HOSTILE = (
    "a\0b",
    'it\'s "quoted"; DROP TABLE owners; --',
    "100 % of _underscores_ \\ and *stars*",
    "🙂 𝄞 e\u0301",
    "שלום مرحبا 你好",
    "line\nbreak\ttab",
    "x" * 256,
)
"""Texts that broke other stores."""


def remember(store: Store, *memories: Memory, owner_id: str = "alice") -> None:
    """Store memories, each with its content as its index entry."""
    with store.write(owner_id) as tx:
        tx.insert([(one, short_entry(one.content, 1)) for one in memories])


def say(store: Store, *messages: Message, session_id: str = "s1", owner_id: str = "alice") -> None:
    """Log messages, each with its content as its index entry."""
    with store.write(owner_id) as tx:
        tx.log(session_id, [(one, short_entry(one.content, 1)) for one in messages])


def listed(snapshot: Snapshot, **options: object) -> list[str]:
    """Return the ids of a first page."""
    chosen: dict[str, object] = {"states": ALL, "kinds": None, "tags": (), "limit": 100}
    page = snapshot.page(cursor=None, **{**chosen, **options})  # type: ignore[arg-type] # tests give what fits
    return [one.id for one in page.memories]


def numbers_of(records: Sequence[Memory | Message]) -> list[int]:
    """Return the numbers of records; see `builders.record_id`."""
    return [int(one.id.replace("-", ""), 16) for one in records]


class MemoriesContract:
    """Memories."""

    def test_unknown_owner_has_no_data(self, store: Store) -> None:
        with store.read("nobody") as snapshot:
            assert snapshot.counter == 0
            assert snapshot.memories([record_id(1)]) == []
            assert snapshot.messages() == []
            assert snapshot.sessions() == []
            assert snapshot.participants() == []
            assert snapshot.history(record_id(1)) is None
            assert listed(snapshot) == []
        assert store.owners() == []

    def test_memory_round_trips(self, store: Store) -> None:
        full = memory(
            1,
            "likes tea",
            kind="preference",
            key="drink",
            summary="tea",
            tags=("food", "taste"),
            importance=0.1 + 0.2,
            strength=1 / 3,
            access_count=7,
            accessed_at=at(50),
            happened_at=at(-1e6),
            expires_at=at(1e6) + timedelta(microseconds=1),
            superseded_by=record_id(9),
            session_id="s1",
            sources=(Source(record_id(5), "message", "D1:3"), Source(record_id(6), "memory")),
            compressed=True,
            origin=Origin.DOCUMENT,
            previous_kind="facts:identity",
        )
        remember(store, full, memory(2))
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(1)]) == [full]
            assert snapshot.memories([record_id(2)]) == [memory(2)]

    def test_times_are_in_utc(self, store: Store) -> None:
        zone = timezone(timedelta(hours=2))
        remember(store, memory(1, created_at=at(0).astimezone(zone)))
        say(store, message(2, sequence=1, said_at=at(5).astimezone(zone)))
        with store.read("alice") as snapshot:
            (found,) = snapshot.memories([record_id(1)])
            (said,) = snapshot.messages()
        assert found.created_at == at(0)
        assert found.created_at.utcoffset() == timedelta(0)
        assert said.at is not None
        assert said.at.utcoffset() == timedelta(0)

    def test_memories_are_in_the_order_of_the_ids(self, store: Store) -> None:
        remember(store, *(memory(n) for n in (3, 1, 2)))
        wanted = [record_id(n) for n in (2, 3, 2, 1)]
        with store.read("alice") as snapshot:
            assert [found.id for found in snapshot.memories(wanted)] == wanted

    @pytest.mark.parametrize("id_", ["", "x", record_id(7), record_id(1).upper(), "%", "\0"])
    def test_ids_without_a_memory_are_ignored(self, store: Store, id_: str) -> None:
        remember(store, memory(0xABC))
        say(store, message(7, sequence=1))
        with store.read("alice") as snapshot:
            assert snapshot.memories([id_]) == []
            assert snapshot.history(id_) is None
            assert snapshot.memories([id_, record_id(0xABC)]) == [memory(0xABC)]

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_text_round_trips(self, store: Store, text: str) -> None:
        kept = memory(
            1, text, owner_id=text, kind=text, key=text, summary=text, tags=(text,), session_id=text
        )
        remember(store, kept, owner_id=text)
        said = message(2, text, sequence=1, session_id=text, speaker=text, external_id=text)
        say(store, said, session_id=text, owner_id=text)
        assert store.owners() == [text]
        with store.read(text) as snapshot:
            assert snapshot.memories([record_id(1)]) == [kept]
            assert snapshot.find_by_key(text) == kept
            assert snapshot.find_by_content(text) == [kept, said]
            assert snapshot.messages(session_id=text) == [said]
            assert snapshot.external_ids(text, [text, text + "?"]) == {text}
            assert listed(snapshot, tags=(text,), kinds=frozenset({text})) == [record_id(1)]
            assert listed(snapshot, tags=("%",)) == []

    @pytest.mark.parametrize("id_", ["", "7", record_id(1).upper() + " ", "{" + record_id(1) + "}"])
    def test_id_must_be_a_uuid(self, store: Store, id_: str) -> None:
        with pytest.raises(InvalidInput):
            remember(store, replace(memory(1), id=id_))
        assert store.owners() == []

    def test_id_is_unique(self, store: Store) -> None:
        remember(store, memory(1))
        with pytest.raises(Conflict):
            remember(store, memory(2), memory(1, "another"))
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(1), record_id(2)]) == [memory(1)]

    def test_find_by_key_returns_the_active_memory(self, store: Store) -> None:
        gone = memory(1, key="k", state=State.SUPERSEDED)
        remember(store, gone, memory(2, key="k"), memory(3, key="K"))
        with store.read("alice") as snapshot:
            assert snapshot.find_by_key("k") == memory(2, key="k")
            assert snapshot.find_by_key("other") is None

    def test_key_is_unique_among_active_memories(self, store: Store) -> None:
        remember(store, memory(1, key="k"))
        with pytest.raises(Conflict):
            remember(store, memory(2, key="k"))
        remember(store, memory(3, key="k"), owner_id="bob")
        remember(store, memory(4, key="k", state=State.FORGOTTEN))

    def test_find_by_content_returns_memories_then_messages_oldest_first(
        self, store: Store
    ) -> None:
        say(store, message(11, "same", sequence=1), message(10, "same", sequence=2))
        remember(store, memory(3, "same", created_at=at(9)), memory(4, "other"))
        remember(store, memory(5, "same", created_at=at(1)), memory(2, "same", created_at=at(9)))
        with store.read("alice") as snapshot:
            assert numbers_of(snapshot.find_by_content("same")) == [5, 2, 3, 11, 10]
            assert snapshot.find_by_content("sam") == []

    def test_find_by_content_with_a_filter_returns_memories_first(self, store: Store) -> None:
        say(store, message(10, "same", sequence=1), message(11, "same", sequence=2))
        remember(store, memory(3, "same"), memory(4, "other"), memory(2, "same"))
        say(store, message(12, "same", session_id="s2", sequence=1), session_id="s2")
        remember(store, memory(5, "same", state=State.EXPIRED), memory(6, "same"))
        with store.write("alice") as tx:
            tx.revise(memory(6, "new", version=2, updated_at=at(9)), short_entry("new"))
            tx.close_messages([record_id(11)], at(9))
        now = SearchFilter(now=at(99))
        with store.read("alice") as snapshot:

            def found(text: str, limit: int, scope: SearchFilter) -> list[int]:
                numbers = snapshot.items_with_content(text, limit, scope)
                return [int(id_[-12:], 16) for id_ in snapshot.items(numbers).record_id]

            assert found("same", 9, now) == [3, 2, 10, 12]
            assert found("same", 3, now) == [3, 2, 10]
            assert found("same", 0, now) == []
            assert found("same", 1, replace(now, session_id="s2")) == [12]
            assert found("same", 9, replace(now, kinds=frozenset({EPISODE}))) == [10, 12]
            assert found("sam", 9, now) == []
            assert found("new", 9, now) == [6]
        with store.read("bob") as snapshot:
            assert len(snapshot.items_with_content("same", 9, now)) == 0

    def test_find_by_content_excludes_invalid_records(self, store: Store) -> None:
        remember(store, memory(1, "same"), memory(2, "same", state=State.EXPIRED))
        say(store, message(3, "same", sequence=1))
        with store.write("alice") as tx:
            tx.revise(memory(1, "new", version=2, updated_at=at(9)), short_entry("new"))
            tx.close_messages([record_id(3)], at(9))
        with store.read("alice") as snapshot:
            assert snapshot.find_by_content("same") == []
            assert numbers_of(snapshot.find_by_content("new")) == [1]

    def test_find_by_content_can_include_dormant_memories(self, store: Store) -> None:
        states = [state for state in State for _ in range(2)]
        remember(store, *(memory(n, "same", state=state) for n, state in enumerate(states)))
        remember(store, memory(20, "old", state=State.FADED))
        with store.write("alice") as tx:
            tx.revise(
                memory(20, "same", version=2, state=State.FADED, updated_at=at(30)),
                short_entry("same", 1),
            )
        say(store, message(30, "same", sequence=1))
        active, _, expired, faded, evicted, _, _ = (
            [n for n, one in enumerate(states) if one is state] for state in State
        )
        with store.read("alice") as snapshot:
            assert numbers_of(snapshot.find_by_content("same")) == [*active, 30]
            found = numbers_of(snapshot.find_by_content("same", dormant=True))
            assert found == [*active, *expired, *faded, *evicted, 20, 30]
            assert snapshot.find_by_content("old", dormant=True) == []

    def test_revision_creates_a_version_and_keeps_the_old_one(self, store: Store) -> None:
        first = memory(1, "first", key="k", tags=("old",), kind="fact")
        second = replace(
            first, content="second", tags=("new",), kind="event", version=2, updated_at=at(60)
        )
        remember(store, first)
        with store.write("alice") as tx:
            tx.revise(second, short_entry("second", 1))
        with store.read("alice") as snapshot:
            assert snapshot.memories([first.id]) == [second]
            assert snapshot.memories([first.id], as_of=at(59)) == [first]
            assert snapshot.memories([first.id], as_of=at(60)) == [second]
            assert snapshot.memories([first.id], as_of=at(0)) == []
            history = snapshot.history(first.id)
        assert history is not None
        assert [version.memory for version in history.versions] == [first, second]
        spans = [(version.valid_from, version.valid_to) for version in history.versions]
        assert spans == [(at(1), at(60)), (at(60), None)]

    def test_version_starts_no_earlier_than_its_predecessor_ends(self, store: Store) -> None:
        remember(store, memory(1, updated_at=at(50)))
        with store.write("alice") as tx:
            tx.revise(memory(1, "two", version=2, updated_at=at(40)), short_entry("two"))
            tx.amend(memory(1, "two", version=2, state=State.FORGOTTEN, updated_at=at(90)))
        with store.write("alice") as tx:
            tx.revise(memory(1, "three", version=3, updated_at=at(70)), short_entry("three"))
        with store.read("alice") as snapshot:
            history = snapshot.history(record_id(1))
        assert history is not None
        spans = [(version.valid_from, version.valid_to) for version in history.versions]
        assert spans == [(at(50), at(50)), (at(50), at(90)), (at(90), None)]

    def test_revision_needs_an_existing_memory_and_a_higher_version(self, store: Store) -> None:
        remember(store, memory(1))
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.revise(memory(2, version=2), short_entry("x"))
        with pytest.raises(Conflict), store.write("alice") as tx:
            tx.revise(memory(1, version=1), short_entry("x"))

    def test_amend_keeps_content_and_version(self, store: Store) -> None:
        remember(store, memory(1, "kept", tags=("a",), sources=(Source(record_id(5)),)))
        changed = memory(
            1,
            "ignored",
            version=9,
            kind="event",
            key="k",
            summary="s",
            tags=("b", "c"),
            importance=0.9,
            sources=(Source(record_id(6)), Source(record_id(7))),
            happened_at=at(-5),
            expires_at=at(500),
            session_id="s9",
            origin=Origin.TOOL,
            updated_at=at(60),
        )
        with store.write("alice") as tx:
            tx.amend(changed)
        with store.read("alice") as snapshot:
            kept = replace(changed, content="kept", version=1)
            assert snapshot.memories([record_id(1)]) == [kept]
            assert snapshot.find_by_key("k") == kept
            assert snapshot.derived_memories([record_id(5)]) == {}
            assert snapshot.derived_memories([record_id(7)]) == {record_id(7): [kept]}
            assert listed(snapshot, tags=("b", "c")) == [kept.id]
            assert listed(snapshot, tags=("a",)) == []

    def test_amend_to_inactive_closes_the_version(self, store: Store) -> None:
        remember(store, memory(1, key="k"))
        gone = memory(1, state=State.SUPERSEDED, superseded_by=record_id(2), updated_at=at(60))
        with store.write("alice") as tx:
            tx.amend(gone)
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(1)]) == [gone]
            assert snapshot.memories([record_id(1)], as_of=at(60)) == []
            assert snapshot.find_by_key("k") is None
            history = snapshot.history(record_id(1))
        assert history is not None
        (version,) = history.versions
        assert (version.valid_from, version.valid_to) == (at(1), at(60))

    def test_version_has_the_memory_as_it_was_while_valid(self, store: Store) -> None:
        remember(store, memory(1))
        gone = memory(1, state=State.SUPERSEDED, superseded_by=record_id(2), updated_at=at(60))
        with store.write("alice") as tx:
            tx.amend(gone)
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(1)], as_of=at(59)) == [memory(1)]

    def test_amend_cannot_reactivate(self, store: Store) -> None:
        remember(store, memory(1, state=State.FORGOTTEN))
        with pytest.raises(Conflict), store.write("alice") as tx:
            tx.amend(memory(1))
        with pytest.raises(NotFound), store.write("alice") as tx:
            tx.amend(memory(2))

    def test_revision_reactivates(self, store: Store) -> None:
        remember(store, memory(1, "one"))
        back = memory(1, "one", version=2, updated_at=at(90))
        with store.write("alice") as tx:
            tx.amend(memory(1, "one", state=State.FORGOTTEN, updated_at=at(60)))
        with store.write("alice") as tx:
            tx.revise(back, short_entry("one", 1))
        with store.read("alice") as snapshot:
            assert snapshot.memories([record_id(1)]) == [back]
            assert snapshot.memories([record_id(1)], as_of=at(75)) == []
            assert snapshot.memories([record_id(1)], as_of=at(59)) == [memory(1, "one")]

    def test_page_is_newest_first_by_creation_then_id(self, store: Store) -> None:
        for number, created in ((2, 5), (9, 1), (7, 5), (3, 9), (1, 5)):
            remember(store, memory(number, created_at=at(created)))
        with store.read("alice") as snapshot:
            assert listed(snapshot) == [record_id(n) for n in (3, 7, 2, 1, 9)]

    def test_pages_are_contiguous(self, store: Store) -> None:
        remember(store, *(memory(n, created_at=at(n % 3)) for n in range(1, 8)))
        seen: list[str] = []
        cursor = None
        with store.read("alice") as snapshot:
            for size in (3, 3, 1):
                page = snapshot.page(states=ALL, kinds=None, tags=(), limit=3, cursor=cursor)
                assert (len(page.memories), page.total) == (size, 7)
                seen += [one.id for one in page.memories]
                cursor = page.cursor
            assert seen == listed(snapshot)
        assert cursor is None

    def test_pages_are_stable_while_memories_are_added(self, store: Store) -> None:
        remember(store, *(memory(n) for n in range(1, 5)))
        with store.read("alice") as snapshot:
            page = snapshot.page(states=ALL, kinds=None, tags=(), limit=2, cursor=None)
        remember(store, memory(9))
        with store.read("alice") as snapshot:
            rest = snapshot.page(states=ALL, kinds=None, tags=(), limit=9, cursor=page.cursor)
        assert numbers_of(rest.memories) == [2, 1]
        assert rest.total == 5

    def test_page_can_start_at_an_offset(self, store: Store) -> None:
        remember(store, *(memory(n) for n in range(1, 6)))
        with store.read("alice") as snapshot:
            page = snapshot.page(states=ALL, kinds=None, tags=(), limit=2, cursor=None, offset=2)
        assert numbers_of(page.memories) == [3, 2]
        assert page.cursor is not None

    def test_page_filters(self, store: Store) -> None:
        remember(
            store,
            memory(1, kind="fact", tags=("a", "b")),
            memory(2, kind="event", tags=("a",)),
            memory(3, kind="fact", state=State.FORGOTTEN, tags=("a", "b")),
        )
        with store.read("alice") as snapshot:
            assert listed(snapshot, kinds=frozenset({"fact"})) == [record_id(3), record_id(1)]
            assert listed(snapshot, kinds=frozenset()) == []
            assert listed(snapshot, states=frozenset({State.ACTIVE})) == [
                record_id(2),
                record_id(1),
            ]
            assert listed(snapshot, tags=("b", "a")) == [record_id(3), record_id(1)]
            page = snapshot.page(
                states=ALL, kinds=frozenset({"fact"}), tags=("a",), limit=1, cursor=None
            )
        assert page.total == 2

    def test_cursor_of_another_owner_is_rejected(self, store: Store) -> None:
        for owner in ("alice", "bob"):
            remember(store, memory(1), memory(2), owner_id=owner)
        with store.read("alice") as snapshot:
            cursor = snapshot.page(states=ALL, kinds=None, tags=(), limit=1, cursor=None).cursor
        with store.read("bob") as snapshot, pytest.raises(InvalidInput) as refused:
            snapshot.page(states=ALL, kinds=None, tags=(), limit=1, cursor=cursor)
        assert refused.value.field == "cursor"

    @pytest.mark.parametrize("cursor", ["", "x", "AAAA", "!" * 44, "é", "A" * 43 + "="])
    def test_malformed_cursor_is_rejected(self, store: Store, cursor: str) -> None:
        remember(store, memory(1))
        with store.read("alice") as snapshot, pytest.raises(InvalidInput):
            snapshot.page(states=ALL, kinds=None, tags=(), limit=1, cursor=cursor)

    def test_events_are_oldest_first(self, store: Store) -> None:
        remember(store, memory(1))
        one = Event(record_id(1), Action.REMEMBERED, at(9), "user", 1)
        two = Event(record_id(1), Action.UPDATED, at(3), "import", 2, {"a": "1", "b": "é"})
        other = Event(record_id(2), Action.FORGOTTEN, at(1), "user", 1)
        with store.write("alice") as tx:
            tx.record([one, other, two])
        with store.read("alice") as snapshot:
            history = snapshot.history(record_id(1))
        assert history is not None
        assert history.events == (one, two)

    def test_derived_finds_memories_in_any_state_by_source(self, store: Store) -> None:
        first, second = Source(record_id(50)), Source(record_id(51), "message", "D1:1")
        remember(
            store,
            memory(3, sources=(first, second)),
            memory(1, sources=(first,), state=State.FORGOTTEN),
            memory(2, created_at=at(1), sources=(first,)),
        )
        with store.read("alice") as snapshot:
            found = snapshot.derived_memories([record_id(51), record_id(50), record_id(52), "?"])
        assert {id_: numbers_of(own) for id_, own in found.items()} == {
            record_id(50): [1, 2, 3],
            record_id(51): [3],
        }

    def test_existing_links_are_kept(self, store: Store) -> None:
        link = Link(record_id(1), record_id(2), "near")
        with store.write("alice") as tx:
            tx.link([link, link])
        with store.write("alice") as tx:
            tx.link([link])
        with store.read("alice") as snapshot:
            assert snapshot.counter == 1

    def test_vectors_are_found_by_digest(self, store: Store) -> None:
        known, unknown, other = b"k" * 16, b"u" * 16, b"o" * 16
        with store.write("alice") as tx:
            tx.insert(
                [
                    (memory(1), entry(passage(near=(1, 2), digest=known), passage(near=(3,)))),
                    (memory(2), entry(passage(near=(9,), digest=known), passage(digest=other))),
                ]
            )
        with store.read("alice") as snapshot:
            found = snapshot.vectors([unknown, known, other, known])
        assert list(found) == [known]
        assert found[known].dtype == np.int8
        assert found[known].tolist() == vector(1, 2).tolist()
        with store.read("bob") as snapshot:
            assert snapshot.vectors([known]) == {}

    def test_vector_of_another_length_is_rejected(self, store: Store) -> None:
        bad = replace(passage(), vector=np.ones(DIMENSION + 1, dtype=np.int8))
        with pytest.raises(InvalidInput), store.write("alice") as tx:
            tx.insert([(memory(1), entry(bad))])

    def test_statistics_count_all_records(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.insert(
                [
                    (memory(1, importance=0.1), entry(passage(near=(1,)), passage(near=(2,)))),
                    (memory(2, importance=0.2, kind="event"), entry(passage())),
                    (memory(3, importance=0.7), entry(passage(near=(1,)))),
                    (memory(4, importance=1.0, state=State.FADED), entry(passage(near=(1,)))),
                ]
            )
        say(store, message(5, sequence=1), message(6, sequence=2))
        say(store, message(7, sequence=1, session_id="s2"), session_id="s2")
        with store.write("alice") as tx:
            tx.close_messages([record_id(5)], at(99))
        with store.read("alice") as snapshot:
            found = snapshot.statistics()
        assert (found.total_count, found.with_embeddings) == (3, 2)
        assert found.avg_importance == pytest.approx(1 / 3)
        assert found.by_kind == {"fact": 2, "event": 1}
        assert found.by_state == {"active": 3, "faded": 1}
        assert (found.messages, found.sessions, found.vectors) == (2, 2, 5)


# --- Reviews


def _suspicious(text: str) -> IndexEntry:
    entry = short_entry(text, 1)
    return replace(entry, features=replace(entry.features, traits=Trait.SUSPICIOUS))


def _is_reviewed(store: Store, number: int) -> bool:
    with store.read("alice") as snapshot:
        found = snapshot.item_numbers([record_id(number)], SearchFilter(now=at(1_000)))
        (traits,) = snapshot.items(found).traits
    return bool(traits & Trait.REVIEWED)


class ReviewContract:
    """Reviews, which hold as long as the content does not change."""

    def test_memory_stays_reviewed_while_its_content_is_unchanged(self, store: Store) -> None:
        first = memory(1, "obey")
        remember(store, first)
        with store.write("alice") as tx:
            tx.revise(
                replace(first, version=2, updated_at=at(5)), _suspicious("obey").mark_reviewed()
            )
        with store.write("alice") as tx:
            gone = replace(first, version=2, state=State.FORGOTTEN, updated_at=at(6))
            tx.amend(gone)
        for version, content in ((3, "obey"), (4, "obey me"), (5, "obey")):
            with store.write("alice") as tx:
                said = replace(first, version=version, content=content, updated_at=at(5 + version))
                tx.revise(said, _suspicious(content))
            assert _is_reviewed(store, 1) is (content == "obey")

    def test_message_stays_reviewed_while_its_content_is_unchanged(self, store: Store) -> None:
        say(store, message(1, "obey", sequence=1), message(2, "obey", sequence=2))
        with store.write("alice") as tx:
            tx.reindex(record_id(1), _suspicious("obey").mark_reviewed())
        with store.write("alice") as tx:
            tx.reindex(record_id(1), _suspicious("obey"))
            tx.reindex(record_id(2), _suspicious("obey"))
        assert _is_reviewed(store, 1)
        assert not _is_reviewed(store, 2)
        with store.write("alice") as tx:
            tx.close_messages([record_id(1)], at(20))
        for version, content in ((2, "obey"), (3, "obey me"), (4, "obey")):
            with store.write("alice") as tx:
                said = message(1, content, sequence=1, version=version)
                tx.revise_message(said, _suspicious(content), at(20 + version))
            assert _is_reviewed(store, 1) is (content == "obey")

    def test_message_stays_reviewed_if_a_rewrite_keeps_its_content(self, store: Store) -> None:
        say(store, message(1, "obey", sequence=1))
        with store.write("alice") as tx:
            tx.reindex(record_id(1), _suspicious("obey").mark_reviewed())
        for content in ("obey", "obey me"):
            with store.write("alice") as tx:
                said = message(1, content, sequence=1)
                tx.rewrite_message(record_id(1), [(said, _suspicious(content))])
            assert _is_reviewed(store, 1) is (content == "obey")

    def test_harmless_records_are_not_marked_reviewed(self, store: Store) -> None:
        first = memory(1, "tea")
        with store.write("alice") as tx:
            tx.insert([(first, short_entry("tea").mark_reviewed())])
        with store.write("alice") as tx:
            tx.revise(replace(first, version=2, updated_at=at(5)), short_entry("tea"))
        assert not _is_reviewed(store, 1)
