"""Run every operation of a store once, so that all of its statements are executed."""

from dataclasses import replace

import numpy as np

from memolith.domain.memories import Action, Event, Link, Source, State
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag, WorkKind
from memolith.domain.recall import SearchFilter
from memolith.ports.admin import EmbeddingModel, SupportsMigration, SupportsReembedding
from memolith.ports.service import ApiKey, KeyRole, ModelUsage, StoredResponse
from memolith.ports.store import Snapshot, Store, Transaction
from memolith.testing.builders import (
    at,
    entry,
    memory,
    message,
    passage,
    record_id,
    short_entry,
    vector,
)


def _reembed(store: Store) -> None:
    """Start re-embedding Alice's records, cancel it, and then complete it."""
    assert isinstance(store, SupportsReembedding)
    for is_kept in (False, True):
        store.begin_reembedding(EmbeddingModel("another", 4))
        bare = store.passages_missing_vectors("alice", 9)
        made = {each.position: np.ones(4, dtype=np.int8) for each in bare.passages}
        assert store.count_missing_vectors("alice") == len(made) > 0
        assert store.add_vectors("alice", bare, made)
        store.pause_writers()
        store.resume_writers()
        assert store.owners_missing_vectors() == []
        assert store.switch_vectors() if is_kept else store.abandon_reembedding()
        while store.remove_unused_vectors("alice", 0, 9) is not None:
            pass
        store.mark_unused_removed()
    store.expect_embedder("another", 4)
    store.check_embedder()


def do_everything(store: Store) -> None:
    """Write and read all kinds of data for Alice."""
    with store.write("alice") as tx:
        _write_everything(tx)
    store.record_access("alice", {record_id(1): (1, at(9))})
    with store.read("alice") as snapshot:
        assert snapshot.profile != ""
        _read_everything(snapshot)
    lease = store.jobs.acquire("decay", now=at(0), every_s=1, lease_s=1)
    assert lease is not None
    store.jobs.renew(lease, "half", now=at(0), lease_s=1)
    store.jobs.release(lease)
    store.jobs.finish(lease, now=at(0))
    for work in WorkKind:
        _work(store, work)
    store.usage.add("alice", "extract", ModelUsage(1), at=at(0))
    store.usage.get_usage("alice", at(0))
    store.api_keys.add(ApiKey("phone", KeyRole.OWNER, "alice", at(0)), b"d" * 32)
    store.api_keys.find(b"d" * 32)
    store.api_keys.all()
    store.api_keys.revoke("phone", at(1))
    for key in "kl":
        store.idempotency.begin("alice", key, b"request", now=at(0))
    store.idempotency.finish("alice", "k", StoredResponse(200, b""))
    _reembed(store)
    store.idempotency.begin("alice", "k", b"request", now=at(0))
    store.idempotency.abandon("alice", "l")
    if isinstance(store, SupportsMigration):
        _move(store)


def _move(store: SupportsMigration) -> None:
    for owner in ("alice", None):
        with store.read_rows(owner) as batches:
            rows = [(table, [*some]) for table, some in batches]
        before = store.checksums(owner)
        store.write_rows(owner, rows)
        assert store.checksums(owner) == before
    store.fingerprint("alice")
    store.remove_owner("nobody")


def _work(store: Store, work: WorkKind) -> None:
    store.leases.owners(work, now=at(0))
    claim = store.leases.acquire("alice", work, now=at(0), lease_s=1)
    assert claim is not None
    with store.write("alice") as tx:
        tx.holds_lease(claim)
    store.leases.renew(claim, now=at(0), lease_s=1)
    store.leases.fail(claim, retry_at=None)
    store.leases.retry("alice")
    store.leases.release(claim)


def _write_everything(tx: Transaction) -> None:
    tx.adopt_profile("standard")
    tx.set_profile("facts")
    own = entry(passage({"tea": 1}, (1,), digest=b"d" * 16))
    tx.log("s1", [(message(n, sequence=n, external_id=str(n)), own) for n in (11, 12, 13)])
    source = (Source(record_id(11)),)
    memories = [memory(n, tags=("a",), sources=source, session_id="s1") for n in (1, 2, 3)]
    tx.insert([(replace(one, compressed=True), own) for one in memories])
    tx.link([Link(record_id(1), record_id(2), "summary_of")])
    tx.revise(memory(1, version=2, sources=source, tags=("b",)), own)
    tx.amend(memory(2, key="k", state=State.FADED))
    tx.revise_message(message(11, sequence=11, version=2), own, at(9))
    tx.reindex(record_id(12), short_entry("pot"))
    tx.close_messages([record_id(13)], at(9))
    tx.end_session("s1", at(9))
    tx.next_sequence("s1")
    tx.record([Event(record_id(1), Action.UPDATED, at(1), "user", 2, {"a": "b"})])
    tx.rewrite_message(record_id(12), [(message(12, "other", sequence=12), own)])
    tx.set_base_memory("a", sources=source, at=at(1))
    tx.rewrite_base_memory({1: "b"})
    tx.purge([record_id(3), record_id(13)])
    tx.log("s2", [(message(14, sequence=1), own)])
    tx.remove_sessions(["s2"])
    tx.set_strengths([record_id(1)], [0.1])
    tx.mark_pending([record_id(11)])
    tx.schedule_retry([record_id(11)], retry_at=None)
    tx.mark_learned([record_id(11)], at(9))
    tx.mark_summarised([record_id(11)], at(9))
    tx.add_mark([record_id(1)], ProcessingFlag.INCORPORATED)
    tx.remove_mark([record_id(1)], ProcessingFlag.INCORPORATED)
    tx.set_progress("s1", ConsolidationProgress(1))


def _read_everything(snapshot: Snapshot) -> None:
    ids = [record_id(n) for n in (1, 2, 11, 12)]
    snapshot.memories(ids)
    snapshot.memories(ids, as_of=at(5))
    snapshot.find_by_key("k")
    snapshot.find_by_content("", dormant=True)
    states, kinds = frozenset(State), frozenset({"fact"})
    page = snapshot.page(states=states, kinds=kinds, tags=("a",), limit=1, cursor=None)
    snapshot.page(states=states, kinds=None, tags=(), limit=1, cursor=page.cursor)
    snapshot.history(ids[0])
    for as_of in (None, at(5)):
        snapshot.messages(as_of=as_of)
        snapshot.messages(ids=ids, as_of=as_of)
        snapshot.messages(session_id="s1", as_of=as_of)
    snapshot.recent_messages(5)
    snapshot.recent_messages(5, session_id="s1")
    snapshot.original_messages(ids)
    snapshot.forgotten_messages()
    snapshot.message_revisions(ids)
    snapshot.find_adjacent_message(ids[-1], 1)
    snapshot.external_ids("s1", ["11"])
    snapshot.sessions()
    snapshot.participants()
    snapshot.derived_memories(ids)
    snapshot.vectors([b"d" * 16])
    snapshot.statistics()
    snapshot.base_memory()
    snapshot.base_memory(as_of=at(1))
    snapshot.base_memories()
    snapshot.memory_stats(states=states)
    snapshot.pending_messages(9, now=at(9))
    snapshot.attempts(ids)
    snapshot.unsummarised_messages(9)
    snapshot.unsummarised_messages(9, session_id="s1")
    snapshot.count_unsummarised_messages()
    snapshot.count_unsummarised_by_session()
    snapshot.memories_without_mark(ProcessingFlag.INCORPORATED, kinds)
    snapshot.progress("s1")
    snapshot.pending_work()
    scope = SearchFilter(now=at(9), session_id="s1", tags=("a",), include_compressed=False)
    numbers = snapshot.nearest(vector(1), 9, SearchFilter(now=at(9)))
    snapshot.nearest(vector(1), 9, scope)
    snapshot.postings(["tea"], scope)
    snapshot.centroid(scope)
    snapshot.find_containing(["a"], SearchFilter(now=at(9)))
    snapshot.usage_stats(numbers)
    snapshot.item_numbers(ids, scope)
    snapshot.items_with_content("tea", 9, scope)
    snapshot.items(np.array(numbers))
