"""What a device calls: it says what it heard and senses, and is told what to say and do."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Depends, Request, UploadFile
from pydantic import BaseModel, Field

from memolith.entrypoints.http.callers import KeyedRoute, Memory
from memolith.entrypoints.http.device import Devices, Spoken
from memolith.entrypoints.http.problems import Problem
from memolith.entrypoints.http.wire import answers, fields

router = APIRouter(tags=["device"], route_class=KeyedRoute)

AUDIO = "/chat/audio"

_SENSED = {"orientation": "face_up", "battery": {"level": 80}}


class Heard(BaseModel):
    """What was said."""

    text: fields.Text = Field(max_length=1_000_000, examples=["My name is Alex and I work at NASA"])


class SpokenOut(answers.Sent):
    """What the device is to say and do."""

    text: str = Field(examples=["Nice to know, Alex."])
    action: str = Field(examples=["SPEAK"])


class TranscribedOut(SpokenOut):
    """The same, with what was understood."""

    transcript: str


class SensedOut(BaseModel):
    """What the model is told of the sensors."""

    status: Literal["ok"] = "ok"
    state: str


class HealthOut(BaseModel):
    """Whether the service is well."""

    status: Literal["ok"] = "ok"
    ollama: bool = Field(description="Whether the chat or embedding service can be reached.")


async def devices_of(request: Request) -> Devices:
    """Return who answers devices."""
    devices: Devices = request.app.state.devices
    return devices


Answering = Annotated[Devices, Depends(devices_of)]


@router.post("/chat/text")
def chat_text(memory: Memory, devices: Answering, heard: Heard) -> SpokenOut:
    """Answer what was said."""
    return SpokenOut.model_validate(devices.answer(memory, heard.text))


@router.post(AUDIO, responses={501: {"description": "No transcription service is configured."}})
def chat_audio(memory: Memory, devices: Answering, file: UploadFile) -> TranscribedOut:
    """Answer what was said in a recording."""
    if devices.transcriber is None:
        raise Problem(501, "no transcription service is configured: see [memory.device]")
    transcript = devices.transcriber.transcribe(file.file.read(), file.filename or "audio.wav")
    spoken = devices.answer(memory, transcript) if transcript else Spoken("", "IGNORE")
    return TranscribedOut(text=spoken.text, action=spoken.action, transcript=transcript)


@router.post("/context/sensors")
def sense(
    memory: Memory, devices: Answering, sensors: Annotated[fields.Json, Body(examples=[_SENSED])]
) -> SensedOut:
    """Take what the device senses from now on."""
    return SensedOut(state=devices.sense(memory.owner_id, sensors))


@router.get("/health")
def health(devices: Answering) -> HealthOut:
    """Say that the service is well, and whether the model's service can be reached."""
    return HealthOut(ollama=devices.reachable())
