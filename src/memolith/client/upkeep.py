"""What each method of `Memolith` asks of a service that is not of one owner; and what none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

from memolith.client.asking import refuse_callable
from memolith.client.calls import Asking, Call, Method, Route, query_of
from memolith.services.consolidation.staging import Consolidated
from memolith.services.inspect import ProfileInfo
from memolith.services.purge import Erased
from memolith.services.working import Worked

_WAIT_S = 10.0
"""For how long the service waits at a time for its background."""

_CONSOLIDATED = tuple[Consolidated, ...]


def erase(owner: str) -> Asking:
    """See `Memolith.erase`."""
    query = query_of({"confirm": owner})
    call = Call("DELETE", "/v1/owner", query=query, answer=Erased, owner=owner, again=True)
    return (yield call)


def readmit(owner: str) -> Asking:
    """See `Memolith.readmit`."""
    yield Call("POST", "/v1/owner/readmit", owner=owner)


def rotate_key(owner: str) -> Asking:
    """See `Memolith.rotate_key`."""
    path = "/v1/owner/rotate-key"
    return (yield Call("POST", path, answer=int, inside="version", owner=owner))


def apply_decay(owner: str | None) -> Asking:
    """See `Memolith.apply_decay`."""
    return (
        yield Call(
            "POST",
            "/v1/memories/decay",
            query_of({"owner": owner}),
            answer=tuple[str, ...],
            inside="memories",
        )
    )


def consolidate(owner: str | None) -> Asking:
    """See `Memolith.consolidate`."""
    if owner is None:
        return (yield Call("POST", "/v1/upkeep/consolidate", body={}, answer=_CONSOLIDATED))
    return (yield Call("POST", "/v1/consolidate", answer=_CONSOLIDATED, once=True, owner=owner))


def work(stopped: Callable[[], bool]) -> Asking:
    """See `Memolith.work`."""
    refuse_callable(None if stopped() is False else stopped, "stopped")
    return (yield Call("POST", "/v1/upkeep/work", answer=tuple[Worked, ...]))


def drain(timeout_s: float | None) -> Asking:
    """See `Memolith.drain`."""
    until = None if timeout_s is None else monotonic() + timeout_s
    while True:
        left_s = _WAIT_S if until is None else min(_WAIT_S, max(0.0, until - monotonic()))
        call = Call(
            "POST",
            "/v1/upkeep/drain",
            body={"timeout_s": left_s},
            answer=bool,
            inside="drained",
            again=True,
            timeout_s=left_s,
        )
        is_done: bool = yield call
        if is_done or (until is not None and monotonic() >= until):
            return is_done


METHODS: Mapping[str, Method] = {
    "owners": Route("GET", "/v1/owners", list[str], inside="owners"),
    "profiles": Route("GET", "/v1/profiles", tuple[ProfileInfo, ...]),
    "erase": erase,
    "readmit": readmit,
    "rotate_key": rotate_key,
    "apply_decay": apply_decay,
    "cleanup": Route("POST", "/v1/upkeep/cleanup", int, inside="count"),
    "expire": Route("POST", "/v1/upkeep/expire", int, inside="count"),
    "consolidate": consolidate,
    "work": work,
    "drain": drain,
    "flush": Route("POST", "/v1/upkeep/flush", again=True),
}
"""By name, as a service does them for an admin."""

_KEYS = "by `memolith api-key` where the store is"

ELSEWHERE: Mapping[str, str] = {
    "create_api_key": _KEYS,
    "api_keys": _KEYS,
    "known_api_key": _KEYS,
    "revoke_api_key": _KEYS,
    "backup": "by `memolith backup` where the store is",
    "verify": "by `memolith verify` where the store is",
    "retain": "by `memolith retain` where the store is",
    "run_jobs": "the service's own worker does the jobs that are due",
    "chat_model": "send conversations to /v1/chat/completions instead",
}
"""What no service does for its clients, and how it is done."""
