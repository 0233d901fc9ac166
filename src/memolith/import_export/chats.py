"""Readers of `conversations.json`, as exported by ChatGPT and Claude.

A ChatGPT conversation is a tree, because replies are regenerated and questions edited. The branch
that ends at `current_node` is read. System messages, hidden messages, tool calls and reasoning are
left out; tool results are kept. Images become "[image]".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO

import msgspec

from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.import_export.files import iter_elements
from memolith.import_export.records import Transcript, convert_json, parse_unix_time
from memolith.policies import arguments

_CHATGPT_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}

# Internal contents: settings, reasoning, errors.
_INTERNAL_CONTENT_TYPES = {
    "user_editable_context",
    "model_editable_context",
    "thoughts",
    "reasoning_recap",
    "system_error",
    "app_pairing_content",
}

_MEDIA_PLACEHOLDERS = {"image_asset_pointer": "[image]", "audio_asset_pointer": "[audio]"}


class _ChatGptAuthor(msgspec.Struct):
    role: str


class _ChatGptContent(msgspec.Struct):
    content_type: str = "text"
    parts: list[Any] | None = None
    text: str | None = None
    result: str | None = None


class _ChatGptMessage(msgspec.Struct):
    author: _ChatGptAuthor
    content: _ChatGptContent | None = None
    id: str | None = None
    create_time: float | None = None
    metadata: dict[str, Any] | None = None
    recipient: str | None = None
    weight: float | None = None


class _ChatGptNode(msgspec.Struct):
    message: _ChatGptMessage | None = None
    parent: str | None = None


class _ChatGptConversation(msgspec.Struct):
    mapping: dict[str, _ChatGptNode]
    current_node: str | None = None
    conversation_id: str | None = None
    id: str | None = None
    create_time: float | None = None


def read_chatgpt(file: BinaryIO, name: str) -> Iterator[Transcript]:
    """Yield the conversations of a ChatGPT export in order, without empty ones.

    Args:
        file: `conversations.json`.
        name: The file name for errors.

    Raises:
        InvalidInput: The file has another format. The error's field names file and line.
    """
    for line, element in iter_elements(file, name):
        where = f"{name}:{line}"
        conversation = convert_json(where, element, _ChatGptConversation)
        session = conversation.conversation_id or conversation.id
        if not session:
            raise InvalidInput(where, "a conversation has no id")
        messages = tuple(_iter_chatgpt_messages(where, conversation))
        if messages:
            yield Transcript(f"chatgpt:{session}", messages)


def _iter_chatgpt_messages(where: str, conversation: _ChatGptConversation) -> Iterator[Message]:
    at = parse_unix_time(conversation.create_time)
    for node_id in _find_current_branch(where, conversation):
        message = conversation.mapping[node_id].message
        if message is None:
            continue
        # A message without a time gets that of the message before.
        at = parse_unix_time(message.create_time) or at
        role = _CHATGPT_ROLES.get(message.author.role)
        text = "" if message.content is None else _get_chatgpt_text(message.content)
        if role is not None and text and _is_visible(message):
            yield Message(None, text, role=role, at=at, external_id=message.id or node_id)


def _find_current_branch(where: str, conversation: _ChatGptConversation) -> list[str]:
    """Return the ids of the nodes from the root to the current one."""
    branch: list[str] = []
    seen: set[str] = set()
    node_id = conversation.current_node
    if node_id not in conversation.mapping:
        node_id = _find_newest_leaf(conversation)
    while node_id is not None and node_id in conversation.mapping:
        if node_id in seen:
            raise InvalidInput(where, "the messages form a cycle")
        seen.add(node_id)
        branch.append(node_id)
        node_id = conversation.mapping[node_id].parent
    return branch[::-1]


def _find_newest_leaf(conversation: _ChatGptConversation) -> str | None:
    """Return the newest leaf, if the current node is unknown."""
    parents = {node.parent for node in conversation.mapping.values()}
    times = {
        node_id: (node.message.create_time or 0.0) if node.message else 0.0
        for node_id, node in conversation.mapping.items()
        if node_id not in parents
    }
    return max(times, key=lambda node_id: times[node_id], default=None)


def _is_visible(message: _ChatGptMessage) -> bool:
    is_hidden = (message.metadata or {}).get("is_visually_hidden_from_conversation")
    return not is_hidden and message.weight != 0.0 and message.recipient in (None, "", "all")


def _get_chatgpt_text(content: _ChatGptContent) -> str:
    if content.content_type in _INTERNAL_CONTENT_TYPES:
        return ""
    parts = [_get_part_text(part) for part in content.parts or ()]
    texts = [part for part in (*parts, content.text, content.result) if part]
    return "\n".join(texts).strip()


def _get_part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = str(part.get("content_type", ""))
    return _MEDIA_PLACEHOLDERS.get(kind, "") or str(part.get("text") or "")


# --- Claude


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
    """Yield the conversations of a Claude export in order, without empty ones.

    Args:
        file: `conversations.json`.
        name: The file name for errors.

    Raises:
        InvalidInput: The file has another format. The error's field names file and line.
    """
    for line, element in iter_elements(file, name):
        where = f"{name}:{line}"
        conversation = convert_json(where, element, _ClaudeConversation)
        messages = tuple(_iter_claude_messages(where, conversation))
        if messages:
            yield Transcript(f"claude:{conversation.uuid}", messages)


def _iter_claude_messages(where: str, conversation: _ClaudeConversation) -> Iterator[Message]:
    at = conversation.created_at
    for message in conversation.chat_messages:
        role = _CLAUDE_ROLES.get(message.sender)
        if role is None:
            raise InvalidInput(where, f"unknown sender {arguments.format_value(message.sender)}")
        at = message.created_at or at
        text = _get_claude_text(message)
        if text:
            yield Message(None, text, role=role, at=_assume_utc(at), external_id=message.uuid)


def _get_claude_text(message: _ClaudeMessage) -> str:
    blocks = [str(block.get("text") or "") for block in message.content if _is_text_block(block)]
    text = "\n".join(block for block in blocks if block) or message.text
    names = [
        str(item.get("file_name") or "file") for item in (*message.attachments, *message.files)
    ]
    return "\n".join([text, *(f"[attached: {name}]" for name in names)]).strip()


def _is_text_block(block: dict[str, Any]) -> bool:
    return block.get("type") == "text"


def _assume_utc(at: datetime | None) -> datetime | None:
    """Return a time with a zone. Times of the export are in UTC, with or without a zone."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
