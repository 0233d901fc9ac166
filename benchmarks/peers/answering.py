"""What a peer's process does: it reads a request a line, does it, and says how long that took.

It runs in the peer's environment, so that nothing but the standard library is imported here. What
the peer itself prints goes to stderr: stdout is for answers.
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
"""Of every vector that is handed in."""
_BYTES = DIMENSION * 4
"""Of one of them, in float32."""


class Handed:
    """The embedder of all peers: it knows the vectors that came with the request."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, array[float]] = {}

    def take(self, texts: Sequence[str], vectors: str) -> None:
        """Know these, and nothing from before; the vectors one behind the other, in base64."""
        raw = base64.b64decode(vectors)
        parts = (raw[start : start + _BYTES] for start in range(0, len(raw), _BYTES))
        self._known = {text: array("f", part) for text, part in zip(texts, parts, strict=True)}

    def vector(self, text: str) -> array[float]:
        """Return a text's vector.

        Raises:
            KeyError: It was not handed in.
        """
        return self._known[text]

    def knows(self, text: str) -> bool:
        """Whether a text's vector was handed in."""
        return text in self._known

    def list(self, text: str) -> list[float]:
        """Return a text's vector as most take it."""
        return self._known[text].tolist()


class Store(ABC):
    """A peer's store, in its own folder, as it is used by its documentation."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open what is in the folder, or make it."""
        self.folder = folder
        self.handed = handed

    @abstractmethod
    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Store texts of an owner, durably as far as the peer does that; return their ids."""

    def seeds(self) -> bool:
        """Whether there is a quicker way to fill a store than by its doors."""
        return isinstance(self, Seeds)

    @abstractmethod
    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Return the texts of an owner that the peer finds, the best first."""

    def nearest(self, owner: str, text: str, count: int) -> list[str]:
        """Return the texts with the nearest vectors, where a search goes by more than these."""
        return self.search(owner, text, count)

    def by_id(self) -> bool:
        """Whether single texts can be read and deleted."""
        return isinstance(self, ById)

    def weight(self) -> int | None:
        """Return the bytes that everything takes on disk; None: what the folder does."""
        return None

    def ready(self, text: str) -> None:
        """Do what is not to be timed before this text is searched for."""
        del text

    @abstractmethod
    def close(self) -> None:
        """Write what is not written yet; the process ends after this."""


class Seeds(ABC):
    """Beside a store that stores one by one, and would take hours."""

    @abstractmethod
    def seed(self, owner: str, texts: list[str]) -> None:
        """Store what `add` would, many at once, below the peer's doors; not timed."""


class ById(ABC):
    """Beside a store, where single texts can be read and deleted."""

    @abstractmethod
    def get(self, owner: str, id: str) -> str | None:
        """Return a text by its id, asked for as an owner where the peer can be told."""

    @abstractmethod
    def delete(self, owner: str, id: str) -> None:
        """Delete a text by its id, as an owner where the peer can be told."""


Open = Callable[[Path, Handed], Store]


def serve(opened: Open) -> None:
    """Answer until the input ends; the program's argument is the store's folder."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    handed = Handed()
    store: Store | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            store = store or opened(Path(sys.argv[1]), handed)
            answer = _answer(store, handed, request)
        except Exception as error:  # noqa: BLE001 - the driver is told, and shows it
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
