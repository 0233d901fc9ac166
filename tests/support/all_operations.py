"""All that a store can be asked to do, once, so that every statement it has is run."""

from dataclasses import replace

import numpy as np

from memolith.domain.memories import Action, Event, Link, Source, State
from memolith.domain.recall import Scope
from memolith.domain.work import Mark, Progress, Work
from memolith.ports.api_keys import ApiKey, KeyRole
from memolith.ports.idempotency import Reply
from memolith.ports.moving import Movable
from memolith.ports.reembedding import EmbeddingModel, Reembeddable
from memolith.ports.store import Snapshot, Store, Transaction
from memolith.ports.usage import Spent
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
    """Begin to make Alice's vectors anew, give that up, and do it."""
    assert isinstance(store, Reembeddable)
    for is_kept in (False, True):
        store.begin_reembedding(EmbeddingModel("another", 4))
        bare = store.bare_passages("alice", 9)
        made = {each.place: np.ones(4, dtype=np.int8) for each in bare.passages}
        assert store.count_bare("alice") == len(made) > 0
        assert store.give_vectors("alice", bare, made)
        store.hold_writers()
        store.release_writers()
        assert store.bare_owners() == []
        assert store.switch_vectors() if is_kept else store.abandon_reembedding()
        while store.remove_unused("alice", 0, 9) is not None:
            pass
        store.removed_unused()
    store.expect_embedder("another", 4)
    store.check_embedder()


def do_everything(store: Store) -> None:
    """Write and read all there is, for Alice."""
    with store.write("alice") as tx:
        _write_everything(tx)
    store.touch("alice", {record_id(1): (1, at(9))})
    with store.read("alice") as snapshot:
        assert snapshot.profile != ""
        _read_everything(snapshot)
    lease = store.jobs.take("decay", now=at(0), every_s=1, lease_s=1)
    assert lease is not None
    store.jobs.keep(lease, "half", now=at(0), lease_s=1)
    store.jobs.release(lease)
    store.jobs.finish(lease, now=at(0))
    for work in Work:
        _work(store, work)
    store.usage.add("alice", "extract", Spent(1), at=at(0))
    store.usage.since("alice", at(0))
    store.api_keys.add(ApiKey("phone", KeyRole.OWNER, "alice", at(0)), b"d" * 32)
    store.api_keys.find(b"d" * 32)
    store.api_keys.all()
    store.api_keys.revoke("phone", at(1))
    for key in "kl":
        store.idempotency.begin("alice", key, b"request", now=at(0))
    store.idempotency.finish("alice", "k", Reply(200, b""))
    _reembed(store)
    store.idempotency.begin("alice", "k", b"request", now=at(0))
    store.idempotency.abandon("alice", "l")
    if isinstance(store, Movable):
        _move(store)


def _move(store: Movable) -> None:
    for owner in ("alice", None):
        with store.rows_of(owner) as batches:
            rows = [(table, [*some]) for table, some in batches]
        before = store.sums(owner)
        store.take_rows(owner, rows)
        assert store.sums(owner) == before
    store.state("alice")
    store.remove("nobody")


def _work(store: Store, work: Work) -> None:
    store.claims.owners(work, now=at(0))
    claim = store.claims.take("alice", work, now=at(0), lease_s=1)
    assert claim is not None
    with store.write("alice") as tx:
        tx.holds(claim)
    store.claims.keep(claim, now=at(0), lease_s=1)
    store.claims.fail(claim, retry_at=None)
    store.claims.unpark("alice")
    store.claims.release(claim)


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
    tx.reword(record_id(12), [(message(12, "other", sequence=12), own)])
    tx.set_base_memory("a", sources=source, at=at(1))
    tx.reword_base_memory({1: "b"})
    tx.purge([record_id(3), record_id(13)])
    tx.log("s2", [(message(14, sequence=1), own)])
    tx.remove_sessions(["s2"])
    tx.set_strengths([record_id(1)], [0.1])
    tx.await_learning([record_id(11)])
    tx.postpone([record_id(11)], retry_at=None)
    tx.learned([record_id(11)], at(9))
    tx.summarised([record_id(11)], at(9))
    tx.mark([record_id(1)], Mark.INCORPORATED)
    tx.unmark([record_id(1)], Mark.INCORPORATED)
    tx.set_progress("s1", Progress(1))


def _read_everything(snapshot: Snapshot) -> None:
    ids = [record_id(n) for n in (1, 2, 11, 12)]
    snapshot.memories(ids)
    snapshot.memories(ids, as_of=at(5))
    snapshot.by_key("k")
    snapshot.by_content("", dormant=True)
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
    snapshot.originals(ids)
    snapshot.forgotten_messages()
    snapshot.wordings(ids)
    snapshot.adjacent(ids[-1], 1)
    snapshot.external_ids("s1", ["11"])
    snapshot.sessions()
    snapshot.participants()
    snapshot.derived(ids)
    snapshot.vectors([b"d" * 16])
    snapshot.statistics()
    snapshot.base_memory()
    snapshot.base_memory(as_of=at(1))
    snapshot.base_memories()
    snapshot.vitals(states=states)
    snapshot.awaiting(9, now=at(9))
    snapshot.attempts(ids)
    snapshot.unsummarised(9)
    snapshot.unsummarised(9, session_id="s1")
    snapshot.unsummarised_count()
    snapshot.unsummarised_by_session()
    snapshot.unmarked(Mark.INCORPORATED, kinds)
    snapshot.progress("s1")
    snapshot.backlog()
    scope = Scope(now=at(9), session_id="s1", tags=("a",), include_compressed=False)
    numbers = snapshot.nearest(vector(1), 9, Scope(now=at(9)))
    snapshot.nearest(vector(1), 9, scope)
    snapshot.postings(["tea"], scope)
    snapshot.centroid(scope)
    snapshot.containing(["a"], Scope(now=at(9)))
    snapshot.uses(numbers)
    snapshot.numbers(ids, scope)
    snapshot.saying("tea", 9, scope)
    snapshot.items(np.array(numbers))
