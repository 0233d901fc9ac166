"""Calls of a service, as values; and methods, as generators of calls.

A method is written once, as a generator that gives calls and is sent what was answered. Who drives
it waits for the answers in his own way: with threads, or with an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from memolith.client.decoding import decoded, encoded

Query: TypeAlias = tuple[tuple[str, str], ...]
Lines: TypeAlias = Callable[[], Iterator[bytes]]
"""Makes the lines of a body, anew at each try."""

JSON = "application/json"
LINES = "application/x-ndjson"

_IN_QUERY = frozenset({"GET", "DELETE"})
_PLACE = "{"


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
    query: Query = ()
    body: Any = None
    answer: Any = None
    inside: str = ""
    once: bool = False
    again: bool = False
    owner: str | None = None
    timeout_s: float = 0.0
    told: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: Any) -> Any:
        """Return the answer, read from parsed JSON.

        Raises:
            ValueError, TypeError, KeyError: It is none.
        """
        if self.answer is None:
            return None
        return decoded(value[self.inside] if self.inside else value, self.answer)


Asking: TypeAlias = Generator[Call, Any, Any]
Method: TypeAlias = Callable[..., Asking]


@dataclass(frozen=True, slots=True)
class Route:
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
    answer: Any = None
    inside: str = ""
    once: bool = False
    again: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, **given: Any) -> Asking:
        """Ask, and return what is answered."""
        return (yield self.call(given))

    def call(self, given: Mapping[str, Any]) -> Call:
        """Return the call of such arguments."""
        rest = {
            self.renamed.get(name, name): encoded(value, name)
            for name, value in given.items()
            if _PLACE + name not in self.path
        }
        is_query = self.method in _IN_QUERY
        return Call(
            self.method,
            filled(self.path, given),
            query_of(rest) if is_query else (),
            None if is_query or not rest else rest,
            self.answer,
            self.inside,
            once=self.once,
            again=self.again or self.method == "GET",
            told={there: here for here, there in self.renamed.items()},
        )


def filled(path: str, given: Mapping[str, Any]) -> str:
    """Return a path with arguments in their places; none of them can become another path."""
    parts = path.split("/")
    return "/".join(
        _quoted(str(given[part[1:-1]])) if part.startswith(_PLACE) else part for part in parts
    )


def _quoted(name: str) -> str:
    # A name of dots alone would be taken for a step up.
    return quote(name, safe="", errors="replace").replace(".", "%2E")


def query_of(given: Mapping[str, Any]) -> Query:
    """Return arguments as they stand after a path; what is None is left out."""
    pairs = (
        (name, each)
        for name, value in given.items()
        if value is not None
        for each in (value if isinstance(value, list) else [value])
    )
    return tuple((name, _text(each)) for name, each in pairs)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
