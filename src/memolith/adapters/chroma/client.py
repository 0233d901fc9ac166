"""Clients for Chroma, embedded in this process or as a server over HTTP.

Each owner has one collection. A passage's id is its item and part number and identifies no one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from memolith.adapters.files import make_folder
from memolith.adapters.models.http import (
    UNREADABLE_ERRORS,
    build_http_options,
    call_service,
    dig,
    require_package,
    silence_debug_logs,
    status_failure,
    timeout_failure,
    unreachable_failure,
    unreadable_failure,
)
from memolith.errors import InvalidConfiguration, ServiceFailed

Floats = NDArray[np.float32]
Facts = Mapping[str, str | int | float | bool]

SERVICE = "Chroma"
"""Service name in errors."""

STAMP = "stamp"
"""Metadata field that holds a collection's state."""

CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 200, "max_neighbors": 32}}
"""HNSW parameters of a new collection: twice the usual neighbours and candidates.

Candidates are rescored exactly, so recall matters more than speed (see
docs/decisions/0034-vector-backends.md).
"""


class CollectionNotFound(Exception):
    """The collection does not exist."""


class Points(NamedTuple):
    """Vectors of a collection with their ids and metadata.

    Attributes:
        ids: One id per passage.
        vectors: Shape (n, d).
        facts: One metadata mapping per vector.
    """

    ids: Sequence[str]
    vectors: Floats
    facts: Sequence[Facts]


class NearestPoints(NamedTuple):
    """Ids and cosine distances of the nearest vectors, ascending by distance."""

    ids: Sequence[str]
    distances: Sequence[float]


class Chroma(Protocol):
    """Collections of vectors. Thread-safe.

    All methods raise `ServiceFailed` if Chroma is unreachable, times out or sends an unreadable
    response. Methods that read or change the contents of a collection raise `CollectionNotFound` if
    it does not exist.
    """

    def stamp(self, name: str) -> str | None:
        """Return a collection's stamp: "" if it has none, None if there is no such collection."""
        ...

    def make(self, name: str, facts: Facts) -> None:
        """Create a collection unless it exists; an existing one is not changed."""
        ...

    def mark(self, name: str, facts: Facts) -> None:
        """Replace a collection's metadata."""
        ...

    def put(self, name: str, points: Points) -> None:
        """Add vectors, or replace those with the same ids."""
        ...

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """Remove vectors; missing ids are ignored."""
        ...

    def drop(self, name: str) -> None:
        """Remove a collection if it exists."""
        ...

    def nearest(self, name: str, query: Floats, most: int) -> NearestPoints:
        """Return up to `most` approximate nearest vectors."""
        ...

    def count(self, name: str) -> int:
        """Return the number of vectors in a collection."""
        ...

    def page(self, name: str, start: int, most: int) -> Points:
        """Return up to `most` vectors from offset `start`, in a stable order."""
        ...

    def names(self, prefix: str) -> list[str]:
        """Return the names of collections that start with a prefix."""
        ...

    def close(self) -> None:
        """Release connections and files."""
        ...


# --- Process and thread locks


class ForkSafeLock:
    """A thread lock that a forked child can acquire even if the parent held it."""

    def __init__(self) -> None:
        """Create an unlocked lock."""
        self._process = os.getpid()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Acquire the lock, blocking until it is free."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._lock.release()


class ProcessLock:
    """A lock file that excludes other processes, but not threads of this process.

    The operating system releases the lock when the process dies.
    """

    def __init__(self, path: Path) -> None:
        """Set the path; the file is created by `acquire`."""
        self.path = path
        self._handle: int | None = None
        self._process = os.getpid()

    def acquire(self) -> bool:
        """Try to acquire the lock without blocking; return whether this process holds it.

        Raises:
            OSError: The file can't be created or opened.
        """
        self._release_inherited()
        if self._handle is not None:
            return True
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _try_lock(handle):
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self) -> None:
        """Release the lock, if held."""
        self._release_inherited()
        if self._handle is not None:
            os.close(self._handle)  # closing releases the lock
            self._handle = None

    def _release_inherited(self) -> None:
        """Close a handle inherited by fork; the parent keeps its lock."""
        if self._process != os.getpid():
            self._process = os.getpid()
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# --- Embedded Chroma


T = TypeVar("T")

_LOCK = "memolith.lock"
_FOLDER_MODE = 0o700

_inherited_clients: list[Any] = []
"""Clients inherited by fork. They can't be closed in the child, which lacks their threads."""


class EmbeddedChroma:
    """A `Chroma` in this process, with its data in a folder."""

    def __init__(self, path: Path) -> None:
        """Set the folder, which is created on first use.

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
        """Call the client and translate its errors.

        Raises:
            CollectionNotFound: The collection does not exist.
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
                    problem = "is in use by another process; run Chroma as a server to share it"
                    raise ServiceFailed(SERVICE, problem, retryable=True)
                self._client = self._create_client()
            return self._client

    def _create_client(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        try:
            settings = Settings(anonymized_telemetry=False)
            return chromadb.PersistentClient(str(self._path), settings=settings)
        except AttributeError as error:  # chromadb caches a client that failed half-way
            raise ServiceFailed(SERVICE, "the folder can't be opened", retryable=True) from error


# --- Chroma server over HTTP


_NOT_FOUND = 404
_MISSING = "NotFoundError"
_UNDECODED = (msgspec.DecodeError, *UNREADABLE_ERRORS)
_PAGE = 1_000
_SETTING = "vectors.chroma_url"


class ChromaServer:
    """A `Chroma` server over HTTP."""

    def __init__(
        self,
        url: str,
        timeout_s: float,
        *,
        tenant: str = "default_tenant",
        database: str = "default_database",
    ) -> None:
        """Configure the client; no request is sent yet.

        Args:
            url: Root URL such as `http://127.0.0.1:8000`, with user name and password if required.
            timeout_s: Timeout of a request, in seconds.
            tenant: Chroma tenant.
            database: Database of the tenant.

        Raises:
            InvalidConfiguration: The URL is invalid, or the client is not installed.
        """
        require_package("httpx", "vectors.backend", extra="chroma-server")
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidConfiguration(_SETTING, "must be a URL such as http://127.0.0.1:8000")
        self._url = url
        self._timeout_s = timeout_s
        at = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}"
        self._collections = f"{url.rstrip('/')}{at}/collections"
        self._lock = ForkSafeLock()
        self._process = os.getpid()
        self._client: Any = None
        self._ids: dict[str, str] = {}

    def stamp(self, name: str) -> str | None:
        """See `Chroma`."""
        found = self._request("GET", f"/{name}")
        if found is None:
            with self._lock:
                self._ids.pop(name, None)
            return None
        self._remember(name, found)
        return call_service(
            lambda: str((found["metadata"] or {}).get(STAMP, "")),
            UNREADABLE_ERRORS,
            _unreadable_answer,
        )

    def make(self, name: str, facts: Facts) -> None:
        """See `Chroma`."""
        asked = {"name": name, "metadata": facts, "configuration": CONFIGURATION}
        self._remember(name, self._request("POST", "", {**asked, "get_or_create": True}))

    def mark(self, name: str, facts: Facts) -> None:
        """See `Chroma`."""
        self._request_collection(name, "PUT", "", {"new_metadata": facts})

    def put(self, name: str, points: Points) -> None:
        """See `Chroma`."""
        asked = {
            "ids": points.ids,
            "embeddings": points.vectors.tolist(),
            "metadatas": points.facts,
        }
        self._request_collection(name, "POST", "/upsert", asked)

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """See `Chroma`."""
        self._request_collection(name, "POST", "/delete", {"ids": ids})

    def drop(self, name: str) -> None:
        """See `Chroma`."""
        self._request("DELETE", f"/{name}")
        with self._lock:
            self._ids.pop(name, None)

    def nearest(self, name: str, query: Floats, most: int) -> NearestPoints:
        """See `Chroma`."""
        asked = {"query_embeddings": [query.tolist()], "n_results": most, "include": ["distances"]}
        found = self._request_collection(name, "POST", "/query", asked)
        return call_service(lambda: _parse_nearest(found), UNREADABLE_ERRORS, _unreadable_answer)

    def count(self, name: str) -> int:
        """See `Chroma`."""
        found = self._request_collection(name, "GET", "/count")
        return call_service(lambda: int(found), UNREADABLE_ERRORS, _unreadable_answer)

    def page(self, name: str, start: int, most: int) -> Points:
        """See `Chroma`."""
        asked = {"offset": start, "limit": most, "include": ["embeddings", "metadatas"]}
        found = self._request_collection(name, "POST", "/get", asked)
        return call_service(lambda: _parse_points(found), UNREADABLE_ERRORS, _unreadable_answer)

    def names(self, prefix: str) -> list[str]:
        """See `Chroma`."""
        names: list[str] = []
        while True:
            page = self._page_of_names(len(names))
            names += page
            if len(page) < _PAGE:
                return [name for name in names if name.startswith(prefix)]

    def _page_of_names(self, start: int) -> list[str]:
        found = self._request("GET", f"?limit={_PAGE}&offset={start}") or []
        return call_service(
            lambda: [str(each["name"]) for each in found], UNREADABLE_ERRORS, _unreadable_answer
        )

    def close(self) -> None:
        """See `Chroma`."""
        with self._lock:
            if self._client is not None and self._process == os.getpid():
                self._client.close()
            self._client = None

    def _remember(self, name: str, found: Any) -> str:
        id_ = call_service(lambda: str(found["id"]), UNREADABLE_ERRORS, _unreadable_answer)
        with self._lock:
            self._ids[name] = id_
        return id_

    def _request_collection(self, name: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request about a collection; retry once with a new id if it was recreated."""
        id_ = self._ids.get(name)
        if id_ is not None:
            found = self._request(method, f"/{quote(id_, safe='')}{path}", body)
            if found is not None:
                return found
        if self.stamp(name) is None:
            raise CollectionNotFound(name)
        found = self._request(method, f"/{quote(self._ids[name], safe='')}{path}", body)
        if found is None:
            raise CollectionNotFound(name)
        return found

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the decoded response, or None if the resource does not exist.

        Raises:
            ServiceFailed: See `Chroma`.
        """
        import httpx

        def told(error: Exception) -> ServiceFailed:
            late = isinstance(error, httpx.TimeoutException)
            return (
                timeout_failure(SERVICE, self._timeout_s) if late else unreachable_failure(SERVICE)
            )

        def call() -> httpx.Response:
            response: httpx.Response = self._get_client().request(
                method,
                f"{self._collections}{path}",
                content=None if body is None else msgspec.json.encode(body),
                headers={"content-type": "application/json"},
            )
            return response

        response = call_service(call, (httpx.HTTPError, httpx.StreamError), told)
        is_missing = response.status_code == _NOT_FOUND
        if not (response.is_success or is_missing):
            raise status_failure(SERVICE, response.status_code, response.headers)
        answer = call_service(
            lambda: msgspec.json.decode(response.content), _UNDECODED, _unreadable_answer
        )
        if is_missing and dig(answer, "error") == _MISSING:
            return None
        if is_missing or answer is None:  # not from Chroma
            raise unreadable_failure(SERVICE)
        return answer

    def _get_client(self) -> Any:
        import httpx

        with self._lock:
            if self._client is None or self._process != os.getpid():
                silence_debug_logs("httpx", "httpcore")
                self._process = os.getpid()
                options = build_http_options(httpx, self._url, self._timeout_s)
                self._client = httpx.Client(**options)
            return self._client


def _unreadable_answer(error: Exception) -> ServiceFailed:
    del error
    return unreadable_failure(SERVICE)


def _parse_nearest(found: Any) -> NearestPoints:
    ids, distances = found["ids"][0], found["distances"][0]
    return NearestPoints([str(id_) for id_ in ids], [float(each) for each in distances])


def _parse_points(found: Any) -> Points:
    vectors = np.array(found["embeddings"], dtype=np.float32)
    return Points(
        [str(id_) for id_ in found["ids"]], vectors, [each or {} for each in found["metadatas"]]
    )
