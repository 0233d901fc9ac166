"""Clients of the service, who tell it things again and again, and know what was acknowledged."""

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
    """Something that is told.

    Attributes:
        way: By which call.
        owner: For whom.
        text: Words that stand in nothing else.
    """

    way: str
    owner: str
    text: str

    @property
    def stored(self) -> tuple[str, ...]:
        """What it is found as: once each."""
        if self.way == "remember":
            return (self.text,)
        return (self.text, answer(self.text))

    def ask(self, client: httpx.Client) -> int:
        """Tell it; return the status of the answer, when that has come to its end."""
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
    """Return what is replied to a text."""
    return f"I have heard of {text.rsplit(maxsplit=1)[-1].rstrip('.')}."


@dataclass(slots=True)
class Clients:
    """Threads that ask until they are told to stop, one for each way and owner.

    Attributes:
        acknowledged: What was answered with success.
        open: What was not, by a server that was gone, or about to go.
        statuses: How often there was which answer.
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
        """Let them ask while the block lasts."""
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
        """Wait until so many more calls were acknowledged."""
        enough = len(self.acknowledged) + calls
        with self._told:
            assert self._told.wait_for(lambda: len(self.acknowledged) >= enough, _PATIENCE_S), (
                self.statuses
            )

    def tell_again(self) -> None:
        """Tell once more what was not acknowledged, until it is."""
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
        """Tell something, also to a server that comes back; what may be done by now stays open."""
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
