"""Requests with an `Idempotency-Key` are done once, however often they are sent.

A process may be killed between doing something and noting what it answered; a minute later the
same request is done again. So messages have ids of the key, by which the store knows them; the same
memory is not stored twice anyway.
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
    """No error: the request was done before, and this is what was answered."""

    def __init__(self, reply: StoredResponse) -> None:
        """Take the answer."""
        self.reply = reply


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request that was begun, and is to be done once."""

    idempotency: IdempotencyStore
    owner_id: str
    key: str

    def complete(self, response: Response) -> None:
        """Keep what is answered, where it was done."""
        if response.status_code in _SUCCESS_STATUSES:
            reply = StoredResponse(response.status_code, bytes(response.body))
            self.idempotency.finish(self.owner_id, self.key, reply)
        else:
            self.release()

    def release(self) -> None:
        """Let it be sent again."""
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
            description="The same request with the same key is done once, and answered alike, "
            "for a day.",
        ),
    ] = None,
) -> None:
    """Take a request that has a key.

    Raises:
        DoneBefore: It was done.
        Conflict: It is being done, or the key was used for another.
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
    """Return what gives messages ids of the request's key, where it has one and they have none."""
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
    """A route that keeps what it answers to requests that are to be done once."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with that around it."""
        handle = super().get_route_handler()

        async def once(request: Request) -> Response:
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

        return once


def _get_idempotent_request(request: Request) -> IdempotentRequest | None:
    return getattr(request.state, "begun", None)
