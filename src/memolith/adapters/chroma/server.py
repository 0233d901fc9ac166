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
    CollectionNotFound,
    NearestPoints,
    Points,
)
from memolith.adapters.chroma.locking import ForkSafeLock
from memolith.adapters.clients.wire import (
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.adapters.chroma.collections import Facts, Floats

_NOT_FOUND = 404
_MISSING = "NotFoundError"
_UNDECODED = (msgspec.DecodeError, *UNREADABLE_ERRORS)
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
        """Ask something of a collection; one that was made anew has another id."""
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
        """Return the answer; None: there is no such thing.

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
        if is_missing or answer is None:  # of something else that listens there
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
