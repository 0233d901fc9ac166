"""Exchanges: what somebody said and what was answered, as one memory (profile `companion`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Origin
from memolith.domain.messages import Message, Role
from memolith.policies.learning import LearnedMemory
from memolith.policies.trust import PERSONAL_KINDS, resolve_origins
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from memolith.policies.judging import Classifier

QUESTION_LABEL = "Q: "
ANSWER_LABEL = "A: "
_ELLIPSIS = " …"
_MAX_EXCHANGE_MESSAGES = 8
"""How many messages an exchange has at most, where several people talk: a guess."""


@dataclass(frozen=True, slots=True)
class ExchangeLearning:
    """`companion`: a user's message and the reply to it become one memory.

    Its kind and importance are what the user's own words make: what an assistant says of itself,
    or of the user, is no cue.

    Attributes:
        judging: What the user's words make.
        max_chars: The longest memory, in characters.
    """

    classifier: Classifier
    max_chars: int = 8_000

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return a memory for each message of the user, in order."""
        return [self._build_memory(messages, places) for places in _find_exchanges(messages)]

    def _build_memory(self, messages: Sequence[Message], places: tuple[int, ...]) -> LearnedMemory:
        kind, importance = self.classifier.classify(messages[places[0]].content, Origin.USER)
        if kind in PERSONAL_KINDS:
            places = places[:1]
        said, *reply = (messages[place].content for place in places)
        spoken = messages[places[0] : places[-1] + 1]
        *_, origin = resolve_origins(each.role for each in spoken)
        return LearnedMemory(
            content=format_exchange(said, *reply, max_chars=self.max_chars),
            places=places,
            kind=kind,
            importance=importance,
            origin=origin,
        )


def _find_exchanges(messages: Sequence[Message]) -> Iterator[tuple[int, ...]]:
    """Yield the places of each message of the user, and of the reply where there is one.

    The reply is the last thing the assistant says before a person speaks again: what it says
    while it still asks its tools answers nothing.
    """
    for place, message in enumerate(messages):
        if message.role is Role.USER and message.content.strip():
            reply = _find_reply(messages, place)
            yield (place,) if reply is None else (place, reply)


def _find_reply(messages: Sequence[Message], question: int) -> int | None:
    reply = None
    for place in range(question + 1, len(messages)):
        role = messages[place].role
        if role is not None and role.is_person:
            break
        is_said = role is Role.ASSISTANT and messages[place].content.strip()
        reply = place if is_said else reply
    return reply


def group_exchanges(
    messages: Sequence[Message], *, open_since: datetime
) -> Iterator[tuple[Message, ...]]:
    """Yield the exchanges of messages, each of one session, in the order of their first message.

    An exchange begins where a person speaks after a machine has, and has at most `_MOST` messages;
    it ends with its session's last. One that is still open, with no reply of an assistant yet, is
    left out, unless its last message was said before `open_since`.

    Args:
        messages: In the order they were stored.
        open_since: See above.
    """
    by_session: dict[str, list[list[Message]]] = {}
    begun: list[list[Message]] = []
    for message in messages:
        groups = by_session.setdefault(message.session_id, [])
        if not groups or _is_new_exchange(message, groups[-1]):
            groups.append([])
            begun.append(groups[-1])
        groups[-1].append(message)
    last = {id(groups[-1]) for groups in by_session.values()}
    for group in begun:
        if id(group) not in last or not _is_open(group, open_since):
            yield tuple(group)


def _is_new_exchange(message: Message, group: Sequence[Message]) -> bool:
    before = group[-1]
    is_asked = message.role is not None and message.role.is_person
    is_answered = before.role is not None and not before.role.is_person
    return (is_asked and is_answered) or len(group) >= _MAX_EXCHANGE_MESSAGES


def _is_open(group: Sequence[Message], open_since: datetime) -> bool:
    last = group[-1]
    return last.role is not Role.ASSISTANT and last.at is not None and last.at > open_since


def format_exchange(user_text: str, reply: str | None = None, *, max_chars: int) -> str:
    """Return "Q: …" and "A: …", a line each, at most `max_chars` characters (from 8).

    What is too long is cut, the reply before what was said, and says so with "…".
    """
    question = f"{QUESTION_LABEL}{truncate_text(user_text, max_chars - len(QUESTION_LABEL))}"
    room = max_chars - len(question) - len(ANSWER_LABEL) - 1
    answer = truncate_text(reply, room) if reply and room > 0 else ""
    return f"{question}\n{ANSWER_LABEL}{answer}" if answer else question


def truncate_text(text: str, max_chars: int) -> str:
    """Return a text of at most `max_chars` characters: cut at a sentence's end, with "…".

    Where not even the first sentence fits, it is cut between words, or within a long one.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_ELLIPSIS)
    if room <= 0:
        return ""
    ends = [span.end for span in sentences(text[: room + 1])][:-1]  # the last one is cut off
    end = ends[-1] if ends else text.rfind(" ", 0, room + 1)
    kept = text[: end if end > 0 else room].rstrip()
    return f"{kept}{_ELLIPSIS}" if kept else ""
