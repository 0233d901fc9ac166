"""HTTP endpoints of the methods of `OwnerMemory` and `Memolith`.

A method is a generator: it yields calls, receives their decoded responses, and returns the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from time import monotonic
from typing import Any

from memolith.api.aliases import PAGE_SIZE
from memolith.client.protocol import (
    Call,
    CallSequence,
    Endpoint,
    EndpointMethod,
    build_query,
    encode,
)
from memolith.domain.memories import BaseMemory, History, Memory, Page
from memolith.domain.messages import Message, Session
from memolith.domain.owners import PendingWork, Statistics
from memolith.domain.recall import RecallResult
from memolith.domain.records import Record
from memolith.domain.reports import Audit, IngestResult
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.services.chat import UsageReport
from memolith.services.compress import CompressionResult
from memolith.services.context import Context
from memolith.services.inspect import ProfileInfo
from memolith.services.learn import LearnResult
from memolith.services.lifecycle import ForgetResult
from memolith.services.purge import EraseResult, PurgeResult
from memolith.services.summarise import ConsolidationResult
from memolith.services.switch_profile import ProfileSwitch
from memolith.services.validation import validate_name
from memolith.services.work import WorkResult
from memolith.text.cleaning import clean_stream

_MESSAGES_PAGE_SIZE = 1_000
"""Messages requested per page; the server's maximum."""

_SEGMENT_CHARS = 64_000
"""Approximate length of the segments of a streamed text. A guess: the local model embeds one in ten
seconds.
"""

_REMEMBER = Endpoint("POST", "/v1/memories", Memory, use_idempotency_key=True)
_LEARN = Endpoint("POST", "/v1/learn", LearnResult, use_idempotency_key=True)
_INGEST = Endpoint("POST", "/v1/ingest", IngestResult, use_idempotency_key=True)
_RECALL = Endpoint("POST", "/v1/recall", RecallResult, is_retryable=True)
_CONTEXT = Endpoint("POST", "/v1/context", Context, is_retryable=True)
_KIND = Endpoint("GET", "/v1/profile/kind", str, response_key="kind")
_LIST = Endpoint("GET", "/v1/memories", Page)
_MESSAGES = Endpoint(
    "GET", "/v1/sessions/{session}/messages", tuple[Message, ...], response_key="messages"
)
_SWITCH = Endpoint("PUT", "/v1/profile", ProfileSwitch, use_idempotency_key=True)

_GET = Endpoint("GET", "/v1/memories/{id}", Memory)
_GET_BY_KEY = Endpoint("GET", "/v1/memories/keyed", Memory)
_HISTORY = Endpoint("GET", "/v1/memories/{id}/history", History)
_HISTORY_BY_KEY = Endpoint("GET", "/v1/memories/keyed/history", History)


def get(id: str | None, key: str | None) -> CallSequence:
    """See `OwnerMemory.get`."""
    return (yield from _call_by_id_or_key(_GET, _GET_BY_KEY, id, key))


def history(id: str | None, key: str | None) -> CallSequence:
    """See `OwnerMemory.history`."""
    return (yield from _call_by_id_or_key(_HISTORY, _HISTORY_BY_KEY, id, key))


def _call_by_id_or_key(
    by_id: Endpoint, by_key: Endpoint, id: str | None, key: str | None
) -> CallSequence:
    if (id is None) == (key is None):
        raise InvalidInput("id", "give either an id or a key")
    if key is not None:
        return (yield by_key.build_call({"key": validate_name(key, "key")}))
    return (yield by_id.build_call({"id": arguments.parse_id(str(id))}))


def _build_id_method(route: Endpoint) -> EndpointMethod:
    """Return a method that validates its id before it sends a call."""

    def method(id: str, **given: Any) -> CallSequence:
        return (yield route.build_call({"id": arguments.parse_id(id), **given}))

    return method


def supersede(old: str, new: str) -> CallSequence:
    """See `OwnerMemory.supersede`."""
    path = f"/v1/memories/{arguments.parse_id(old, 'old')}/supersede"
    return (
        yield Call(
            "POST",
            path,
            body={"by": arguments.parse_id(new, "new")},
            response_type=Memory,
            use_idempotency_key=True,
        )
    )


def log(messages: Sequence[Message], session: str) -> CallSequence:
    """See `OwnerMemory.log`."""
    for place, each in enumerate(arguments.check_list(messages, "messages")):
        if not isinstance(each, Message):
            problem = f"must be a Message, not {type(each).__name__}"
            raise InvalidInput(f"messages[{place}]", problem)
    given = [
        {
            "speaker": each.speaker,
            "content": each.content,
            "role": each.role,
            "at": encode(each.at, "at"),
            "external_id": each.external_id,
            "learn": each.learn,
        }
        for each in messages
    ]
    route = Endpoint(
        "POST", "/v1/sessions/{session}/messages", LearnResult, use_idempotency_key=True
    )
    return (
        yield route.build_call(
            {"messages": given, "session": arguments.check_name(session, "session")}
        )
    )


def end_session(session: str) -> CallSequence:
    """See `OwnerMemory.end_session`."""
    route = Endpoint("POST", "/v1/sessions/{session}/end", use_idempotency_key=True)
    yield route.build_call({"session": arguments.check_name(session, "session")})


def messages(session: str, limit: int | None, after: int) -> CallSequence:
    """See `OwnerMemory.messages`."""
    arguments.check_name(session, "session")
    left = None if limit is None else arguments.check_count(limit, "limit", minimum=0)
    found: list[Message] = []
    while True:
        some = _MESSAGES_PAGE_SIZE if left is None else min(left, _MESSAGES_PAGE_SIZE)
        page = yield _MESSAGES.build_call({"session": session, "limit": some, "after": after})
        found += page
        left = None if left is None else left - len(page)
        if len(page) < some or left == 0:
            return tuple(found)
        after = page[-1].sequence


def context(**given: Any) -> CallSequence:
    """See `OwnerMemory.context`."""
    found: Context = yield _CONTEXT.build_call(given)
    return found.text


def compress(
    history: Sequence[Mapping[str, Any]], session: str, context_window: int | None
) -> CallSequence:
    """See `OwnerMemory.compress`."""
    route = Endpoint(
        "POST", "/v1/sessions/{session}/compress", CompressionResult, use_idempotency_key=True
    )
    given = {"session": arguments.check_name(session, "session"), "messages": history}
    call = route.build_call({**given, "context_window": context_window})
    return (yield replace(call, argument_names={"messages": "history"}))


def switch_profile(name: str, *, dry_run: bool, on_progress: object) -> CallSequence:
    """See `OwnerMemory.switch_profile`."""
    reject_callable(on_progress, "on_progress")
    return (yield _SWITCH.build_call({"name": name, "dry_run": dry_run}))


def reject_callable(value: object, field: str) -> None:
    """Reject an argument that the server would have to call.

    Raises:
        InvalidInput: The argument is not None.
    """
    if value is not None:
        raise InvalidInput(field, "a server cannot call a function of its client: omit it")


def split_into_calls(pieces: Iterable[str], **given: Any) -> Iterable[CallSequence]:
    """Return the calls of `OwnerMemory.ingest_stream`, one per segment.

    The text is split at blank lines. The server splits each segment into chunks by meaning.
    """
    given["tags"] = arguments.check_list(given.get("tags", ()), "tags")
    return (_INGEST(text=piece, **given) for piece in _split_segments(pieces) if piece.strip())


def _split_segments(pieces: Iterable[str]) -> Iterator[str]:
    return clean_stream(pieces, segment_chars=_SEGMENT_CHARS)


# --- Aliases of `memolith.api.aliases`


def _build_remember_as(kind: str) -> EndpointMethod:
    def method(content: str, importance: float | None) -> CallSequence:
        own = yield _KIND.build_call({"kind": kind})
        given = {"content": content, "kind": own, "importance": importance}
        return (yield _REMEMBER.build_call(given))

    return method


def search(query: str, top_k: int) -> CallSequence:
    """See `Aliases.search`."""
    given = {"query": query, "top_k": top_k, "mode": "vector", "touch": False}
    return (yield _RECALL.build_call(given))


def retrieve_context(query: str, limit: int) -> CallSequence:
    """See `Aliases.retrieve_context`."""
    return (yield from context(query=query, top_k=limit))


def process_exchange(user: str, assistant: str, at: datetime | None) -> CallSequence:
    """See `Aliases.process_exchange`."""
    return (yield _LEARN.build_call({"user": user, "assistant": assistant, "at": at}))


def memories(limit: int = PAGE_SIZE, offset: int = 0) -> CallSequence:
    """See `Aliases.memories`."""
    page: Page = yield _LIST.build_call({"limit": limit, "offset": offset})
    return (page.memories, page.total) if page.memories else ((), 0)


def active_count() -> CallSequence:
    """See `Aliases.active_count`."""
    page: Page = yield _LIST.build_call({"limit": 1})
    return page.total


OWNER_METHODS: Mapping[str, EndpointMethod] = {
    "remember": _REMEMBER,
    "learn": _LEARN,
    "log": log,
    "end_session": end_session,
    "ingest": _INGEST,
    "recall": _RECALL,
    "context": context,
    "context_with_results": _CONTEXT,
    "get": get,
    "message": _build_id_method(Endpoint("GET", "/v1/messages/{id}", Message)),
    "messages": messages,
    "sessions": Endpoint("GET", "/v1/sessions", tuple[Session, ...]),
    "list": _LIST,
    "update": _build_id_method(
        Endpoint("PATCH", "/v1/memories/{id}", Memory, use_idempotency_key=True)
    ),
    "supersede": supersede,
    "forget": Endpoint("POST", "/v1/forget", ForgetResult, use_idempotency_key=True),
    "purge": Endpoint("POST", "/v1/purge", PurgeResult, use_idempotency_key=True),
    "restore": _build_id_method(
        Endpoint("POST", "/v1/memories/{id}/restore", Record, use_idempotency_key=True)
    ),
    "review": Endpoint("GET", "/v1/review", tuple[Record, ...], response_key="quarantined"),
    "approve": _build_id_method(
        Endpoint("POST", "/v1/review/{id}/approve", Record, use_idempotency_key=True)
    ),
    "reject": _build_id_method(
        Endpoint("POST", "/v1/review/{id}/reject", ForgetResult, use_idempotency_key=True)
    ),
    "history": history,
    "profile": Endpoint("GET", "/v1/profile", str, response_key="profile"),
    "equivalent_kind": _KIND,
    "switch_profile": switch_profile,
    "recent": Endpoint("GET", "/v1/sessions/recent", tuple[Message, ...], response_key="messages"),
    "base_memory": Endpoint("GET", "/v1/base-memory", BaseMemory | None),
    "base_memory_versions": Endpoint(
        "GET", "/v1/base-memory/versions", tuple[BaseMemory, ...], response_key="versions"
    ),
    "set_base_memory": Endpoint("PUT", "/v1/base-memory", BaseMemory, use_idempotency_key=True),
    "roll_back_base_memory": Endpoint(
        "POST", "/v1/base-memory/roll-back", BaseMemory, use_idempotency_key=True
    ),
    "summaries": Endpoint("GET", "/v1/summaries", tuple[Memory, ...]),
    "undo_consolidation": _build_id_method(
        Endpoint("POST", "/v1/summaries/{id}/undo", Memory, use_idempotency_key=True)
    ),
    "compress": compress,
    "backlog": Endpoint("GET", "/v1/backlog", PendingWork),
    "retry": Endpoint("POST", "/v1/retry", use_idempotency_key=True),
    "usage": Endpoint("GET", "/v1/usage", UsageReport),
    "audit": Endpoint("GET", "/v1/memories/audit", Audit),
    "stats": Endpoint("GET", "/v1/memories/stats", Statistics),
    "store_fact": _build_remember_as("fact"),
    "store_preference": _build_remember_as("preference"),
    "store_correction": _build_remember_as("correction"),
    "search": search,
    "hybrid_search": _RECALL,
    "retrieve_context": retrieve_context,
    "process_exchange": process_exchange,
    "memories": memories,
    "active_count": active_count,
}
"""Methods of one owner by name, except the streams `export`, `import_` and `ingest_stream`."""


# --- Methods of all owners


_DRAIN_POLL_S = 10.0
"""Seconds that one request waits for the server's background work."""

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
    reject_callable(None if should_stop() is False else should_stop, "should_stop")
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
"""Methods of all owners by name; they need an admin key."""

_API_KEY_HINT = "run `memolith api-key` on the server's machine"

LOCAL_ONLY: Mapping[str, str] = {
    "create_api_key": _API_KEY_HINT,
    "api_keys": _API_KEY_HINT,
    "find_api_key": _API_KEY_HINT,
    "revoke_api_key": _API_KEY_HINT,
    "backup": "run `memolith backup` on the server's machine",
    "verify": "run `memolith verify` on the server's machine",
    "retain": "run `memolith retain` on the server's machine",
    "run_jobs": "the server's worker runs the scheduled jobs",
    "chat_model": "send conversations to /v1/chat/completions instead",
}
"""Methods that are not available over HTTP, with what to do instead."""
