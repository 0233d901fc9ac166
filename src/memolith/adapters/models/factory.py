"""Builds chat models and embedders from the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from memolith.adapters.models.anthropic import AnthropicChat
from memolith.adapters.models.embedding_service import BatchLimits, ServiceEmbedder, VectorService
from memolith.adapters.models.local import MODEL_SETTING
from memolith.adapters.models.ollama import OllamaChat, OllamaVectorService
from memolith.adapters.models.openai import OpenAIChat, OpenAIVectorService
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.adapters.models.sentence_transformers import (
    SentenceTransformersVectorService,
    get_stored_model_name,
)
from memolith.config.loading import parse_file_path
from memolith.config.settings import Chat, Embedding
from memolith.errors import InvalidConfiguration
from memolith.policies.embedding_models import SelectedModel, select_model
from memolith.policies.retries import RetryPolicy
from memolith.ports.models import ChatModel

_VARIABLE: Final = re.compile(r"(?:[A-Z][A-Z0-9_]*)?")


def check_url(url: str, section: str) -> None:
    """Check that a setting is an HTTP URL or empty.

    Raises:
        InvalidConfiguration: It is neither.
    """
    if not url:
        return
    try:
        split = urlsplit(url)
        is_address = split.scheme in {"http", "https"} and bool(split.hostname) and split.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        problem = "must be a URL such as http://127.0.0.1:8000/v1"
        raise InvalidConfiguration(f"{section}.base_url", problem)


def check_variable(variable: str, section: str) -> None:
    """Check that a setting is the name of an environment variable or empty.

    Raises:
        InvalidConfiguration: It is neither. The value is not repeated, since it may be the key
            itself.
    """
    if not _VARIABLE.fullmatch(variable):
        problem = "must be the name of an environment variable, in capital letters"
        raise InvalidConfiguration(f"{section}.api_key_env", problem)


def read_key_variable(
    variable: str, section: str, env: Mapping[str, str], *, is_required: bool
) -> str:
    """Return the key in an environment variable, or "".

    Raises:
        InvalidConfiguration: The variable is empty or missing, and a key is required.
    """
    key = env.get(variable, "").strip() if variable else ""
    if not key and is_required:
        problem = f"the environment variable {variable} is not set" if variable else "is empty"
        raise InvalidConfiguration(f"{section}.api_key_env", problem)
    return key


def read_key_file(file: str, section: str) -> str:
    """Return the key in a file.

    Raises:
        InvalidConfiguration: The file is unreadable or empty.
    """
    setting = f"{section}.api_key_file"
    path = parse_file_path(file, setting)
    key = _read_key_text(path, setting).strip()
    if not key or len(key.split()) != 1:
        raise InvalidConfiguration(setting, f"{path} is empty")
    return key


def _read_key_text(path: Path, setting: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise InvalidConfiguration(setting, f"{path} can't be read: {reason}") from None


# --- Chat model


NO_PROVIDER: Final = "none"
CHAT_SECTION: Final = "chat"
_DEFAULT_KEY_VARIABLE: Final = "OPENAI_API_KEY"
_PROVIDER_KEY_VARIABLES: Final[Mapping[str, str]] = {"anthropic": "ANTHROPIC_API_KEY", "ollama": ""}
_MS: Final = 1000


def build_chat_model(settings: Chat, env: Mapping[str, str]) -> ChatModel | None:
    """Return the configured chat model, or None; nothing is requested yet.

    Args:
        settings: The chat settings.
        env: Environment variables, for the API key.

    Raises:
        InvalidConfiguration: The model name, the key or the client package is missing, or the URL
            is invalid.
    """
    if settings.provider == NO_PROVIDER:
        return None
    if not settings.model.strip():
        problem = f"is required for chat.provider = {settings.provider!r}"
        raise InvalidConfiguration("chat.model", problem)
    check_url(settings.base_url, CHAT_SECTION)
    key = get_api_key(settings, env)
    timeout_s = settings.timeout_ms / _MS
    temperature = settings.temperature if settings.temperature >= 0 else None
    if settings.provider == "ollama":
        return OllamaChat(
            settings.model,
            api_key=key,
            base_url=settings.base_url,
            timeout_s=timeout_s,
            temperature=temperature,
            context_window=settings.context_window,
        )
    return _get_chat_class(settings.provider)(
        settings.model,
        api_key=key,
        base_url=settings.base_url,
        timeout_s=timeout_s,
        temperature=temperature,
    )


def build_resilient_chat(model: ChatModel, settings: Chat) -> ResilientChat:
    """Return a model with the configured retries and circuit breaker."""
    timeout_s = settings.timeout_ms / _MS
    total_s = timeout_s * (settings.max_retries + 1)
    return ResilientChat(
        model,
        ServiceGuard(
            retry_policy=RetryPolicy(max_retries=settings.max_retries, max_total_s=total_s),
            max_concurrent_calls=settings.calls_at_once,
        ),
    )


def _get_chat_class(provider: str) -> type[AnthropicChat | OpenAIChat]:
    if provider == "anthropic":
        return AnthropicChat
    return OpenAIChat


def get_api_key(settings: Chat, env: Mapping[str, str]) -> str:
    """Return the API key, or "" if the service requires none.

    Raises:
        InvalidConfiguration: The key is missing.
    """
    if settings.api_key_file:
        return read_key_file(settings.api_key_file, CHAT_SECTION)
    variable = settings.api_key_env
    check_variable(variable, CHAT_SECTION)
    if variable == _DEFAULT_KEY_VARIABLE:
        variable = _PROVIDER_KEY_VARIABLES.get(settings.provider, _DEFAULT_KEY_VARIABLE)
    return read_key_variable(variable, CHAT_SECTION, env, is_required=_requires_key(settings))


def _requires_key(settings: Chat) -> bool:
    """Return whether a key is required: for the provider's own service, or if one is configured."""
    is_named = settings.api_key_env not in {"", _DEFAULT_KEY_VARIABLE}
    is_openai_service = settings.provider == "openai" and not settings.base_url
    return is_named or is_openai_service or settings.provider == "anthropic"


# --- Embedding service


LOCAL_MODEL: Final = "all-MiniLM-L6-v2"
"""The bundled local model; no embedding service has a model of this name."""

_EMBEDDING_SECTION: Final = "embedding"
_OPENAI_KEY_VARIABLE: Final = "OPENAI_API_KEY"


def build_service_embedder(settings: Embedding, env: Mapping[str, str]) -> ServiceEmbedder:
    """Return an embedder for the configured service; nothing is requested yet.

    Args:
        settings: The embedding settings, with a provider other than `local`.
        env: Environment variables, for the API key.

    Raises:
        InvalidConfiguration: The model name, the key or the client package is missing, or the model
            does not support the dimension.
    """
    if settings.model == LOCAL_MODEL:
        problem = f"name a model of {settings.provider}; {LOCAL_MODEL} is the local model"
        raise InvalidConfiguration(MODEL_SETTING, problem)
    is_local = settings.provider == "sentence-transformers"
    try:
        model = select_model(
            get_stored_model_name(settings.model) if is_local else settings.model,
            settings.dimension,
        )
    except ValueError as error:
        raise InvalidConfiguration("embedding.dimension", str(error)) from None
    limits = BatchLimits(settings.batch_size, settings.batch_chars)
    guard = ServiceGuard(retry_policy=RetryPolicy(max_total_s=settings.timeout_ms / 1000))
    return ServiceEmbedder(_build_vector_service(settings, model, env), model, limits, guard)


def _build_vector_service(
    settings: Embedding, model: SelectedModel, env: Mapping[str, str]
) -> VectorService:
    timeout_s = settings.timeout_ms / 1000
    if settings.provider == "sentence-transformers":
        return SentenceTransformersVectorService(model, settings.model)
    check_url(settings.base_url, _EMBEDDING_SECTION)
    key = _get_embedding_key(settings, env)
    if settings.provider == "ollama":
        return OllamaVectorService(
            model, api_key=key, base_url=settings.base_url, timeout_s=timeout_s
        )
    return OpenAIVectorService(model, api_key=key, base_url=settings.base_url, timeout_s=timeout_s)


def _get_embedding_key(settings: Embedding, env: Mapping[str, str]) -> str:
    """Return the API key. OpenAI's key is sent only to OpenAI, unless configured otherwise."""
    if settings.api_key_file:
        return read_key_file(settings.api_key_file, _EMBEDDING_SECTION)
    check_variable(settings.api_key_env, _EMBEDDING_SECTION)
    is_openai = settings.provider == "openai" and not settings.base_url
    variable = settings.api_key_env or (_OPENAI_KEY_VARIABLE if is_openai else "")
    return read_key_variable(variable, _EMBEDDING_SECTION, env, is_required=bool(variable))
