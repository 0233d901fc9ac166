"""What is new in a history that a client sends again as a whole, and by what the rest is known.

Clients of chat services hold the conversation themselves and send all of it each time. What was
logged of it is known by ids made of the user's messages alone: `path` below. What an assistant
said is known by its place, so that a client that changes it on the way (without its thoughts, with
other spaces), or leaves calls of tools out, tells nothing new.
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
"""What stands in an id between its path and what tells another reply, or a cut one, from it."""

_ID_PREFIX = "chat-"
_SPEAKER_NAME = re.compile(r"[\w.-]{1,64}")
"""As OpenAI takes names, and a little more."""

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
        role: Who speaks.
        text: What they say; never empty.
        path: What it is known by.
        speaker: Their name, where several people speak; None: the owner.
    """

    role: Role
    text: str
    path: str
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class ResentConversation:
    """A history as far as it is remembered.

    Attributes:
        said: What was said, in order: neither what a caller says to the model, nor the beginning
            of a reply that the model is to go on with.
        reply: The path of the reply that is asked for.
    """

    turns: tuple[HistoryTurn, ...]
    reply_path: str


def derive_session_id(owner_id: str, history: Sequence[HistoryMessage]) -> str:
    """Return the name of a conversation whose client gave it none: by its first message."""
    first = next((each for each in history if _get_role(each) is not None), {})
    return _ID_PREFIX + _digest("session", owner_id, _fingerprint(first))


def read_conversation(owner_id: str, history: Sequence[HistoryMessage]) -> ResentConversation:
    """Return what a history says, each message with what it is known by.

    Linear in the length of the history.
    """
    end = len(history)
    while end and _get_role(history[end - 1]) is Role.ASSISTANT:
        end -= 1
    names = _find_speaker_names(history)
    chain, replies = _digest("begin"), 0
    said: list[HistoryTurn] = []
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
            said.append(_build_turn(owner_id, role, text, _ID_PREFIX + path, speaker))
    return ResentConversation(tuple(said), _ID_PREFIX + _build_reply_path(chain, replies))


def find_new_turns(
    turns: Sequence[HistoryTurn], known: Collection[str], *, is_begun: bool
) -> list[HistoryTurn]:
    """Return what is to be logged of a history.

    That is what follows the last message that is known, but nothing up to a reply that is not:
    such a turn was passed by on purpose, or the client has changed or cut what came before.

    Args:
        said: The history.
        known: The paths of what is logged of the conversation (`path_of`), of late at least.
        is_begun: Whether anything is logged of it; if not, all is new.
    """
    if not is_begun:
        return list(turns)
    last = max((place for place, each in enumerate(turns) if each.path in known), default=-1)
    rest = turns[last + 1 :]
    replies = [place for place, each in enumerate(rest) if each.role is Role.ASSISTANT]
    if last >= 0 and replies[:1] == [0]:  # to what is known: it was sent several to choose from
        replies = replies[1:]
    return list(rest[replies[-1] + 1 :] if replies else rest)


def get_path(external_id: str) -> str:
    """Return what a message is known by whose id this is."""
    return external_id.partition(TRUNCATED_MARK)[0].partition(ALTERNATIVE_MARK)[0]


def build_reply_id(path: str, text: str, *, is_whole: bool, is_first: bool) -> str:
    """Return the id of a reply: its path, if it is the first one and whole."""
    if is_first and is_whole:
        return path
    return path + (ALTERNATIVE_MARK if is_whole else TRUNCATED_MARK) + _digest(text)


def is_complete_reply(external_id: str) -> bool:
    """Tell whether a reply with this id came to its end."""
    return TRUNCATED_MARK not in external_id


def clean_or_empty(text: str) -> str:
    """Return a text as it is stored; empty where nothing of it can be seen."""
    try:
        return clean(text)
    except InvalidInput:
        return ""


def find_last_user_text(history: Sequence[HistoryMessage]) -> str:
    """Return what the user says last, as it is stored; empty: nothing."""
    spoken = (get_text(each) for each in reversed(history) if _get_role(each) is Role.USER)
    return next((text for text in map(clean_or_empty, spoken) if text), "")


def _build_turn(owner_id: str, role: Role, text: str, path: str, name: object) -> HistoryTurn:
    said = HistoryTurn(role, text, path)
    if not isinstance(name, str):
        return said
    is_name = _SPEAKER_NAME.fullmatch(name) is not None and not contains_secrets(name)
    return replace(said, role=get_role(name, owner_id), speaker=name if is_name else None)


def _find_speaker_names(history: Sequence[HistoryMessage]) -> set[str]:
    """Return the names of those who speak as the user: with several, each may be somebody else."""
    names = (each.get("name") for each in history if _get_role(each) is Role.USER)
    return {name for name in names if isinstance(name, str)}


def _get_role(entry: HistoryMessage) -> Role | None:
    """Return who speaks; None: the caller, to the model."""
    return _ROLES.get(str(entry.get("role")))


def _build_reply_path(chain: str, number: int) -> str:
    return _digest(chain, "reply", str(number))


def _fingerprint(entry: HistoryMessage) -> str:
    """Return what tells a message from another: its text, and all that is no text, as it is."""
    content: Any = entry.get("content")
    parts = content if isinstance(content, list) else []
    besides = [
        part for part in parts if not isinstance(part, Mapping) or part.get("type") != "text"
    ]
    told = [str(entry.get("name", "")), clean_text(get_text(entry)), besides]
    return json.dumps(told, sort_keys=True, default=str)


def _digest(*parts: str) -> str:
    made = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        told = part.encode("utf-8", "surrogatepass")
        made.update(len(told).to_bytes(8, "big") + told)
    return made.hexdigest()
