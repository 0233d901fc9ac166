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

from memolith.domain.messages import Role, role_of
from memolith.errors import InvalidInput
from memolith.policies.histories import Entry, text_of
from memolith.text.cleaning import clean, cleaned
from memolith.text.screening import contains_secrets

ANOTHER, CUT = ".", "~"
"""What stands in an id between its path and what tells another reply, or a cut one, from it."""

_ID = "chat-"
_NAME = re.compile(r"[\w.-]{1,64}")
"""As OpenAI takes names, and a little more."""

_DIGEST_BYTES = 12
_ROLES: Mapping[str, Role] = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


@dataclass(frozen=True, slots=True)
class Said:
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
class Conversation:
    """A history as far as it is remembered.

    Attributes:
        said: What was said, in order: neither what a caller says to the model, nor the beginning
            of a reply that the model is to go on with.
        reply: The path of the reply that is asked for.
    """

    said: tuple[Said, ...]
    reply: str


def session_of(owner_id: str, history: Sequence[Entry]) -> str:
    """Return the name of a conversation whose client gave it none: by its first message."""
    first = next((each for each in history if _role(each) is not None), {})
    return _ID + _digest("session", owner_id, _mark(first))


def conversation(owner_id: str, history: Sequence[Entry]) -> Conversation:
    """Return what a history says, each message with what it is known by.

    Linear in the length of the history.
    """
    end = len(history)
    while end and _role(history[end - 1]) is Role.ASSISTANT:
        end -= 1
    names = _names(history)
    chain, replies = _digest("begin"), 0
    said: list[Said] = []
    for entry in history[:end]:
        role, text = _role(entry), visible(text_of(entry))
        if role is Role.USER:
            chain, replies = _digest(chain, "user", _mark(entry)), 0
            path = chain
        else:
            path = (
                _reply(chain, replies) if role is Role.ASSISTANT else _digest(chain, "tool", text)
            )
            replies += role is Role.ASSISTANT and bool(text)
        if role is not None and text:
            speaker = entry.get("name") if len(names) > 1 and role is Role.USER else None
            said.append(_spoken(owner_id, role, text, _ID + path, speaker))
    return Conversation(tuple(said), _ID + _reply(chain, replies))


def fresh(said: Sequence[Said], known: Collection[str], *, is_begun: bool) -> list[Said]:
    """Return what is to be logged of a history.

    That is what follows the last message that is known, but nothing up to a reply that is not:
    such a turn was passed by on purpose, or the client has changed or cut what came before.

    Args:
        said: The history.
        known: The paths of what is logged of the conversation (`path_of`), of late at least.
        is_begun: Whether anything is logged of it; if not, all is new.
    """
    if not is_begun:
        return list(said)
    last = max((place for place, each in enumerate(said) if each.path in known), default=-1)
    rest = said[last + 1 :]
    replies = [place for place, each in enumerate(rest) if each.role is Role.ASSISTANT]
    if last >= 0 and replies[:1] == [0]:  # to what is known: it was sent several to choose from
        replies = replies[1:]
    return list(rest[replies[-1] + 1 :] if replies else rest)


def path_of(external_id: str) -> str:
    """Return what a message is known by whose id this is."""
    return external_id.partition(CUT)[0].partition(ANOTHER)[0]


def reply_id(path: str, text: str, *, is_whole: bool, is_first: bool) -> str:
    """Return the id of a reply: its path, if it is the first one and whole."""
    if is_first and is_whole:
        return path
    return path + (ANOTHER if is_whole else CUT) + _digest(text)


def is_whole_id(external_id: str) -> bool:
    """Tell whether a reply with this id came to its end."""
    return CUT not in external_id


def visible(text: str) -> str:
    """Return a text as it is stored; empty where nothing of it can be seen."""
    try:
        return clean(text)
    except InvalidInput:
        return ""


def last_said(history: Sequence[Entry]) -> str:
    """Return what the user says last, as it is stored; empty: nothing."""
    spoken = (text_of(each) for each in reversed(history) if _role(each) is Role.USER)
    return next((text for text in map(visible, spoken) if text), "")


def _spoken(owner_id: str, role: Role, text: str, path: str, name: object) -> Said:
    said = Said(role, text, path)
    if not isinstance(name, str):
        return said
    is_name = _NAME.fullmatch(name) is not None and not contains_secrets(name)
    return replace(said, role=role_of(name, owner_id), speaker=name if is_name else None)


def _names(history: Sequence[Entry]) -> set[str]:
    """Return the names of those who speak as the user: with several, each may be somebody else."""
    names = (each.get("name") for each in history if _role(each) is Role.USER)
    return {name for name in names if isinstance(name, str)}


def _role(entry: Entry) -> Role | None:
    """Return who speaks; None: the caller, to the model."""
    return _ROLES.get(str(entry.get("role")))


def _reply(chain: str, number: int) -> str:
    return _digest(chain, "reply", str(number))


def _mark(entry: Entry) -> str:
    """Return what tells a message from another: its text, and all that is no text, as it is."""
    content: Any = entry.get("content")
    parts = content if isinstance(content, list) else []
    besides = [
        part for part in parts if not isinstance(part, Mapping) or part.get("type") != "text"
    ]
    told = [str(entry.get("name", "")), cleaned(text_of(entry)), besides]
    return json.dumps(told, sort_keys=True, default=str)


def _digest(*parts: str) -> str:
    made = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        told = part.encode("utf-8", "surrogatepass")
        made.update(len(told).to_bytes(8, "big") + told)
    return made.hexdigest()
