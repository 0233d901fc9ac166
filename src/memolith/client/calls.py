"""Calls of a service, as values; and methods, as generators of calls.

A method is written once, as a generator that gives calls and is sent what was answered. Who drives
it waits for the answers in his own way: with threads, or with an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from memolith.client.decoding import decode, encode

QueryParams: TypeAlias = tuple[tuple[str, str], ...]
LineFactory: TypeAlias = Callable[[], Iterator[bytes]]
"""Makes the lines of a body, anew at each try."""

JSON = "application/json"
LINES = "application/x-ndjson"

_QUERY_METHODS = frozenset({"GET", "DELETE"})
_PLACEHOLDER = "{"


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        method: Of HTTP.
        path: With what it names quoted.
        query: What stands after it.
        body: As JSON has it, or lines; None: there is none.
        answer: What the answer is; None: nothing.
        inside: The part of the answer that is meant; "": all of it.
        once: Whether the service does it once, however often it is sent with the same key.
        again: Whether doing it twice does no harm.
        owner: Whom it concerns, where not the owner whose memory it is.
        timeout_s: How long the answer may take beyond what is usual.
        told: What arguments are called here that the service calls otherwise.
    """

    method: str
    path: str
    query: QueryParams = ()
    body: Any = None
    response_type: Any = None
    response_key: str = ""
    use_idempotency_key: bool = False
    is_retryable: bool = False
    owner: str | None = None
    timeout_s: float = 0.0
    argument_names: Mapping[str, str] = field(default_factory=dict)

    def parse_response(self, value: Any) -> Any:
        """Return the answer, read from parsed JSON.

        Raises:
            ValueError, TypeError, KeyError: It is none.
        """
        if self.response_type is None:
            return None
        return decode(value[self.response_key] if self.response_key else value, self.response_type)


CallSequence: TypeAlias = Generator[Call, Any, Any]
EndpointMethod: TypeAlias = Callable[..., CallSequence]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method that is one call: its arguments go into the path, and the query or the body.

    Attributes:
        method: Of HTTP.
        path: With names of arguments in braces.
        answer: See `Call`.
        inside: See `Call`.
        once: See `Call`.
        again: See `Call`; what only reads may always be sent again.
        renamed: What arguments are called there, where not as here.
    """

    method: str
    path: str
    response_type: Any = None
    response_key: str = ""
    use_idempotency_key: bool = False
    is_retryable: bool = False
    wire_names: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, **given: Any) -> CallSequence:
        """Ask, and return what is answered."""
        return (yield self.build_call(given))

    def build_call(self, arguments: Mapping[str, Any]) -> Call:
        """Return the call of such arguments."""
        rest = {
            self.wire_names.get(name, name): encode(value, name)
            for name, value in arguments.items()
            if _PLACEHOLDER + name not in self.path
        }
        is_query = self.method in _QUERY_METHODS
        return Call(
            self.method,
            format_path(self.path, arguments),
            build_query(rest) if is_query else (),
            None if is_query or not rest else rest,
            self.response_type,
            self.response_key,
            use_idempotency_key=self.use_idempotency_key,
            is_retryable=self.is_retryable or self.method == "GET",
            argument_names={there: here for here, there in self.wire_names.items()},
        )


def format_path(path: str, arguments: Mapping[str, Any]) -> str:
    """Return a path with arguments in their places; none of them can become another path."""
    parts = path.split("/")
    return "/".join(
        _quote_segment(str(arguments[part[1:-1]])) if part.startswith(_PLACEHOLDER) else part
        for part in parts
    )


def _quote_segment(name: str) -> str:
    # A name of dots alone would be taken for a step up.
    return quote(name, safe="", errors="replace").replace(".", "%2E")


def build_query(arguments: Mapping[str, Any]) -> QueryParams:
    """Return arguments as they stand after a path; what is None is left out."""
    pairs = (
        (name, each)
        for name, value in arguments.items()
        if value is not None
        for each in (value if isinstance(value, list) else [value])
    )
    return tuple((name, _format_query_value(each)) for name, each in pairs)


def _format_query_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
