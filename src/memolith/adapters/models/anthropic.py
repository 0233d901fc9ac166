"""Chat model for the Anthropic API."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from memolith.adapters.models.http import (
    UNREADABLE_ERRORS,
    build_http_options,
    call_service,
    dig,
    find_http_library,
    incomplete_failure,
    read_stream,
    require_package,
    silence_debug_logs,
    status_failure,
    timeout_failure,
    token_count,
    unreachable_failure,
    unreadable_failure,
)
from memolith.adapters.models.resilience import SchemaFallback
from memolith.errors import ServiceFailed
from memolith.ports.models import Completion, Prompt

if TYPE_CHECKING:
    import anthropic

ANTHROPIC_URL: Final = "https://api.anthropic.com"
COMPLETE_REASONS: Final = frozenset({"end_turn", "stop_sequence"})
"""Stop reasons of a complete reply; the others are limits, refusals and tool calls."""

_OK: Final = 200


class AnthropicChat:
    """A model of the Anthropic API. Thread-safe.

    Nothing is sent before the first call. Environment variables for the Anthropic client's base URL
    and tracing are ignored.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str = "",
        timeout_s: float = 60.0,
        temperature: float | None = None,
    ) -> None:
        """Configure the model.

        Args:
            model: The service's name of the model.
            api_key: API key.
            base_url: Base URL of the service; "" for Anthropic's.
            timeout_s: Timeout of a reply, or of the next part of a streamed one, in seconds.
            temperature: Sampling temperature; None for the service's default. Newer models reject
                it.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        require_package("anthropic", "chat.provider")
        self.name = f"anthropic:{model}"
        self._model = model
        self._api_key = api_key
        self._base_url = base_url or ANTHROPIC_URL
        self._timeout_s = timeout_s
        # The client has no argument for the temperature any more: newer models reject it.
        self._extra_fields = (
            {} if temperature is None else {"extra_body": {"temperature": temperature}}
        )
        self._schemas = SchemaFallback()
        self._client: anthropic.Anthropic | None = None
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Completion:
        """Return the reply to a prompt; see `ChatModel`."""
        return self._schemas.call(prompt, self._complete)

    def stream(self, prompt: Prompt) -> Iterator[str | Completion]:
        """Yield the parts of a reply, then the complete one; see `StreamingChatModel`."""
        events = self._schemas.call(prompt, self._start_stream)
        try:
            yield from self._read_stream(
                read_stream(iter(events), self._error_types(), self._to_failure)
            )
        finally:
            events.close()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _complete(self, prompt: Prompt) -> Completion:
        create = self._get_client().messages.create
        response = call_service(
            lambda: create(**self._request(prompt)), self._error_types(), self._to_failure
        )
        blocks, stop = dig(response, "content"), dig(response, "stop_reason")
        if not isinstance(blocks, list) or stop is None:
            raise unreadable_failure(self.name)
        texts = (dig(block, "text") for block in blocks if dig(block, "type") == "text")
        answer = "".join(text for text in texts if isinstance(text, str))
        usage = dig(response, "usage")
        return Completion(
            answer,
            _input_tokens(usage),
            token_count(dig(usage, "output_tokens")),
            stop in COMPLETE_REASONS,
        )

    def _start_stream(self, prompt: Prompt) -> Any:
        create = self._get_client().messages.create
        request = self._request(prompt) | {"stream": True}
        return call_service(lambda: create(**request), self._error_types(), self._to_failure)

    def _read_stream(self, events: Iterator[Any]) -> Iterator[str | Completion]:
        pieces: list[str] = []
        stop: Any = None
        input_tokens = output_tokens = 0
        for event in events:
            input_tokens = _input_tokens(dig(event, "message", "usage")) or input_tokens
            output_tokens = token_count(dig(event, "usage", "output_tokens")) or output_tokens
            stop = dig(event, "delta", "stop_reason") or stop
            piece = dig(event, "delta", "text")
            if isinstance(piece, str) and piece:
                pieces.append(piece)
                yield piece
        if stop is None:
            raise incomplete_failure(self.name)
        yield Completion(
            "".join(pieces), input_tokens, output_tokens, is_complete=stop in COMPLETE_REASONS
        )

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        system = "\n\n".join(turn.content for turn in prompt.messages if turn.role == "system")
        turns = [turn for turn in prompt.messages if turn.role != "system"]
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "max_tokens": prompt.max_tokens,
            **({"system": system} if system else {}),
            **self._extra_fields,
        }
        if prompt.schema is not None:
            output_format = {"type": "json_schema", "schema": prompt.schema.json}
            request["output_config"] = {"format": output_format}
        return request

    def _get_client(self) -> anthropic.Anthropic:
        with self._lock:
            if self._client is None:
                import anthropic

                silence_debug_logs("anthropic", "anthropic._base_client")
                httpx = find_http_library(anthropic.DefaultHttpxClient)
                options = build_http_options(httpx, self._base_url, self._timeout_s)
                self._client = anthropic.Anthropic(
                    api_key=self._api_key,
                    base_url=self._base_url,
                    max_retries=0,  # memolith.adapters.models.resilience retries
                    timeout=options["timeout"],
                    open_telemetry=False,
                    http_client=anthropic.DefaultHttpxClient(**options),
                )
            return self._client

    def _error_types(self) -> tuple[type[Exception], ...]:
        import anthropic

        httpx = find_http_library(anthropic.DefaultHttpxClient)
        return (anthropic.AnthropicError, httpx.HTTPError, *UNREADABLE_ERRORS)

    def _to_failure(self, error: Exception) -> ServiceFailed:
        import anthropic

        httpx = find_http_library(anthropic.DefaultHttpxClient)
        if isinstance(error, anthropic.APITimeoutError | httpx.TimeoutException):
            return timeout_failure(self.name, self._timeout_s)
        if isinstance(error, anthropic.APIStatusError) and error.status_code != _OK:
            return status_failure(self.name, error.status_code, error.response.headers)
        if isinstance(error, anthropic.APIConnectionError | httpx.HTTPError):
            return unreachable_failure(self.name)
        return (
            incomplete_failure if isinstance(error, anthropic.APIError) else unreadable_failure
        )(self.name)


def _input_tokens(usage: Any) -> int:
    """Return the input tokens, including those read from the service's cache."""
    fields = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(token_count(dig(usage, field)) for field in fields)
