"""A device that listens and speaks, and the assistant that answers it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memolith.domain.messages import Role
from memolith.entrypoints.http.lately import put_bounded
from memolith.errors import ServiceFailed
from memolith.policies.actions import split_action
from memolith.policies.rendering.tiers import STATE_LABEL
from memolith.ports.chat import ChatMessage
from memolith.prompts.device import build_device_prompt, render_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memolith.owner import OwnerMemory
    from memolith.ports.chat import ChatModel
    from memolith.ports.transcriber import Transcriber

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
