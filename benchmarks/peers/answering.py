"""Server loop of a peer's process: reads one request per line, runs it and returns its time.

Runs in the peer's environment and imports only the standard library. The peer's own output goes to
stderr, since stdout carries the responses.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, BinaryIO

DIMENSION = 384
"""Length of every vector."""
_BYTES = DIMENSION * 4
"""Bytes of a float32 vector."""


class Handed:
    """The embedder of all peers: returns the vectors that came with the request."""

    def __init__(self) -> None:
        """Start without vectors."""
        self._known: dict[str, array[float]] = {}

    def take(self, texts: Sequence[str], vectors: str) -> None:
        """Replace all vectors by those of these texts, given concatenated in base64."""
        raw = base64.b64decode(vectors)
        parts = (raw[start : start + _BYTES] for start in range(0, len(raw), _BYTES))
        self._known = {text: array("f", part) for text, part in zip(texts, parts, strict=True)}

    def vector(self, text: str) -> array[float]:
        """Return a text's vector.

        Raises:
            KeyError: The request did not contain it.
        """
        return self._known[text]

    def knows(self, text: str) -> bool:
        """Return whether the request contained a text's vector."""
        return text in self._known

    def list(self, text: str) -> list[float]:
        """Return a text's vector as a list, as most peers expect."""
        return self._known[text].tolist()


class Store(ABC):
    """A peer's store in its own folder, used as documented by the peer."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the store in a folder."""
        self.folder = folder
        self.handed = handed

    @abstractmethod
    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Store texts of an owner, as durably as the peer does; return their ids."""

    def seeds(self) -> bool:
        """Whether the store can be filled faster than through its API."""
        return isinstance(self, Seeds)

    @abstractmethod
    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Return the texts that the peer finds for an owner, best first."""

    def nearest(self, owner: str, text: str, count: int) -> list[str]:
        """Return the texts with the nearest vectors, if `search` does more than compare vectors."""
        return self.search(owner, text, count)

    def by_id(self) -> bool:
        """Whether single texts can be read and deleted."""
        return isinstance(self, ById)

    def weight(self) -> int | None:
        """Return the disk space in bytes, or None for that of the folder."""
        return None

    def ready(self, text: str) -> None:
        """Prepare the search for a text; not timed."""
        del text

    @abstractmethod
    def close(self) -> None:
        """Write pending data; the process ends afterwards."""


class Seeds(ABC):
    """Mixin for a store that adds one by one and would take hours to fill."""

    @abstractmethod
    def seed(self, owner: str, texts: list[str]) -> None:
        """Store texts like `add`, but in bulk and below the peer's API; not timed."""


class ById(ABC):
    """Mixin for a store whose texts can be read and deleted by id."""

    @abstractmethod
    def get(self, owner: str, id: str) -> str | None:
        """Return a text by its id, as an owner if the peer supports that."""

    @abstractmethod
    def delete(self, owner: str, id: str) -> None:
        """Delete a text by its id, as an owner if the peer supports that."""


Open = Callable[[Path, Handed], Store]


def serve(opened: Open) -> None:
    """Process requests until the input ends; the program's argument is the store's folder."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    handed = Handed()
    store: Store | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            store = store or opened(Path(sys.argv[1]), handed)
            answer = _answer(store, handed, request)
        except Exception as error:  # noqa: BLE001 - reported to the driver
            answer = {"error": f"{type(error).__name__}: {error}"}
        _say(answers, answer)


def _answer(store: Store, handed: Handed, request: dict[str, Any]) -> dict[str, Any]:
    what = request.pop("do")
    if vectors := request.pop("vectors", None):
        handed.take(request.get("texts") or [request["text"]], vectors)
    if what == "search":
        store.ready(request["text"])
    begun, used = perf_counter(), process_time()
    result = getattr(store, what)(**request)
    return {
        "seconds": perf_counter() - begun,
        "processor": process_time() - used,
        "result": result,
    }


def _say(answers: BinaryIO | Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
