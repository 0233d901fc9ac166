"""What each method of `OwnerMemory` asks of a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memolith.client.calls import Asking, Call, Method, Route
from memolith.client.decoding import encoded
from memolith.domain.audits import Audit
from memolith.domain.base_memory import BaseMemory
from memolith.domain.ingestion import Ingested
from memolith.domain.memories import History, Memory, Page
from memolith.domain.messages import Message, Session
from memolith.domain.owners import Statistics
from memolith.domain.recall import RecallResult
from memolith.domain.work import Backlog
from memolith.errors import InvalidInput
from memolith.policies import arguments, ids
from memolith.services.change import Forgotten
from memolith.services.compressing import Compressed
from memolith.services.context import Context
from memolith.services.learn import Learned
from memolith.services.purge import Purged
from memolith.services.screening import screened_name
from memolith.services.spending import Spending
from memolith.services.switching import Switched
from memolith.shorthands import PAGE
from memolith.text.streaming import cleaned_pieces

_AT_ONCE = 1_000
"""How many messages the service gives at once."""

_STRETCH_CHARS = 64_000
"""How much of a long text is sent at once, about: what the local model embeds in some ten seconds,
so that nobody waits in vain, while the cuts cost little. A guess."""

_REMEMBER = Route("POST", "/v1/memories", Memory, once=True)
_LEARN = Route("POST", "/v1/learn", Learned, once=True)
_INGEST = Route("POST", "/v1/ingest", Ingested, once=True)
_RECALL = Route("POST", "/v1/recall", RecallResult, again=True)
_CONTEXT = Route("POST", "/v1/context", Context, again=True)
_KIND = Route("GET", "/v1/profile/kind", str, inside="kind")
_LIST = Route("GET", "/v1/memories", Page)
_MESSAGES = Route("GET", "/v1/sessions/{session}/messages", tuple[Message, ...], inside="messages")
_SWITCH = Route("PUT", "/v1/profile", Switched, once=True)

_GET = Route("GET", "/v1/memories/{id}", Memory)
_KEYED = Route("GET", "/v1/memories/keyed", Memory)
_HISTORY = Route("GET", "/v1/memories/{id}/history", History)
_KEYED_HISTORY = Route("GET", "/v1/memories/keyed/history", History)


def get(id: str | None, key: str | None) -> Asking:
    """See `OwnerMemory.get`."""
    return (yield from _named(_GET, _KEYED, id, key))


def history(id: str | None, key: str | None) -> Asking:
    """See `OwnerMemory.history`."""
    return (yield from _named(_HISTORY, _KEYED_HISTORY, id, key))


def _named(by_id: Route, by_key: Route, id: str | None, key: str | None) -> Asking:
    if (id is None) == (key is None):
        raise InvalidInput("id", "give either an id or a key")
    if key is not None:
        return (yield by_key.call({"key": screened_name(key, "key")}))
    return (yield by_id.call({"id": ids.parse(str(id))}))


def _by_id(route: Route) -> Method:
    """Return a method that takes an id; what is none is never sent."""

    def method(id: str, **given: Any) -> Asking:
        return (yield route.call({"id": ids.parse(id), **given}))

    return method


def supersede(old: str, new: str) -> Asking:
    """See `OwnerMemory.supersede`."""
    path = f"/v1/memories/{ids.parse(old, 'old')}/supersede"
    return (yield Call("POST", path, body={"by": ids.parse(new, "new")}, answer=Memory, once=True))


def log(messages: Sequence[Message], session: str) -> Asking:
    """See `OwnerMemory.log`."""
    for place, each in enumerate(arguments.several(messages, "messages")):
        if not isinstance(each, Message):
            problem = f"must be a Message, not {type(each).__name__}"
            raise InvalidInput(f"messages[{place}]", problem)
    given = [
        {
            "speaker": each.speaker,
            "content": each.content,
            "role": each.role,
            "at": encoded(each.at, "at"),
            "external_id": each.external_id,
            "learn": each.learn,
        }
        for each in messages
    ]
    route = Route("POST", "/v1/sessions/{session}/messages", Learned, once=True)
    return (yield route.call({"messages": given, "session": arguments.name(session, "session")}))


def end_session(session: str) -> Asking:
    """See `OwnerMemory.end_session`."""
    route = Route("POST", "/v1/sessions/{session}/end", once=True)
    yield route.call({"session": arguments.name(session, "session")})


def messages(session: str, limit: int | None, after: int) -> Asking:
    """See `OwnerMemory.messages`."""
    arguments.name(session, "session")
    left = None if limit is None else arguments.count(limit, "limit", least=0)
    found: list[Message] = []
    while True:
        some = _AT_ONCE if left is None else min(left, _AT_ONCE)
        page = yield _MESSAGES.call({"session": session, "limit": some, "after": after})
        found += page
        left = None if left is None else left - len(page)
        if len(page) < some or left == 0:
            return tuple(found)
        after = page[-1].sequence


def context(**given: Any) -> Asking:
    """See `OwnerMemory.context`."""
    found: Context = yield _CONTEXT.call(given)
    return found.text


def compress(
    history: Sequence[Mapping[str, Any]], session: str, context_window: int | None
) -> Asking:
    """See `OwnerMemory.compress`."""
    route = Route("POST", "/v1/sessions/{session}/compress", Compressed, once=True)
    given = {"session": arguments.name(session, "session"), "messages": history}
    call = route.call({**given, "context_window": context_window})
    return (yield replace(call, told={"messages": "history"}))


def switch_profile(name: str, *, dry_run: bool, advance: object) -> Asking:
    """See `OwnerMemory.switch_profile`."""
    refuse_callable(advance, "advance")
    return (yield _SWITCH.call({"name": name, "dry_run": dry_run}))


def refuse_callable(given: object, field: str) -> None:
    """Refuse what would have to be called by the service.

    Raises:
        InvalidInput: It is given.
    """
    if given is not None:
        raise InvalidInput(field, "a service can't call a function of its client: leave it out")


def ingested(pieces: Iterable[str], **given: Any) -> Iterable[Asking]:
    """Return what `OwnerMemory.ingest_stream` asks, one after the other.

    The text is cut at blank lines, as the library does before it cuts at meaning; each stretch is
    taken in by itself.
    """
    given["tags"] = arguments.several(given.get("tags", ()), "tags")
    return (_INGEST(text=piece, **given) for piece in _stretches(pieces) if piece.strip())


def _stretches(pieces: Iterable[str]) -> Iterator[str]:
    return cleaned_pieces(pieces, segment_chars=_STRETCH_CHARS)


# --- shorthands: see `memolith.shorthands` --------------------------------------------------------


def _stored_as(kind: str) -> Method:
    def method(content: str, importance: float | None) -> Asking:
        own = yield _KIND.call({"kind": kind})
        given = {"content": content, "kind": own, "importance": importance}
        return (yield _REMEMBER.call(given))

    return method


def search(query: str, top_k: int) -> Asking:
    """See `Shorthands.search`."""
    given = {"query": query, "top_k": top_k, "mode": "vector", "touch": False}
    return (yield _RECALL.call(given))


def retrieve_context(query: str, limit: int) -> Asking:
    """See `Shorthands.retrieve_context`."""
    return (yield from context(query=query, top_k=limit))


def process_exchange(user: str, assistant: str, at: datetime | None) -> Asking:
    """See `Shorthands.process_exchange`."""
    return (yield _LEARN.call({"user": user, "assistant": assistant, "at": at}))


def memories(limit: int = PAGE, offset: int = 0) -> Asking:
    """See `Shorthands.memories`."""
    page: Page = yield _LIST.call({"limit": limit, "offset": offset})
    return (page.memories, page.total) if page.memories else ((), 0)


def active_count() -> Asking:
    """See `Shorthands.active_count`."""
    page: Page = yield _LIST.call({"limit": 1})
    return page.total


METHODS: Mapping[str, Method] = {
    "remember": _REMEMBER,
    "learn": _LEARN,
    "log": log,
    "end_session": end_session,
    "ingest": _INGEST,
    "recall": _RECALL,
    "context": context,
    "context_with_results": _CONTEXT,
    "get": get,
    "message": _by_id(Route("GET", "/v1/messages/{id}", Message)),
    "messages": messages,
    "sessions": Route("GET", "/v1/sessions", tuple[Session, ...]),
    "list": _LIST,
    "update": _by_id(Route("PATCH", "/v1/memories/{id}", Memory, once=True)),
    "supersede": supersede,
    "forget": Route("POST", "/v1/forget", Forgotten, once=True),
    "purge": Route("POST", "/v1/purge", Purged, once=True),
    "restore": _by_id(Route("POST", "/v1/memories/{id}/restore", Memory | Message, once=True)),
    "review": Route("GET", "/v1/review", tuple[Memory | Message, ...], inside="withheld"),
    "approve": _by_id(Route("POST", "/v1/review/{id}/approve", Memory | Message, once=True)),
    "reject": _by_id(Route("POST", "/v1/review/{id}/reject", Forgotten, once=True)),
    "history": history,
    "profile": Route("GET", "/v1/profile", str, inside="profile"),
    "kind_like": _KIND,
    "switch_profile": switch_profile,
    "recent": Route("GET", "/v1/sessions/recent", tuple[Message, ...], inside="messages"),
    "base_memory": Route("GET", "/v1/base-memory", BaseMemory | None),
    "base_memory_versions": Route(
        "GET", "/v1/base-memory/versions", tuple[BaseMemory, ...], inside="versions"
    ),
    "set_base_memory": Route("PUT", "/v1/base-memory", BaseMemory, once=True),
    "roll_back_base_memory": Route("POST", "/v1/base-memory/roll-back", BaseMemory, once=True),
    "summaries": Route("GET", "/v1/summaries", tuple[Memory, ...]),
    "undo_consolidation": _by_id(Route("POST", "/v1/summaries/{id}/undo", Memory, once=True)),
    "compress": compress,
    "backlog": Route("GET", "/v1/backlog", Backlog),
    "retry": Route("POST", "/v1/retry", once=True),
    "usage": Route("GET", "/v1/usage", Spending),
    "audit": Route("GET", "/v1/memories/audit", Audit),
    "stats": Route("GET", "/v1/memories/stats", Statistics),
    "store_fact": _stored_as("fact"),
    "store_preference": _stored_as("preference"),
    "store_correction": _stored_as("correction"),
    "search": search,
    "hybrid_search": _RECALL,
    "retrieve_context": retrieve_context,
    "process_exchange": process_exchange,
    "memories": memories,
    "active_count": active_count,
}
"""By name; all but `export`, `import_` and `ingest_stream`, which are streams."""
