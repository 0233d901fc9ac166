"""Chat model, embeddings and transcription for OpenAI and compatible services."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

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
from memolith.policies.embedding_models import SelectedModel
from memolith.ports.models import Completion, Prompt, TextRole

if TYPE_CHECKING:
    import openai


T = TypeVar("T")

OPENAI_URL: Final = "https://api.openai.com/v1"
NO_KEY: Final = "none"
"""Placeholder for services without a key; the client requires one."""


class OpenAIClient:
    """An OpenAI client that connects on the first call and translates errors. Thread-safe.

    Environment variables for the client's base URL are ignored.
    """

    def __init__(
        self, name: str, setting: str, *, api_key: str, base_url: str, timeout_s: float
    ) -> None:
        """Configure the client; nothing is sent yet.

        Args:
            name: Service and model, for errors.
            setting: The setting that selects the service, for errors.
            api_key: API key; "" for a service that requires none.
            base_url: URL of the service, including `/v1`; "" for OpenAI.
            timeout_s: Timeout of a response, or of the next part of a stream, in seconds.

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
        """Call a function with the client and return its result.

        Raises:
            ServiceFailed: The request failed.
        """
        client = self._get_client()
        return call_service(lambda: request(client), self._error_types(), self._to_failure)

    def read_stream(self, events: Iterator[T]) -> Iterator[T]:
        """Yield the events of a stream.

        Raises:
            ServiceFailed: The stream broke off.
        """
        return read_stream(events, self._error_types(), self._to_failure)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
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
                    max_retries=0,  # memolith.adapters.models.resilience retries
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


# --- Chat model


TRUNCATED_REASONS: Final = frozenset({"length", "content_filter", "max_tokens"})
"""Finish reasons of an incomplete reply. Services have various names for a complete one."""


class OpenAIChat:
    """A chat model of OpenAI or a compatible service. Thread-safe.

    Nothing is sent before the first call. Environment variables for the OpenAI client's base URL
    are ignored.
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
        """Configure the model.

        Args:
            model: The service's name of the model.
            api_key: API key; "" for a service that requires none.
            base_url: URL of the service, including `/v1`; "" for OpenAI.
            timeout_s: Timeout of a reply, or of the next part of a streamed one, in seconds.
            temperature: Sampling temperature; None for the service's default.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self.name = f"openai:{model}"
        self._model = model
        # Compatible services support only the older name; newer OpenAI models only the new one.
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
        """Yield the parts of a reply, then the complete one; see `StreamingChatModel`."""
        events = self._schemas.call(prompt, self._start_stream)
        try:
            yield from self._read_stream(self._client.read_stream(iter(events)))
        finally:
            events.close()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _complete(self, prompt: Prompt) -> Completion:
        request = self._request(prompt)
        response = self._client.call(lambda client: client.chat.completions.create(**request))
        message = dig(response, "choices", 0, "message")
        text = dig(message, "content")
        if not isinstance(text, str) and dig(message, "refusal") is None:
            raise unreadable_failure(self.name)
        finish = "content_filter" if text is None else dig(response, "choices", 0, "finish_reason")
        return _build_reply(text or "", finish, dig(response, "usage"))

    def _start_stream(self, prompt: Prompt) -> Any:
        request = self._request(prompt)
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        return self._client.call(lambda client: client.chat.completions.create(**request))

    def _read_stream(self, events: Iterator[Any]) -> Iterator[str | Completion]:
        pieces: list[str] = []
        finish = usage = None
        for event in events:
            usage = dig(event, "usage") or usage
            finish = dig(event, "choices", 0, "finish_reason") or finish
            piece = dig(event, "choices", 0, "delta", "content")
            if isinstance(piece, str) and piece:
                pieces.append(piece)
                yield piece
        if finish is None:
            raise incomplete_failure(self.name)
        yield _build_reply("".join(pieces), finish, usage)

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


# --- Embeddings (`/v1/embeddings`): OpenAI, vLLM, TEI and others


class OpenAIVectorService:
    """Embeddings of OpenAI or a compatible service. Thread-safe."""

    def __init__(
        self,
        model: SelectedModel,
        *,
        api_key: str = "",
        base_url: str = "",
        timeout_s: float = 30.0,
    ) -> None:
        """Configure the model; nothing is sent yet. The arguments are those of `OpenAIClient`.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self.name = f"openai:{model.requested_name}"
        self._client = OpenAIClient(
            self.name,
            "embedding.provider",
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
        )
        # As numbers: not all services support base64.
        self._request: dict[str, Any] = {"model": model.requested_name, "encoding_format": "float"}
        if model.truncated_dimension is not None and model.info.accepts_dimension:
            self._request["dimensions"] = model.truncated_dimension

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return the vectors of texts, which already have their role's prefix.

        Raises:
            ServiceFailed: The request failed.
        """
        del role
        response = self._client.call(
            lambda client: client.embeddings.create(input=list(texts), **self._request)
        )
        rows = dig(response, "data")
        if not isinstance(rows, list):
            raise unreadable_failure(self.name)
        indices = [dig(row, "index") for row in rows]
        if sorted(map(repr, indices)) != sorted(map(repr, range(len(rows)))):
            raise unreadable_failure(self.name)  # vectors can't be assigned to texts
        by_index = dict(zip(indices, rows, strict=True))
        return [dig(by_index[index], "embedding") for index in range(len(rows))]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


# --- Transcription


class OpenAITranscriber:
    """See the port. Nothing is sent before the first call."""

    def __init__(self, model: str, *, api_key: str, base_url: str, timeout_s: float) -> None:
        """Configure the model.

        Args:
            model: The service's name of the model.
            api_key: API key; "" for a service that requires none.
            base_url: URL of the service, including `/v1`.
            timeout_s: Timeout in seconds.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self._model = model
        self._client = OpenAIClient(
            f"transcription:{model}",
            "device.transcription_url",
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
        )

    def transcribe(self, audio: bytes, name: str) -> str:
        """See the port."""
        response = self._client.call(
            lambda client: client.audio.transcriptions.create(
                model=self._model, file=(name, audio), response_format="json"
            )
        )
        return response.text.strip()

    def close(self) -> None:
        """See the port."""
        self._client.close()
