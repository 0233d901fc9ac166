"""LoCoMo (Maharana et al., ACL 2024): two people who talk, in short turns, over months."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.evals.conversations import Conversation, DialogueSession, Question
from memolith.evals.datasets.reading import (
    check_unique_ids,
    convert_value,
    decode_json,
    get_end_time,
    get_external_ids,
    read_text,
)
from memolith.policies import arguments

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
"""By the paper's definitions; several public scripts swap 1 and 4."""


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

    Both speakers are participants. The caption of a shared picture is added to the text. The
    turns of a session follow each other by a second, from the session's time, which is taken
    for UTC. Evidence is whatever reads as a turn's id and exists.

    Raises:
        InvalidInput: The file is missing, or not of that form.
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
    known, asked_at = get_external_ids(sessions), get_end_time(sessions)
    questions = tuple(_build_locomo_question(item, known, asked_at) for item in sample.qa)
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
                at=start + timedelta(seconds=place),
                external_id=turn.dia_id,
            )
            for place, turn in enumerate(turns)
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
    item: _LocomoQuestion, known: frozenset[str], asked_at: datetime
) -> Question:
    named = [turn_id for text in item.evidence for turn_id in _TURN_ID.findall(text)]
    answer = item.answer if item.answer is not None else item.adversarial_answer
    return Question(
        text=item.question,
        answer="" if answer is None else str(answer),
        category=LOCOMO_CATEGORIES.get(item.category, str(item.category)),
        evidence=tuple(dict.fromkeys(turn_id for turn_id in named if turn_id in known)),
        asked_at=asked_at,
    )
