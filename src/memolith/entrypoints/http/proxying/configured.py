"""The chat service that is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith.adapters.chat.configured import CHAT_SECTION, NO_PROVIDER, get_api_key
from memolith.adapters.clients.keys import check_url
from memolith.entrypoints.http.proxying.relaying import ProxyOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.config import Settings
    from memolith.config.settings import Chat
    from memolith.entrypoints.http.proxying.upstreams import Upstream

_DEFAULT_UPSTREAM_URLS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
}
_MS: Final = 1000


def build_upstream(settings: Chat, env: Mapping[str, str]) -> Upstream | None:
    """Return the service that is asked for clients; None: none is configured.

    Raises:
        InvalidConfiguration: Its address, its key, or its client can't be had.
    """
    if settings.provider == NO_PROVIDER:
        return None
    check_url(settings.base_url, CHAT_SECTION)
    key, timeout_s = get_api_key(settings, env), settings.timeout_ms / _MS
    if settings.provider == "anthropic":
        from memolith.entrypoints.http.proxying.anthropic import AnthropicUpstream

        return AnthropicUpstream(settings.model, settings.base_url, key, timeout_s)
    from memolith.entrypoints.http.proxying.upstreams import OpenAIUpstream

    url = (settings.base_url or _DEFAULT_UPSTREAM_URLS[settings.provider]).rstrip("/")
    if settings.provider == "ollama":  # it speaks OpenAI's protocol too
        url += "/v1"
    return OpenAIUpstream(settings.model, url, key, timeout_s)


def build_proxy_options(settings: Settings) -> ProxyOptions:
    """Return how it is told of what is remembered."""
    own = settings.proxy
    return ProxyOptions(
        memory_timeout_s=own.memory_timeout_ms / _MS,
        context_budget=own.context_budget,
        compress=own.compress,
        context_window=settings.chat.context_window,
        allowed_models=tuple(filter(None, (part.strip() for part in own.models.split(",")))),
        is_enabled=settings.enabled,
        durable=own.durable,
    )
