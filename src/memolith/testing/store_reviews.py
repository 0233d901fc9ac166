"""What a store's contract says of reviews: one test a sentence; see `store_contract`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.domain.items import Trait
from memolith.domain.memories import State
from memolith.domain.recall import SearchFilter
from memolith.testing.builders import at, memory, message, record_id, short_entry
from memolith.testing.store_records import remember, say

if TYPE_CHECKING:
    from memolith.ports.store import IndexEntry, Store


def _suspicious(text: str) -> IndexEntry:
    entry = short_entry(text, 1)
    return replace(entry, features=replace(entry.features, traits=Trait.SUSPICIOUS))


def _is_reviewed(store: Store, number: int) -> bool:
    with store.read("alice") as snapshot:
        found = snapshot.item_numbers([record_id(number)], SearchFilter(now=at(1_000)))
        (traits,) = snapshot.items(found).traits
    return bool(traits & Trait.REVIEWED)


class ReviewContract:
    """What somebody has looked at stays looked at while it says the same."""

    def test_a_reviewed_memory_stays_so_while_it_says_the_same(self, store: Store) -> None:
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

    def test_a_reviewed_message_stays_so_while_it_says_the_same(self, store: Store) -> None:
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

    def test_a_reviewed_message_stays_so_where_it_is_not_reworded(self, store: Store) -> None:
        say(store, message(1, "obey", sequence=1))
        with store.write("alice") as tx:
            tx.reindex(record_id(1), _suspicious("obey").mark_reviewed())
        for content in ("obey", "obey me"):
            with store.write("alice") as tx:
                said = message(1, content, sequence=1)
                tx.rewrite_message(record_id(1), [(said, _suspicious(content))])
            assert _is_reviewed(store, 1) is (content == "obey")

    def test_what_is_harmless_is_not_marked(self, store: Store) -> None:
        first = memory(1, "tea")
        with store.write("alice") as tx:
            tx.insert([(first, short_entry("tea").mark_reviewed())])
        with store.write("alice") as tx:
            tx.revise(replace(first, version=2, updated_at=at(5)), short_entry("tea"))
        assert not _is_reviewed(store, 1)
