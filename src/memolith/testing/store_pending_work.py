"""Store contract: pending work; see `memolith.ports.work`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from memolith.domain.memories import State
from memolith.domain.owners import ConsolidationProgress, PendingWork, ProcessingFlag, WorkKind
from memolith.ports.store import Snapshot, Store, Transaction
from memolith.testing.builders import at, memory, message, record_id, short_entry
from memolith.testing.store_records import HOSTILE, numbers_of, remember, say

_FACTS = frozenset({"fact"})
_NOT_THERE = ("", "?", record_id(99), record_id(0xA).upper())


def _ids(*numbers: int) -> list[str]:
    return [record_id(number) for number in numbers]


def _write(store: Store) -> AbstractContextManager[Transaction]:
    return store.write("alice")


def _waiting(snapshot: Snapshot, seconds: float = 0, limit: int = 99) -> list[int]:
    return numbers_of(snapshot.pending_messages(limit, now=at(seconds)))


class WaitingContract:
    """Pending work of an owner, and its results."""

    @pytest.fixture
    def said(self, store: Store) -> Store:
        """Return a store with Alice's messages 13, 11, 12 and 10, in that order, and Bob's 11."""
        for session, numbers in (("s1", (13, 11)), ("s2", (12, 10))):
            said = [message(n, sequence=k) for k, n in enumerate(numbers, start=1)]
            say(store, *said, session_id=session)
        say(store, message(11, sequence=1), owner_id="bob")
        return store

    @pytest.fixture
    def waiting(self, said: Store) -> Store:
        """Return such a store with all of Alice's messages pending."""
        with _write(said) as tx:
            tx.mark_pending(_ids(10, 11, 12, 13))
        return said

    def test_nothing_is_pending_initially(self, said: Store) -> None:
        with said.read("alice") as snapshot:
            assert _waiting(snapshot) == []
            assert snapshot.attempts(_ids(11, 12)) == 0
            assert snapshot.pending_work() == PendingWork()
            assert snapshot.progress("s1") == ConsolidationProgress()
        with said.read("nobody") as snapshot:
            assert snapshot.unsummarised_messages() == []
            assert snapshot.unsummarised_messages(session_id="s1") == []
            assert snapshot.count_unsummarised_messages() == 0
            assert snapshot.count_unsummarised_by_session() == {}
            assert snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS) == []
            assert snapshot.pending_work() == PendingWork()
            assert snapshot.progress("s1") == ConsolidationProgress()

    def test_pending_messages_are_in_storage_order(self, waiting: Store) -> None:
        with waiting.read("alice") as snapshot:
            found = snapshot.pending_messages(9, now=at(0))
            assert found == snapshot.messages()
            assert numbers_of(found) == [13, 11, 12, 10]
            assert _waiting(snapshot, limit=3) == [13, 11, 12]
            assert _waiting(snapshot, limit=0) == []

    def test_pending_messages_of_other_owners_are_not_returned(self, waiting: Store) -> None:
        with waiting.read("bob") as snapshot:
            assert _waiting(snapshot) == []
            assert snapshot.count_unsummarised_messages() == 1
        with waiting.write("bob") as tx:
            tx.mark_learned(_ids(11, 12), at(1))
            tx.mark_summarised(_ids(11, 12), at(1))
            tx.schedule_retry(_ids(11, 12), retry_at=None)
        with waiting.read("alice") as snapshot:
            assert _waiting(snapshot) == [13, 11, 12, 10]
            assert snapshot.count_unsummarised_messages() == 4

    def test_learned_messages_are_not_pending(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(11), retry_at=at(0))
            tx.mark_learned(_ids(11, 13), at(5))
            assert _waiting(tx) == [12, 10]
            assert tx.attempts(_ids(11)) == 0
        with waiting.read("alice") as snapshot:
            assert _waiting(snapshot, 1e9) == [12, 10]

    def test_learned_message_can_be_marked_pending_again(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.mark_learned(_ids(11, 12, 13), at(5))
            tx.mark_pending(_ids(11))
            assert _waiting(tx) == [11, 10]

    def test_marking_a_pending_message_again_changes_nothing(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(11), retry_at=at(50))
            tx.schedule_retry(_ids(12), retry_at=None)
        with _write(waiting) as tx:
            tx.mark_pending(_ids(10, 11, 12, 13))
        with waiting.read("alice") as snapshot:
            assert _waiting(snapshot) == [13, 10]
            assert snapshot.attempts(_ids(11)) == 1
            assert snapshot.pending_work().dead_letters == 1
            assert snapshot.counter == 4  # the last call changed nothing

    def test_postponed_message_is_pending_from_its_retry_time(self, waiting: Store) -> None:
        there = timezone(timedelta(hours=-3))
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(13, 12), retry_at=at(20).astimezone(there))
        with waiting.read("alice") as snapshot:
            assert _waiting(snapshot, 19.999_999) == [11, 10]
            assert _waiting(snapshot, 20) == [13, 11, 12, 10]
            assert numbers_of(snapshot.pending_messages(9, now=at(20).astimezone(there)))[0] == 13

    def test_attempts_are_counted_and_the_maximum_is_returned(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            for _ in range(3):
                tx.schedule_retry(_ids(11), retry_at=at(1))
            tx.schedule_retry(_ids(12, 12), retry_at=at(1))
            assert tx.attempts(_ids(11, 12)) == 3
        with waiting.read("alice") as snapshot:
            assert snapshot.attempts(_ids(10, 12)) == 1
            assert snapshot.attempts(_ids(10, 13)) == 0
            assert snapshot.attempts([*_NOT_THERE]) == 0
            assert snapshot.attempts([]) == 0

    def test_dead_letter_is_excluded_until_retried(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(11), retry_at=None)
            assert _waiting(tx, 1e9) == [13, 12, 10]
            assert tx.attempts(_ids(11)) == 1
            tx.schedule_retry(_ids(11), retry_at=at(5))
            assert _waiting(tx, 5) == [13, 11, 12, 10]
            tx.schedule_retry(_ids(11), retry_at=None)
            tx.mark_learned(_ids(11), at(9))
            assert tx.pending_work().dead_letters == 0

    def test_only_pending_messages_can_be_postponed(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.mark_learned(_ids(11), at(5))
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(11), retry_at=at(0))
            tx.schedule_retry(_ids(11), retry_at=None)
        with waiting.read("alice") as snapshot:
            assert _waiting(snapshot) == [13, 12, 10]
            assert snapshot.attempts(_ids(11)) == 0
            assert snapshot.pending_work().dead_letters == 0
            assert snapshot.counter == 4  # the last call changed nothing

    def test_pending_work_reports_count_and_age(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(11), retry_at=at(1e9))
            tx.schedule_retry(_ids(12), retry_at=None)
            assert tx.pending_work() == PendingWork(3, 1, at(13))
            tx.mark_learned(_ids(13, 12), at(60))
        with waiting.read("alice") as snapshot:
            assert snapshot.pending_work() == PendingWork(2, 0, at(11))

    def test_age_of_pending_work_counts_from_storage(self, store: Store) -> None:
        with _write(store) as tx:
            tx.log("s1", [(message(11, sequence=1), short_entry("x"))], at=at(500))
            tx.mark_pending(_ids(11))
            for version in (2, 3):
                said = message(11, f"y {version}", sequence=1, version=version)
                tx.revise_message(said, short_entry("y"), at(600 + version))
            tx.reindex(record_id(11), short_entry("z"))
            assert tx.pending_work().oldest_at == at(500)

    def test_pending_work_names_other_stuck_work(self, waiting: Store) -> None:
        for work in WorkKind:
            claim = waiting.leases.acquire("alice", work, now=at(0), lease_s=9)
            assert claim is not None
            waiting.leases.fail(claim, retry_at=at(5))
            with waiting.read("alice") as snapshot:
                assert snapshot.pending_work().failed_kinds == ()
            claim = waiting.leases.acquire("alice", work, now=at(5), lease_s=9)
            assert claim is not None
            waiting.leases.fail(claim, retry_at=None)
        with waiting.read("alice") as snapshot:
            assert snapshot.pending_work().failed_kinds == (WorkKind.CONSOLIDATE,)
            waiting.leases.retry("alice")
            assert snapshot.pending_work().failed_kinds == (WorkKind.CONSOLIDATE,)
        with waiting.read("alice") as snapshot:
            assert snapshot.pending_work().failed_kinds == ()
        with waiting.read("bob") as snapshot:
            assert snapshot.pending_work().failed_kinds == ()

    def test_forgotten_message_is_pending_again_once_restored(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(12), retry_at=at(30))
            tx.mark_learned(_ids(10), at(1))
            tx.close_messages(_ids(10, 11, 12), at(20))
            assert _waiting(tx, 99) == [13]
            assert tx.pending_work() == PendingWork(1, 0, at(13))
            assert tx.attempts(_ids(12)) == 0
            assert numbers_of(tx.unsummarised_messages()) == [13]
        with _write(waiting) as tx:
            for n, (session, sequence) in {10: ("s2", 2), 11: ("s1", 2), 12: ("s2", 1)}.items():
                again = message(n, session_id=session, sequence=sequence, version=2)
                tx.revise_message(again, short_entry("x"), at(25))
            assert _waiting(tx, 29) == [13, 11]
            assert _waiting(tx, 30) == [13, 11, 12]
            assert tx.attempts(_ids(12)) == 1
            assert tx.count_unsummarised_messages() == 4

    def test_forgotten_messages_are_excluded(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.mark_learned(_ids(13), at(1))
            tx.close_messages(_ids(10, 11, 12, 13), at(20))
        with _write(waiting) as tx:
            tx.mark_learned(_ids(11), at(21))
            tx.schedule_retry(_ids(12), retry_at=None)
            tx.mark_summarised(_ids(11, 12), at(21))
            tx.mark_pending(_ids(13))
        with _write(waiting) as tx:
            assert tx.counter == 4  # the last call changed nothing
            for n, (session, sequence) in {13: ("s1", 1), 11: ("s1", 2), 12: ("s2", 1)}.items():
                again = message(n, session_id=session, sequence=sequence, version=2)
                tx.revise_message(again, short_entry("x"), at(25))
            assert _waiting(tx) == [11, 12]
            assert numbers_of(tx.unsummarised_messages()) == [13, 11, 12]

    @pytest.mark.parametrize("id_", _NOT_THERE)
    def test_missing_messages_are_ignored(self, waiting: Store, id_: str) -> None:
        remember(waiting, memory(0xA))
        with _write(waiting) as tx:
            before = tx.counter
            for ids in ([id_], []):
                tx.mark_pending(ids)
                tx.mark_learned(ids, at(1))
                tx.schedule_retry(ids, retry_at=None)
                tx.mark_summarised(ids, at(1))
                tx.add_mark(ids, ProcessingFlag.INCORPORATED)
                tx.remove_mark(ids, ProcessingFlag.INCORPORATED)
            tx.add_mark(_ids(11), ProcessingFlag.INCORPORATED)  # not a memory
        with waiting.read("alice") as snapshot:
            assert snapshot.counter == before
            assert _waiting(snapshot) == [13, 11, 12, 10]
        with waiting.write("nobody") as tx:
            tx.mark_learned([id_], at(1))
        assert waiting.owners() == ["alice", "bob"]

    def test_unsummarised_messages_are_in_storage_order(self, said: Store) -> None:
        with said.read("alice") as snapshot:
            assert snapshot.unsummarised_messages() == snapshot.messages()
            assert numbers_of(snapshot.unsummarised_messages(3)) == [13, 11, 12]
            assert snapshot.count_unsummarised_messages() == 4
        with _write(said) as tx:
            tx.mark_summarised(_ids(13, 12), at(60))
            assert numbers_of(tx.unsummarised_messages()) == [11, 10]
            assert tx.count_unsummarised_messages() == 2
        with said.read("alice") as snapshot:
            assert numbers_of(snapshot.unsummarised_messages(1)) == [11]

    def test_unsummarised_messages_can_be_limited_to_a_session(self, said: Store) -> None:
        with said.read("alice") as snapshot:
            assert numbers_of(snapshot.unsummarised_messages(session_id="s1")) == [13, 11]
            assert numbers_of(snapshot.unsummarised_messages(1, session_id="s2")) == [12]
            assert snapshot.unsummarised_messages(session_id="s3") == []
            assert snapshot.count_unsummarised_by_session() == {"s1": 2, "s2": 2}
        with _write(said) as tx:
            tx.mark_summarised(_ids(12), at(60))
            tx.close_messages(_ids(11), at(60))
            assert numbers_of(tx.unsummarised_messages(session_id="s1")) == [13]
            assert numbers_of(tx.unsummarised_messages(session_id="s2")) == [10]
            tx.mark_summarised(_ids(10), at(60))
        with said.read("alice") as snapshot:
            assert snapshot.count_unsummarised_by_session() == {"s1": 1}
        with said.read("bob") as snapshot:
            assert snapshot.count_unsummarised_by_session() == {"s1": 1}

    def test_summarised_mark_can_be_removed(self, said: Store) -> None:
        with _write(said) as tx:
            tx.mark_summarised(_ids(13, 12), at(60))
        with _write(said) as tx:
            tx.mark_summarised(_ids(12), None)
            assert numbers_of(tx.unsummarised_messages()) == [11, 12, 10]

    def test_revised_message_stays_summarised(self, said: Store) -> None:
        with _write(said) as tx:
            tx.mark_summarised(_ids(13), at(60))
            tx.revise_message(message(13, "y", sequence=1, version=2), short_entry("y"), at(70))
            assert numbers_of(tx.unsummarised_messages()) == [11, 12, 10]

    def test_memories_without_a_mark_are_oldest_first(self, store: Store) -> None:
        for number, created in ((2, 5), (9, 1), (7, 5), (3, 9)):
            remember(store, memory(number, created_at=at(created)))
        remember(store, memory(4, kind="event"), memory(5, state=State.FADED))
        remember(store, memory(2, owner_id="bob"), owner_id="bob")
        with _write(store) as tx:
            assert numbers_of(tx.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)) == [
                9,
                2,
                7,
                3,
            ]
            assert numbers_of(
                tx.memories_without_mark(ProcessingFlag.INCORPORATED, frozenset({"fact", "event"}))
            ) == [
                9,
                4,
                2,
                7,
                3,
            ]
            assert tx.memories_without_mark(ProcessingFlag.INCORPORATED, frozenset()) == []
            tx.add_mark(_ids(2, 3, 4), ProcessingFlag.INCORPORATED)
            assert numbers_of(tx.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)) == [
                9,
                7,
            ]
            tx.remove_mark(_ids(3, 4, 9), ProcessingFlag.INCORPORATED)
        with store.read("alice") as snapshot:
            assert numbers_of(
                snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)
            ) == [9, 7, 3]
        with store.read("bob") as snapshot:
            assert numbers_of(
                snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)
            ) == [2]

    def test_later_versions_keep_the_marks_of_a_memory(self, store: Store) -> None:
        remember(store, memory(1), memory(2))
        with _write(store) as tx:
            tx.add_mark(_ids(1), ProcessingFlag.INCORPORATED)
            tx.revise(memory(1, version=2, updated_at=at(9)), short_entry("y"))
            tx.amend(memory(1, version=2, tags=("a",), updated_at=at(9)))
            assert numbers_of(tx.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)) == [2]

    def test_progress_is_stored_per_session(self, said: Store) -> None:
        there = timezone(timedelta(hours=2))
        progress = ConsolidationProgress(2, 1, at(9))
        with _write(said) as tx:
            tx.set_progress("s1", replace(progress, at=at(9).astimezone(there)))
            assert tx.progress("s1") == progress
        with said.read("alice") as snapshot:
            assert snapshot.progress("s1") == progress
            assert snapshot.progress("s2") == ConsolidationProgress()
        with said.read("bob") as snapshot:
            assert snapshot.progress("s1") == ConsolidationProgress()
        with _write(said) as tx:
            tx.set_progress("s1", ConsolidationProgress())
            assert tx.progress("s1") == ConsolidationProgress()

    @pytest.mark.parametrize("name", HOSTILE)
    def test_progress_can_be_stored_for_a_session_without_messages(
        self, store: Store, name: str
    ) -> None:
        with _write(store) as tx:
            tx.set_progress(name, ConsolidationProgress(7, 0, at(9)))
        with store.read("alice") as snapshot:
            assert snapshot.progress(name) == ConsolidationProgress(7, 0, at(9))
            assert snapshot.sessions() == []
            assert snapshot.statistics().sessions == 0
            assert snapshot.counter == 1
        say(store, message(11, sequence=1), session_id=name)
        with store.read("alice") as snapshot:
            assert [one.id for one in snapshot.sessions()] == [name]
            assert snapshot.progress(name).consolidated_to == 7

    def test_removed_session_has_no_progress(self, said: Store) -> None:
        with _write(said) as tx:
            tx.set_progress("s1", ConsolidationProgress(2, 0, at(9)))
            tx.remove_sessions(["s1"])
            assert tx.progress("s1") == ConsolidationProgress()
        say(said, message(31, sequence=1), session_id="s1")
        with said.read("alice") as snapshot:
            assert snapshot.progress("s1") == ConsolidationProgress()

    def test_purged_messages_leave_no_pending_work(self, waiting: Store) -> None:
        remember(waiting, memory(1))
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(11, 12), retry_at=None)
            tx.mark_summarised(_ids(11), at(9))
            tx.add_mark(_ids(1), ProcessingFlag.INCORPORATED)
            tx.purge(_ids(11, 1))
            tx.remove_sessions(["s2"])
            assert _waiting(tx, 1e9) == [13]
            assert tx.pending_work() == PendingWork(1, 0, at(13))
        say(waiting, message(11, sequence=2))
        remember(waiting, memory(1))
        with waiting.read("alice") as snapshot:
            assert _waiting(snapshot, 1e9) == [13]
            assert numbers_of(snapshot.unsummarised_messages()) == [13, 11]
            assert numbers_of(
                snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)
            ) == [1]

    def test_rewritten_message_stays_pending(self, waiting: Store) -> None:
        with _write(waiting) as tx:
            tx.schedule_retry(_ids(13), retry_at=at(5))
            tx.rewrite_message(record_id(13), [(message(13, "z", sequence=1), short_entry("z"))])
            assert _waiting(tx, 4) == [11, 12, 10]
            assert _waiting(tx, 5) == [13, 11, 12, 10]

    def test_work_marks_increment_the_counter_without_a_new_version(self, waiting: Store) -> None:
        remember(waiting, memory(1))
        steps: tuple[Callable[[Transaction], None], ...] = (
            lambda tx: tx.schedule_retry(_ids(11), retry_at=at(1)),
            lambda tx: tx.mark_learned(_ids(11), at(2)),
            lambda tx: tx.mark_pending(_ids(11)),
            lambda tx: tx.mark_summarised(_ids(11), at(2)),
            lambda tx: tx.add_mark(_ids(1), ProcessingFlag.INCORPORATED),
            lambda tx: tx.remove_mark(_ids(1), ProcessingFlag.INCORPORATED),
            lambda tx: tx.set_progress("s1", ConsolidationProgress(1)),
        )
        with waiting.read("alice") as snapshot:
            before = snapshot.counter
            wordings = snapshot.message_revisions(_ids(11))
            history = snapshot.history(record_id(1))
        for step in steps:
            with _write(waiting) as tx:
                step(tx)
        with waiting.read("alice") as snapshot:
            assert snapshot.counter == before + len(steps)
            assert snapshot.message_revisions(_ids(11)) == wordings
            assert snapshot.history(record_id(1)) == history

    def test_work_marks_are_rolled_back_with_the_transaction(self, waiting: Store) -> None:
        remember(waiting, memory(1))
        with pytest.raises(ZeroDivisionError), _write(waiting) as tx:
            tx.mark_learned(_ids(11), at(1))
            tx.schedule_retry(_ids(12), retry_at=None)
            tx.mark_summarised(_ids(13), at(1))
            tx.set_progress("s1", ConsolidationProgress(1))
            tx.add_mark(_ids(1), ProcessingFlag.INCORPORATED)
            raise ZeroDivisionError
        with waiting.read("alice") as snapshot:
            assert numbers_of(
                snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, _FACTS)
            ) == [1]
            assert _waiting(snapshot) == [13, 11, 12, 10]
            assert snapshot.count_unsummarised_messages() == 4
            assert snapshot.progress("s1") == ConsolidationProgress()

    def test_snapshot_is_unaffected_by_later_work_marks(self, waiting: Store) -> None:
        with waiting.read("alice") as snapshot:
            assert snapshot.counter == 3
            assert _waiting(snapshot) == [13, 11, 12, 10]
            with _write(waiting) as tx:
                tx.mark_learned(_ids(13), at(1))
                tx.mark_summarised(_ids(11), at(1))
                tx.set_progress("s1", ConsolidationProgress(1))
            assert _waiting(snapshot) == [13, 11, 12, 10]
            assert snapshot.count_unsummarised_messages() == 4
            assert snapshot.progress("s1") == ConsolidationProgress()
