"""Anyone's own data: one JSON object a line, a message or a question.

    {"type": "message", "conversation": "c1", "session": "s1", "id": "m1",
     "speaker": "Ann", "role": "participant", "at": "2024-05-08T13:56:00Z", "text": "…"}
    {"type": "question", "conversation": "c1", "text": "…", "answer": "…",
     "category": "…", "evidence": ["m1"], "asked_at": "2024-06-01T00:00:00Z"}

(Broken here for reading; a line may not be.) Messages stand in the order in which they were
said. `speaker` and `role` may be left out: without a role it follows from the speaker's name, and
without both it is the user. So may `answer`, `category`, `evidence` (not told in the
conversation) and `asked_at` (when the last message was said). `id` is unique in its conversation.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from memolith.domain.messages import Message, Role, get_role
from memolith.errors import InvalidInput
from memolith.evals.conversations import Conversation, DialogueSession, Question
from memolith.evals.datasets.reading import (
    check_unique_ids,
    decode_json,
    get_end_time,
    get_external_ids,
    read_text,
)
from memolith.policies import arguments
from memolith.text.cleaning import clean


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
    """Read conversations in the form that the module describes; blank lines are left out.

    Raises:
        InvalidInput: The file is missing, or a line is not of that form.
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
    """Check what taking it in, or asking it, would refuse when the line is not known any more."""
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
    known, end = get_external_ids(sessions), get_end_time(sessions)
    questions = tuple(
        _build_jsonl_question(f"{path}, line {number}", line, known, end)
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
    where: str, line: _QuestionLine, known: frozenset[str], end: datetime
) -> Question:
    missing = [message_id for message_id in line.evidence if message_id not in known]
    if missing:
        raise InvalidInput(f"{where}, evidence", f"no message {missing[0]!r}")
    return Question(
        text=line.text,
        answer=line.answer,
        category=line.category,
        evidence=tuple(dict.fromkeys(line.evidence)),
        asked_at=_to_utc(f"{where}, asked_at", line.asked_at) if line.asked_at else end,
    )


def _to_utc(where: str, at: datetime) -> datetime:
    if at.tzinfo is None:
        raise InvalidInput(where, "a time needs its zone, such as 2024-05-08T13:56:00Z")
    return arguments.check_instant(at, where)
