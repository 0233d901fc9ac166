"""Ollama's own client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from memolith.adapters.clients.wire import (
    UNREADABLE_ERRORS,
    build_http_options,
    call_service,
    incomplete_failure,
    last_response_headers,
    read_stream,
    require_package,
    silence_debug_logs,
    status_failure,
    timeout_failure,
    unreachable_failure,
    unreadable_failure,
)

if TYPE_CHECKING:
    import ollama

    from memolith.errors import ServiceFailed

T = TypeVar("T")

OLLAMA_URL: Final = "http://127.0.0.1:11434"


class OllamaClient:
    """The client, opened at the first call, its failures told in our words. Thread-safe."""

    def __init__(
        self, name: str, setting: str, *, api_key: str, base_url: str, timeout_s: float
    ) -> None:
        """Make a client; nothing is sent yet.

        Args:
            name: Of service and model, for errors.
            setting: The setting that asks for it.
            api_key: A key, where there is something before Ollama that wants one.
            base_url: Where Ollama is; "": on this machine.
            timeout_s: How long to wait for an answer, or for the next piece of it.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        require_package("ollama", setting)
        self._name = name
        self._api_key = api_key
        self._base_url = base_url or OLLAMA_URL
        self._timeout_s = timeout_s
        self._client: ollama.Client | None = None
        self._lock = threading.Lock()

    def call(self, request: Callable[[ollama.Client], T]) -> T:
        """Return what a function gets from the client.

        Raises:
            ServiceFailed: It got nothing.
        """
        client = self._get_client()
        return call_service(lambda: request(client), self._error_types(), self._to_failure)

    def read_stream(self, events: Iterator[T]) -> Iterator[T]:
        """Yield what a stream brings.

        Raises:
            ServiceFailed: It broke off.
        """
        return read_stream(events, self._error_types(), self._to_failure)

    def close(self) -> None:
        """End the connections. The next call makes new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()  # type: ignore[no-untyped-call] # of theirs

    def _get_client(self) -> ollama.Client:
        with self._lock:
            if self._client is None:
                import httpx
                import ollama

                silence_debug_logs("ollama")
                key = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
                options = build_http_options(httpx, self._base_url, self._timeout_s)
                self._client = ollama.Client(self._base_url, headers=key, **options)
            return self._client

    def _error_types(self) -> tuple[type[Exception], ...]:
        import httpx
        import ollama

        errors = (ollama.ResponseError, ollama.RequestError, ConnectionError)
        return (*errors, httpx.HTTPError, *UNREADABLE_ERRORS)

    def _to_failure(self, error: Exception) -> ServiceFailed:
        import httpx
        import ollama

        if isinstance(error, httpx.TimeoutException):
            return timeout_failure(self._name, self._timeout_s)
        if isinstance(error, ollama.ResponseError):
            if error.status_code < 0:  # something that is said within a stream
                return incomplete_failure(self._name)
            return status_failure(self._name, error.status_code, last_response_headers())
        if isinstance(error, ConnectionError | httpx.HTTPError):
            return unreachable_failure(self._name)
        return unreadable_failure(self._name)
