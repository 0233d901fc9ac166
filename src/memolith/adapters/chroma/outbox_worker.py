"""Sends pending vectors to Chroma, and verifies and repairs its collections.

No transaction is open during a request to Chroma. The store records the intent before a batch and
the result after it, so that another process can continue after a crash.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from time import monotonic
from typing import NamedTuple

import numpy as np

from memolith.adapters.chroma import outbox
from memolith.adapters.chroma.client import (
    SERVICE,
    Chroma,
    CollectionNotFound,
    Facts,
    ForkSafeLock,
    Points,
    ProcessLock,
)
from memolith.adapters.chroma.outbox import PendingChanges, SentVectors, VectorModel
from memolith.adapters.sqlite.connections import Connections
from memolith.errors import MemolithError, ServiceFailed, StoreReadOnly, StoreUnavailable
from memolith.ports.admin import Finding

_log = logging.getLogger(__name__)

_WAIT_S = 0.02


class ForeignCollection(Exception):
    """A collection is not in the state in which the store left it."""


class _SendTask(NamedTuple):
    """An owner whose vectors are to be sent, with the model and the state of the collection."""

    owner: int
    known: SentVectors | None
    of: str
    model: VectorModel


def _is_known_stamp(sent: SentVectors | None, stamp: str) -> bool:
    return sent is not None and stamp in {sent.stamp, sent.sending}


@cache
def _log_foreign_once(name: str) -> None:
    """Log once that a collection is ignored."""
    _log.error(
        "Chroma collection %s was changed outside this store; it is not searched until"
        " `memolith verify --repair` rebuilds it",
        name,
    )


def never_stop() -> bool:
    """Return False: never stop early."""
    return False


class OutboxSender:
    """Sends pending vectors. Only one thread of one process sends at a time."""

    def __init__(
        self, connections: Connections, chroma: Chroma, lock: ProcessLock, in_memory: int
    ) -> None:
        """Use the store's connections and a Chroma.

        Args:
            connections: The store's connections.
            chroma: Destination.
            lock: Acquired while sending.
            in_memory: Vectors of owners with at most this many items are not sent.
        """
        self._connections = connections
        self._chroma = chroma
        self._lock = lock
        self._in_memory = in_memory
        self._thread_lock = ForkSafeLock()

    def send(
        self, should_stop: Callable[[], bool] = never_stop, *, only_changes: bool = False
    ) -> bool:
        """Send pending vectors; return whether all were sent.

        Args:
            should_stop: Called between batches; the rest is left if it returns True.
            only_changes: Send only changed and removed vectors, no new ones.

        Raises:
            ServiceFailed: Chroma is unreachable, or another process is sending.
            StoreUnavailable: The store can't be read or written.
        """
        is_done = True
        for owner in self._find_pending_owners(only_changes=only_changes):
            with self.exclusive(should_stop):
                is_done &= self._send_owner(owner, should_stop, only_changes=only_changes)
        return is_done

    @contextmanager
    def exclusive(
        self, should_stop: Callable[[], bool] = never_stop, *, wait_s: float = 5.0
    ) -> Iterator[None]:
        """Prevent other threads and processes from sending.

        Raises:
            ServiceFailed: Another process is sending.
            StoreUnavailable: The lock file can't be created.
        """
        with self._thread_lock:
            until_s = monotonic() + wait_s
            pause = threading.Event()
            while not self._try_acquire():
                if should_stop() or monotonic() > until_s:
                    problem = "another process is updating it; try again later"
                    raise ServiceFailed(SERVICE, problem, retryable=True)
                pause.wait(_WAIT_S)
            try:
                yield
            finally:
                self._lock.release()

    def _try_acquire(self) -> bool:
        try:
            return self._lock.acquire()
        except OSError as error:
            problem = f"{self._lock.path} can't be locked: {error.strerror}"
            raise StoreUnavailable(problem) from error

    def _find_pending_owners(self, *, only_changes: bool) -> list[int]:
        with self._connections.read() as connection:
            if only_changes:
                return outbox.owners_with_changes(connection)
            return outbox.lagging_owners(connection, self._in_memory)

    def _send_owner(
        self, owner: int, should_stop: Callable[[], bool], *, only_changes: bool
    ) -> bool:
        try:
            while self._send_batch(owner, only_changes=only_changes):
                if should_stop():
                    return False
        except ForeignCollection as error:
            _log_foreign_once(str(error))
            return False
        except CollectionNotFound:  # removed concurrently: recreated next time
            return False
        return True

    def _send_batch(self, owner: int, *, only_changes: bool) -> bool:
        """Send one batch; return whether there may be more."""
        with self._connections.read() as connection:
            known = outbox.read_sent(connection, owner)
            version = outbox.read_key_version(connection, owner)
            model = outbox.read_model(connection)
            has_more = outbox.has_pending(connection, owner) or (
                not only_changes
                and outbox.read_next_item(connection, owner) > (known.next_item if known else 1)
            )
        if known is not None and (known.is_dropping or version is None):
            return self._drop(owner)
        of = f"{model.prefix}{version}"
        if known is not None and known.model != of:
            self.invalidate([owner])
            return True
        if version is None or not has_more:
            return False
        return self._update_collection(
            _SendTask(owner, known, of, model), only_changes=only_changes
        )

    def _update_collection(self, task: _SendTask, *, only_changes: bool) -> bool:
        owner, known = task.owner, task.known
        store = self._store_id()
        name = outbox.collection_name(store, owner)
        stamp = self._chroma.stamp(name)
        if stamp is not None and not _is_known_stamp(known, stamp):
            if known is not None and known.stamp is not None:
                raise ForeignCollection(name)
            # The collection belongs to this store, which has no record of it: an older backup was
            # restored.
            _log.warning("rebuilding Chroma collection %s", name)
            self._chroma.drop(name)
            stamp = None
        if stamp is None and known is not None and known.stamp is not None:
            _log.warning("Chroma collection %s is missing; rebuilding it", name)
            self.invalidate([owner])
            return True
        start = known.next_item if known else 1
        sending = secrets.token_hex(8)
        with self._connections.write() as connection:
            end = (
                start
                if only_changes
                else outbox.find_batch_end(connection, owner, start, task.model.column)
            )
            outbox.record_intent(connection, owner, (end, task.of, stamp, sending))
            connection.run("COMMIT")
        with self._connections.read() as connection:
            todo = outbox.read_pending_changes(connection, owner, (start, end), task.model)
        is_made = self._put(
            name, outbox.collection_facts(store, owner, sending), todo, is_made=stamp is not None
        )
        with self._connections.write() as connection:
            outbox.acknowledge(connection, owner, (sending if is_made else None, end, sending))
            outbox.clear_pending(connection, owner, todo.marks)
            connection.run("COMMIT")
        return True

    def _put(self, name: str, facts: Facts, todo: PendingChanges, *, is_made: bool) -> bool:
        """Send a batch; return whether the collection exists."""
        if not (is_made or todo.points.ids):
            return False
        if not is_made:
            self._chroma.make(name, facts)
        if todo.points.ids:
            self._chroma.put(name, todo.points)
        if todo.removed_ids:
            self._chroma.remove(name, todo.removed_ids)
        self._chroma.mark(name, facts)
        return True

    def _drop(self, owner: int) -> bool:
        self._chroma.drop(outbox.collection_name(self._store_id(), owner))
        with self._connections.write() as connection:
            for table in ("vectors_sent", "vectors_due"):
                connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (owner,))
            connection.run("COMMIT")
        return True

    def invalidate(self, owners: Sequence[int]) -> None:
        """Mark the collections of owners for removal and rebuilding."""
        with self._connections.write() as connection:
            for owner in owners:
                connection.run(
                    "UPDATE vectors_sent SET is_dropping = 1 WHERE owner_id = ?", (owner,)
                )
            connection.run("COMMIT")

    def _store_id(self) -> str:
        with self._connections.read() as connection:
            known = outbox.read_store_id(connection)
        if known is not None:
            return known
        with self._connections.write() as connection:
            made = outbox.ensure_store_id(connection)
            connection.run("COMMIT")
        return made


# --- Background thread


_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 30.0
"""First and longest pause between attempts, in seconds; doubles each time. A guess."""

SHUTDOWN_TIMEOUT_S = 10.0
"""Seconds that `close` waits for pending vectors; the next process sends the rest. A guess."""


class OutboxWorker:
    """Sends pending vectors when woken, and retries with backoff.

    The first `wake` starts the thread. A forked child starts its own.
    """

    def __init__(self, send: Callable[[Callable[[], bool]], bool]) -> None:
        """Use a function that sends and returns whether everything was sent.

        It receives a function to call between batches, which returns whether to stop.
        """
        self._send = send
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._woken = threading.Event()
        self._ending = threading.Event()
        self._stopped = threading.Event()

    def wake(self) -> None:
        """Schedule sending; ignored after `close`."""
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            if self._ending.is_set():
                return
            self._woken.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="memolith-vectors", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Wait up to `SHUTDOWN_TIMEOUT_S` for pending vectors, then stop. Idempotent."""
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            self._ending.set()
            self._woken.set()
            thread = self._thread
        if thread is not None:
            thread.join(SHUTDOWN_TIMEOUT_S)
            self._stopped.set()
            thread.join()

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            self._woken.wait()
            is_last = self._ending.is_set()
            self._woken.clear()
            if self._send_pending():
                pause_s = _FIRST_PAUSE_S
            else:
                self._ending.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._woken.set()
            if is_last:
                return

    def _send_pending(self) -> bool:
        try:
            return self._send(self._stopped.is_set)
        except StoreReadOnly:
            return True  # a process that can write will send them
        except MemolithError as error:
            _log.debug("sending vectors failed, will retry: %s", error)
            return False


# --- Verification and repair


_KIND = "vector"

_FAILURES = (ServiceFailed, StoreUnavailable, StoreReadOnly)


class CollectionVerifier:
    """Compares all collections of a store with its vectors."""

    def __init__(
        self, connections: Connections, chroma: Chroma, sender: OutboxSender, in_memory: int
    ) -> None:
        """Use the store's connections, Chroma and its sender."""
        self._connections = connections
        self._chroma = chroma
        self._sender = sender
        self._in_memory = in_memory

    def find_problems(self) -> list[Finding]:
        """Return the differences in Chroma, after trying to send pending vectors."""
        with suppress(*_FAILURES):  # asked again below, and reported there
            self._sender.send()
        try:
            with self._sender.exclusive():
                return [
                    *self._report_differences(),
                    *self._report_pending(),
                    *self._report_orphans(),
                ]
        except _FAILURES as failure:
            return [Finding(_KIND, None, None, str(failure)), *self._report_pending()]

    def repair(self) -> None:
        """Rebuild collections that differ, and remove those without an owner.

        No error is raised if Chroma is unreachable: the next check reports the problem again.
        """
        with suppress(*_FAILURES):
            with self._sender.exclusive():
                differing = [sent.owner for sent, _ in self._find_differences()]
                for name in self._find_orphans():
                    self._chroma.drop(name)
            self._sender.invalidate(differing)
            self._sender.send()

    def _report_pending(self) -> Iterator[Finding]:
        with self._connections.read() as connection:
            owners = outbox.lagging_owners(connection, self._in_memory)
            names: dict[int, str] = dict(connection.rows("SELECT owner_id, name FROM owners"))
            due = {owner: outbox.count_pending(connection, owner) for owner in owners}
        for owner, count in due.items():
            detail = f"{count} vectors in Chroma are missing or outdated: they are pending"
            if owner not in names:
                detail = "Chroma has vectors of an erased owner: their removal is pending"
            yield Finding(_KIND, names.get(owner), None, detail)

    def _report_differences(self) -> list[Finding]:
        with self._connections.read() as connection:
            names: dict[int, str] = dict(connection.rows("SELECT owner_id, name FROM owners"))
        return [
            Finding(_KIND, names.get(sent.owner), None, detail)
            for sent, detail in self._find_differences()
        ]

    def _report_orphans(self) -> Iterator[Finding]:
        for name in self._find_orphans():
            yield Finding("orphan", None, None, f"Chroma collection {name} has no owner")

    def _find_orphans(self) -> list[str]:
        with self._connections.read() as connection:
            store = outbox.read_store_id(connection)
            known = outbox.list_sent(connection)
        if store is None:
            return []
        own = {outbox.collection_name(store, sent.owner) for sent in known}
        return sorted(set(self._chroma.names(outbox.collection_prefix(store))) - own)

    def _find_differences(self) -> Iterator[tuple[SentVectors, str]]:
        """Yield the differences of collections that should be up to date."""
        with self._connections.read() as connection:
            store = outbox.read_store_id(connection)
            known = outbox.list_sent(connection)
        for sent in known:
            name = outbox.collection_name(store or "", sent.owner)
            if not sent.is_dropping:
                for detail in self._compare_collection(name, sent):
                    yield sent, detail

    def _compare_collection(self, name: str, sent: SentVectors) -> Iterator[str]:
        stamp = self._chroma.stamp(name)
        if stamp is None and sent.stamp is None:
            return
        if stamp is None:
            yield f"Chroma collection {name} is missing"
        elif stamp not in {sent.stamp, sent.sending}:
            yield f"Chroma collection {name} was changed outside this store"
        else:
            with suppress(CollectionNotFound):
                yield from self._compare_vectors(name, sent.owner)

    def _compare_vectors(self, name: str, owner: int) -> Iterator[str]:
        """Compare each vector of a collection while sending is blocked."""
        with self._connections.read() as connection:
            sent = outbox.read_sent(connection, owner)
            if sent is None or sent.is_dropping:
                return
            due = outbox.pending_ids(connection, owner)
            expected = dict(
                each
                for points in outbox.iterate_expected(connection, sent)
                for each in _checksums(points)
            )
        others = unlike = 0
        for id_, value in self._iterate_stored(name):
            if id_ not in due:
                found = expected.pop(id_, None)
                others += found is None
                unlike += found not in {None, value}
        missing = expected.keys() - due
        if missing:
            yield f"{len(missing)} vectors are missing in Chroma"
        if unlike:
            yield f"{unlike} vectors in Chroma differ from the store"
        if others:
            yield f"{others} vectors in Chroma have no passage in the store"

    def _iterate_stored(self, name: str) -> Iterator[tuple[str, int]]:
        start, length = 0, outbox.BATCH_SIZE
        while length == outbox.BATCH_SIZE:
            page = self._chroma.page(name, start, outbox.BATCH_SIZE)
            yield from _checksums(page)
            length = len(page.ids)
            start += length


def _checksums(points: Points) -> Iterator[tuple[str, int]]:
    """Yield each id with a checksum of its vector and metadata."""
    # Chroma stores direction and length separately, so the integers are only approximate.
    whole = np.rint(points.vectors).astype(np.int32)
    for id_, vector, facts in zip(points.ids, whole, points.facts, strict=True):
        yield id_, hash((vector.tobytes(), tuple(sorted(facts.items()))))
