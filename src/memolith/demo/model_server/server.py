"""The HTTP server of the scripted model, with simulated network faults."""

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
    """The parser of a request and the API of its response."""

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
    """A local server that answers by rules. Thread-safe.

        with ModelServer(["Hello!"]) as server:
            ...  # call server.openai_url

    Leaving the block raises the first error of a rule, if any. The default vectors are those of
    `HashingEmbedder`: texts with common words are similar.
    """

    def __init__(
        self,
        *rules: Rule | Iterable[Any],
        embed: Rule | None = None,
        dimension: int = 384,
        models: Sequence[str] = ("scripted",),
        keys: Iterable[str] | None = None,
    ) -> None:
        """Create a server. It listens immediately, and answers inside a `with` block.

        Args:
            rules: Functions from `Asked` to an `Answer`, a text, a value to send as JSON, or None
                to try the next rule; or lists of answers to return in order.
            embed: A function from `Asked` to an `Answer` with vectors, or None for the default
                vectors.
            dimension: The default dimension of the vectors.
            models: The names in the list of models.
            keys: The accepted API keys. None: any or no key.
        """
        self._rules = [rule if callable(rule) else in_turn(rule) for rule in rules]
        self._embed = [*([] if embed is None else [embed]), by_words(dimension)]
        self.models = tuple(models)
        self.transcripts: dict[str, str] = {}
        """Transcripts of recordings, by file name. Other recordings have an empty one."""
        self._keys = None if keys is None else frozenset(keys)
        self._asked: list[Asked] = []
        self._raised: list[Exception] = []
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for Ollama and Anthropic."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI."""
        return f"{self.url}/v1"

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The requests so far, in order."""
        with self._lock:
            return tuple(self._asked)

    def __enter__(self) -> Self:
        """Start answering."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server and close open connections."""
        self.close()
        if error is None and self._raised:
            raise self._raised[0]

    def close(self) -> None:
        """Stop the server and close open connections. Calling it twice is not an error."""
        if self.closing.is_set():
            return
        self.closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.hang_up()
        self._http.server_close()

    def answer(self, asked: Asked) -> Answer:
        """Record a request and return its answer."""
        with self._lock:
            self._asked.append(asked)
        if self._keys is not None and asked.key not in self._keys:
            return refused(401, message="invalid API key")
        try:
            return answered(self._embed if asked.texts else self._rules, asked)
        except Exception as error:  # noqa: BLE001 - raised by `__exit__`
            with self._lock:
                self._raised.append(error)
            return refused(501, message="a rule raised an error")


class _Http(ThreadingHTTPServer):
    """A server that can close its open connections."""

    daemon_threads = False  # threads are joined, so that none outlives its test
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
        """Close all connections."""
        with self._lock:
            for connection in self._open:
                _end(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connection errors: many tests close connections on purpose."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _file_name(form: bytes) -> str:
    """Return the name of the file in a multipart form. Empty if there is none."""
    found = re.search(rb'filename="([^"]*)"', form)
    return found[1].decode() if found else ""


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the peer closed it


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
            self._send_json(404, {"error": f"unknown path {path}"})
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
            self._send_json(404, {"error": f"unknown path {path}"})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = route.read(path, headers, json.loads(sent))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._send_json(
                400, route.protocol.problem(refused(400), f"invalid request: {error!r}")
            )
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
        """Log nothing. `ModelServer.asked` has the requests."""


def _spoiled(events: Sequence[bytes], fault: Fault | None) -> Iterator[bytes]:
    """Yield the events of a stream with a fault."""
    half = (len(events) + 1) // 2
    if fault is None:
        yield from events
        return
    yield from events[:half]
    if fault is Fault.MALFORMED:
        yield from (event.replace(b"}", b"") for event in events[half:])
