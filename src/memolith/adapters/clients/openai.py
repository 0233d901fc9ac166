"""OpenAI's own client, for OpenAI and every service that speaks its protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from memolith.adapters.clients.wire import (
    UNREADABLE_ERRORS,
    build_http_options,
    call_service,
    find_http_library,
    incomplete_failure,
    read_stream,
    require_package,
    silence_debug_logs,
    status_failure,
    timeout_failure,
    unreachable_failure,
    unreadable_failure,
)

if TYPE_CHECKING:
    import openai

    from memolith.errors import ServiceFailed

T = TypeVar("T")

OPENAI_URL: Final = "https://api.openai.com/v1"
NO_KEY: Final = "none"
"""What stands where a key does, for services that want none: their client insists on one."""


class OpenAIClient:
    """The client, opened at the first call, its failures told in our words. Thread-safe.

    What the environment says to it about where to send things does not count here.
    """

    def __init__(
        self, name: str, setting: str, *, api_key: str, base_url: str, timeout_s: float
    ) -> None:
        """Make a client; nothing is sent yet.

        Args:
            name: Of service and model, for errors.
            setting: The setting that asks for it.
            api_key: The key, "" for a service that wants none.
            base_url: Where the service is, with its `/v1`; "": OpenAI.
            timeout_s: How long to wait for an answer, or for the next piece of it.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        require_package("openai", setting)
        self._name = name
        self._api_key = api_key or NO_KEY
        self._base_url = base_url or OPENAI_URL
        self._timeout_s = timeout_s
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def call(self, request: Callable[[openai.OpenAI], T]) -> T:
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
            client.close()

    def _get_client(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                import openai

                silence_debug_logs("openai", "openai._base_client")
                httpx = find_http_library(openai.DefaultHttpxClient)
                options = build_http_options(httpx, self._base_url, self._timeout_s)
                self._client = openai.OpenAI(
                    api_key=self._api_key,
                    base_url=self._base_url,
                    max_retries=0,  # retries are ours
                    timeout=options["timeout"],
                    http_client=openai.DefaultHttpxClient(**options),
                )
            return self._client

    def _error_types(self) -> tuple[type[Exception], ...]:
        import openai

        httpx = find_http_library(openai.DefaultHttpxClient)
        return (openai.OpenAIError, httpx.HTTPError, *UNREADABLE_ERRORS)

    def _to_failure(self, error: Exception) -> ServiceFailed:
        import openai

        httpx = find_http_library(openai.DefaultHttpxClient)
        if isinstance(error, openai.APITimeoutError | httpx.TimeoutException):
            return timeout_failure(self._name, self._timeout_s)
        if isinstance(error, openai.APIStatusError):
            return status_failure(self._name, error.status_code, error.response.headers)
        if isinstance(error, openai.APIConnectionError | httpx.HTTPError):
            return unreachable_failure(self._name)
        return (incomplete_failure if isinstance(error, openai.APIError) else unreadable_failure)(
            self._name
        )
