"""The language model that is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith.adapters.chat.steady import ResilientChat, ServiceGuard
from memolith.adapters.clients.keys import (
    check_url,
    check_variable,
    read_key_file,
    read_key_variable,
)
from memolith.errors import InvalidConfiguration
from memolith.policies.retrying import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.adapters.chat.anthropic import AnthropicChat
    from memolith.adapters.chat.openai import OpenAIChat
    from memolith.config.settings import Chat
    from memolith.ports.chat import ChatModel

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
        from memolith.adapters.chat.ollama import OllamaChat

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
        from memolith.adapters.chat.anthropic import AnthropicChat

        return AnthropicChat
    from memolith.adapters.chat.openai import OpenAIChat

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
