"""Comparing what Chroma holds with the store, and making anew what differs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.chroma import ledger
from memolith.adapters.chroma.collections import CollectionNotFound
from memolith.errors import ServiceFailed, StoreReadOnly, StoreUnavailable
from memolith.ports.verifying import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.adapters.chroma.collections import Chroma, Points
    from memolith.adapters.chroma.ledger import SentVectors
    from memolith.adapters.chroma.sending import OutboxSender
    from memolith.adapters.sqlite.connections import Connections

_KIND = "vector"

_FAILURES = (ServiceFailed, StoreUnavailable, StoreReadOnly)


class CollectionVerifier:
    """Looks at all collections of a store."""

    def __init__(
        self, connections: Connections, chroma: Chroma, sender: OutboxSender, in_memory: int
    ) -> None:
        """Take the store's connections, Chroma, and what sends to it."""
        self._connections = connections
        self._chroma = chroma
        self._sender = sender
        self._in_memory = in_memory

    def find_problems(self) -> list[Finding]:
        """Return in what Chroma differs; what is due is sent before, if it can be."""
        with suppress(*_FAILURES):  # asked once more, and told, below
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
        """Make collections anew that differ, and remove those that are nobody's.

        Raises nothing where Chroma can't be reached: it is found again.
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
            owners = ledger.lagging_owners(connection, self._in_memory)
            names: dict[int, str] = dict(connection.rows("SELECT owner_id, name FROM owners"))
            due = {owner: ledger.count_pending(connection, owner) for owner in owners}
        for owner, count in due.items():
            detail = f"Chroma does not have {count} vectors as they are: they are due to be sent"
            if owner not in names:
                detail = "Chroma has vectors of an owner who was erased: they are due to be removed"
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
            yield Finding("orphan", None, None, f"Chroma's collection {name} is nobody's")

    def _find_orphans(self) -> list[str]:
        with self._connections.read() as connection:
            store = ledger.read_store_id(connection)
            known = ledger.list_sent(connection)
        if store is None:
            return []
        own = {ledger.collection_name(store, sent.owner) for sent in known}
        return sorted(set(self._chroma.names(ledger.collection_prefix(store))) - own)

    def _find_differences(self) -> Iterator[tuple[SentVectors, str]]:
        """Yield in what collections differ that should be up to date."""
        with self._connections.read() as connection:
            store = ledger.read_store_id(connection)
            known = ledger.list_sent(connection)
        for sent in known:
            name = ledger.collection_name(store or "", sent.owner)
            if not sent.is_dropping:
                for detail in self._compare_collection(name, sent):
                    yield sent, detail

    def _compare_collection(self, name: str, sent: SentVectors) -> Iterator[str]:
        stamp = self._chroma.stamp(name)
        if stamp is None and sent.stamp is None:
            return
        if stamp is None:
            yield f"Chroma's collection {name} is gone"
        elif stamp not in {sent.stamp, sent.sending}:
            yield f"Chroma's collection {name} is not as this store left it"
        else:
            with suppress(CollectionNotFound):
                yield from self._compare_vectors(name, sent.owner)

    def _compare_vectors(self, name: str, owner: int) -> Iterator[str]:
        """Compare each vector of a collection; who sends is kept from it meanwhile."""
        with self._connections.read() as connection:
            sent = ledger.read_sent(connection, owner)
            if sent is None or sent.is_dropping:
                return
            due = ledger.pending_ids(connection, owner)
            expected = dict(
                each
                for points in ledger.iterate_expected(connection, sent)
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
            yield f"Chroma lacks {len(missing)} vectors"
        if unlike:
            yield f"{unlike} vectors in Chroma are not as in the store"
        if others:
            yield f"{others} vectors in Chroma are nobody's"

    def _iterate_stored(self, name: str) -> Iterator[tuple[str, int]]:
        start, length = 0, ledger.BATCH_SIZE
        while length == ledger.BATCH_SIZE:
            page = self._chroma.page(name, start, ledger.BATCH_SIZE)
            yield from _checksums(page)
            length = len(page.ids)
            start += length


def _checksums(points: Points) -> Iterator[tuple[str, int]]:
    """Yield each id with a sum of its vector and of what is known of it."""
    # Chroma keeps a vector as its direction and its length: the integers come back nearly.
    whole = np.rint(points.vectors).astype(np.int32)
    for id_, vector, facts in zip(points.ids, whole, points.facts, strict=True):
        yield id_, hash((vector.tobytes(), tuple(sorted(facts.items()))))
