"""OpenAI, and every service that speaks its protocol, by OpenAI's own client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from memolith.adapters.chat.schemas import SchemaFallback
from memolith.adapters.clients.openai import OpenAIClient
from memolith.adapters.clients.wire import (
    dig,
    incomplete_failure,
    token_count,
    unreadable_failure,
)
from memolith.ports.chat import Completion, Prompt

TRUNCATED_REASONS: Final = frozenset({"length", "content_filter", "max_tokens"})
"""Why a reply ended that is not whole. Services have many words for the other case."""


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
        self.name = f"openai:{model}"
        self._model = model
        # Other services know the older name of it, and newer models of OpenAI only the newer.
        self._limit = "max_tokens" if base_url else "max_completion_tokens"
        self._extra_fields = {} if temperature is None else {"temperature": temperature}
        self._schemas = SchemaFallback()
        self._client = OpenAIClient(
            self.name, "chat.provider", api_key=api_key, base_url=base_url, timeout_s=timeout_s
        )

    def complete(self, prompt: Prompt) -> Completion:
        """Return the reply to a prompt; see `ChatModel`."""
        return self._schemas.call(prompt, self._complete)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the reply in pieces, then whole; see `StreamingModel`."""
        events = self._schemas.call(prompt, self._start_stream)
        try:
            yield from self._read_stream(self._client.read_stream(iter(events)))
        finally:
            events.close()

    def close(self) -> None:
        """End the connections. The next call makes new ones."""
        self._client.close()

    def _complete(self, prompt: Prompt) -> Completion:
        request = self._request(prompt)
        done = self._client.call(lambda client: client.chat.completions.create(**request))
        message = dig(done, "choices", 0, "message")
        text = dig(message, "content")
        if not isinstance(text, str) and dig(message, "refusal") is None:
            raise unreadable_failure(self.name)
        finish = "content_filter" if text is None else dig(done, "choices", 0, "finish_reason")
        return _build_reply(text or "", finish, dig(done, "usage"))

    def _start_stream(self, prompt: Prompt) -> Any:
        request = self._request(prompt)
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        return self._client.call(lambda client: client.chat.completions.create(**request))

    def _read_stream(self, events: Iterator[Any]) -> Iterator[str | Completion]:
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
            raise incomplete_failure(self.name)
        yield _build_reply("".join(said), finish, usage)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in prompt.messages],
            self._limit: prompt.max_tokens,
            **self._extra_fields,
        }
        if prompt.schema is not None:
            schema = {"name": prompt.schema.name, "schema": prompt.schema.json, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return request


def _build_reply(text: str, finish: Any, usage: Any) -> Completion:
    return Completion(
        text,
        token_count(dig(usage, "prompt_tokens")),
        token_count(dig(usage, "completion_tokens")),
        is_complete=not (isinstance(finish, str) and finish in TRUNCATED_REASONS),
    )
