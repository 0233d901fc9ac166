"""A device that listens and speaks, and the assistant that answers it."""

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
"""Messages that the model is told again; the device's own number."""

_CHAT_ROLES = {Role.USER: "user", Role.ASSISTANT: "assistant"}


@dataclass(frozen=True, slots=True)
class DeviceReply:
    """What the device is to do.

    Attributes:
        text: What it says.
        action: What it does; SPEAK: only that.
    """

    text: str
    action: str


@dataclass(frozen=True, slots=True)
class DeviceService:
    """Answers devices, an owner's each.

    Attributes:
        model: Gives the language model of an owner; None where there is none.
        transcriber: Writes down what was said; None where nothing does.
        reachable: Tells whether the service of the chat model, or of the embedder, answers.
        session: The conversation that is held with devices.
    """

    get_model: Callable[[str], ChatModel | None]
    transcriber: Transcriber | None
    is_model_reachable: Callable[[], bool]
    session: str = "device"
    _sensors: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def update_sensors(self, owner_id: str, sensors: Mapping[str, object]) -> str:
        """Take what an owner's device senses from now on; return it as the model is told it."""
        state = render_state(sensors)
        with self._lock:
            put_bounded(self._sensors, owner_id, state)
        return state

    def reply(self, memory: OwnerMemory, user_text: str) -> DeviceReply:
        """Answer what was said, and take both in; what is to be ignored is logged only.

        Raises:
            InvalidInput: What was said can't be taken.
            ServiceFailed: There is no model, or it failed; what was said is logged.
        """
        model = self.get_model(memory.owner_id)
        if model is None:
            raise ServiceFailed("chat", "no language model is configured: see [memory.chat]")
        before = [
            message
            for message in memory.recent(HISTORY_MESSAGES, session=self.session)
            if message.role in _CHAT_ROLES
        ]
        state = self._sensors.get(memory.owner_id, "")
        context = memory.context_with_results(
            user_text, state=state, exclude=[message.id for message in before]
        ).text
        turns = [ChatMessage(_CHAT_ROLES[m.role], m.content) for m in before if m.role]  # type: ignore[arg-type] # of these two
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


# --- Who answers devices, as the settings have it


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


# --- What a device calls: it says what it heard and senses, and is told what to say and do


device_router = APIRouter(tags=["device"], route_class=AuthenticatedRoute)

AUDIO_PATH = "/chat/audio"

_SENSOR_EXAMPLE = {"orientation": "face_up", "battery": {"level": 80}}


class DeviceMessage(BaseModel):
    """What was said."""

    text: requests.Text = Field(
        max_length=1_000_000, examples=["My name is Alex and I work at NASA"]
    )


class DeviceReplyOut(responses.ResponseModel):
    """What the device is to say and do."""

    text: str = Field(examples=["Nice to know, Alex."])
    action: str = Field(examples=["SPEAK"])


class TranscribedReplyOut(DeviceReplyOut):
    """The same, with what was understood."""

    transcript: str


class SensorStateOut(BaseModel):
    """What the model is told of the sensors."""

    status: Literal["ok"] = "ok"
    state: str


class DeviceHealthOut(BaseModel):
    """Whether the service is well."""

    status: Literal["ok"] = "ok"
    ollama: bool = Field(description="Whether the chat or embedding service can be reached.")


async def get_device_service(request: Request) -> DeviceService:
    """Return who answers devices."""
    devices: DeviceService = request.app.state.devices
    return devices


DeviceServiceDep = Annotated[DeviceService, Depends(get_device_service)]


@device_router.post("/chat/text")
def chat_text(
    memory: MemoryDep, service: DeviceServiceDep, message: DeviceMessage
) -> DeviceReplyOut:
    """Answer what was said."""
    return DeviceReplyOut.model_validate(service.reply(memory, message.text))


@device_router.post(
    AUDIO_PATH, responses={501: {"description": "No transcription service is configured."}}
)
def chat_audio(
    memory: MemoryDep, service: DeviceServiceDep, file: UploadFile
) -> TranscribedReplyOut:
    """Answer what was said in a recording."""
    if service.transcriber is None:
        raise Problem(501, "no transcription service is configured: see [memory.device]")
    transcript = service.transcriber.transcribe(file.file.read(), file.filename or "audio.wav")
    spoken = service.reply(memory, transcript) if transcript else DeviceReply("", "IGNORE")
    return TranscribedReplyOut(text=spoken.text, action=spoken.action, transcript=transcript)


@device_router.post("/context/sensors")
def sense(
    memory: MemoryDep,
    service: DeviceServiceDep,
    sensors: Annotated[requests.JsonObject, Body(examples=[_SENSOR_EXAMPLE])],
) -> SensorStateOut:
    """Take what the device senses from now on."""
    return SensorStateOut(state=service.update_sensors(memory.owner_id, sensors))


@device_router.get("/health")
def health(service: DeviceServiceDep) -> DeviceHealthOut:
    """Say that the service is well, and whether the model's service can be reached."""
    return DeviceHealthOut(ollama=service.is_model_reachable())
