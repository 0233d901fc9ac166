"""Store contract: re-embedding; see `store_contract`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith.domain.memories import Span
from memolith.errors import Conflict, InvalidInput, WrongEmbeddingModel
from memolith.policies.indexing import quantise
from memolith.ports.admin import EmbeddingModel, SupportsReembedding, UnembeddedPassage
from memolith.ports.store import Passage, Snapshot, Store
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
from memolith.testing.store_records import remember
from memolith.testing.store_search import NOW

Make = Callable[[UnembeddedPassage], NDArray[np.int8]]

OTHER = EmbeddingModel("other", 4)
_PATIENCE_S = 60
_ALL = 1_000


def other_vector(*values: float) -> NDArray[np.int8]:
    """Return a vector of `OTHER` that starts with the given values."""
    return quantise(np.array([*values, *[0.0] * (OTHER.dimension - len(values))]))


def by_length(bare: UnembeddedPassage) -> NDArray[np.int8]:
    """Return a vector whose direction depends on the length of the text."""
    return other_vector(1, len(bare.text))


def vectors_of(store: Store) -> SupportsReembedding:
    """Return a store as one that supports re-embedding."""
    assert isinstance(store, SupportsReembedding)
    return store


def give(
    store: Store, make: Make = by_length, *, owner_id: str = "alice", limit: int = _ALL
) -> int:
    """Store new vectors for some of an owner's passages; return how many."""
    bare = vectors_of(store).passages_missing_vectors(owner_id, limit)
    vectors = {each.position: make(each) for each in bare.passages}
    assert vectors_of(store).add_vectors(owner_id, bare, vectors)
    return len(vectors)


def give_all(store: Store, make: Make = by_length) -> None:
    """Store new vectors for all owners' passages."""
    for owner_id in vectors_of(store).owners_missing_vectors():
        give(store, make, owner_id=owner_id)


def reembed(store: Store, make: Make = by_length) -> None:
    """Re-embed the store, and expect the new model from then on."""
    vectors_of(store).begin_reembedding(OTHER)
    give_all(store, make)
    assert vectors_of(store).switch_vectors()
    remove_unused(store)
    store.expect_embedder(OTHER.name, OTHER.dimension)


def remove_unused(store: Store) -> None:
    """Remove all unused vectors."""
    for owner_id in store.owners():
        after: int | None = 0
        while after is not None:
            after = vectors_of(store).remove_unused_vectors(owner_id, after, 1)
    vectors_of(store).mark_unused_removed()


def nearest(snapshot: Snapshot, query: NDArray[np.int8]) -> list[int]:
    """Return the numbers of the records nearest to a query."""
    items = snapshot.items(snapshot.nearest(query, 9, NOW))
    return [int(id_[-12:], 16) for id_ in items.record_id]


def fill(store: Store) -> None:
    """Store two memories and a message of one owner, and a memory of another."""
    with store.write("alice") as tx:
        tx.insert(
            [
                (memory(1, "short"), short_entry("short", 1)),
                (memory(2, "quite long"), short_entry("quite long", 0, 1)),
            ]
        )
        said = message(3, "hello", sequence=1, speaker="Bob")
        tx.log("s1", [(said, short_entry("hello", 1, 1))])
    remember(store, memory(4, "bobs", owner_id="bob"), owner_id="bob")


class ReembeddingContract:
    """Re-embedding."""

    def test_new_vectors_are_used_after_the_switch(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        give_all(store)
        with store.read("alice") as snapshot:
            assert nearest(snapshot, vector(1, 0.2)) == [1, 3, 2]
        assert vectors_of(store).switch_vectors()
        store.expect_embedder(OTHER.name, OTHER.dimension)
        with store.read("alice") as snapshot:
            assert nearest(snapshot, other_vector(1, 10)) == [2, 1, 3]
            assert snapshot.similarities(
                other_vector(1), snapshot.items_in_scope(NOW)
            ).cosine.shape == (3,)
        assert (store.meta.embedder, store.meta.dimension) == ("other", OTHER.dimension)
        assert store.meta.digest_name == "builders"

    def test_records_stored_after_the_switch_use_the_new_model(self, store: Store) -> None:
        fill(store)
        reembed(store)
        with store.write("alice") as tx:
            new = Passage(Span(0, 1), tokens=1, terms={}, vector=other_vector(1, 7.5))
            tx.insert([(memory(5, "n"), entry(new))])
        with store.read("alice") as snapshot:
            assert nearest(snapshot, other_vector(1, 7.4)) == [5, 2, 1, 3]
        with pytest.raises(InvalidInput), store.write("alice") as tx:
            tx.insert([(memory(6), short_entry("old", 1))])

    def test_old_model_is_rejected_after_the_switch(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        give_all(store)
        store.check_embedder()
        assert vectors_of(store).switch_vectors()
        with store.read("alice") as snapshot:
            for search in (
                lambda: snapshot.nearest(vector(1), 9, NOW),
                lambda: snapshot.vectors([b"d" * 16]),
                lambda: snapshot.items_in_scope(NOW),
            ):
                with pytest.raises(WrongEmbeddingModel, match=r"no longer uses builders") as raised:
                    search()
                assert raised.value.is_changed
                assert "other (4 dimensions)" in str(raised.value)
            assert [one.content for one in snapshot.memories([record_id(1)])] == ["short"]
        for owner_id in ("alice", "carol"):
            with pytest.raises(WrongEmbeddingModel), store.write(owner_id) as tx:
                tx.insert([(memory(8, owner_id=owner_id), short_entry("late", 1))])
        for check in (store.check_embedder, lambda: store.adopt_embedder("builders", DIMENSION)):
            with pytest.raises(WrongEmbeddingModel, match="no longer uses builders"):
                check()
        with store.write("alice") as tx:
            tx.insert([(memory(9, "keywords"), short_entry("keywords"))])
        assert store.owners() == ["alice", "bob"]

    def test_snapshot_is_unaffected_by_the_switch(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        give_all(store)
        with store.read("alice") as before:
            assert before.counter == 1
            assert vectors_of(store).switch_vectors()
            assert nearest(before, vector(1, 0.2)) == [1, 3, 2]

    def test_expecting_another_model_is_rejected(self, store: Store) -> None:
        remember(store, memory(1))
        store.expect_embedder("builders", None)
        for name, dimension in (("builders", DIMENSION + 1), ("another", None)):
            with pytest.raises(WrongEmbeddingModel, match="memolith reembed --model"):
                store.expect_embedder(name, dimension)

    def test_error_names_the_model_being_embedded(self, store: Store) -> None:
        remember(store, memory(1))
        vectors_of(store).begin_reembedding(OTHER)
        with pytest.raises(WrongEmbeddingModel, match="finish the change"):
            store.expect_embedder(OTHER.name, OTHER.dimension)

    def test_switch_requires_a_new_vector_for_every_passage(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        assert vectors_of(store).owners_missing_vectors() == ["alice", "bob"]
        assert not vectors_of(store).switch_vectors()
        give_all(store)
        assert vectors_of(store).owners_missing_vectors() == []
        remember(store, memory(5))
        assert vectors_of(store).count_missing_vectors("alice") == 1
        assert not vectors_of(store).switch_vectors()
        give_all(store)
        assert vectors_of(store).switch_vectors()

    def test_switch_waits_for_writers(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        give_all(store)
        with ThreadPoolExecutor(1) as pool:
            with store.write("alice") as tx:
                tx.insert([(memory(8, "late"), short_entry("late", 1))])
                switched = pool.submit(vectors_of(store).switch_vectors)
            assert not switched.result(_PATIENCE_S)

    def test_missing_passages_have_the_text_of_their_span(self, store: Store) -> None:
        long = entry(
            passage({"one": 1}, [1], span=Span(0, 3)), passage({"two": 1}, [1], span=Span(4, 7))
        )
        with store.write("alice") as tx:
            tx.insert([(memory(1, "one two"), long), (memory(2, "bare"), short_entry("bare"))])
            said = message(3, "hello", sequence=1, speaker="Bob")
            tx.log("s1", [(said, short_entry("hello", 1))])
        with store.write("alice") as tx:
            tx.revise(memory(1, "three", version=2, updated_at=at(9)), short_entry("three", 1))
            tx.close_messages([record_id(3)], at(9))
        vectors_of(store).begin_reembedding(OTHER)
        bare = vectors_of(store).passages_missing_vectors("alice", _ALL)
        said_by = [(each.text, each.speaker) for each in bare.passages]
        assert said_by == [("one", None), ("two", None), ("hello", "Bob"), ("three", None)]
        assert vectors_of(store).count_missing_vectors("alice") == len(said_by)

    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_embedded_passages_are_not_listed_as_missing(self, store: Store, limit: int) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        taken: list[int] = []
        while not taken or taken[-1]:
            vectors_of(store).begin_reembedding(OTHER)
            taken.append(give(store, limit=limit))
        assert sum(taken) == 3
        assert max(taken) == limit

    def test_vector_of_an_equal_text_is_reused(self, store: Store) -> None:
        same = [
            entry(passage({"tea": 1}, [1], span=Span(0, 3), digest=b"d" * 16)) for _ in range(2)
        ]
        with store.write("alice") as tx:
            tx.insert([(memory(1, "tea"), same[0])])
        vectors_of(store).begin_reembedding(OTHER)
        give(store)
        with store.write("alice") as tx:
            tx.insert([(memory(2, "tea"), same[1])])
        (bare,) = vectors_of(store).passages_missing_vectors("alice", _ALL).passages
        assert bare.vector is not None
        assert bare.vector.tolist() == by_length(bare).tolist()
        give(store)
        assert vectors_of(store).switch_vectors()
        store.expect_embedder(OTHER.name, None)
        with store.read("alice") as snapshot:
            known = snapshot.vectors([b"d" * 16])
            assert {digest: one.tolist() for digest, one in known.items()} == {
                b"d" * 16: by_length(bare).tolist()
            }

    def test_vectors_of_another_length_are_rejected(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        with pytest.raises(InvalidInput):
            give(store, lambda _: vector(1))
        assert vectors_of(store).count_missing_vectors("alice") == 3

    def test_vectors_of_removed_passages_are_ignored(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        bare = vectors_of(store).passages_missing_vectors("alice", _ALL)
        with store.write("alice") as tx:
            tx.purge([record_id(1)])
        made = {each.position: by_length(each) for each in bare.passages}
        assert not vectors_of(store).add_vectors("alice", bare, made)
        give_all(store)
        store.erase("bob", at(9))
        assert vectors_of(store).switch_vectors()
        store.expect_embedder(OTHER.name, None)
        with store.read("alice") as snapshot:
            assert nearest(snapshot, other_vector(1, 10)) == [2, 3]

    def test_only_one_model_is_embedded_at_a_time(self, store: Store) -> None:
        fill(store)
        assert vectors_of(store).reembedding_model is None
        with pytest.raises(Conflict):
            vectors_of(store).passages_missing_vectors("alice", _ALL)
        with pytest.raises(Conflict):
            vectors_of(store).switch_vectors()
        vectors_of(store).begin_reembedding(OTHER)
        assert vectors_of(store).reembedding_model == OTHER
        with pytest.raises(Conflict, match="other"):
            vectors_of(store).begin_reembedding(EmbeddingModel("third", 4))

    def test_cancelled_reembedding_leaves_no_vectors(self, store: Store) -> None:
        fill(store)
        vectors_of(store).begin_reembedding(OTHER)
        bare = vectors_of(store).passages_missing_vectors("bob", _ALL)
        give(store, limit=2)
        assert vectors_of(store).abandon_reembedding()
        assert not vectors_of(store).abandon_reembedding()
        made = {each.position: by_length(each) for each in bare.passages}
        assert not vectors_of(store).add_vectors("bob", bare, made)
        assert vectors_of(store).has_unused_vectors
        third = EmbeddingModel("third", OTHER.dimension)
        with pytest.raises(Conflict):
            vectors_of(store).begin_reembedding(third)
        remove_unused(store)
        assert not vectors_of(store).has_unused_vectors
        vectors_of(store).begin_reembedding(third)
        assert vectors_of(store).count_missing_vectors("alice") == 3
        with store.read("alice") as snapshot:
            assert nearest(snapshot, vector(1, 0.2)) == [1, 3, 2]

    def test_store_can_be_reembedded_repeatedly(self, store: Store) -> None:
        fill(store)
        reembed(store)
        vectors_of(store).begin_reembedding(EmbeddingModel("builders", DIMENSION))
        give_all(store, lambda bare: vector(1, len(bare.text)))
        assert vectors_of(store).switch_vectors()
        remove_unused(store)
        with pytest.raises(WrongEmbeddingModel), store.read("alice") as snapshot:
            snapshot.items_in_scope(NOW)
        store.expect_embedder("builders", DIMENSION)
        with store.read("alice") as snapshot:
            assert nearest(snapshot, vector(1, 10)) == [2, 1, 3]
            assert snapshot.statistics().vectors == 3

    def test_store_without_vectors_adopts_the_model(self, store: Store) -> None:
        reembed(store)
        assert store.meta.embedder == OTHER.name
        assert store.meta.digest_name == "builders"

    def test_paused_writers_continue_after_resume(self, store: Store) -> None:
        fill(store)
        vectors_of(store).pause_writers()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(remember, store, memory(5))
            with store.read("alice") as snapshot:
                assert snapshot.memories([record_id(5)]) == []
            vectors_of(store).resume_writers()
            writing.result(_PATIENCE_S)
        with store.read("alice") as snapshot:
            assert len(snapshot.memories([record_id(5)])) == 1
