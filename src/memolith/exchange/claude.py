"""The export of Claude: `conversations.json`.

Text is kept, and the names of what was attached; calls of tools, their results and thoughts are
left out.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.exchange.arrays import iter_elements
from memolith.exchange.transcripts import Transcript, convert_json
from memolith.policies import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLAUDE_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}


class _ClaudeMessage(msgspec.Struct):
    uuid: str
    sender: str
    text: str = ""
    content: list[dict[str, Any]] = []
    created_at: datetime | None = None
    attachments: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []


class _ClaudeConversation(msgspec.Struct):
    uuid: str
    chat_messages: list[_ClaudeMessage]
    created_at: datetime | None = None


def read_claude(file: BinaryIO, name: str) -> Iterator[Transcript]:
    """Yield the conversations of an export, in its order; those without a message are left out.

    Args:
        file: `conversations.json`.
        name: What to call it in errors.

    Raises:
        InvalidInput: It is not of that form; the field names file and line.
    """
    for line, element in iter_elements(file, name):
        where = f"{name}:{line}"
        conversation = convert_json(where, element, _ClaudeConversation)
        messages = tuple(_iter_claude_messages(where, conversation))
        if messages:
            yield Transcript(f"claude:{conversation.uuid}", messages)


def _iter_claude_messages(where: str, conversation: _ClaudeConversation) -> Iterator[Message]:
    at = conversation.created_at
    for said in conversation.chat_messages:
        role = _CLAUDE_ROLES.get(said.sender)
        if role is None:
            raise InvalidInput(where, f"unknown sender {arguments.format_value(said.sender)}")
        at = said.created_at or at
        text = _get_claude_text(said)
        if text:
            yield Message(None, text, role=role, at=_assume_utc(at), external_id=said.uuid)


def _get_claude_text(said: _ClaudeMessage) -> str:
    blocks = [str(block.get("text") or "") for block in said.content if _is_text_block(block)]
    spoken = "\n".join(block for block in blocks if block) or said.text
    names = [str(item.get("file_name") or "file") for item in (*said.attachments, *said.files)]
    return "\n".join([spoken, *(f"[attached: {name}]" for name in names)]).strip()


def _is_text_block(block: dict[str, Any]) -> bool:
    return block.get("type") == "text"


def _assume_utc(at: datetime | None) -> datetime | None:
    """Return an instant; the export's times are in UTC, with or without saying so."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
