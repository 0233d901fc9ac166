"""The language model that is configured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mnemon.adapters.chat.steady import Care, SteadyChat
from mnemon.config.paths import file_path
from mnemon.errors import InvalidConfiguration
from mnemon.policies.retrying import Retrying

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mnemon.adapters.chat.anthropic import AnthropicChat
    from mnemon.adapters.chat.openai import OpenAIChat
    from mnemon.config.settings import Chat
    from mnemon.ports.chat import ChatModel

NONE: Final = "none"
_VARIABLE: Final = re.compile(r"(?:[A-Z][A-Z0-9_]*)?")
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
    _check_url(settings.base_url)
    key = _key(settings, env)
    timeout_s = settings.timeout_ms / _MS
    temperature = settings.temperature if settings.temperature >= 0 else None
    if settings.provider == "ollama":
        from mnemon.adapters.chat.ollama import OllamaChat

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
        from mnemon.adapters.chat.anthropic import AnthropicChat

        return AnthropicChat
    from mnemon.adapters.chat.openai import OpenAIChat

    return OpenAIChat


def _check_url(url: str) -> None:
    if not url:
        return
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        problem = "must be an address as http://127.0.0.1:8000/v1"
        raise InvalidConfiguration("chat.base_url", problem)


def _key(settings: Chat, env: Mapping[str, str]) -> str:
    """Return the key, "" where the service wants none.

    Raises:
        InvalidConfiguration: There is none, and the service wants one.
    """
    if settings.api_key_file:
        return _key_in(file_path(settings.api_key_file, "chat.api_key_file"))
    variable = settings.api_key_env
    if not _VARIABLE.fullmatch(variable):  # nor is it repeated: it may be the key itself
        problem = "must be the name of an environment variable, in capital letters"
        raise InvalidConfiguration("chat.api_key_env", problem)
    if variable == _USUAL:
        variable = _OWN_VARIABLE.get(settings.provider, _USUAL)
    key = env.get(variable, "").strip() if variable else ""
    if not key and _wants_key(settings):
        problem = f"the environment variable {variable} holds no key" if variable else "is empty"
        raise InvalidConfiguration("chat.api_key_env", problem)
    return key


def _wants_key(settings: Chat) -> bool:
    """Tell whether a key must be there: for the services themselves, and where one is named."""
    is_named = settings.api_key_env not in {"", _USUAL}
    is_theirs = settings.provider == "openai" and not settings.base_url
    return is_named or is_theirs or settings.provider == "anthropic"


def _key_in(file: Path) -> str:
    try:
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        problem = f"{file} can't be read: {reason}"
        raise InvalidConfiguration("chat.api_key_file", problem) from None
    if not key or len(key.split()) != 1:
        raise InvalidConfiguration("chat.api_key_file", f"{file} holds no key")
    return key
