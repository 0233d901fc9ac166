"""BEAM: one person who works with an assistant, in the first person, with long answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.evals.conversations import Conversation, Dialogue, Question
from memolith.evals.datasets.reading import NO_TIME, checked, decoded, end_of, known_ids, text_of
from memolith.policies import arguments

_TIME = "%B-%d-%Y"


class _Turn(msgspec.Struct):
    id: int | str
    role: str
    content: str
    batch: int | str | None = None
    time_anchor: str | None = None


class _Item(msgspec.Struct):
    question: str
    type: str
    answer: Any = None
    evidence: list[int | str] = []


class _Sample(msgspec.Struct):
    id: int | str
    messages: list[_Turn]
    questions: list[_Item]


def read_beam(path: str | Path) -> tuple[Conversation, ...]:
    """Read a list of `{id, messages, questions}`.

    A batch is a session. A message that has a `time_anchor` was said then; any other, or one
    whose anchor is no date, a second after the one before. Nobody has a name.

    Raises:
        InvalidInput: The file is missing, or not of that form.
    """
    samples = decoded(str(path), text_of(Path(path)), list[_Sample])
    return tuple(_conversation(f"{path}, {sample.id}", sample) for sample in samples)


def _conversation(where: str, sample: _Sample) -> Conversation:
    batches: dict[str, list[Message]] = {}
    for turn, at in zip(sample.messages, _times(sample.messages), strict=True):
        batches.setdefault(f"batch_{turn.batch}", []).append(_message(where, turn, at))
    sessions = checked(where, tuple(Dialogue(name, tuple(m)) for name, m in batches.items()))
    known, asked_at = known_ids(sessions), end_of(sessions)
    questions = tuple(_question(item, known, asked_at) for item in sample.questions)
    return Conversation(str(sample.id), f"beam-{sample.id}", sessions, questions)


def _message(where: str, turn: _Turn, at: datetime) -> Message:
    try:
        role = Role(turn.role)
    except ValueError:
        problem = f"unknown role {arguments.shown(turn.role)}"
        raise InvalidInput(f"{where}, message {turn.id}", problem) from None
    return Message(None, turn.content, role=role, at=at, external_id=str(turn.id))


def _times(turns: list[_Turn]) -> Iterator[datetime]:
    """Yield when each was said; before the first anchor, as if it had stood at the start."""
    now = next((at for turn in turns if (at := _anchor(turn))), NO_TIME)
    for turn in turns:
        now = _anchor(turn) or now
        yield now
        now += timedelta(seconds=1)


def _anchor(turn: _Turn) -> datetime | None:
    try:
        return datetime.strptime(turn.time_anchor or "", _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _question(item: _Item, known: frozenset[str], asked_at: datetime) -> Question:
    named = [str(message_id) for message_id in item.evidence]
    return Question(
        text=item.question,
        answer="" if item.answer is None else str(item.answer),
        category=item.type,
        evidence=tuple(dict.fromkeys(message_id for message_id in named if message_id in known)),
        asked_at=asked_at,
    )
