"""OpenAI, and every service that speaks its protocol, by OpenAI's own client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from mnemon.adapters.chat.schemas import Schemas
from mnemon.adapters.chat.wire import (
    UNREADABLE,
    attempt,
    broken_off,
    count,
    dig,
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
from mnemon.errors import ServiceFailed
from mnemon.ports.chat import Prompt, Reply

if TYPE_CHECKING:
    import openai

URL: Final = "https://api.openai.com/v1"
CUT: Final = frozenset({"length", "content_filter", "max_tokens"})
"""Why a reply ended that is not whole. Services have many words for the other case."""

NO_KEY: Final = "none"
"""What stands where a key does, for services that want none: their client insists on one."""


class OpenAIChat:
    """A model of OpenAI, or of a service that speaks its protocol. Thread-safe.

    Nothing is sent before the first call. What the environment says to OpenAI's client about
    where to send things does not count here.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str = "",
        base_url: str = "",
        timeout_s: float = 60.0,
        temperature: float | None = None,
    ) -> None:
        """Use a model.

        Args:
            model: Its name, as the service has it.
            api_key: The key, "" for a service that wants none.
            base_url: Where the service is, with its `/v1`; "": OpenAI.
            timeout_s: How long to wait for a reply, or for the next piece of it.
            temperature: How much is left to chance; None: as the service has it.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        need("openai", "chat.provider")
        self.name = f"openai:{model}"
        self._model = model
        self._api_key = api_key or NO_KEY
        self._base_url = base_url or URL
        # Other services know the older name of it, and newer models of OpenAI only the newer.
        self._limit = "max_tokens" if base_url else "max_completion_tokens"
        self._timeout_s = timeout_s
        self._more = {} if temperature is None else {"temperature": temperature}
        self._schemas = Schemas()
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Reply:
        """Return the reply to a prompt; see `ChatModel`."""
        return self._schemas.asked(prompt, self._complete)

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]:
        """Yield the reply in pieces, then whole; see `StreamingModel`."""
        events = self._schemas.asked(prompt, self._begin)
        try:
            yield from self._read(drained(iter(events), self._failures(), self._told))
        finally:
            events.close()

    def close(self) -> None:
        """End the connections. The next call makes new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _complete(self, prompt: Prompt) -> Reply:
        ask = self._opened().chat.completions.create
        done = attempt(lambda: ask(**self._request(prompt)), self._failures(), self._told)
        message = dig(done, "choices", 0, "message")
        text = dig(message, "content")
        if not isinstance(text, str) and dig(message, "refusal") is None:
            raise unreadable(self.name)
        finish = "content_filter" if text is None else dig(done, "choices", 0, "finish_reason")
        return _reply(text or "", finish, dig(done, "usage"))

    def _begin(self, prompt: Prompt) -> Any:
        ask = self._opened().chat.completions.create
        request = self._request(prompt)
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        return attempt(lambda: ask(**request), self._failures(), self._told)

    def _read(self, events: Iterator[Any]) -> Iterator[str | Reply]:
        said: list[str] = []
        finish = usage = None
        for event in events:
            usage = dig(event, "usage") or usage
            finish = dig(event, "choices", 0, "finish_reason") or finish
            piece = dig(event, "choices", 0, "delta", "content")
            if isinstance(piece, str) and piece:
                said.append(piece)
                yield piece
        if finish is None:
            raise broken_off(self.name)
        yield _reply("".join(said), finish, usage)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in prompt.turns],
            self._limit: prompt.max_tokens,
            **self._more,
        }
        if prompt.schema is not None:
            schema = {"name": prompt.schema.name, "schema": prompt.schema.json, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return request

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
                    max_retries=0,  # retries are ours: mnemon.adapters.chat.steady
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
            return overdue(self.name, self._timeout_s)
        if isinstance(error, openai.APIStatusError):
            return failed(self.name, error.status_code, error.response.headers)
        if isinstance(error, openai.APIConnectionError | httpx.HTTPError):
            return unreachable(self.name)
        return (broken_off if isinstance(error, openai.APIError) else unreadable)(self.name)


def _reply(text: str, finish: Any, usage: Any) -> Reply:
    return Reply(
        text,
        count(dig(usage, "prompt_tokens")),
        count(dig(usage, "completion_tokens")),
        is_whole=finish not in CUT,
    )
