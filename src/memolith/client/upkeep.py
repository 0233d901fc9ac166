"""What each method of `Memolith` asks of a service that is not of one owner; and what none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

from memolith.client.asking import reject_callable
from memolith.client.calls import Call, CallSequence, Endpoint, EndpointMethod, build_query
from memolith.services.consolidation.staging import ConsolidationResult
from memolith.services.inspect import ProfileInfo
from memolith.services.purge import EraseResult
from memolith.services.working import WorkResult

_DRAIN_POLL_S = 10.0
"""For how long the service waits at a time for its background."""

_CONSOLIDATION_RESULTS = tuple[ConsolidationResult, ...]


def erase(owner: str) -> CallSequence:
    """See `Memolith.erase`."""
    query = build_query({"confirm": owner})
    call = Call(
        "DELETE",
        "/v1/owner",
        query=query,
        response_type=EraseResult,
        owner=owner,
        is_retryable=True,
    )
    return (yield call)


def readmit(owner: str) -> CallSequence:
    """See `Memolith.readmit`."""
    yield Call("POST", "/v1/owner/readmit", owner=owner)


def rotate_key(owner: str) -> CallSequence:
    """See `Memolith.rotate_key`."""
    path = "/v1/owner/rotate-key"
    return (yield Call("POST", path, response_type=int, response_key="version", owner=owner))


def apply_decay(owner: str | None) -> CallSequence:
    """See `Memolith.apply_decay`."""
    return (
        yield Call(
            "POST",
            "/v1/memories/decay",
            build_query({"owner": owner}),
            response_type=tuple[str, ...],
            response_key="memories",
        )
    )


def consolidate(owner: str | None) -> CallSequence:
    """See `Memolith.consolidate`."""
    if owner is None:
        return (
            yield Call(
                "POST", "/v1/upkeep/consolidate", body={}, response_type=_CONSOLIDATION_RESULTS
            )
        )
    return (
        yield Call(
            "POST",
            "/v1/consolidate",
            response_type=_CONSOLIDATION_RESULTS,
            use_idempotency_key=True,
            owner=owner,
        )
    )


def work(should_stop: Callable[[], bool]) -> CallSequence:
    """See `Memolith.work`."""
    reject_callable(None if should_stop() is False else should_stop, "stopped")
    return (yield Call("POST", "/v1/upkeep/work", response_type=tuple[WorkResult, ...]))


def drain(timeout_s: float | None) -> CallSequence:
    """See `Memolith.drain`."""
    until = None if timeout_s is None else monotonic() + timeout_s
    while True:
        left_s = (
            _DRAIN_POLL_S if until is None else min(_DRAIN_POLL_S, max(0.0, until - monotonic()))
        )
        call = Call(
            "POST",
            "/v1/upkeep/drain",
            body={"timeout_s": left_s},
            response_type=bool,
            response_key="drained",
            is_retryable=True,
            timeout_s=left_s,
        )
        is_done: bool = yield call
        if is_done or (until is not None and monotonic() >= until):
            return is_done


ADMIN_METHODS: Mapping[str, EndpointMethod] = {
    "owners": Endpoint("GET", "/v1/owners", list[str], response_key="owners"),
    "profiles": Endpoint("GET", "/v1/profiles", tuple[ProfileInfo, ...]),
    "erase": erase,
    "readmit": readmit,
    "rotate_key": rotate_key,
    "apply_decay": apply_decay,
    "cleanup": Endpoint("POST", "/v1/upkeep/cleanup", int, response_key="count"),
    "expire": Endpoint("POST", "/v1/upkeep/expire", int, response_key="count"),
    "consolidate": consolidate,
    "work": work,
    "drain": drain,
    "flush": Endpoint("POST", "/v1/upkeep/flush", is_retryable=True),
}
"""By name, as a service does them for an admin."""

_API_KEY_HINT = "by `memolith api-key` where the store is"

LOCAL_ONLY: Mapping[str, str] = {
    "create_api_key": _API_KEY_HINT,
    "api_keys": _API_KEY_HINT,
    "known_api_key": _API_KEY_HINT,
    "revoke_api_key": _API_KEY_HINT,
    "backup": "by `memolith backup` where the store is",
    "verify": "by `memolith verify` where the store is",
    "retain": "by `memolith retain` where the store is",
    "run_jobs": "the service's own worker does the jobs that are due",
    "chat_model": "send conversations to /v1/chat/completions instead",
}
"""What no service does for its clients, and how it is done."""
