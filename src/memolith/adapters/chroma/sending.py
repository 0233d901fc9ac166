"""Bringing Chroma up to date with the store.

No transaction is open while Chroma is asked. What is about to be sent is told in the store before,
and what was, after: a process that is killed in between leaves what the next one can continue.
"""

from __future__ import annotations

import logging
import secrets
import threading
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from memolith.adapters.chroma import ledger
from memolith.adapters.chroma.collections import SERVICE, CollectionNotFound
from memolith.adapters.chroma.locking import ForkSafeLock
from memolith.errors import ServiceFailed, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memolith.adapters.chroma.collections import Chroma, Facts
    from memolith.adapters.chroma.ledger import PendingChanges, SentVectors, VectorModel
    from memolith.adapters.chroma.locking import ProcessLock
    from memolith.adapters.sqlite.connections import Connections

_log = logging.getLogger(__name__)

_WAIT_S = 0.02


class ForeignCollection(Exception):
    """A collection is not in the state that the store left it in."""


class _SendTask(NamedTuple):
    """Whose vectors are to be sent, what is known of them, and what they are of."""

    owner: int
    known: SentVectors | None
    of: str
    model: VectorModel


def _is_known_stamp(sent: SentVectors | None, stamp: str) -> bool:
    return sent is not None and stamp in {sent.stamp, sent.sending}


@cache
def _log_foreign_once(name: str) -> None:
    """Log, once, that a collection is not used."""
    _log.error(
        "Chroma's collection %s is not as this store left it: it is not searched until"
        " `memolith verify --repair` has made it anew",
        name,
    )


def never_stop() -> bool:
    """Do not stop."""
    return False


class OutboxSender:
    """Sends what is due. One process, and one thread of it, at a time."""

    def __init__(
        self, connections: Connections, chroma: Chroma, lock: ProcessLock, in_memory: int
    ) -> None:
        """Take the store's connections, and where to send to.

        Args:
            connections: Of the store.
            chroma: Where to send to.
            lock: Held while sending.
            in_memory: Of owners who have at most so many items nothing is sent.
        """
        self._connections = connections
        self._chroma = chroma
        self._lock = lock
        self._in_memory = in_memory
        self._thread_lock = ForkSafeLock()

    def send(
        self, should_stop: Callable[[], bool] = never_stop, *, only_changes: bool = False
    ) -> bool:
        """Send what is due; return whether nothing is left.

        Args:
            stopped: Asked between two batches: whether to leave the rest.
            only_changes: Only what was removed or has changed.

        Raises:
            ServiceFailed: Chroma can't be reached, or another process is sending.
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
        """Keep others from sending.

        Raises:
            ServiceFailed: Another process is sending.
            StoreUnavailable: The file that is locked for it can't be made.
        """
        with self._thread_lock:
            until_s = monotonic() + wait_s
            pause = threading.Event()
            while not self._try_acquire():
                if should_stop() or monotonic() > until_s:
                    problem = "is being brought up to date by another process"
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
                return ledger.owners_with_changes(connection)
            return ledger.lagging_owners(connection, self._in_memory)

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
        except CollectionNotFound:  # somebody removed it just now: it is made anew the next time
            return False
        return True

    def _send_batch(self, owner: int, *, only_changes: bool) -> bool:
        """Send one batch; return whether there may be more."""
        with self._connections.read() as connection:
            known = ledger.read_sent(connection, owner)
            version = ledger.read_key_version(connection, owner)
            model = ledger.read_model(connection)
            has_more = ledger.has_pending(connection, owner) or (
                not only_changes
                and ledger.read_next_item(connection, owner) > (known.next_item if known else 1)
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
        name = ledger.collection_name(store, owner)
        stamp = self._chroma.stamp(name)
        if stamp is not None and not _is_known_stamp(known, stamp):
            if known is not None and known.stamp is not None:
                raise ForeignCollection(name)
            # Of this store, which knows nothing of it: an older backup was put in its place.
            _log.warning("Chroma's collection %s is made anew", name)
            self._chroma.drop(name)
            stamp = None
        if stamp is None and known is not None and known.stamp is not None:
            _log.warning("Chroma's collection %s is gone: it is made anew", name)
            self.invalidate([owner])
            return True
        start = known.next_item if known else 1
        sending = secrets.token_hex(8)
        with self._connections.write() as connection:
            end = (
                start
                if only_changes
                else ledger.find_batch_end(connection, owner, start, task.model.column)
            )
            ledger.record_intent(connection, owner, (end, task.of, stamp, sending))
            connection.run("COMMIT")
        with self._connections.read() as connection:
            todo = ledger.read_pending_changes(connection, owner, (start, end), task.model)
        is_made = self._put(
            name, ledger.collection_facts(store, owner, sending), todo, is_made=stamp is not None
        )
        with self._connections.write() as connection:
            ledger.acknowledge(connection, owner, (sending if is_made else None, end, sending))
            ledger.clear_pending(connection, owner, todo.marks)
            connection.run("COMMIT")
        return True

    def _put(self, name: str, facts: Facts, todo: PendingChanges, *, is_made: bool) -> bool:
        """Send what is to be sent; return whether there is a collection."""
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
        self._chroma.drop(ledger.collection_name(self._store_id(), owner))
        with self._connections.write() as connection:
            for table in ("vectors_sent", "vectors_due"):
                connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (owner,))
            connection.run("COMMIT")
        return True

    def invalidate(self, owners: Sequence[int]) -> None:
        """Have the collections of owners removed, and made anew."""
        with self._connections.write() as connection:
            for owner in owners:
                connection.run(
                    "UPDATE vectors_sent SET is_dropping = 1 WHERE owner_id = ?", (owner,)
                )
            connection.run("COMMIT")

    def _store_id(self) -> str:
        with self._connections.read() as connection:
            known = ledger.read_store_id(connection)
        if known is not None:
            return known
        with self._connections.write() as connection:
            made = ledger.ensure_store_id(connection)
            connection.run("COMMIT")
        return made
