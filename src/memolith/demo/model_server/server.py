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
from memolith.demo.model_server.messages import ReceivedRequest
from memolith.demo.model_server.rules import (
    Answer,
    Fault,
    Rule,
    answer_in_sequence,
    embed_by_words,
    error_answer,
    first_answer,
)

OK: Final = 200

RequestParser = Callable[[str, Mapping[str, str], Mapping[str, Any]], "ReceivedRequest"]


@dataclass(frozen=True, slots=True)
class _Route:
    """The parser of a request and the API of its response."""

    protocol: ModuleType
    parse: RequestParser
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
        self._rules = [rule if callable(rule) else answer_in_sequence(rule) for rule in rules]
        self._embed = [*([] if embed is None else [embed]), embed_by_words(dimension)]
        self.models = tuple(models)
        self.transcripts: dict[str, str] = {}
        """Transcripts of recordings, by file name. Other recordings have an empty one."""
        self._keys = None if keys is None else frozenset(keys)
        self._requests: list[ReceivedRequest] = []
        self._errors: list[Exception] = []
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
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """The requests so far, in order."""
        with self._lock:
            return tuple(self._requests)

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
        if error is None and self._errors:
            raise self._errors[0]

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

    def answer(self, request: ReceivedRequest) -> Answer:
        """Record a request and return its answer."""
        with self._lock:
            self._requests.append(request)
        if self._keys is not None and request.key not in self._keys:
            return error_answer(401, message="invalid API key")
        try:
            return first_answer(self._embed if request.texts else self._rules, request)
        except Exception as error:  # noqa: BLE001 - raised by `__exit__`
            with self._lock:
                self._errors.append(error)
            return error_answer(501, message="a rule raised an error")


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
    match = re.search(rb'filename="([^"]*)"', form)
    return match[1].decode() if match else ""


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
        get_list = lists.get(path)
        if get_list is None:
            self._send_json(404, {"error": f"unknown path {path}"})
        else:
            self._send_json(OK, get_list())

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        route = _ROUTES.get(path)
        if path == _TRANSCRIPTIONS:
            self._send_json(OK, {"text": self.server.models.transcripts.get(_file_name(body), "")})
            return
        if route is None:
            self._send_json(404, {"error": f"unknown path {path}"})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            request = route.parse(path, headers, json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._send_json(
                400, route.protocol.build_error(error_answer(400), f"invalid request: {error!r}")
            )
            return
        self._answer(route, request)

    def _answer(self, route: _Route, request: ReceivedRequest) -> None:
        answer = self.server.models.answer(request)
        self.server.models.closing.wait(answer.delay_s)
        if answer.fault is Fault.NO_REPLY:
            self._break_off()
        elif answer.status != OK:
            self._fail(route, request, answer)
        elif answer.raw is not None:
            self._send_plain(answer.raw.encode(), None, route.stream_type * request.is_stream)
        elif request.is_stream:
            self._stream(route, request, answer)
        else:
            build = route.protocol.vectors if request.texts else route.protocol.build_reply
            reply = build(request, answer)
            self._send_plain(json.dumps(reply).encode(), answer.fault)

    def _fail(self, route: _Route, request: ReceivedRequest, answer: Answer) -> None:
        content = request.user or " ".join(request.texts)
        message = f"{answer.message}: you, {request.key or 'nobody'}, said: {content}"
        wait = answer.retry_after_s
        headers = {} if wait is None else {"Retry-After": f"{wait:g}"}
        self._send_json(answer.status, route.protocol.build_error(answer, message), headers)

    def _send_json(
        self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        body = json.dumps(value).encode()
        self._begin(
            status, "application/json", {"Content-Length": str(len(body)), **(headers or {})}
        )
        self.wfile.write(body)

    def _send_plain(self, body: bytes, fault: Fault | None, kind: str = "") -> None:
        half = body[: len(body) // 2]
        sent = body if fault in {None, Fault.BROKEN} else half
        self._begin(OK, kind or "application/json", {"Content-Length": str(len(sent))})
        self.wfile.write(half if fault else sent)
        if fault is Fault.BROKEN:
            self._break_off()

    def _stream(self, route: _Route, request: ReceivedRequest, answer: Answer) -> None:
        self._begin(OK, route.stream_type, {"Transfer-Encoding": "chunked"})
        events = list(route.protocol.stream_reply(request, answer))
        for event in _inject_fault(events, answer.fault):
            self.server.models.closing.wait(answer.piece_delay_s)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        if answer.fault is Fault.BROKEN:
            self._break_off()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _break_off(self) -> None:
        self.close_connection = True
        _end(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing. `ModelServer.requests` has the requests."""


def _inject_fault(events: Sequence[bytes], fault: Fault | None) -> Iterator[bytes]:
    """Yield the events of a stream with a fault."""
    half = (len(events) + 1) // 2
    if fault is None:
        yield from events
        return
    yield from events[:half]
    if fault is Fault.MALFORMED:
        yield from (event.replace(b"}", b"") for event in events[half:])
