"""What a device calls: it says what it heard and senses, and is told what to say and do."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Depends, Request, UploadFile
from pydantic import BaseModel, Field

from memolith.entrypoints.http.callers import AuthenticatedRoute, MemoryDep
from memolith.entrypoints.http.device import DeviceReply, DeviceService
from memolith.entrypoints.http.problems import Problem
from memolith.entrypoints.http.wire import answers, fields

device_router = APIRouter(tags=["device"], route_class=AuthenticatedRoute)

AUDIO_PATH = "/chat/audio"

_SENSOR_EXAMPLE = {"orientation": "face_up", "battery": {"level": 80}}


class DeviceMessage(BaseModel):
    """What was said."""

    text: fields.Text = Field(max_length=1_000_000, examples=["My name is Alex and I work at NASA"])


class DeviceReplyOut(answers.ResponseModel):
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
    sensors: Annotated[fields.JsonObject, Body(examples=[_SENSOR_EXAMPLE])],
) -> SensorStateOut:
    """Take what the device senses from now on."""
    return SensorStateOut(state=service.update_sensors(memory.owner_id, sensors))


@device_router.get("/health")
def health(service: DeviceServiceDep) -> DeviceHealthOut:
    """Say that the service is well, and whether the model's service can be reached."""
    return DeviceHealthOut(ollama=service.is_model_reachable())
