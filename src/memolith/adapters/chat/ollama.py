"""Ollama, by its own client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memolith.adapters.chat.schemas import SchemaFallback
from memolith.adapters.clients.ollama import OllamaClient
from memolith.adapters.clients.wire import (
    dig,
    incomplete_failure,
    token_count,
    unreadable_failure,
)
from memolith.ports.chat import Completion, Prompt


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
        self._schemas = SchemaFallback()
        self._client = OllamaClient(
            self.name, "chat.provider", api_key=api_key, base_url=base_url, timeout_s=timeout_s
        )

    def complete(self, prompt: Prompt) -> Completion:
        """Return the reply to a prompt; see `ChatModel`."""
        return self._schemas.call(prompt, self._complete)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the reply in pieces, then whole; see `StreamingModel`."""
        parts: Any = self._schemas.call(prompt, self._start_stream)
        try:
            yield from self._read_stream(parts)
        finally:
            parts.close()

    def close(self) -> None:
        """End the connections. The next call makes new ones."""
        self._client.close()

    def _complete(self, prompt: Prompt) -> Completion:
        request = self._request(prompt)
        done = self._client.call(lambda client: client.chat(**request))
        text = dig(done, "message", "content")
        if not isinstance(text, str) or not dig(done, "done"):
            raise unreadable_failure(self.name)
        return _build_reply(text, done)

    def _start_stream(self, prompt: Prompt) -> Any:
        """Return the parts of a reply, the first of which is there: only then is it asked."""
        request = self._request(prompt) | {"stream": True}
        source: Any = self._client.call(lambda client: client.chat(**request))
        parts = self._client.read_stream(source)
        first = next(parts, None)
        return _chain_and_close(source, first, parts)

    def _read_stream(self, parts: Iterator[Any]) -> Iterator[str | Completion]:
        said: list[str] = []
        for part in parts:
            piece = dig(part, "message", "content")
            if isinstance(piece, str) and piece:
                said.append(piece)
                yield piece
            if dig(part, "done"):
                yield _build_reply("".join(said), part)
                return
        raise incomplete_failure(self.name)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in prompt.messages],
            "options": {"num_predict": prompt.max_tokens, **self._options},
        }
        if prompt.schema is not None:
            request["format"] = dict(prompt.schema.json)
        return request


def _chain_and_close(source: Any, first: Any, parts: Iterator[Any]) -> Iterator[Any]:
    try:
        if first is not None:
            yield first
        yield from parts
    finally:
        source.close()


def _build_reply(text: str, last: Any) -> Completion:
    return Completion(
        text,
        token_count(dig(last, "prompt_eval_count")),
        token_count(dig(last, "eval_count")),
        is_complete=dig(last, "done_reason") != "length",
    )
