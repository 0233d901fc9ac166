"""Store contract: transactions, owners, metadata and concurrency; see `store_contract`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from memolith.domain.memories import Action, Event
from memolith.errors import Conflict, StoreUnavailable, WrongEmbeddingModel
from memolith.ports.store import Store
from memolith.testing.builders import DIMENSION, at, memory, message, record_id, short_entry, vector
from memolith.testing.store_records import HOSTILE, listed, numbers_of, remember, say
from memolith.testing.store_search import NOW, found, worded

_THREADS = 8
_PATIENCE_S = 60


def profile_of(store: Store, owner_id: str) -> str | None:
    """Return the name of an owner's profile."""
    with store.read(owner_id) as snapshot:
        return snapshot.profile


class _Interrupted(BaseException):
    """An interruption that no store can foresee, such as Ctrl+C."""


class TransactionContract:
    """Transactions."""

    @pytest.mark.parametrize("error", [ValueError, _Interrupted])
    def test_exception_rolls_back_transaction(
        self, store: Store, error: type[BaseException]
    ) -> None:
        remember(store, memory(1, "tea"))
        with pytest.raises(error), store.write("alice") as tx:
            tx.adopt_profile("facts")
            tx.insert([(memory(2), short_entry("tea", 1))])
            tx.log("s1", [(message(3, sequence=1), short_entry("tea", 1))])
            tx.revise(memory(1, "pot", version=2), short_entry("pot", 1))
            tx.record([Event(record_id(1), Action.UPDATED, at(1), "user", 2)])
            raise error
        with store.read("alice") as snapshot:
            assert snapshot.counter == 1
            assert snapshot.memories([record_id(1), record_id(2)]) == [memory(1, "tea")]
            assert snapshot.messages() == []
            assert snapshot.sessions() == []
            assert worded(snapshot, "tea", "pot") == [[1], []]
        assert profile_of(store, "alice") is None
        remember(store, memory(4, "tea"))
        with store.read("alice") as snapshot:
            assert worded(snapshot, "tea") == [[1, 4]]

    def test_store_error_caught_in_transaction_still_rolls_back(self, store: Store) -> None:
        remember(store, memory(1))
        with pytest.raises(Conflict), store.write("alice") as tx:
            tx.insert([(memory(2), short_entry("x"))])
            with pytest.raises(Conflict):
                tx.insert([(memory(3), short_entry("x")), (memory(1), short_entry("x"))])
        with store.read("alice") as snapshot:
            assert listed(snapshot) == [record_id(1)]
            assert snapshot.counter == 1

    def test_empty_transaction_creates_no_owner(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.insert([])
            tx.log("s1", [])
            tx.record([])
            tx.link([])
            tx.close_messages([record_id(1)], at(1))
            tx.end_session("s1", at(1))
        assert store.owners() == []

    def test_counter_increments_once_per_changing_transaction(self, store: Store) -> None:
        with store.write("alice") as tx:
            assert tx.counter == 0
            tx.insert([(memory(1), short_entry("x")), (memory(2), short_entry("y"))])
            tx.adopt_profile("standard")
        with store.write("alice") as tx:
            assert tx.counter == 1
            tx.adopt_profile("facts")
        with store.read("alice") as snapshot:
            assert snapshot.counter == 1
        remember(store, memory(3))
        with store.read("alice") as snapshot:
            assert snapshot.counter == 2

    def test_transaction_reads_its_own_writes(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(1, "tea", key="k", tags=("a",)), short_entry("tea", 1))])
            tx.log("s1", [(message(2, "tea", sequence=1), short_entry("tea", 1))])
            assert tx.memories([record_id(1)]) == [memory(1, "tea", key="k", tags=("a",))]
            assert numbers_of(tx.find_by_content("tea")) == [1, 2]
            found_by_key = tx.find_by_key("k")
            assert found_by_key is not None
            assert numbers_of(tx.messages(session_id="s1")) == [2]
            assert [session.id for session in tx.sessions()] == ["s1"]
            assert len(tx.participants()) == 1
            assert tx.statistics().total_count == 1
            assert listed(tx, tags=("a",)) == [record_id(1)]
            tx.amend(memory(1, "tea", key="other"))
            assert tx.find_by_key("k") is None

    def test_transaction_searches_the_state_at_its_start(self, store: Store) -> None:
        remember(store, memory(1, "tea"))
        with store.write("alice") as tx:
            tx.insert([(memory(2, "tea"), short_entry("tea", 1))])
            assert worded(tx, "tea")[0][:1] == [1]
            assert found(tx, near=(1,))[:1] == [1]

    def test_profile_is_stored_with_the_first_write(self, store: Store) -> None:
        assert profile_of(store, "alice") is None
        with store.write("alice") as tx:
            tx.adopt_profile("facts")
        with store.write("alice") as tx:
            tx.adopt_profile("tiers")
        assert profile_of(store, "alice") == "facts"
        assert profile_of(store, "bob") is None

    def test_profile_can_be_changed(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.set_profile("facts")
        with store.write("alice") as tx:
            tx.set_profile("facts")
        assert profile_of(store, "alice") == "facts"
        with store.write("alice") as tx:
            assert tx.counter == 1
            tx.set_profile("tiers")
        assert profile_of(store, "alice") == "tiers"
        assert profile_of(store, "bob") is None

    def test_touch_adds_counts_and_changes_nothing_else(self, store: Store) -> None:
        remember(store, memory(1, access_count=2), memory(2))
        store.record_access(
            "alice", {record_id(1): (3, at(80)), record_id(9): (1, at(1)), "?": (1, at(1))}
        )
        store.record_access("alice", {record_id(1): (1, at(70))})
        store.record_access("nobody", {record_id(1): (1, at(70))})
        store.record_access("alice", {})
        with store.read("alice") as snapshot:
            touched = memory(1, access_count=6, accessed_at=at(80))
            assert snapshot.memories([record_id(1), record_id(2)]) == [touched, memory(2)]
            assert snapshot.counter == 1
            history = snapshot.history(record_id(1))
        assert history is not None
        assert len(history.versions) == 1
        assert history.events == ()
        assert store.owners() == ["alice"]


class OwnersContract:
    """Isolation of owners."""

    def test_owners_are_sorted(self, store: Store) -> None:
        names = [*HOSTILE, "b", "a", "B"]
        for name in names:
            remember(store, memory(1, owner_id=name), owner_id=name)
        assert store.owners() == sorted(names)

    def test_owners_with_equal_ids_are_isolated(self, store: Store) -> None:
        for owner, word in (("alice", "tea"), ("bob", "pot")):
            own = memory(1, word, owner_id=owner, key="k", tags=("t",), session_id="s1")
            remember(store, own, owner_id=owner)
            said = message(2, word, sequence=1, external_id="e", speaker=owner)
            say(store, said, owner_id=owner)
        with store.write("bob") as tx:
            assert tx.owner_id == "bob"
            tx.close_messages([record_id(2)], at(9))
            tx.revise(memory(1, "new", owner_id="bob", version=2), short_entry("new", 1))
        store.record_access("bob", {record_id(1): (1, at(5))})
        with store.read("alice") as snapshot:
            assert snapshot.owner_id == "alice"
            (kept,) = snapshot.memories([record_id(1)])
            assert (kept.content, kept.owner_id, kept.access_count) == ("tea", "alice", 0)
            assert snapshot.find_by_key("k") == kept
            assert numbers_of(snapshot.find_by_content("tea")) == [1, 2]
            assert snapshot.find_by_content("pot") == []
            assert [one.name for one in snapshot.participants()] == ["alice"]
            assert numbers_of(snapshot.messages()) == [2]
            assert listed(snapshot, tags=("t",)) == [record_id(1)]
            assert worded(snapshot, "tea", "pot", "new") == [[1, 2], [], []]
            assert found(snapshot) == [1, 2]

    def test_search_results_do_not_depend_on_other_owners(self, store: Store) -> None:
        texts = ["tea pot", "tea", "cup of tea", "water", "pot"]

        def fill(owner: str) -> None:
            for number, text in enumerate(texts, start=1):
                entry = short_entry(text, number, 1, 2)
                with store.write(owner) as tx:
                    tx.insert([(memory(number, text, owner_id=owner), entry)])

        def answers(owner: str) -> tuple[object, ...]:
            with store.read(owner) as snapshot:
                numbers = snapshot.nearest(vector(2, 1), 3, NOW)
                postings = snapshot.postings(["tea", "pot"], NOW)
                cosine = snapshot.similarities(vector(2, 1), numbers).cosine
            columns = (postings.passages, postings.lengths, postings.document_frequency, cosine)
            return (numbers.tolist(), postings.mean_length, *(one.tolist() for one in columns))

        fill("alice")
        alone = answers("alice")
        for other in ("aaron", "bob"):
            fill(other)
            say(store, message(9, "tea tea pot", sequence=1), owner_id=other)
        assert answers("alice") == alone


class MetaContract:
    """Metadata and the lifetime of a store."""

    def test_new_store_has_no_embedder(self, fresh_store: Store) -> None:
        meta = fresh_store.meta
        assert (meta.embedder, meta.dimension) == (None, None)
        assert meta.schema >= 1
        assert meta.cipher

    def test_embedder_is_stored(self, fresh_store: Store) -> None:
        fresh_store.adopt_embedder("one", 4)
        fresh_store.adopt_embedder("one", 4)
        assert (fresh_store.meta.embedder, fresh_store.meta.dimension) == ("one", 4)

    def test_other_embedder_is_rejected_if_there_are_vectors(self, store: Store) -> None:
        remember(store, memory(1))
        for name, dimension in (("another", DIMENSION), ("builders", DIMENSION + 1)):
            with pytest.raises(WrongEmbeddingModel):
                store.adopt_embedder(name, dimension)
        assert (store.meta.embedder, store.meta.dimension) == ("builders", DIMENSION)

    def test_other_embedder_is_accepted_while_there_are_no_vectors(self, store: Store) -> None:
        with store.write("alice") as tx:
            tx.insert([(memory(1), short_entry("keywords only"))])
        store.adopt_embedder("another", 4)
        assert (store.meta.embedder, store.meta.dimension) == ("another", 4)

    def test_closed_store_rejects_all_calls(self, store: Store) -> None:
        remember(store, memory(1))
        store.close()
        store.close()
        with pytest.raises(StoreUnavailable), store.read("alice"):
            pass
        with pytest.raises(StoreUnavailable), store.write("alice"):
            pass


class ConcurrencyContract:
    """Concurrent readers and writers."""

    def test_snapshot_is_unaffected_by_later_writes(self, store: Store) -> None:
        remember(store, memory(1, "tea"))
        say(store, message(5, "tea", sequence=1))
        with store.read("alice") as before, store.read("alice") as later:
            assert found(before) == [1, 5]
            remember(store, memory(2, "tea"))
            with store.write("alice") as tx:
                tx.revise(memory(1, "pot", version=2, updated_at=at(9)), short_entry("pot", 1))
                tx.close_messages([record_id(5)], at(9))
            store.record_access("alice", {record_id(1): (1, at(70))})
            with store.read("alice") as now:
                assert worded(now, "tea", "pot") == [[2], [1]]
            for snapshot in (before, later):
                assert snapshot.counter == 2
                assert snapshot.memories([record_id(1), record_id(2)]) == [memory(1, "tea")]
                assert numbers_of(snapshot.messages()) == [5]
                assert found(snapshot) == [1, 5]
                assert worded(snapshot, "tea", "pot") == [[1, 5], []]
                assert snapshot.postings(["tea"], NOW).total == 2
                numbers = snapshot.item_numbers([record_id(1)], NOW)
                assert snapshot.usage_stats(numbers).access_count.tolist() == [0]

    def test_readers_do_not_wait_for_writers(self, store: Store) -> None:
        remember(store, memory(1, "tea"))
        with store.write("alice") as tx:
            tx.insert([(memory(2, "tea"), short_entry("tea", 1))])
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(_ids_found, store).result(_PATIENCE_S) == [1]
        assert _ids_found(store) == [1, 2]

    def test_writers_of_one_owner_are_serialised(self, store: Store) -> None:
        def add_ten(worker: int) -> None:
            for turn in range(10):
                with store.write("alice") as tx:
                    place = tx.next_sequence("s1")
                    new = message(100 * worker + turn, "tea", sequence=place)
                    tx.log("s1", [(new, short_entry("tea", 1))])

        _run(add_ten)
        with store.read("alice") as snapshot:
            said = snapshot.messages(session_id="s1")
            assert [one.sequence for one in said] == list(range(1, 10 * _THREADS + 1))
            assert snapshot.counter == 10 * _THREADS
            assert len(found(snapshot)) == 10 * _THREADS
            assert snapshot.postings(["tea"], NOW).total == 10 * _THREADS

    def test_eight_threads_read_and_write_eight_owners(self, store: Store) -> None:
        def live(worker: int) -> None:
            own, other = f"owner{worker}", f"owner{(worker + 1) % _THREADS}"
            for turn in range(8):
                number = 1 + turn
                remember(store, memory(number, "tea", owner_id=own), owner_id=own)
                with store.read(own) as snapshot:
                    assert len(found(snapshot)) == number
                    assert worded(snapshot, "tea") == [list(range(1, number + 1))]
                with store.read(other) as snapshot:
                    assert len(found(snapshot)) == snapshot.counter

        _run(live)
        assert store.owners() == [f"owner{worker}" for worker in range(_THREADS)]

    def test_readers_see_only_complete_transactions(self, store: Store) -> None:
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                with store.read("alice") as snapshot:
                    counter = snapshot.counter
                    assert len(found(snapshot)) == 2 * counter
                    assert snapshot.postings(["tea"], NOW).total == 2 * counter
                    assert snapshot.statistics().total_count == 2 * counter

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            try:
                for turn in range(30):
                    pair = (memory(2 * turn, "tea"), memory(2 * turn + 1, "tea"))
                    remember(store, *pair)
            finally:
                done.set()
            for reader in readers:
                reader.result(_PATIENCE_S)


def _ids_found(store: Store) -> list[int]:
    with store.read("alice") as snapshot:
        return found(snapshot)


def _run(work: Callable[[int], None]) -> None:
    """Run a function in eight threads and raise the first error."""
    with ThreadPoolExecutor(_THREADS) as pool:
        for future in [pool.submit(work, worker) for worker in range(_THREADS)]:
            future.result(_PATIENCE_S)
