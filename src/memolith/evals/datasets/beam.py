"""BEAM: one person who works with an assistant, in the first person, with long answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.evals.conversations import Conversation, DialogueSession, Question
from memolith.evals.datasets.reading import (
    DEFAULT_START,
    check_unique_ids,
    decode_json,
    get_end_time,
    get_external_ids,
    read_text,
)
from memolith.policies import arguments

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

    A batch is a session. A message that has a `time_anchor` was said then; any other, or one
    whose anchor is no date, a second after the one before. Nobody has a name.

    Raises:
        InvalidInput: The file is missing, or not of that form.
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
    known, asked_at = get_external_ids(sessions), get_end_time(sessions)
    questions = tuple(_build_beam_question(item, known, asked_at) for item in sample.questions)
    return Conversation(str(sample.id), f"beam-{sample.id}", sessions, questions)


def _build_beam_message(where: str, turn: _BeamTurn, at: datetime) -> Message:
    try:
        role = Role(turn.role)
    except ValueError:
        problem = f"unknown role {arguments.format_value(turn.role)}"
        raise InvalidInput(f"{where}, message {turn.id}", problem) from None
    return Message(None, turn.content, role=role, at=at, external_id=str(turn.id))


def _iter_beam_times(turns: list[_BeamTurn]) -> Iterator[datetime]:
    """Yield when each was said; before the first anchor, as if it had stood at the start."""
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
    item: _BeamQuestion, known: frozenset[str], asked_at: datetime
) -> Question:
    named = [str(message_id) for message_id in item.evidence]
    return Question(
        text=item.question,
        answer="" if item.answer is None else str(item.answer),
        category=item.type,
        evidence=tuple(dict.fromkeys(message_id for message_id in named if message_id in known)),
        asked_at=asked_at,
    )
