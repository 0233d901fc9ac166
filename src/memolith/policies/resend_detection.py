"""Find the new messages in a chat history that a client sends again with each request.

Logged messages are identified by ids that are derived from the user messages alone
(`HistoryTurn.path`). A reply is identified by its position. A client may therefore modify replies
(strip reasoning, change spaces) or omit tool calls without creating new messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from memolith.domain.messages import Role, get_role
from memolith.errors import InvalidInput
from memolith.policies.histories import HistoryMessage, get_text
from memolith.text.cleaning import clean, clean_text
from memolith.text.screening import contains_secrets

ALTERNATIVE_MARK, TRUNCATED_MARK = ".", "~"
"""Separators in the id of an alternative or a truncated reply."""

_ID_PREFIX = "chat-"
_SPEAKER_NAME = re.compile(r"[\w.-]{1,64}")
"""OpenAI's format of names, slightly extended."""

_DIGEST_BYTES = 12
_ROLES: Mapping[str, Role] = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """One message of a history.

    Attributes:
        role: The speaker's role.
        text: The text; never empty.
        path: The id of the message.
        speaker: The speaker's name, if several people speak; None: the owner.
    """

    role: Role
    text: str
    path: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class ResentConversation:
    """A history without instructions and without a reply prefix.

    Attributes:
        turns: Messages in order.
        reply_path: Id of the requested reply.
    """

    turns: tuple[HistoryTurn, ...]
    reply_path: str


def derive_session_id(owner_id: str, history: Sequence[HistoryMessage]) -> str:
    """Return a session id for a conversation without one, derived from its first message."""
    first = next((each for each in history if _get_role(each) is not None), {})
    return _ID_PREFIX + _digest("session", owner_id, _fingerprint(first))


def read_conversation(owner_id: str, history: Sequence[HistoryMessage]) -> ResentConversation:
    """Return the messages of a history with their ids, in linear time."""
    end = len(history)
    while end and _get_role(history[end - 1]) is Role.ASSISTANT:
        end -= 1
    names = _find_speaker_names(history)
    chain, replies = _digest("begin"), 0
    turns: list[HistoryTurn] = []
    for entry in history[:end]:
        role, text = _get_role(entry), clean_or_empty(get_text(entry))
        if role is Role.USER:
            chain, replies = _digest(chain, "user", _fingerprint(entry)), 0
            path = chain
        else:
            path = (
                _build_reply_path(chain, replies)
                if role is Role.ASSISTANT
                else _digest(chain, "tool", text)
            )
            replies += role is Role.ASSISTANT and bool(text)
        if role is not None and text:
            speaker = entry.get("name") if len(names) > 1 and role is Role.USER else None
            turns.append(_build_turn(owner_id, role, text, _ID_PREFIX + path, speaker))
    return ResentConversation(tuple(turns), _ID_PREFIX + _build_reply_path(chain, replies))


def find_new_turns(
    turns: Sequence[HistoryTurn], known: Collection[str], *, is_begun: bool
) -> list[HistoryTurn]:
    """Return the messages of a history to log.

    These follow the last known message and its unknown replies. A turn before an unknown reply was
    skipped deliberately, or the client has changed or truncated the history.

    Args:
        turns: The history.
        known: Ids of recently logged messages of the conversation (see `get_path`).
        is_begun: Whether anything of the conversation is logged; if not, all messages are new.
    """
    if not is_begun:
        return list(turns)
    last = max((place for place, each in enumerate(turns) if each.path in known), default=-1)
    rest = turns[last + 1 :]
    replies = [place for place, each in enumerate(rest) if each.role is Role.ASSISTANT]
    if last >= 0 and replies[:1] == [0]:  # an alternative reply to a known message
        replies = replies[1:]
    return list(rest[replies[-1] + 1 :] if replies else rest)


def get_path(external_id: str) -> str:
    """Return the message id without the suffix of an alternative or truncated reply."""
    return external_id.partition(TRUNCATED_MARK)[0].partition(ALTERNATIVE_MARK)[0]


def build_reply_id(path: str, text: str, *, is_whole: bool, is_first: bool) -> str:
    """Return the id of a reply: its path if it is the first and complete, else with a suffix."""
    if is_first and is_whole:
        return path
    return path + (ALTERNATIVE_MARK if is_whole else TRUNCATED_MARK) + _digest(text)


def is_complete_reply(external_id: str) -> bool:
    """Return whether a reply with this id is complete."""
    return TRUNCATED_MARK not in external_id


def clean_or_empty(text: str) -> str:
    """Return a text as it is stored; empty if nothing in it is visible."""
    try:
        return clean(text)
    except InvalidInput:
        return ""


def find_last_user_text(history: Sequence[HistoryMessage]) -> str:
    """Return the last text of the user, as it is stored, or ""."""
    texts = (get_text(each) for each in reversed(history) if _get_role(each) is Role.USER)
    return next((text for text in map(clean_or_empty, texts) if text), "")


def _build_turn(owner_id: str, role: Role, text: str, path: str, name: object) -> HistoryTurn:
    turn = HistoryTurn(role, text, path)
    if not isinstance(name, str):
        return turn
    is_name = _SPEAKER_NAME.fullmatch(name) is not None and not contains_secrets(name)
    return replace(turn, role=get_role(name, owner_id), speaker=name if is_name else None)


def _find_speaker_names(history: Sequence[HistoryMessage]) -> set[str]:
    """Return the names in user messages; several names mean several people."""
    names = (each.get("name") for each in history if _get_role(each) is Role.USER)
    return {name for name in names if isinstance(name, str)}


def _get_role(entry: HistoryMessage) -> Role | None:
    """Return the role of the speaker; None for instructions."""
    return _ROLES.get(str(entry.get("role")))


def _build_reply_path(chain: str, number: int) -> str:
    return _digest(chain, "reply", str(number))


def _fingerprint(entry: HistoryMessage) -> str:
    """Return the identity of a message: name, cleaned text, and all other parts unchanged."""
    content: Any = entry.get("content")
    parts = content if isinstance(content, list) else []
    attachments = [
        part for part in parts if not isinstance(part, Mapping) or part.get("type") != "text"
    ]
    fields = [str(entry.get("name", "")), clean_text(get_text(entry)), attachments]
    return json.dumps(fields, sort_keys=True, default=str)


def _digest(*parts: str) -> str:
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
