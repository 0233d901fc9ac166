"""Where a service is, and the key that it wants, as a section of the settings has it."""

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
    """Check that an address is one, or empty.

    Raises:
        InvalidConfiguration: It is none.
    """
    if not url:
        return
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        problem = "must be an address as http://127.0.0.1:8000/v1"
        raise InvalidConfiguration(f"{section}.base_url", problem)


def check_variable(variable: str, section: str) -> None:
    """Check that the name of an environment variable is one, or empty.

    Raises:
        InvalidConfiguration: It is none; nor is it repeated, as it may be the key itself.
    """
    if not _VARIABLE.fullmatch(variable):
        problem = "must be the name of an environment variable, in capital letters"
        raise InvalidConfiguration(f"{section}.api_key_env", problem)


def read_key_variable(
    variable: str, section: str, env: Mapping[str, str], *, is_required: bool
) -> str:
    """Return the key that a variable of the environment holds, "" for none.

    Raises:
        InvalidConfiguration: There is none, and it is wanted.
    """
    key = env.get(variable, "").strip() if variable else ""
    if not key and is_required:
        problem = f"the environment variable {variable} holds no key" if variable else "is empty"
        raise InvalidConfiguration(f"{section}.api_key_env", problem)
    return key


def read_key_file(file: str, section: str) -> str:
    """Return the key that a file holds.

    Raises:
        InvalidConfiguration: It can't be read, or holds none.
    """
    setting = f"{section}.api_key_file"
    path = parse_file_path(file, setting)
    key = _read_key_text(path, setting).strip()
    if not key or len(key.split()) != 1:
        raise InvalidConfiguration(setting, f"{path} holds no key")
    return key


def _read_key_text(path: Path, setting: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidConfiguration(setting, f"{path} can't be read: {reason}") from None


# --- The language model that is configured


NO_PROVIDER: Final = "none"
CHAT_SECTION: Final = "chat"
_DEFAULT_KEY_VARIABLE: Final = "OPENAI_API_KEY"
_PROVIDER_KEY_VARIABLES: Final[Mapping[str, str]] = {"anthropic": "ANTHROPIC_API_KEY", "ollama": ""}
_MS: Final = 1000


def build_chat_model(settings: Chat, env: Mapping[str, str]) -> ChatModel | None:
    """Return the model that is configured, None where none is; nothing is asked yet.

    Args:
        settings: What is configured.
        env: The environment, for the key.

    Raises:
        InvalidConfiguration: The model's name, the key, or the service's client is missing, or
            the service's address is none.
    """
    if settings.provider == NO_PROVIDER:
        return None
    if not settings.model.strip():
        problem = f"names no model, which chat.provider = {settings.provider!r} needs"
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
    """Return a model that is asked again as the settings have it."""
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
    """Return the key, "" where the service wants none.

    Raises:
        InvalidConfiguration: There is none, and the service wants one.
    """
    if settings.api_key_file:
        return read_key_file(settings.api_key_file, CHAT_SECTION)
    variable = settings.api_key_env
    check_variable(variable, CHAT_SECTION)
    if variable == _DEFAULT_KEY_VARIABLE:
        variable = _PROVIDER_KEY_VARIABLES.get(settings.provider, _DEFAULT_KEY_VARIABLE)
    return read_key_variable(variable, CHAT_SECTION, env, is_required=_requires_key(settings))


def _requires_key(settings: Chat) -> bool:
    """Tell whether a key must be there: for the services themselves, and where one is named."""
    is_named = settings.api_key_env not in {"", _DEFAULT_KEY_VARIABLE}
    is_theirs = settings.provider == "openai" and not settings.base_url
    return is_named or is_theirs or settings.provider == "anthropic"


# --- The embedding service that the settings name


LOCAL_MODEL: Final = "all-MiniLM-L6-v2"
"""The model that comes with Memolith, and no name at any service."""

_EMBEDDING_SECTION: Final = "embedding"
_OPENAI_KEY_VARIABLE: Final = "OPENAI_API_KEY"


def build_service_embedder(settings: Embedding, env: Mapping[str, str]) -> ServiceEmbedder:
    """Return an embedder that asks the service that is configured; nothing is asked yet.

    Args:
        own: The settings; the provider is any but `local`.
        env: The environment: its key is in there, under the name that the settings give.

    Raises:
        InvalidConfiguration: No model is named, it has no vectors of that length, the service's
            client is not installed, or its key is not there.
    """
    if settings.model == LOCAL_MODEL:
        problem = f"name a model that {settings.provider} has: {LOCAL_MODEL} is the local one"
        raise InvalidConfiguration(MODEL_SETTING, problem)
    is_here = settings.provider == "sentence-transformers"
    try:
        model = select_model(
            get_stored_model_name(settings.model) if is_here else settings.model, settings.dimension
        )
    except ValueError as error:
        raise InvalidConfiguration("embedding.dimension", str(error)) from None
    limits = BatchLimits(settings.batch_size, settings.batch_chars)
    care = ServiceGuard(retry_policy=RetryPolicy(max_total_s=settings.timeout_ms / 1000))
    return ServiceEmbedder(_build_vector_service(settings, model, env), model, limits, care)


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
    """Return the key: OpenAI's goes to OpenAI alone, unless the settings say otherwise."""
    if settings.api_key_file:
        return read_key_file(settings.api_key_file, _EMBEDDING_SECTION)
    check_variable(settings.api_key_env, _EMBEDDING_SECTION)
    is_openai = settings.provider == "openai" and not settings.base_url
    variable = settings.api_key_env or (_OPENAI_KEY_VARIABLE if is_openai else "")
    return read_key_variable(variable, _EMBEDDING_SECTION, env, is_required=bool(variable))
