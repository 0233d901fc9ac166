"""Ollama, by its own client."""

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
    headers,
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
    import ollama

URL: Final = "http://127.0.0.1:11434"


class OllamaChat:
    """A model that Ollama runs. Thread-safe. Nothing is sent before the first call."""

    def __init__(
        self,
        model: str,
        *,
        api_key: str = "",
        base_url: str = "",
        timeout_s: float = 60.0,
        temperature: float | None = None,
        context_window: int = 0,
    ) -> None:
        """Use a model.

        Args:
            model: Its name, as `ollama list` has it.
            api_key: A key, where there is something before Ollama that wants one.
            base_url: Where Ollama is; "": on this machine.
            timeout_s: How long to wait for a reply, or for the next piece of it.
            temperature: How much is left to chance; None: as the model has it.
            context_window: How many tokens Ollama makes room for; 0: its own number, over which it
                silently drops the beginning of what it is asked.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        need("ollama", "chat.provider")
        self.name = f"ollama:{model}"
        self._model = model
        self._api_key = api_key
        self._base_url = base_url or URL
        self._timeout_s = timeout_s
        self._options: dict[str, Any] = {}
        if temperature is not None:
            self._options["temperature"] = temperature
        if context_window:
            self._options["num_ctx"] = context_window
        self._schemas = Schemas()
        self._client: ollama.Client | None = None
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Reply:
        """Return the reply to a prompt; see `ChatModel`."""
        return self._schemas.asked(prompt, self._complete)

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]:
        """Yield the reply in pieces, then whole; see `StreamingModel`."""
        parts: Any = self._schemas.asked(prompt, self._begin)
        try:
            yield from self._read(parts)
        finally:
            parts.close()

    def close(self) -> None:
        """End the connections. The next call makes new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()  # type: ignore[no-untyped-call] # theirs

    def _complete(self, prompt: Prompt) -> Reply:
        ask = self._opened().chat
        done = attempt(lambda: ask(**self._request(prompt)), self._failures(), self._told)
        text = dig(done, "message", "content")
        if not isinstance(text, str) or not dig(done, "done"):
            raise unreadable(self.name)
        return _reply(text, done)

    def _begin(self, prompt: Prompt) -> Any:
        """Return the parts of a reply, the first of which is there: only then is it asked."""
        ask = self._opened().chat
        request = self._request(prompt) | {"stream": True}
        source: Any = attempt(lambda: ask(**request), self._failures(), self._told)
        parts = drained(source, self._failures(), self._told)
        first = next(parts, None)
        return _rest(source, first, parts)

    def _read(self, parts: Iterator[Any]) -> Iterator[str | Reply]:
        said: list[str] = []
        for part in parts:
            piece = dig(part, "message", "content")
            if isinstance(piece, str) and piece:
                said.append(piece)
                yield piece
            if dig(part, "done"):
                yield _reply("".join(said), part)
                return
        raise broken_off(self.name)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in prompt.turns],
            "options": {"num_predict": prompt.max_tokens, **self._options},
        }
        if prompt.schema is not None:
            request["format"] = dict(prompt.schema.json)
        return request

    def _opened(self) -> ollama.Client:
        with self._lock:
            if self._client is None:
                import httpx
                import ollama

                keep_quiet("ollama")
                key = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
                options = http_options(httpx, self._base_url, self._timeout_s)
                self._client = ollama.Client(self._base_url, headers=key, **options)
            return self._client

    def _failures(self) -> tuple[type[Exception], ...]:
        import httpx
        import ollama

        errors = (ollama.ResponseError, ollama.RequestError, ConnectionError)
        return (*errors, httpx.HTTPError, *UNREADABLE)

    def _told(self, error: Exception) -> ServiceFailed:
        import httpx
        import ollama

        if isinstance(error, httpx.TimeoutException):
            return overdue(self.name, self._timeout_s)
        if isinstance(error, ollama.ResponseError):
            known = error.status_code > 0  # it is -1 for what is said within a stream
            return (
                failed(self.name, error.status_code, headers()) if known else broken_off(self.name)
            )
        if isinstance(error, ConnectionError | httpx.HTTPError):
            return unreachable(self.name)
        return unreadable(self.name)


def _rest(source: Any, first: Any, parts: Iterator[Any]) -> Iterator[Any]:
    try:
        if first is not None:
            yield first
        yield from parts
    finally:
        source.close()


def _reply(text: str, last: Any) -> Reply:
    return Reply(
        text,
        count(dig(last, "prompt_eval_count")),
        count(dig(last, "eval_count")),
        is_whole=dig(last, "done_reason") != "length",
    )
