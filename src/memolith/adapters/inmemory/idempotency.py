"""What was answered to requests that have a key, in a store that only one process has."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.adapters.sql.idempotency import REQUEST_RETENTION, REQUEST_TIMEOUT, RESPONSE_FORGOTTEN
from memolith.errors import Conflict
from memolith.ports.idempotency import RequestInProgress

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memolith.ports.idempotency import StoredResponse


@dataclass(frozen=True, slots=True)
class _Request:
    request: bytes
    begun_at: datetime
    reply: StoredResponse | None = None
    is_forgotten: bool = False


class InMemoryIdempotency:
    """See the port."""

    def __init__(self, check_open: Callable[[], None], is_erased: Callable[[str], bool]) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str], _Request] = {}
        self._check_open = check_open
        self._is_erased = is_erased

    def begin(
        self, owner_id: str, key: str, request: bytes, *, now: datetime
    ) -> StoredResponse | None:
        """See the port."""
        self._check_open()
        with self._lock:
            known = self._requests.get((owner_id, key))
            if known is not None and known.begun_at > now - REQUEST_RETENTION:
                if known.request != request:
                    raise Conflict("the idempotency key was used for another request")
                if known.is_forgotten:
                    raise Conflict(RESPONSE_FORGOTTEN)
                if known.reply is not None:
                    return known.reply
                if known.begun_at > now - REQUEST_TIMEOUT:
                    raise RequestInProgress("the request of that idempotency key is being done")
            self._requests[owner_id, key] = _Request(request, now)
        return None

    def finish(self, owner_id: str, key: str, response: StoredResponse) -> None:
        """See the port."""
        self._check_open()
        with self._lock:
            known = self._requests.get((owner_id, key))
            if known is not None and not self._is_erased(owner_id):
                self._requests[owner_id, key] = replace(known, reply=response)

    def abandon(self, owner_id: str, key: str) -> None:
        """See the port."""
        self._check_open()
        with self._lock:
            known = self._requests.get((owner_id, key))
            if known is not None and known.reply is None and not known.is_forgotten:
                del self._requests[owner_id, key]

    def forget_responses(self, owner_id: str) -> None:
        """See the port."""
        with self._lock:
            for place, known in self._requests.items():
                if place[0] == owner_id and known.reply is not None:
                    self._requests[place] = replace(known, reply=None, is_forgotten=True)

    def forget(self, owner_id: str) -> None:
        """Remove what is of an owner who is erased."""
        with self._lock:
            self._requests = {k: r for k, r in self._requests.items() if k[0] != owner_id}
