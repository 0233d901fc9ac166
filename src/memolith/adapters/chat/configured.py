"""The language model that is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith.adapters.chat.steady import Care, SteadyChat
from memolith.adapters.clients.keys import (
    check_url,
    check_variable,
    key_in_file,
    key_in_variable,
)
from memolith.errors import InvalidConfiguration
from memolith.policies.retrying import Retrying

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.adapters.chat.anthropic import AnthropicChat
    from memolith.adapters.chat.openai import OpenAIChat
    from memolith.config.settings import Chat
    from memolith.ports.chat import ChatModel

NONE: Final = "none"
SECTION: Final = "chat"
_USUAL: Final = "OPENAI_API_KEY"
_OWN_VARIABLE: Final[Mapping[str, str]] = {"anthropic": "ANTHROPIC_API_KEY", "ollama": ""}
_MS: Final = 1000


def configured(settings: Chat, env: Mapping[str, str]) -> ChatModel | None:
    """Return the model that is configured, None where none is; nothing is asked yet.

    Args:
        settings: What is configured.
        env: The environment, for the key.

    Raises:
        InvalidConfiguration: The model's name, the key, or the service's client is missing, or
            the service's address is none.
    """
    if settings.provider == NONE:
        return None
    if not settings.model.strip():
        problem = f"names no model, which chat.provider = {settings.provider!r} needs"
        raise InvalidConfiguration("chat.model", problem)
    check_url(settings.base_url, SECTION)
    key = key_of(settings, env)
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
    return _by_key(settings.provider)(
        settings.model,
        api_key=key,
        base_url=settings.base_url,
        timeout_s=timeout_s,
        temperature=temperature,
    )


def steady(model: ChatModel, settings: Chat) -> SteadyChat:
    """Return a model that is asked again as the settings have it."""
    timeout_s = settings.timeout_ms / _MS
    total_s = timeout_s * (settings.max_retries + 1)
    return SteadyChat(
        model,
        Care(
            retrying=Retrying(most=settings.max_retries, total_s=total_s),
            calls_at_once=settings.calls_at_once,
        ),
    )


def _by_key(provider: str) -> type[AnthropicChat | OpenAIChat]:
    if provider == "anthropic":
        from memolith.adapters.chat.anthropic import AnthropicChat

        return AnthropicChat
    from memolith.adapters.chat.openai import OpenAIChat

    return OpenAIChat


def key_of(settings: Chat, env: Mapping[str, str]) -> str:
    """Return the key, "" where the service wants none.

    Raises:
        InvalidConfiguration: There is none, and the service wants one.
    """
    if settings.api_key_file:
        return key_in_file(settings.api_key_file, SECTION)
    variable = settings.api_key_env
    check_variable(variable, SECTION)
    if variable == _USUAL:
        variable = _OWN_VARIABLE.get(settings.provider, _USUAL)
    return key_in_variable(variable, SECTION, env, is_wanted=_wants_key(settings))


def _wants_key(settings: Chat) -> bool:
    """Tell whether a key must be there: for the services themselves, and where one is named."""
    is_named = settings.api_key_env not in {"", _USUAL}
    is_theirs = settings.provider == "openai" and not settings.base_url
    return is_named or is_theirs or settings.provider == "anthropic"
