"""Idempotent requests: requests with the same `Idempotency-Key` are processed once.

A process may be killed after it acted and before it stored the response; after a minute, the
request is processed again. Messages therefore get ids derived from the key, so that the store
recognises them. Equal memories are not stored twice anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from memolith.domain.messages import Message
from memolith.ports.service import IdempotencyStore, StoredResponse
from memolith.server.auth import AuthenticatedRoute, ClockDep, EngineDep, MemoryDep
from memolith.server.rest import requests

_SUCCESS_STATUSES = range(200, 300)
_ID_BYTES = 16
_REPLAYED_HEADER = {"Idempotency-Replayed": "true"}


class AlreadyCompleted(Exception):
    """Control flow, not an error: the request was processed before; carries the stored response."""

    def __init__(self, reply: StoredResponse) -> None:
        """Carry a response."""
        self.reply = reply


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A started request that is processed once."""

    idempotency: IdempotencyStore
    owner_id: str
    key: str

    def complete(self, response: Response) -> None:
        """Store the response if the request succeeded."""
        if response.status_code in _SUCCESS_STATUSES:
            reply = StoredResponse(response.status_code, bytes(response.body))
            self.idempotency.finish(self.owner_id, self.key, reply)
        else:
            self.release()

    def release(self) -> None:
        """Allow a retry of the request."""
        self.idempotency.abandon(self.owner_id, self.key)


async def begin_idempotent_request(
    request: Request,
    memory: MemoryDep,
    engine: EngineDep,
    clock: ClockDep,
    key: Annotated[
        requests.Name | None,
        Header(
            alias="Idempotency-Key",
            description="A request with the same key is processed once; the response is stored "
            "for a day.",
        ),
    ] = None,
) -> None:
    """Start a request with an idempotency key.

    Raises:
        AlreadyCompleted: The request was processed before.
        Conflict: The request is being processed, or the key was used for another request.
    """
    if key is None:
        return
    asked = b"\n".join((request.method.encode(), request.url.path.encode(), await request.body()))
    idempotency = engine.idempotency
    reply = await run_in_threadpool(
        lambda: idempotency.begin(memory.owner_id, key, asked, now=clock.now())
    )
    if reply is not None:
        raise AlreadyCompleted(reply)
    request.state.begun = IdempotentRequest(idempotency, memory.owner_id, key)


IdempotencyDep = Depends(begin_idempotent_request)


async def get_message_tagger(request: Request) -> Callable[[Sequence[Message]], list[Message]]:
    """Return a function that gives messages ids derived from the request's idempotency key.

    It changes nothing if the request has no key; messages with ids keep them.
    """
    work = _get_idempotent_request(request)
    if work is None:
        return list
    told = blake2b(work.key.encode(), digest_size=_ID_BYTES).hexdigest()

    def known_again(messages: Sequence[Message]) -> list[Message]:
        return [
            replace(each, external_id=each.external_id or f"once:{told}:{place}")
            for place, each in enumerate(messages)
        ]

    return known_again


MessageTaggerDep = Annotated[
    Callable[[Sequence[Message]], list[Message]], Depends(get_message_tagger)
]


class IdempotentRoute(AuthenticatedRoute):
    """Route that stores the responses of idempotent requests."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler with idempotency."""
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            try:
                response = await handle(request)
            except AlreadyCompleted as done:
                return Response(
                    done.reply.body,
                    done.reply.status,
                    _REPLAYED_HEADER,
                    media_type="application/json",
                )
            except BaseException:
                if (work := _get_idempotent_request(request)) is not None:
                    await run_in_threadpool(work.release)
                raise
            if (work := _get_idempotent_request(request)) is not None:
                await run_in_threadpool(work.complete, response)
            return response

        return handle_once


def _get_idempotent_request(request: Request) -> IdempotentRequest | None:
    return getattr(request.state, "begun", None)
