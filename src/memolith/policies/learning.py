"""Extract memories from conversations without a model."""

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
"""Maximum number of memories from one message; a message with more is a pasted document. A guess.

"""

MAX_SENTENCE_CHARS = 500
"""Maximum length of a sentence that becomes a memory, as in `facts`. Longer ones are lists or
listings, and are recalled as part of their message.
"""


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """A memory extracted from a conversation.

    Attributes:
        content: The text.
        places: Indexes of the source messages, ascending; the first one provides time and session.
        kind: The kind; None: classify the text.
        importance: 0..1; None: classify the text.
        origin: The origin of the statement.
    """

    content: str
    places: tuple[int, ...]
    kind: str | None = None
    importance: float | None = None
    origin: Origin = Origin.USER


class LearningPolicy(Protocol):
    """Extracts memories from a conversation. Pure."""

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return the memories from the messages of one session, in order."""
        ...


@dataclass(frozen=True, slots=True)
class NoLearning:
    """Extracts nothing: learning needs a model, or explicit calls by the agent."""

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return an empty list."""
        del messages
        return []


@dataclass(frozen=True, slots=True)
class SentenceLearning:
    """Each meaningful statement of the user with a cue becomes a memory (`standard`).

    "I love it!" has a cue but no meaning of its own; it is recalled as a message.
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
    count = 0
    for span, _cues in find_cue_sentences(content):
        sentence = span.extract(content)
        is_short = len(sentence) <= MAX_SENTENCE_CHARS
        is_kept = is_short and not sentence.endswith("?") and not _is_meaningless(sentence)
        if count < MAX_SENTENCES and is_kept:
            count += 1
            yield sentence


def _is_meaningless(sentence: str) -> bool:
    return classify_filler(sentence) is not None or find_fragment_reason(sentence) is not None


# --- Exchanges: a message and its reply as one memory (`companion`)


QUESTION_LABEL = "Q: "
ANSWER_LABEL = "A: "
_ELLIPSIS = " …"
_MAX_EXCHANGE_MESSAGES = 8
"""Maximum number of messages in an exchange of several people. A guess."""


@dataclass(frozen=True, slots=True)
class ExchangeLearning:
    """Each user message becomes a memory together with its reply (`companion`).

    Kind and importance depend on the user's words only: statements of an assistant about itself or
    the user are not cues.

    Attributes:
        classifier: Classifies the user's words.
        max_chars: Maximum length of a memory, in characters.
    """

    classifier: Classifier
    max_chars: int = 8_000

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return a memory for each user message, in order."""
        return [self._build_memory(messages, places) for places in _find_exchanges(messages)]

    def _build_memory(self, messages: Sequence[Message], places: tuple[int, ...]) -> LearnedMemory:
        kind, importance = self.classifier.classify(messages[places[0]].content, Origin.USER)
        if kind in PERSONAL_KINDS:
            places = places[:1]
        request, *reply = (messages[place].content for place in places)
        exchange = messages[places[0] : places[-1] + 1]
        *_, origin = resolve_origins(each.role for each in exchange)
        return LearnedMemory(
            content=format_exchange(request, *reply, max_chars=self.max_chars),
            places=places,
            kind=kind,
            importance=importance,
            origin=origin,
        )


def _find_exchanges(messages: Sequence[Message]) -> Iterator[tuple[int, ...]]:
    """Yield the indexes of each user message and of its reply, if any.

    The reply is the last assistant message before a person writes again: earlier ones accompany
    tool calls.
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
        has_reply = role is Role.ASSISTANT and messages[place].content.strip()
        reply = place if has_reply else reply
    return reply


def group_exchanges(
    messages: Sequence[Message], *, open_since: datetime
) -> Iterator[tuple[Message, ...]]:
    """Yield exchanges, each within one session, in the order of their first messages.

    An exchange begins when a person writes after a machine. It has at most `_MAX_EXCHANGE_MESSAGES`
    messages. An exchange that still waits for a reply is skipped, unless its last message is older
    than `open_since`.

    Args:
        messages: In the order in which they were stored.
        open_since: See above.
    """
    by_session: dict[str, list[list[Message]]] = {}
    exchanges: list[list[Message]] = []
    for message in messages:
        groups = by_session.setdefault(message.session_id, [])
        if not groups or _is_new_exchange(message, groups[-1]):
            groups.append([])
            exchanges.append(groups[-1])
        groups[-1].append(message)
    last = {id(groups[-1]) for groups in by_session.values()}
    for group in exchanges:
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
    """Return "Q: …" and "A: …", one line each, at most `max_chars` characters (at least 8).

    Excess text is truncated with "…", first in the reply.
    """
    question = f"{QUESTION_LABEL}{truncate_text(user_text, max_chars - len(QUESTION_LABEL))}"
    room = max_chars - len(question) - len(ANSWER_LABEL) - 1
    answer = truncate_text(reply, room) if reply and room > 0 else ""
    return f"{question}\n{ANSWER_LABEL}{answer}" if answer else question


def truncate_text(text: str, max_chars: int) -> str:
    """Truncate a text to `max_chars` characters, after a sentence, and append "…".

    If not even the first sentence fits, it is cut between words, or within a long word.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_ELLIPSIS)
    if room <= 0:
        return ""
    ends = [span.end for span in sentences(text[: room + 1])][:-1]  # the last one is truncated
    end = ends[-1] if ends else text.rfind(" ", 0, room + 1)
    truncated = text[: end if end > 0 else room].rstrip()
    return f"{truncated}{_ELLIPSIS}" if truncated else ""


# --- Messages of an exchange


IGNORE_ACTION = "IGNORE"
"""Action of an assistant that was not addressed."""


def build_messages(
    user: str, assistant: str | None, at: datetime | None, action: str, *, is_truncated: bool
) -> list[Message]:
    """Return the user's message, and the reply if there is one; see `Memolith.learn`.

    An empty reply counts as none, such as a mere tool call.
    """
    learn = action.strip().upper() != IGNORE_ACTION
    user_message = Message(None, user, Role.USER, at, learn=learn)
    if assistant is None or not str(assistant).strip():
        return [user_message]
    return [
        user_message,
        Message(None, assistant, Role.ASSISTANT, at, learn=learn and not is_truncated),
    ]


# --- Actions of embodied assistants


SPEAK_ACTION: Final = "SPEAK"

_ACTION_LINE = re.compile(r"\s*\**ACTION:\**[ \t]*([A-Z][A-Z_]{0,31})\b\**[ \t]*(?:\r?\n|$)")


def split_action(reply: str) -> tuple[str, str]:
    """Return the action in the first line of a reply, `ACTION: X`, and the rest.

    Without such a line the action is `SPEAK`.
    """
    match = _ACTION_LINE.match(reply)
    if match is None:
        return SPEAK_ACTION, reply.strip()
    return match[1], reply[match.end() :].strip()
