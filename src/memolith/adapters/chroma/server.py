"""A Chroma server, by its protocol over HTTP.

Not by Chroma's own client: that waits without end for an answer, asks the server when it is made,
and brings 290 MB of other libraries along.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec
import numpy as np

from memolith.adapters.chroma.collections import (
    CONFIGURATION,
    SERVICE,
    STAMP,
    Found,
    NoCollection,
    Points,
)
from memolith.adapters.chroma.locking import ThreadLock
from memolith.adapters.clients.wire import (
    UNREADABLE,
    attempt,
    dig,
    failed,
    http_options,
    keep_quiet,
    need,
    overdue,
    unreachable,
    unreadable,
)
from memolith.errors import InvalidConfiguration, ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.adapters.chroma.collections import Facts, Floats

_NOT_FOUND = 404
_MISSING = "NotFoundError"
_UNDECODED = (msgspec.DecodeError, *UNREADABLE)
_PAGE = 1_000
_SETTING = "vectors.chroma_url"


class ChromaServer:
    """A `Chroma` over HTTP."""

    def __init__(
        self,
        url: str,
        timeout_s: float,
        *,
        tenant: str = "default_tenant",
        database: str = "default_database",
    ) -> None:
        """Take where it is; nothing is asked yet.

        Args:
            url: Its root, as `http://127.0.0.1:8000`; with a name and password, if it wants some.
            timeout_s: For how long to wait for an answer.
            tenant: Of the server.
            database: Of the tenant.

        Raises:
            InvalidConfiguration: The URL is none, or the client is not installed.
        """
        need("httpx", "vectors.backend", extra="chroma-server")
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidConfiguration(_SETTING, "must be a URL such as http://127.0.0.1:8000")
        self._url = url
        self._timeout_s = timeout_s
        at = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}"
        self._collections = f"{url.rstrip('/')}{at}/collections"
        self._lock = ThreadLock()
        self._process = os.getpid()
        self._client: Any = None
        self._ids: dict[str, str] = {}

    def stamp(self, name: str) -> str | None:
        """See `Chroma`."""
        found = self._asked("GET", f"/{name}")
        if found is None:
            with self._lock:
                self._ids.pop(name, None)
            return None
        self._remember(name, found)
        return attempt(lambda: str((found["metadata"] or {}).get(STAMP, "")), UNREADABLE, _unread)

    def make(self, name: str, facts: Facts) -> None:
        """See `Chroma`."""
        asked = {"name": name, "metadata": facts, "configuration": CONFIGURATION}
        self._remember(name, self._asked("POST", "", {**asked, "get_or_create": True}))

    def mark(self, name: str, facts: Facts) -> None:
        """See `Chroma`."""
        self._of(name, "PUT", "", {"new_metadata": facts})

    def put(self, name: str, points: Points) -> None:
        """See `Chroma`."""
        asked = {
            "ids": points.ids,
            "embeddings": points.vectors.tolist(),
            "metadatas": points.facts,
        }
        self._of(name, "POST", "/upsert", asked)

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """See `Chroma`."""
        self._of(name, "POST", "/delete", {"ids": ids})

    def drop(self, name: str) -> None:
        """See `Chroma`."""
        self._asked("DELETE", f"/{name}")
        with self._lock:
            self._ids.pop(name, None)

    def nearest(self, name: str, query: Floats, most: int) -> Found:
        """See `Chroma`."""
        asked = {"query_embeddings": [query.tolist()], "n_results": most, "include": ["distances"]}
        found = self._of(name, "POST", "/query", asked)
        return attempt(lambda: _found(found), UNREADABLE, _unread)

    def count(self, name: str) -> int:
        """See `Chroma`."""
        found = self._of(name, "GET", "/count")
        return attempt(lambda: int(found), UNREADABLE, _unread)

    def page(self, name: str, start: int, most: int) -> Points:
        """See `Chroma`."""
        asked = {"offset": start, "limit": most, "include": ["embeddings", "metadatas"]}
        found = self._of(name, "POST", "/get", asked)
        return attempt(lambda: _points(found), UNREADABLE, _unread)

    def names(self, prefix: str) -> list[str]:
        """See `Chroma`."""
        names: list[str] = []
        while True:
            page = self._page_of_names(len(names))
            names += page
            if len(page) < _PAGE:
                return [name for name in names if name.startswith(prefix)]

    def _page_of_names(self, start: int) -> list[str]:
        found = self._asked("GET", f"?limit={_PAGE}&offset={start}") or []
        return attempt(lambda: [str(each["name"]) for each in found], UNREADABLE, _unread)

    def close(self) -> None:
        """See `Chroma`."""
        with self._lock:
            if self._client is not None and self._process == os.getpid():
                self._client.close()
            self._client = None

    def _remember(self, name: str, found: Any) -> str:
        id_ = attempt(lambda: str(found["id"]), UNREADABLE, _unread)
        with self._lock:
            self._ids[name] = id_
        return id_

    def _of(self, name: str, method: str, path: str, asked: Any = None) -> Any:
        """Ask something of a collection; one that was made anew has another id."""
        id_ = self._ids.get(name)
        if id_ is not None:
            found = self._asked(method, f"/{quote(id_, safe='')}{path}", asked)
            if found is not None:
                return found
        if self.stamp(name) is None:
            raise NoCollection(name)
        found = self._asked(method, f"/{quote(self._ids[name], safe='')}{path}", asked)
        if found is None:
            raise NoCollection(name)
        return found

    def _asked(self, method: str, path: str, asked: Any = None) -> Any:
        """Return the answer; None: there is no such thing.

        Raises:
            ServiceFailed: See `Chroma`.
        """
        import httpx

        def told(error: Exception) -> ServiceFailed:
            late = isinstance(error, httpx.TimeoutException)
            return overdue(SERVICE, self._timeout_s) if late else unreachable(SERVICE)

        def call() -> httpx.Response:
            response: httpx.Response = self._opened().request(
                method,
                f"{self._collections}{path}",
                content=None if asked is None else msgspec.json.encode(asked),
                headers={"content-type": "application/json"},
            )
            return response

        response = attempt(call, (httpx.HTTPError, httpx.StreamError), told)
        is_missing = response.status_code == _NOT_FOUND
        if not (response.is_success or is_missing):
            raise failed(SERVICE, response.status_code, response.headers)
        answer = attempt(lambda: msgspec.json.decode(response.content), _UNDECODED, _unread)
        if is_missing and dig(answer, "error") == _MISSING:
            return None
        if is_missing or answer is None:  # of something else that listens there
            raise unreadable(SERVICE)
        return answer

    def _opened(self) -> Any:
        import httpx

        with self._lock:
            if self._client is None or self._process != os.getpid():
                keep_quiet("httpx", "httpcore")
                self._process = os.getpid()
                options = http_options(httpx, self._url, self._timeout_s)
                self._client = httpx.Client(**options)
            return self._client


def _unread(error: Exception) -> ServiceFailed:
    del error
    return unreadable(SERVICE)


def _found(found: Any) -> Found:
    ids, distances = found["ids"][0], found["distances"][0]
    return Found([str(id_) for id_ in ids], [float(each) for each in distances])


def _points(found: Any) -> Points:
    vectors = np.array(found["embeddings"], dtype=np.float32)
    return Points(
        [str(id_) for id_ in found["ids"]], vectors, [each or {} for each in found["metadatas"]]
    )
