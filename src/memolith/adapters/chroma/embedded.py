"""Chroma in this process, in a folder of its own.

It is not made for several processes at once: the first to use it has it until it lets go, and for
the others it can't be reached.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from memolith.adapters.chroma.collections import (
    CONFIGURATION,
    SERVICE,
    STAMP,
    CollectionNotFound,
    NearestPoints,
    Points,
)
from memolith.adapters.chroma.locking import ForkSafeLock, ProcessLock
from memolith.adapters.clients.wire import call_service, require_package
from memolith.adapters.folders import make_folder
from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memolith.adapters.chroma.collections import Facts, Floats

T = TypeVar("T")

_LOCK = "memolith.lock"
_FOLDER_MODE = 0o700

_inherited_clients: list[Any] = []
"""What a forked child got from its parent, whose threads it lacks: it can't be closed there."""


class EmbeddedChroma:
    """A `Chroma` in a folder."""

    def __init__(self, path: Path) -> None:
        """Take the folder, made at the first use.

        Raises:
            InvalidConfiguration: Chroma is not installed.
        """
        require_package("chromadb", "vectors.backend", extra="chroma")
        self._path = path
        self._process_lock = ProcessLock(path / _LOCK)
        self._lock = ForkSafeLock()
        self._process = os.getpid()
        self._client: Any = None

    def stamp(self, name: str) -> str | None:
        """See `Chroma`."""
        try:
            return self._call(
                lambda client: str((client.get_collection(name).metadata or {}).get(STAMP, ""))
            )
        except CollectionNotFound:
            return None

    def make(self, name: str, facts: Facts) -> None:
        """See `Chroma`."""
        self._call(
            lambda client: client.get_or_create_collection(
                name, metadata=dict(facts), configuration=CONFIGURATION, embedding_function=None
            )
        )

    def mark(self, name: str, facts: Facts) -> None:
        """See `Chroma`."""
        self._call(lambda client: client.get_collection(name).modify(metadata=dict(facts)))

    def put(self, name: str, points: Points) -> None:
        """See `Chroma`."""
        self._call(
            lambda client: client.get_collection(name).upsert(
                ids=[*points.ids],
                embeddings=points.vectors,
                metadatas=[dict(facts) for facts in points.facts],
            )
        )

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """See `Chroma`."""
        self._call(lambda client: client.get_collection(name).delete(ids=[*ids]))

    def drop(self, name: str) -> None:
        """See `Chroma`."""
        if self.stamp(name) is not None:
            self._call(lambda client: client.delete_collection(name))

    def nearest(self, name: str, query: Floats, most: int) -> NearestPoints:
        """See `Chroma`."""
        found = self._call(
            lambda client: client.get_collection(name).query(
                query_embeddings=query[None, :], n_results=most, include=["distances"]
            )
        )
        return NearestPoints(found["ids"][0], found["distances"][0])

    def count(self, name: str) -> int:
        """See `Chroma`."""
        return self._call(lambda client: int(client.get_collection(name).count()))

    def page(self, name: str, start: int, most: int) -> Points:
        """See `Chroma`."""
        found = self._call(
            lambda client: client.get_collection(name).get(
                offset=start, limit=most, include=["embeddings", "metadatas"]
            )
        )
        vectors = np.asarray(found["embeddings"], dtype=np.float32)
        return Points(found["ids"], vectors, [facts or {} for facts in found["metadatas"]])

    def names(self, prefix: str) -> list[str]:
        """See `Chroma`."""
        return self._call(
            lambda client: [
                each.name for each in client.list_collections() if each.name.startswith(prefix)
            ]
        )

    def close(self) -> None:
        """See `Chroma`."""
        with self._lock:
            if self._process != os.getpid():
                self._abandon()
            if self._client is not None:
                self._client.close()
                self._client = None
            self._process_lock.release()

    def _abandon(self) -> None:
        if self._client is not None and self._process != os.getpid():
            _inherited_clients.append(self._client)
            self._client = None
        self._process = os.getpid()

    def _call(self, call: Callable[[Any], T]) -> T:
        """Return what a call of the client returns.

        Raises:
            NoCollection: There is no such collection.
            ServiceFailed: See `Chroma`.
        """
        from chromadb.errors import ChromaError, NotFoundError

        def told(error: Exception) -> ServiceFailed:
            if isinstance(error, NotFoundError):
                raise CollectionNotFound from None
            return ServiceFailed(SERVICE, f"failed ({type(error).__name__})", retryable=True)

        return call_service(
            lambda: call(self._get_client()), (ChromaError, OSError, ValueError), told
        )

    def _get_client(self) -> Any:
        with self._lock:
            if self._client is None or self._process != os.getpid():
                self._abandon()
                make_folder(self._path, _FOLDER_MODE)
                if not self._process_lock.acquire():
                    problem = "is in use by another process: run it as a server for several"
                    raise ServiceFailed(SERVICE, problem, retryable=True)
                self._client = self._create_client()
            return self._client

    def _create_client(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        try:
            settings = Settings(anonymized_telemetry=False)
            return chromadb.PersistentClient(str(self._path), settings=settings)
        except AttributeError as error:  # of what a failure before has left half made, and it keeps
            raise ServiceFailed(SERVICE, "can't be opened", retryable=True) from error
