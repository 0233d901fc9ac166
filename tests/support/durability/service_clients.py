"""Clients that write to the service continuously and track acknowledged requests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx

from support.random_words import Words

WAYS = ("remember", "learn", "chat")
_AGAIN_S = 0.02
_PATIENCE_S = 60.0
_BEING_DONE = 409
_NOT_NOW = 503


@dataclass(frozen=True, slots=True)
class Told:
    """A text to store.

    Attributes:
        way: Kind of call.
        owner: Owner to store it for.
        text: Text of unique words.
    """

    way: str
    owner: str
    text: str

    @property
    def stored(self) -> tuple[str, ...]:
        """Contents that must be stored exactly once."""
        if self.way == "remember":
            return (self.text,)
        return (self.text, answer(self.text))

    def ask(self, client: httpx.Client) -> int:
        """Send the text; return the status once the response is complete."""
        headers = {"Idempotency-Key": self.text, "X-Owner-Id": self.owner}
        path, body = self._request()
        with client.stream("POST", path, json=body, headers=headers) as reply:
            said = b"".join(reply.iter_bytes())
        if self.way == "chat" and reply.status_code == httpx.codes.OK:
            assert b"[DONE]" in said
        return reply.status_code

    def _request(self) -> tuple[str, Mapping[str, object]]:
        if self.way == "remember":
            return "/v1/memories", {"content": self.text}
        if self.way == "learn":
            return "/v1/learn", {"user": self.text, "assistant": answer(self.text)}
        messages = [{"role": "user", "content": self.text}]
        return "/v1/chat/completions", {"messages": messages, "stream": True}


def answer(text: str) -> str:
    """Return the model's reply to a text."""
    return f"I have heard of {text.rsplit(maxsplit=1)[-1].rstrip('.')}."


@dataclass(slots=True)
class Clients:
    """Threads that send requests until stopped, one per kind of call and owner.

    Attributes:
        acknowledged: Texts with a successful response.
        open: Texts without one, because the server was gone or shutting down.
        statuses: Number of responses by status.
    """

    url: str
    key: str
    seed: int
    owners: tuple[str, ...] = ("alice", "bob")
    acknowledged: list[Told] = field(default_factory=list)
    open: list[Told] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    _stop: threading.Event = field(default_factory=threading.Event)
    _told: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Send requests for the duration of the block."""
        self._stop.clear()
        pairs = [(way, owner) for way in WAYS for owner in self.owners]
        threads = [
            threading.Thread(target=self._ask, args=(way, owner, self._next_seed()))
            for way, owner in pairs
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(_PATIENCE_S)

    def wait(self, calls: int) -> None:
        """Wait for a number of further acknowledged requests."""
        enough = len(self.acknowledged) + calls
        with self._told:
            assert self._told.wait_for(lambda: len(self.acknowledged) >= enough, _PATIENCE_S), (
                self.statuses
            )

    def tell_again(self) -> None:
        """Repeat unacknowledged requests until they succeed."""
        with self._client() as client:
            for told in self.open:
                status = told.ask(client)
                assert status // 100 == 2, (told, status)
                self.acknowledged.append(told)
        self.open = []

    def _next_seed(self) -> int:
        self.seed += 1_000
        return self.seed

    def _client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=_PATIENCE_S, verify=False)  # noqa: S501 - plain HTTP

    def _ask(self, way: str, owner: str, seed: int) -> None:
        words = Words(seed)
        with self._client() as client:
            for _ in count():
                if self._stop.is_set():
                    return
                told = Told(way, owner, f"I like {words.text(2)} and {words.word()}.")
                self._tell(client, told)

    def _tell(self, client: httpx.Client, told: Told) -> None:
        """Send a text, with retries during a restart; it stays open if the result is unknown."""
        while not self._stop.is_set():
            try:
                status = told.ask(client)
            except httpx.ConnectError:
                self._stop.wait(_AGAIN_S)
                continue
            except httpx.TransportError:
                status = 0
            with self._told:
                self.statuses[status] += 1
                done = self.acknowledged if status // 100 == 2 else self.open
                done.append(told)
                self._told.notify_all()
            assert status // 100 == 2 or status in (0, _BEING_DONE, _NOT_NOW), status
            return
