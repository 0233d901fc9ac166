"""Readers of data sets for the evaluation of retrieval. Memolith does not include the data.

Each reader takes a path and raises `InvalidInput` if the file is missing or invalid. The error's
field names the file and the place in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from memolith.domain.messages import Message, Role, get_role
from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.text.cleaning import clean
from memolith.text.screening import redact

__all__ = ["read_beam", "read_jsonl", "read_locomo"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, asked after the end of a conversation.

    Attributes:
        text: The question.
        answer: The expected answer. Empty if the data has none.
        category: The data set's name for its category.
        evidence: External ids of the messages that contain the answer, without duplicates. Empty:
            the conversation does not contain it.
        asked_at: The time of the question.
    """

    text: str
    answer: str
    category: str
    evidence: tuple[str, ...]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class DialogueSession:
    """One session of a conversation.

    Attributes:
        id: Unique in its conversation.
        messages: In order; each with a role, a time and an external id that is unique in the
            conversation.
    """

    id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The sessions of one owner, and questions about them.

    Attributes:
        id: The data set's name of the conversation.
        owner: The owner id under which to store it.
        sessions: In chronological order.
        questions: All questions, including those without evidence.
    """

    id: str
    owner: str
    sessions: tuple[DialogueSession, ...]
    questions: tuple[Question, ...]

    def messages(self) -> Iterator[Message]:
        """Yield all messages, session by session."""
        for session in self.sessions:
            yield from session.messages

    def session_of(self) -> dict[str, str]:
        """Return the session id of each message, by external id."""
        return {
            message.external_id: session.id
            for session in self.sessions
            for message in session.messages
            if message.external_id is not None
        }


# --- Shared by the readers


T = TypeVar("T")

DEFAULT_START = datetime(2000, 1, 1, tzinfo=UTC)
"""Start of a conversation without any time. Arbitrary."""


def read_text(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(str(path), (error.strerror or "cannot be read").lower()) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), f"is not UTF-8 at byte {error.start}") from error


def decode_json(where: str, text: str, shape: type[T]) -> T:
    """Decode JSON as a type."""
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(where, redact(str(error))[0]) from None


def convert_value(where: str, value: object, shape: type[T]) -> T:
    """Convert a decoded value to a type."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(where, redact(str(error))[0]) from None


def check_unique_ids(
    where: str, sessions: tuple[DialogueSession, ...]
) -> tuple[DialogueSession, ...]:
    """Return the sessions after checking that message ids are unique."""
    seen: set[str | None] = set()
    for message in (message for session in sessions for message in session.messages):
        if message.external_id in seen:
            raise InvalidInput(
                where, f"two messages have the id {arguments.format_value(message.external_id)}"
            )
        seen.add(message.external_id)
    return sessions


def get_external_ids(sessions: tuple[DialogueSession, ...]) -> frozenset[str]:
    """Return the external ids of all messages."""
    return frozenset(
        message.external_id
        for session in sessions
        for message in session.messages
        if message.external_id is not None
    )


def get_end_time(sessions: tuple[DialogueSession, ...]) -> datetime:
    """Return the time of the last message."""
    times = [m.at for session in sessions for m in session.messages if m.at is not None]
    return max(times, default=DEFAULT_START)


# --- LoCoMo (Maharana et al., ACL 2024): two people chat in short turns over months


_SESSION_KEY = re.compile(r"session_(0|[1-9][0-9]{0,8})")
_TURN_ID = re.compile(r"D\d+:\d+")
_LOCOMO_TIME_FORMAT = "%I:%M %p on %d %B, %Y"

LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
"""The paper's definitions. Several public scripts swap 1 and 4."""


class _LocomoTurn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _LocomoQuestion(msgspec.Struct):
    question: str
    category: int
    answer: Any = None
    adversarial_answer: Any = None
    evidence: list[str] = []


class _LocomoSample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_LocomoQuestion]


def read_locomo(path: str | Path) -> tuple[Conversation, ...]:
    """Read `locomo10.json` as published, or some of its samples.

    Both speakers are participants. Captions of shared pictures are added to the text. The turns of
    a session start at the session's time, taken as UTC, one second apart. Evidence is every string
    with the form of a turn id that exists.

    Raises:
        InvalidInput: The file is missing or invalid.
    """
    samples = decode_json(str(path), read_text(Path(path)), list[_LocomoSample])
    return tuple(
        _build_locomo_conversation(f"{path}, {sample.sample_id}", sample) for sample in samples
    )


def _build_locomo_conversation(where: str, sample: _LocomoSample) -> Conversation:
    numbers = sorted(int(m[1]) for key in sample.conversation if (m := _SESSION_KEY.fullmatch(key)))
    sessions = check_unique_ids(
        where, tuple(_build_locomo_session(where, sample, number) for number in numbers)
    )
    message_ids, asked_at = get_external_ids(sessions), get_end_time(sessions)
    questions = tuple(_build_locomo_question(item, message_ids, asked_at) for item in sample.qa)
    return Conversation(sample.sample_id, sample.sample_id, sessions, questions)


def _build_locomo_session(where: str, sample: _LocomoSample, number: int) -> DialogueSession:
    name = f"session_{number}"
    turns = convert_value(f"{where}, {name}", sample.conversation[name], list[_LocomoTurn])
    start = _parse_locomo_time(
        f"{where}, {name}_date_time", sample.conversation.get(f"{name}_date_time")
    )
    return DialogueSession(
        name,
        tuple(
            Message(
                turn.speaker,
                _get_locomo_text(turn),
                role=Role.PARTICIPANT,
                at=start + timedelta(seconds=index),
                external_id=turn.dia_id,
            )
            for index, turn in enumerate(turns)
        ),
    )


def _get_locomo_text(turn: _LocomoTurn) -> str:
    if not turn.blip_caption:
        return turn.text
    return f"{turn.text} [shares {turn.blip_caption}]".strip()


def _parse_locomo_time(where: str, value: object) -> datetime:
    try:
        return datetime.strptime(str(value), _LOCOMO_TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        expected = "expected a time such as '1:56 pm on 8 May, 2023'"
        raise InvalidInput(where, f"{expected}, found {arguments.format_value(value)}") from None


def _build_locomo_question(
    item: _LocomoQuestion, message_ids: frozenset[str], asked_at: datetime
) -> Question:
    turn_ids = [turn_id for text in item.evidence for turn_id in _TURN_ID.findall(text)]
    answer = item.answer if item.answer is not None else item.adversarial_answer
    return Question(
        text=item.question,
        answer="" if answer is None else str(answer),
        category=LOCOMO_CATEGORIES.get(item.category, str(item.category)),
        evidence=tuple(dict.fromkeys(turn_id for turn_id in turn_ids if turn_id in message_ids)),
        asked_at=asked_at,
    )


# --- BEAM: one person works with an assistant, which gives long answers


_BEAM_TIME_FORMAT = "%B-%d-%Y"


class _BeamTurn(msgspec.Struct):
    id: int | str
    role: str
    content: str
    batch: int | str | None = None
    time_anchor: str | None = None


class _BeamQuestion(msgspec.Struct):
    question: str
    type: str
    answer: Any = None
    evidence: list[int | str] = []


class _BeamSample(msgspec.Struct):
    id: int | str
    messages: list[_BeamTurn]
    questions: list[_BeamQuestion]


def read_beam(path: str | Path) -> tuple[Conversation, ...]:
    """Read a list of `{id, messages, questions}`.

    A batch is a session. A message has the time of its `time_anchor`. Without a valid anchor, it
    follows the previous message by one second. Speakers have no names.

    Raises:
        InvalidInput: The file is missing or invalid.
    """
    samples = decode_json(str(path), read_text(Path(path)), list[_BeamSample])
    return tuple(_build_beam_conversation(f"{path}, {sample.id}", sample) for sample in samples)


def _build_beam_conversation(where: str, sample: _BeamSample) -> Conversation:
    batches: dict[str, list[Message]] = {}
    for turn, at in zip(sample.messages, _iter_beam_times(sample.messages), strict=True):
        batches.setdefault(f"batch_{turn.batch}", []).append(_build_beam_message(where, turn, at))
    sessions = check_unique_ids(
        where, tuple(DialogueSession(name, tuple(m)) for name, m in batches.items())
    )
    message_ids, asked_at = get_external_ids(sessions), get_end_time(sessions)
    questions = tuple(
        _build_beam_question(item, message_ids, asked_at) for item in sample.questions
    )
    return Conversation(str(sample.id), f"beam-{sample.id}", sessions, questions)


def _build_beam_message(where: str, turn: _BeamTurn, at: datetime) -> Message:
    try:
        role = Role(turn.role)
    except ValueError:
        problem = f"unknown role {arguments.format_value(turn.role)}"
        raise InvalidInput(f"{where}, message {turn.id}", problem) from None
    return Message(None, turn.content, role=role, at=at, external_id=str(turn.id))


def _iter_beam_times(turns: list[_BeamTurn]) -> Iterator[datetime]:
    """Yield the times of the turns. The first anchor also applies to the turns before it."""
    now = next((at for turn in turns if (at := _parse_anchor(turn))), DEFAULT_START)
    for turn in turns:
        now = _parse_anchor(turn) or now
        yield now
        now += timedelta(seconds=1)


def _parse_anchor(turn: _BeamTurn) -> datetime | None:
    try:
        return datetime.strptime(turn.time_anchor or "", _BEAM_TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


def _build_beam_question(
    item: _BeamQuestion, known_ids: frozenset[str], asked_at: datetime
) -> Question:
    evidence_ids = [str(message_id) for message_id in item.evidence]
    return Question(
        text=item.question,
        answer="" if item.answer is None else str(item.answer),
        category=item.type,
        evidence=tuple(
            dict.fromkeys(message_id for message_id in evidence_ids if message_id in known_ids)
        ),
        asked_at=asked_at,
    )


# --- JSON Lines


class _MessageLine(msgspec.Struct, tag="message", forbid_unknown_fields=True):
    conversation: str
    session: str
    id: str
    at: datetime
    text: str
    speaker: str | None = None
    role: Role | None = None


class _QuestionLine(msgspec.Struct, tag="question", forbid_unknown_fields=True):
    conversation: str
    text: str
    answer: str = ""
    category: str = "question"
    evidence: list[str] = []
    asked_at: datetime | None = None


_JsonLine = _MessageLine | _QuestionLine
_NumberedLines = list[tuple[int, _JsonLine]]


def read_jsonl(path: str | Path) -> tuple[Conversation, ...]:
    """Read conversations from JSON Lines: one message or question a line. Blank lines are skipped.

    Raises:
        InvalidInput: The file is missing, or a line is invalid.
    """
    conversations: dict[str, _NumberedLines] = {}
    for number, line in enumerate(read_text(Path(path)).split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            record: _JsonLine = decode_json(where, line, _JsonLine)  # type: ignore[arg-type] # a union
            _check_line(where, record)
            conversations.setdefault(record.conversation, []).append((number, record))
    return tuple(
        _build_jsonl_conversation(str(path), name, lines) for name, lines in conversations.items()
    )


def _check_line(where: str, line: _JsonLine) -> None:
    """Validate a line now, while its line number is known, as storing or asking it would."""
    names, limit = {"conversation": line.conversation}, None
    if isinstance(line, _MessageLine):
        names |= {"session": line.session, "id": line.id}
        names |= {} if line.speaker is None else {"speaker": line.speaker}
        limit = arguments.MAX_MESSAGE_CHARS
    try:
        for field, value in names.items():
            arguments.check_name(value, field)
        clean(line.text, field="text", limit=limit)
    except InvalidInput as error:
        raise InvalidInput(f"{where}, {error.field}", error.problem) from None


def _build_jsonl_conversation(path: str, name: str, lines: _NumberedLines) -> Conversation:
    batches: dict[str, list[Message]] = {}
    for number, line in lines:
        if isinstance(line, _MessageLine):
            message = _build_jsonl_message(f"{path}, line {number}", name, line)
            batches.setdefault(line.session, []).append(message)
    where = f"{path}, conversation {arguments.format_value(name)}"
    sessions = check_unique_ids(
        where, tuple(DialogueSession(id_, tuple(m)) for id_, m in batches.items())
    )
    message_ids, end = get_external_ids(sessions), get_end_time(sessions)
    questions = tuple(
        _build_jsonl_question(f"{path}, line {number}", line, message_ids, end)
        for number, line in lines
        if isinstance(line, _QuestionLine)
    )
    return Conversation(name, name, sessions, questions)


def _build_jsonl_message(where: str, owner: str, line: _MessageLine) -> Message:
    return Message(
        line.speaker,
        line.text,
        role=line.role or get_role(line.speaker, owner),
        at=_to_utc(f"{where}, at", line.at),
        external_id=line.id,
    )


def _build_jsonl_question(
    where: str, line: _QuestionLine, message_ids: frozenset[str], end: datetime
) -> Question:
    missing = [message_id for message_id in line.evidence if message_id not in message_ids]
    if missing:
        raise InvalidInput(f"{where}, evidence", f"unknown message {missing[0]!r}")
    return Question(
        text=line.text,
        answer=line.answer,
        category=line.category,
        evidence=tuple(dict.fromkeys(line.evidence)),
        asked_at=_to_utc(f"{where}, asked_at", line.asked_at) if line.asked_at else end,
    )


def _to_utc(where: str, at: datetime) -> datetime:
    if at.tzinfo is None:
        raise InvalidInput(where, "a time has no time zone: write 2024-05-08T13:56:00Z")
    return arguments.check_instant(at, where)
