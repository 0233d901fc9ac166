"""What a client asks a chat service, and the same with what is remembered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from memolith.entrypoints.http.problems import FieldError, Problem
from memolith.entrypoints.http.wire.fields import is_too_deep

ChatEntry = Mapping[str, Any]

_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for a reply.

    Attributes:
        body: All of it.
        messages: The conversation in it.
        raw: The bytes that say so.
    """

    body: Mapping[str, Any]
    messages: tuple[ChatEntry, ...]
    raw: bytes

    @property
    def user(self) -> str | None:
        """For whom it says to be asked."""
        user = self.body.get("user")
        return user if isinstance(user, str) else None

    @property
    def model(self) -> str:
        """The model that it names; empty: none."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""

    @property
    def is_stream(self) -> bool:
        """Whether the reply is to come in pieces."""
        return self.body.get("stream") is True

    @property
    def has_single_choice(self) -> bool:
        """Whether one reply is asked for, not several to choose from."""
        return self.body.get("n") in (None, 1)

    def with_model(self, model: str) -> ChatRequest:
        """Return the same of another model, named once.

        Some services read `Model` too, and of two names the one or the other.
        """
        rest = {name: value for name, value in self.body.items() if name.casefold() != "model"}
        return self._with_body({**rest, "model": model})

    def with_messages(self, messages: Sequence[ChatEntry]) -> ChatRequest:
        """Return the same with other messages."""
        if len(messages) == len(self.messages) and all(map(_is_same, messages, self.messages)):
            return self
        return self._with_body({**self.body, "messages": list(messages)})

    def _with_body(self, body: Mapping[str, Any]) -> ChatRequest:
        raw = json.dumps(body, separators=(",", ":")).encode()
        return replace(self, body=body, messages=tuple(body["messages"]), raw=raw)


def parse_chat_request(raw: bytes) -> ChatRequest:
    """Return what a body asks.

    Raises:
        Problem: It is no such request.
    """
    try:
        body = json.loads(raw, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is no JSON, or nested too deep") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body must be an object")
    if is_too_deep(body):
        raise Problem(400, "the body is nested too deep")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _build_problem("messages", "must be a list of messages")
    for place, each in enumerate(messages):
        if not isinstance(each, dict) or not isinstance(each.get("role"), str):
            raise _build_problem(f"messages.{place}", "must be an object with a role")
    for name in ("model", "user"):
        if not isinstance(body.get(name) or "", str):
            raise _build_problem(name, "must be text")
    return ChatRequest(body, tuple(messages), raw)


def add_system_text(messages: Sequence[ChatEntry], text: str) -> list[ChatEntry]:
    """Return messages whose first instruction says a text too; one is made where there is none."""
    if not text:
        return list(messages)
    first = messages[0] if messages else {}
    if first.get("role") not in _SYSTEM_ROLES:
        return [{"role": "system", "content": text}, *messages]
    return [{**first, "content": _append_text(first.get("content"), text)}, *messages[1:]]


def _append_text(content: object, text: str) -> object:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if isinstance(content, str) and content else text


def _build_problem(field: str, problem: str) -> Problem:
    return Problem(
        422, "the request can't be taken", errors=[FieldError(field=field, problem=problem)]
    )


def _is_same(one: object, other: object) -> bool:
    return one is other


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(constant)
