"""Device API: chat by text or audio, and sensor state."""

from __future__ import annotations

import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Body, Depends, Request, UploadFile
from pydantic import BaseModel, Field

from memolith.adapters.models import ollama, openai
from memolith.adapters.models.factory import check_url, check_variable, read_key_variable
from memolith.adapters.models.openai import OpenAITranscriber
from memolith.api.engine import Memolith
from memolith.api.owner import OwnerMemory
from memolith.config import Settings
from memolith.domain.messages import Role
from memolith.errors import ServiceFailed
from memolith.policies.learning import split_action
from memolith.policies.rendering.formats import STATE_LABEL
from memolith.ports.models import ChatMessage, ChatModel, Transcriber
from memolith.prompts.chat import build_device_prompt, render_state
from memolith.server.auth import AuthenticatedRoute, MemoryDep, put_bounded
from memolith.server.problems import Problem
from memolith.server.rest import requests, responses

HISTORY_MESSAGES = 20
"""Recent messages in the prompt; the same number as in the device's firmware."""

_CHAT_ROLES = {Role.USER: "user", Role.ASSISTANT: "assistant"}


@dataclass(frozen=True, slots=True)
class DeviceReply:
    """Reply of a device.

    Attributes:
        text: The text to speak.
        action: The action; SPEAK for speech only.
    """

    text: str
    action: str


@dataclass(frozen=True, slots=True)
class DeviceService:
    """Answers devices, one per owner.

    Attributes:
        get_model: Returns the language model of an owner; None if none is configured.
        transcriber: Transcribes recordings; None if none is configured.
        is_model_reachable: Returns whether the service of the chat model or the embedder responds.
        session: The session of device conversations.
    """

    get_model: Callable[[str], ChatModel | None]
    transcriber: Transcriber | None
    is_model_reachable: Callable[[], bool]
    session: str = "device"
    _sensors: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def update_sensors(self, owner_id: str, sensors: Mapping[str, object]) -> str:
        """Store the sensor state of an owner's device; return it as prompt text."""
        state = render_state(sensors)
        with self._lock:
            put_bounded(self._sensors, owner_id, state)
        return state

    def reply(self, memory: OwnerMemory, user_text: str) -> DeviceReply:
        """Answer the user and learn from the exchange; ignored messages are logged only.

        Raises:
            InvalidInput: The text is invalid.
            ServiceFailed: No model is configured, or it failed; the user's text is logged.
        """
        model = self.get_model(memory.owner_id)
        if model is None:
            raise ServiceFailed("chat", "no language model is configured; see [memory.chat]")
        before = [
            message
            for message in memory.recent(HISTORY_MESSAGES, session=self.session)
            if message.role in _CHAT_ROLES
        ]
        state = self._sensors.get(memory.owner_id, "")
        context = memory.context_with_results(
            user_text, state=state, exclude=[message.id for message in before]
        ).text
        turns = [ChatMessage(_CHAT_ROLES[m.role], m.content) for m in before if m.role]  # type: ignore[arg-type] # one of these two
        told = "" if f"[{STATE_LABEL}: " in context else state
        prompt = build_device_prompt(context, told, [*turns, ChatMessage("user", user_text)])
        try:
            reply = model.complete(prompt)
        except ServiceFailed:
            memory.learn(user_text, session=self.session)
            raise
        action, text = split_action(reply.text)
        memory.learn(
            user_text,
            text or None,
            session=self.session,
            action=action,
            is_truncated=not reply.is_complete,
        )
        return DeviceReply(text, action)


# --- Device service from the settings


_CONNECT_TIMEOUT_S = 1.0
"""Timeout of a connection test. A guess."""

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
    """Return the device service.

    Raises:
        InvalidConfiguration: The URL, API key or client of the transcription service is missing.
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
    """Return the URL of the chat or embedding service; empty if both run in this process."""
    for section in (settings.chat, settings.embedding):
        if section.provider in _DEFAULT_URLS:
            return section.base_url or _DEFAULT_URLS[section.provider]
    return ""


def is_reachable(url: str) -> bool:
    """Return whether a service accepts connections."""
    parts = urlsplit(url)
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
    try:
        with socket.create_connection((parts.hostname or "", port), _CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False


# --- Routes


device_router = APIRouter(tags=["device"], route_class=AuthenticatedRoute)

AUDIO_PATH = "/chat/audio"

_SENSOR_EXAMPLE = {"orientation": "face_up", "battery": {"level": 80}}


class DeviceMessage(BaseModel):
    """Text of the user."""

    text: requests.Text = Field(
        max_length=1_000_000, examples=["My name is Alex and I work at NASA"]
    )


class DeviceReplyOut(responses.ResponseModel):
    """Speech and action of the device."""

    text: str = Field(examples=["Nice to know, Alex."])
    action: str = Field(examples=["SPEAK"])


class TranscribedReplyOut(DeviceReplyOut):
    """The reply, with the transcript of the recording."""

    transcript: str


class SensorStateOut(BaseModel):
    """The sensor state as the model sees it."""

    status: Literal["ok"] = "ok"
    state: str


class DeviceHealthOut(BaseModel):
    """Health of the service."""

    status: Literal["ok"] = "ok"
    ollama: bool = Field(description="Whether the chat or embedding service can be reached.")


async def get_device_service(request: Request) -> DeviceService:
    """Return the device service."""
    devices: DeviceService = request.app.state.devices
    return devices


DeviceServiceDep = Annotated[DeviceService, Depends(get_device_service)]


@device_router.post("/chat/text")
def chat_text(
    memory: MemoryDep, service: DeviceServiceDep, message: DeviceMessage
) -> DeviceReplyOut:
    """Answer a text."""
    return DeviceReplyOut.model_validate(service.reply(memory, message.text))


@device_router.post(
    AUDIO_PATH, responses={501: {"description": "No transcription service is configured."}}
)
def chat_audio(
    memory: MemoryDep, service: DeviceServiceDep, file: UploadFile
) -> TranscribedReplyOut:
    """Transcribe and answer a recording."""
    if service.transcriber is None:
        raise Problem(501, "no transcription service is configured; see [memory.device]")
    transcript = service.transcriber.transcribe(file.file.read(), file.filename or "audio.wav")
    spoken = service.reply(memory, transcript) if transcript else DeviceReply("", "IGNORE")
    return TranscribedReplyOut(text=spoken.text, action=spoken.action, transcript=transcript)


@device_router.post("/context/sensors")
def sense(
    memory: MemoryDep,
    service: DeviceServiceDep,
    sensors: Annotated[requests.JsonObject, Body(examples=[_SENSOR_EXAMPLE])],
) -> SensorStateOut:
    """Update the sensor state of the device."""
    return SensorStateOut(state=service.update_sensors(memory.owner_id, sensors))


@device_router.get("/health")
def health(service: DeviceServiceDep) -> DeviceHealthOut:
    """Report whether the model's service is reachable."""
    return DeviceHealthOut(ollama=service.is_model_reachable())
