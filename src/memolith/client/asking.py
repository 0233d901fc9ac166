"""What each method of `OwnerMemory` asks of a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memolith.client.calls import Call, CallSequence, Endpoint, EndpointMethod
from memolith.client.decoding import encode
from memolith.domain.audits import Audit
from memolith.domain.base_memory import BaseMemory
from memolith.domain.ingestion import IngestResult
from memolith.domain.memories import History, Memory, Page
from memolith.domain.messages import Message, Session
from memolith.domain.owners import Statistics
from memolith.domain.recall import RecallResult
from memolith.domain.work import PendingWork
from memolith.errors import InvalidInput
from memolith.policies import arguments, ids
from memolith.services.change import ForgetResult
from memolith.services.compressing import CompressionResult
from memolith.services.context import Context
from memolith.services.learn import LearnResult
from memolith.services.purge import PurgeResult
from memolith.services.screening import validate_name
from memolith.services.spending import UsageReport
from memolith.services.switching import ProfileSwitch
from memolith.shorthands import PAGE_SIZE
from memolith.text.streaming import clean_stream

_MESSAGES_PAGE_SIZE = 1_000
"""How many messages the service gives at once."""

_SEGMENT_CHARS = 64_000
"""How much of a long text is sent at once, about: what the local model embeds in some ten seconds,
so that nobody waits in vain, while the cuts cost little. A guess."""

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
    return (yield by_id.build_call({"id": ids.parse_id(str(id))}))


def _build_id_method(route: Endpoint) -> EndpointMethod:
    """Return a method that takes an id; what is none is never sent."""

    def method(id: str, **given: Any) -> CallSequence:
        return (yield route.build_call({"id": ids.parse_id(id), **given}))

    return method


def supersede(old: str, new: str) -> CallSequence:
    """See `OwnerMemory.supersede`."""
    path = f"/v1/memories/{ids.parse_id(old, 'old')}/supersede"
    return (
        yield Call(
            "POST",
            path,
            body={"by": ids.parse_id(new, "new")},
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
    reject_callable(on_progress, "advance")
    return (yield _SWITCH.build_call({"name": name, "dry_run": dry_run}))


def reject_callable(value: object, field: str) -> None:
    """Refuse what would have to be called by the service.

    Raises:
        InvalidInput: It is given.
    """
    if value is not None:
        raise InvalidInput(field, "a service can't call a function of its client: leave it out")


def split_into_calls(pieces: Iterable[str], **given: Any) -> Iterable[CallSequence]:
    """Return what `OwnerMemory.ingest_stream` asks, one after the other.

    The text is cut at blank lines, as the library does before it cuts at meaning; each stretch is
    taken in by itself.
    """
    given["tags"] = arguments.check_list(given.get("tags", ()), "tags")
    return (_INGEST(text=piece, **given) for piece in _split_segments(pieces) if piece.strip())


def _split_segments(pieces: Iterable[str]) -> Iterator[str]:
    return clean_stream(pieces, segment_chars=_SEGMENT_CHARS)


# --- shorthands: see `memolith.shorthands` --------------------------------------------------------


def _build_remember_as(kind: str) -> EndpointMethod:
    def method(content: str, importance: float | None) -> CallSequence:
        own = yield _KIND.build_call({"kind": kind})
        given = {"content": content, "kind": own, "importance": importance}
        return (yield _REMEMBER.build_call(given))

    return method


def search(query: str, top_k: int) -> CallSequence:
    """See `Shorthands.search`."""
    given = {"query": query, "top_k": top_k, "mode": "vector", "touch": False}
    return (yield _RECALL.build_call(given))


def retrieve_context(query: str, limit: int) -> CallSequence:
    """See `Shorthands.retrieve_context`."""
    return (yield from context(query=query, top_k=limit))


def process_exchange(user: str, assistant: str, at: datetime | None) -> CallSequence:
    """See `Shorthands.process_exchange`."""
    return (yield _LEARN.build_call({"user": user, "assistant": assistant, "at": at}))


def memories(limit: int = PAGE_SIZE, offset: int = 0) -> CallSequence:
    """See `Shorthands.memories`."""
    page: Page = yield _LIST.build_call({"limit": limit, "offset": offset})
    return (page.memories, page.total) if page.memories else ((), 0)


def active_count() -> CallSequence:
    """See `Shorthands.active_count`."""
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
        Endpoint("POST", "/v1/memories/{id}/restore", Memory | Message, use_idempotency_key=True)
    ),
    "review": Endpoint("GET", "/v1/review", tuple[Memory | Message, ...], response_key="withheld"),
    "approve": _build_id_method(
        Endpoint("POST", "/v1/review/{id}/approve", Memory | Message, use_idempotency_key=True)
    ),
    "reject": _build_id_method(
        Endpoint("POST", "/v1/review/{id}/reject", ForgetResult, use_idempotency_key=True)
    ),
    "history": history,
    "profile": Endpoint("GET", "/v1/profile", str, response_key="profile"),
    "kind_like": _KIND,
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
"""By name; all but `export`, `import_` and `ingest_stream`, which are streams."""
