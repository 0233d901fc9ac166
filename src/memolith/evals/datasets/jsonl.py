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

from memolith.domain.messages import Message, Role, role_of
from memolith.errors import InvalidInput
from memolith.evals.conversations import Conversation, Dialogue, Question
from memolith.evals.datasets.reading import checked, decoded, end_of, known_ids, text_of
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


_Line = _MessageLine | _QuestionLine
_Numbered = list[tuple[int, _Line]]


def read_jsonl(path: str | Path) -> tuple[Conversation, ...]:
    """Read conversations in the form that the module describes; blank lines are left out.

    Raises:
        InvalidInput: The file is missing, or a line is not of that form.
    """
    conversations: dict[str, _Numbered] = {}
    for number, line in enumerate(text_of(Path(path)).split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            record: _Line = decoded(where, line, _Line)  # type: ignore[arg-type] # a union
            _check(where, record)
            conversations.setdefault(record.conversation, []).append((number, record))
    return tuple(_conversation(str(path), name, lines) for name, lines in conversations.items())


def _check(where: str, line: _Line) -> None:
    """Check what taking it in, or asking it, would refuse when the line is not known any more."""
    names, limit = {"conversation": line.conversation}, None
    if isinstance(line, _MessageLine):
        names |= {"session": line.session, "id": line.id}
        names |= {} if line.speaker is None else {"speaker": line.speaker}
        limit = arguments.MAX_MESSAGE_CHARS
    try:
        for field, value in names.items():
            arguments.name(value, field)
        clean(line.text, field="text", limit=limit)
    except InvalidInput as error:
        raise InvalidInput(f"{where}, {error.field}", error.problem) from None


def _conversation(path: str, name: str, lines: _Numbered) -> Conversation:
    batches: dict[str, list[Message]] = {}
    for number, line in lines:
        if isinstance(line, _MessageLine):
            message = _message(f"{path}, line {number}", name, line)
            batches.setdefault(line.session, []).append(message)
    where = f"{path}, conversation {arguments.shown(name)}"
    sessions = checked(where, tuple(Dialogue(id_, tuple(m)) for id_, m in batches.items()))
    known, end = known_ids(sessions), end_of(sessions)
    questions = tuple(
        _question(f"{path}, line {number}", line, known, end)
        for number, line in lines
        if isinstance(line, _QuestionLine)
    )
    return Conversation(name, name, sessions, questions)


def _message(where: str, owner: str, line: _MessageLine) -> Message:
    return Message(
        line.speaker,
        line.text,
        role=line.role or role_of(line.speaker, owner),
        at=_utc(f"{where}, at", line.at),
        external_id=line.id,
    )


def _question(where: str, line: _QuestionLine, known: frozenset[str], end: datetime) -> Question:
    missing = [message_id for message_id in line.evidence if message_id not in known]
    if missing:
        raise InvalidInput(f"{where}, evidence", f"no message {missing[0]!r}")
    return Question(
        text=line.text,
        answer=line.answer,
        category=line.category,
        evidence=tuple(dict.fromkeys(line.evidence)),
        asked_at=_utc(f"{where}, asked_at", line.asked_at) if line.asked_at else end,
    )


def _utc(where: str, at: datetime) -> datetime:
    if at.tzinfo is None:
        raise InvalidInput(where, "a time needs its zone, such as 2024-05-08T13:56:00Z")
    return arguments.instant(at, where)
