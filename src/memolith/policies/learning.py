"""What a conversation makes, with no model: which of its texts become memories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from memolith.domain.memories import Origin
from memolith.domain.messages import Message, Role
from memolith.policies.classification import Classifier
from memolith.policies.fragments import find_fragment_reason
from memolith.policies.trust import PERSONAL_KINDS, resolve_origins
from memolith.text.cues import find_cue_sentences
from memolith.text.filler import classify_filler
from memolith.text.segmentation import sentences

MAX_SENTENCES = 50
"""How many sentences of one message become memories, at most: who says more of himself at once
pastes a document. A guess."""

MAX_SENTENCE_CHARS = 500
"""The longest sentence that becomes a memory: as long as a fact of `facts` may be. What is longer
without an end is a list or a listing, and is found as the message it stands in."""


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """A memory that a conversation makes.

    Attributes:
        content: Its text.
        places: Which of the messages it is made from, ascending; the first says when and where.
        kind: Its kind; None: judged by the text.
        importance: Its importance, 0..1; None: judged by the text.
        origin: Who said it.
    """

    content: str
    places: tuple[int, ...]
    kind: str | None = None
    importance: float | None = None
    origin: Origin = Origin.USER


class LearningPolicy(Protocol):
    """A way to learn from a conversation. Pure."""

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return the memories that messages of one session make, in order."""
        ...


@dataclass(frozen=True, slots=True)
class NoLearning:
    """Messages are logged only: learning needs a model, or the agent's own hand."""

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return nothing."""
        del messages
        return []


@dataclass(frozen=True, slots=True)
class SentenceLearning:
    """`standard`: each sentence of the user's that has a cue, asks nothing and means something.

    "I love it!" has a cue, and is found as the message it stands in: alone it means nothing.
    """

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return a memory for each such sentence."""
        return [
            LearnedMemory(sentence, (place,))
            for place, message in enumerate(messages)
            if message.role is Role.USER
            for sentence in _find_memorable_sentences(message.content)
        ]


def _find_memorable_sentences(content: str) -> Iterator[str]:
    told = 0
    for span, _cues in find_cue_sentences(content):
        sentence = span.extract(content)
        is_short = len(sentence) <= MAX_SENTENCE_CHARS
        is_kept = is_short and not sentence.endswith("?") and not _is_meaningless(sentence)
        if told < MAX_SENTENCES and is_kept:
            told += 1
            yield sentence


def _is_meaningless(sentence: str) -> bool:
    # At the first cue, for a program that only recalls needs none of it.
    return classify_filler(sentence) is not None or find_fragment_reason(sentence) is not None


# --- Exchanges: what somebody said and what was answered, as one memory (profile `companion`)


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


# --- One exchange, as the messages that are logged of it


IGNORE_ACTION = "IGNORE"
"""The action of an assistant to whom nothing was meant."""


def build_messages(
    user: str, assistant: str | None, at: datetime | None, action: str, *, is_truncated: bool
) -> list[Message]:
    """Return what the user said, and the reply where there is one; see `Memolith.learn`.

    A reply without words is none: a model that calls a tool says nothing.
    """
    learn = action.strip().upper() != IGNORE_ACTION
    asked = Message(None, user, Role.USER, at, learn=learn)
    if assistant is None or not str(assistant).strip():
        return [asked]
    return [asked, Message(None, assistant, Role.ASSISTANT, at, learn=learn and not is_truncated)]


# --- What an assistant with a body does: the first line of its reply says so


SPEAK_ACTION: Final = "SPEAK"

_ACTION_LINE = re.compile(r"\s*\**ACTION:\**[ \t]*([A-Z][A-Z_]{0,31})\b\**[ \t]*(?:\r?\n|$)")


def split_action(reply: str) -> tuple[str, str]:
    """Return the action that a reply names in its first line, `ACTION: X`, and the rest.

    Without such a line it is `SPEAK`, and the rest is all of it.
    """
    found = _ACTION_LINE.match(reply)
    if found is None:
        return SPEAK_ACTION, reply.strip()
    return found[1], reply[found.end() :].strip()
