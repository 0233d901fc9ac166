"""Who answers devices, as the settings have it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memolith.adapters.clients import ollama, openai
from memolith.adapters.clients.keys import check_url, check_variable, read_key_variable
from memolith.adapters.transcription.openai import OpenAITranscriber
from memolith.entrypoints.http.device import DeviceService

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.config import Settings
    from memolith.engine import Memolith
    from memolith.ports.transcriber import Transcriber

_CONNECT_TIMEOUT_S = 1.0
"""How long to wait for a service to be there: a guess."""

_MS = 1000
_DEFAULT_URLS = {
    "openai": openai.OPENAI_URL,
    "ollama": ollama.OLLAMA_URL,
    "anthropic": "https://api.anthropic.com",
}
_DEFAULT_PORTS = {"http": 80, "https": 443}


def build_device_service(
    engine: Memolith, settings: Settings, env: Mapping[str, str]
) -> DeviceService:
    """Return who answers devices.

    Raises:
        InvalidConfiguration: The transcription service's address, key or client is missing.
    """
    url = _get_model_url(settings)
    return DeviceService(
        engine.chat_model,
        _build_transcriber(settings, env),
        lambda: bool(url) and is_reachable(url),
        settings.device.session,
    )


def _build_transcriber(settings: Settings, env: Mapping[str, str]) -> Transcriber | None:
    own = settings.device
    if not own.transcription_url:
        return None
    check_url(own.transcription_url, "device")
    check_variable(own.transcription_key_env, "device")
    variable = own.transcription_key_env
    key = read_key_variable(variable, "device", env, is_required=bool(variable))
    return OpenAITranscriber(
        own.transcription_model,
        api_key=key,
        base_url=own.transcription_url,
        timeout_s=own.transcription_timeout_ms / _MS,
    )


def _get_model_url(settings: Settings) -> str:
    """Return where the chat model is, else the embedding model; empty: in this process."""
    for section in (settings.chat, settings.embedding):
        if section.provider in _DEFAULT_URLS:
            return section.base_url or _DEFAULT_URLS[section.provider]
    return ""


def is_reachable(url: str) -> bool:
    """Whether something listens at a service's address."""
    parts = urlsplit(url)
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
    try:
        with socket.create_connection((parts.hostname or "", port), _CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False
