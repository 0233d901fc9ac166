"""OpenAI's own client, for OpenAI and every service that speaks its protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from memolith.adapters.clients.wire import (
    UNREADABLE,
    attempt,
    broken_off,
    drained,
    failed,
    http_library,
    http_options,
    keep_quiet,
    need,
    overdue,
    unreachable,
    unreadable,
)

if TYPE_CHECKING:
    import openai

    from memolith.errors import ServiceFailed

T = TypeVar("T")

URL: Final = "https://api.openai.com/v1"
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
        need("openai", setting)
        self._name = name
        self._api_key = api_key or NO_KEY
        self._base_url = base_url or URL
        self._timeout_s = timeout_s
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def call(self, ask: Callable[[openai.OpenAI], T]) -> T:
        """Return what a function gets from the client.

        Raises:
            ServiceFailed: It got nothing.
        """
        client = self._opened()
        return attempt(lambda: ask(client), self._failures(), self._told)

    def drained(self, events: Iterator[T]) -> Iterator[T]:
        """Yield what a stream brings.

        Raises:
            ServiceFailed: It broke off.
        """
        return drained(events, self._failures(), self._told)

    def close(self) -> None:
        """End the connections. The next call makes new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                import openai

                keep_quiet("openai", "openai._base_client")
                httpx = http_library(openai.DefaultHttpxClient)
                options = http_options(httpx, self._base_url, self._timeout_s)
                self._client = openai.OpenAI(
                    api_key=self._api_key,
                    base_url=self._base_url,
                    max_retries=0,  # retries are ours
                    timeout=options["timeout"],
                    http_client=openai.DefaultHttpxClient(**options),
                )
            return self._client

    def _failures(self) -> tuple[type[Exception], ...]:
        import openai

        httpx = http_library(openai.DefaultHttpxClient)
        return (openai.OpenAIError, httpx.HTTPError, *UNREADABLE)

    def _told(self, error: Exception) -> ServiceFailed:
        import openai

        httpx = http_library(openai.DefaultHttpxClient)
        if isinstance(error, openai.APITimeoutError | httpx.TimeoutException):
            return overdue(self._name, self._timeout_s)
        if isinstance(error, openai.APIStatusError):
            return failed(self._name, error.status_code, error.response.headers)
        if isinstance(error, openai.APIConnectionError | httpx.HTTPError):
            return unreachable(self._name)
        return (broken_off if isinstance(error, openai.APIError) else unreadable)(self._name)
