"""Ollama, by its own client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memolith.adapters.chat.schemas import Schemas
from memolith.adapters.clients.ollama import OllamaClient
from memolith.adapters.clients.wire import (
    broken_off,
    count,
    dig,
    unreadable,
)
from memolith.ports.chat import Prompt, Reply


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
        self.name = f"ollama:{model}"
        self._model = model
        self._options: dict[str, Any] = {}
        if temperature is not None:
            self._options["temperature"] = temperature
        if context_window:
            self._options["num_ctx"] = context_window
        self._schemas = Schemas()
        self._client = OllamaClient(
            self.name, "chat.provider", api_key=api_key, base_url=base_url, timeout_s=timeout_s
        )

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
        self._client.close()

    def _complete(self, prompt: Prompt) -> Reply:
        request = self._request(prompt)
        done = self._client.call(lambda client: client.chat(**request))
        text = dig(done, "message", "content")
        if not isinstance(text, str) or not dig(done, "done"):
            raise unreadable(self.name)
        return _reply(text, done)

    def _begin(self, prompt: Prompt) -> Any:
        """Return the parts of a reply, the first of which is there: only then is it asked."""
        request = self._request(prompt) | {"stream": True}
        source: Any = self._client.call(lambda client: client.chat(**request))
        parts = self._client.drained(source)
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
