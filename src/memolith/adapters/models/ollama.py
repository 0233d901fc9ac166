"""Chat model and embeddings of Ollama."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memolith.adapters.models.http import (
    UNREADABLE_ERRORS,
    build_http_options,
    call_service,
    dig,
    incomplete_failure,
    last_response_headers,
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
    import ollama


T = TypeVar("T")

OLLAMA_URL: Final = "http://127.0.0.1:11434"


class OllamaClient:
    """An Ollama client that connects on the first call and translates errors. Thread-safe."""

    def __init__(
        self, name: str, setting: str, *, api_key: str, base_url: str, timeout_s: float
    ) -> None:
        """Configure the client; nothing is sent yet.

        Args:
            name: Service and model, for errors.
            setting: The setting that selects Ollama, for errors.
            api_key: Bearer token, if a proxy in front of Ollama requires one.
            base_url: URL of Ollama; "" for this machine.
            timeout_s: Timeout of a response, or of the next part of a stream, in seconds.

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
            if error.status_code < 0:  # an error within a stream
                return incomplete_failure(self._name)
            return status_failure(self._name, error.status_code, last_response_headers())
        if isinstance(error, ConnectionError | httpx.HTTPError):
            return unreachable_failure(self._name)
        return unreadable_failure(self._name)


# --- Chat model


class OllamaChat:
    """A chat model of Ollama. Thread-safe. Nothing is sent before the first call."""

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
        """Configure the model.

        Args:
            model: Name as in `ollama list`.
            api_key: Bearer token, if a proxy in front of Ollama requires one.
            base_url: URL of Ollama; "" for this machine.
            timeout_s: Timeout of a reply, or of the next part of a streamed one, in seconds.
            temperature: Sampling temperature; None for the model's default.
            context_window: Context size in tokens; 0 for Ollama's default. Ollama silently drops
                the beginning of longer prompts.

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
        """Yield the parts of a reply, then the complete one; see `StreamingChatModel`."""
        parts: Any = self._schemas.call(prompt, self._start_stream)
        try:
            yield from self._read_stream(parts)
        finally:
            parts.close()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _complete(self, prompt: Prompt) -> Completion:
        request = self._request(prompt)
        response = self._client.call(lambda client: client.chat(**request))
        text = dig(response, "message", "content")
        if not isinstance(text, str) or not dig(response, "done"):
            raise unreadable_failure(self.name)
        return _build_reply(text, response)

    def _start_stream(self, prompt: Prompt) -> Any:
        """Return the stream once its first part has arrived, which is when the request is sent."""
        request = self._request(prompt) | {"stream": True}
        source: Any = self._client.call(lambda client: client.chat(**request))
        parts = self._client.read_stream(source)
        first = next(parts, None)
        return _chain_and_close(source, first, parts)

    def _read_stream(self, parts: Iterator[Any]) -> Iterator[str | Completion]:
        pieces: list[str] = []
        for part in parts:
            piece = dig(part, "message", "content")
            if isinstance(piece, str) and piece:
                pieces.append(piece)
                yield piece
            if dig(part, "done"):
                yield _build_reply("".join(pieces), part)
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


# --- Embeddings (`/api/embed`)


class OllamaVectorService:
    """Embeddings of a model that Ollama runs. Thread-safe.

    Vectors are requested at full length: older versions of Ollama can't shorten them.
    """

    def __init__(
        self,
        model: SelectedModel,
        *,
        api_key: str = "",
        base_url: str = "",
        timeout_s: float = 30.0,
    ) -> None:
        """Configure the model; nothing is sent yet. The arguments are those of `OllamaClient`.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        self.name = f"ollama:{model.requested_name}"
        self._model_name = model.requested_name
        self._client = OllamaClient(
            self.name,
            "embedding.provider",
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
        )

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return the vectors of texts, which already have their role's prefix.

        Raises:
            ServiceFailed: The request failed.
        """
        del role
        return dig(
            self._client.call(lambda it: it.embed(self._model_name, list(texts))), "embeddings"
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
