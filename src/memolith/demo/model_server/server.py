"""The server: a socket, threads, and the faults of a network."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any, Final, Self

from memolith.demo.model_server import anthropic, ollama, openai
from memolith.demo.model_server.messages import Asked
from memolith.demo.model_server.rules import (
    Answer,
    Fault,
    Rule,
    answered,
    by_words,
    in_turn,
    refused,
)

OK: Final = 200

Read = Callable[[str, Mapping[str, str], Mapping[str, Any]], "Asked"]


@dataclass(frozen=True, slots=True)
class _Route:
    """Who reads a request, and who writes the answer."""

    protocol: ModuleType
    read: Read
    stream_type: str = ""


_ROUTES: Final[Mapping[str, _Route]] = {
    "/v1/chat/completions": _Route(openai, openai.chat, "text/event-stream"),
    "/v1/embeddings": _Route(openai, openai.embeddings),
    "/api/chat": _Route(ollama, ollama.chat, "application/x-ndjson"),
    "/api/embed": _Route(ollama, ollama.embeddings),
    "/v1/messages": _Route(anthropic, anthropic.chat, "text/event-stream"),
}


_TRANSCRIPTIONS: Final = "/v1/audio/transcriptions"


class ModelServer:
    """A server on this machine that answers by rules. Thread-safe.

    `with ModelServer(rule) as server:` runs it; leaving raises what a rule raised, if one did.
    Vectors are those of `HashingEmbedder`: texts that share words are near.
    """

    def __init__(
        self,
        *rules: Rule | Iterable[Any],
        embed: Rule | None = None,
        dimension: int = 384,
        models: Sequence[str] = ("scripted",),
        keys: Iterable[str] | None = None,
    ) -> None:
        """Make a server; it listens from here on, and answers once it is entered.

        Args:
            rules: Functions from `Asked` to an `Answer`, a text, a value to be said as JSON, or
                None, upon which the next is asked; or a list of answers to be given in turn.
            embed: The same where vectors are asked for: an `Answer`, or None for those by words.
            dimension: The length of the vectors by words where none was asked for.
            models: The names that it lists.
            keys: The keys that it takes; None: any, and none.
        """
        self._rules = [rule if callable(rule) else in_turn(rule) for rule in rules]
        self._embed = [*([] if embed is None else [embed]), by_words(dimension)]
        self.models = tuple(models)
        self.transcripts: dict[str, str] = {}
        """What is said in a recording, by the name of its file; in others, nothing."""
        self._keys = None if keys is None else frozenset(keys)
        self._asked: list[Asked] = []
        self._raised: list[Exception] = []
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Where it listens: the base URL for Ollama and Anthropic."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI."""
        return f"{self.url}/v1"

    @property
    def asked(self) -> tuple[Asked, ...]:
        """What it was asked so far, in the order it came."""
        with self._lock:
            return tuple(self._asked)

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; connections that are open break off."""
        self.close()
        if error is None and self._raised:
            raise self._raised[0]

    def close(self) -> None:
        """End; connections that are open break off. Twice does no harm."""
        if self.closing.is_set():
            return
        self.closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.hang_up()
        self._http.server_close()

    def answer(self, asked: Asked) -> Answer:
        """Return what to answer, and keep what was asked."""
        with self._lock:
            self._asked.append(asked)
        if self._keys is not None and asked.key not in self._keys:
            return refused(401, message="that key is not known here")
        try:
            return answered(self._embed if asked.texts else self._rules, asked)
        except Exception as error:  # noqa: BLE001 - another's code: it is raised to who runs us
            with self._lock:
                self._raised.append(error)
            return refused(501, message="a rule raised an error")


class _Http(ThreadingHTTPServer):
    """Connections, so that all can be ended."""

    daemon_threads = False  # they are joined, so that nothing runs on behind a test's back
    block_on_close = True

    def __init__(self, server: ModelServer) -> None:
        self.models = server
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End all connections."""
        with self._lock:
            for connection in self._open:
                _end(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up is what many tests are about."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _file_name(form: bytes) -> str:
    """Return the name of the file in a form; empty: there is none."""
    found = re.search(rb'filename="([^"]*)"', form)
    return found[1].decode() if found else ""


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was ended by the other side


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        names = self.server.models.models
        lists: Mapping[str, Callable[[], Mapping[str, Any]]] = {
            "/v1/models": lambda: openai.models(names),
            "/api/tags": lambda: ollama.models(names),
            "/api/version": lambda: {"version": "0.0.0-scripted"},
        }
        path = self.path.partition("?")[0]
        found = lists.get(path)
        if found is None:
            self._send_json(404, {"error": f"there is no {path}"})
        else:
            self._send_json(OK, found())

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        route = _ROUTES.get(path)
        if path == _TRANSCRIPTIONS:
            self._send_json(OK, {"text": self.server.models.transcripts.get(_file_name(sent), "")})
            return
        if route is None:
            self._send_json(404, {"error": f"there is no {path}"})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = route.read(path, headers, json.loads(sent))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._send_json(400, route.protocol.problem(refused(400), f"no request: {error!r}"))
            return
        self._answer(route, asked)

    def _answer(self, route: _Route, asked: Asked) -> None:
        answer = self.server.models.answer(asked)
        self.server.models.closing.wait(answer.delay_s)
        if answer.fault is Fault.NO_REPLY:
            self._break_off()
        elif answer.status != OK:
            self._fail(route, asked, answer)
        elif answer.raw is not None:
            self._send_plain(answer.raw.encode(), None, route.stream_type * asked.is_stream)
        elif asked.is_stream:
            self._stream(route, asked, answer)
        else:
            written = route.protocol.vectors if asked.texts else route.protocol.plain
            whole = written(asked, answer)
            self._send_plain(json.dumps(whole).encode(), answer.fault)

    def _fail(self, route: _Route, asked: Asked, answer: Answer) -> None:
        repeated = asked.user or " ".join(asked.texts)
        message = f"{answer.message}: you, {asked.key or 'nobody'}, said: {repeated}"
        wait = answer.retry_after_s
        more = {} if wait is None else {"Retry-After": f"{wait:g}"}
        self._send_json(answer.status, route.protocol.problem(answer, message), more)

    def _send_json(
        self, status: int, value: Mapping[str, Any], more: Mapping[str, str] | None = None
    ) -> None:
        body = json.dumps(value).encode()
        self._begin(status, "application/json", {"Content-Length": str(len(body)), **(more or {})})
        self.wfile.write(body)

    def _send_plain(self, body: bytes, fault: Fault | None, kind: str = "") -> None:
        half = body[: len(body) // 2]
        sent = body if fault in {None, Fault.BROKEN} else half
        self._begin(OK, kind or "application/json", {"Content-Length": str(len(sent))})
        self.wfile.write(half if fault else sent)
        if fault is Fault.BROKEN:
            self._break_off()

    def _stream(self, route: _Route, asked: Asked, answer: Answer) -> None:
        self._begin(OK, route.stream_type, {"Transfer-Encoding": "chunked"})
        events = list(route.protocol.streamed(asked, answer))
        for event in _spoiled(events, answer.fault):
            self.server.models.closing.wait(answer.piece_delay_s)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        if answer.fault is Fault.BROKEN:
            self._break_off()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _begin(self, status: int, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def _break_off(self) -> None:
        self.close_connection = True
        _end(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: `ModelServer.asked` tells what was asked."""


def _spoiled(events: Sequence[bytes], fault: Fault | None) -> Iterator[bytes]:
    """Yield the events that a fault leaves, and as it leaves them."""
    half = (len(events) + 1) // 2
    if fault is None:
        yield from events
        return
    yield from events[:half]
    if fault is Fault.MALFORMED:
        yield from (event.replace(b"}", b"") for event in events[half:])
