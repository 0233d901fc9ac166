"""Prompts that extract facts from conversations and arbitrate between similar memories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

import msgspec

from memolith.policies.extraction import ExtractionSchema
from memolith.policies.merging import Operation, Verdict
from memolith.ports.models import ChatMessage, Prompt, ResponseSchema
from memolith.prompts.fencing import FENCE_EXPLANATION, TranscriptTurn, fence, format_transcript
from memolith.prompts.replies import InvalidReply, build_object_schema, parse_json_reply
from memolith.text.canonical_form import content_key
from memolith.text.cleaning import clean_text

MAX_FACTS = 5
"""Maximum number of facts per exchange (`facts`: MaxFactsPerExtraction)."""

EXTRACTION_MAX_TOKENS = 1_024
"""Five facts of 500 bytes each, with all fields, need about 900 tokens."""

DEFAULT_IMPORTANCE = 5
"""Importance of a fact without a rating, from 1 to 10 (`facts`: AddOpts)."""

_EXPIRY = re.compile(r"[0-9]{1,9}[dhm]")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)\b")

_EXTRACTION_RULES = """\
You take notes for a long-term memory. Read the conversation and write down the facts that will \
still be worth knowing in another conversation.

Rules:
- At most {max_facts} facts, the most important first. Often there are one or two, or none.
- A fact is one short sentence in the third person that is clear by itself. The person whose role \
is user is called "The user". Use names, not "he" or "it".
- Write only what is said there. Add nothing, guess nothing. Keep names and numbers as they are; \
what is denied stays denied.
- Greetings, thanks, small talk, questions and single tasks give no fact. Nor does what the \
assistant explains or suggests.
- Each turn shows its date. Write the date itself instead of "tomorrow" or "last week".
- Write in the language of the conversation.

{fence}

Reply with JSON only: {{"facts": [ … ]}}, or {{"facts": []}} where there is nothing to note. Each \
fact has:
{fields}"""

_EXTRACTION_REQUEST = 'Write down the facts of this conversation, as JSON: {"facts": [ … ]}'


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a model extracted from a conversation.

    Attributes:
        content: The text, cleaned, not empty.
        kind: One of the dialect's kinds.
        turn_indexes: The turns that the model names as evidence: from 0, ascending, unique. Empty
            if it names none.
        importance: 0..1; None if the dialect has no importance.
        expires_in: A duration like "7d"; empty means the default of its kind.
        happened_on: The date of the event; None if the dialect has no dates or the model gave none.
    """

    content: str
    kind: str
    turn_indexes: tuple[int, ...] = ()
    importance: float | None = None
    expires_in: str = ""
    happened_on: date | None = None


def build_extraction_prompt(
    dialect: ExtractionSchema, turns: Sequence[TranscriptTurn], nonce: str
) -> Prompt:
    """Return the prompt that asks for the facts of a conversation.

    Args:
        dialect: The fields of a fact.
        turns: The conversation, in order; facts refer to turns by their numbers.
        nonce: See `fence`.
    """
    fields = "\n".join(
        f'- "{name}": {description}' for name, (description, _) in _build_fields(dialect).items()
    )
    rules = _EXTRACTION_RULES.format(max_facts=MAX_FACTS, fence=FENCE_EXPLANATION, fields=fields)
    conversation = fence(format_transcript(turns), nonce, "CONVERSATION")
    return Prompt(
        messages=(
            ChatMessage("system", rules),
            ChatMessage("user", f"{conversation}\n\n{_EXTRACTION_REQUEST}"),
        ),
        schema=_build_schema(dialect),
        max_tokens=EXTRACTION_MAX_TOKENS,
        purpose="extraction",
    )


def parse_facts(text: str, dialect: ExtractionSchema, turn_count: int) -> tuple[Fact, ...]:
    """Return the facts of a reply: the first five, without duplicates; empty if there are none.

    An unknown kind becomes the dialect's default kind. Invalid durations, dates and turn numbers
    are ignored. A bare list of facts is accepted too.

    Args:
        text: The reply.
        dialect: The dialect of the prompt.
        turn_count: Number of turns in the prompt.

    Raises:
        InvalidReply: The reply has another form.
    """
    reply = parse_json_reply(text, _REPLY_TYPE)
    reply_facts = reply.facts if isinstance(reply, _FactsReply) else reply
    facts = (
        _build_fact(_convert_fact(one, dialect), dialect, turn_count)
        for one in reply_facts[:MAX_FACTS]
    )
    return _deduplicate_facts(fact for fact in facts if fact.content)


class _FactsReply(msgspec.Struct):
    facts: list[dict[str, Any]]


_REPLY_TYPE = cast("type[_FactsReply | list[dict[str, Any]]]", _FactsReply | list[dict[str, Any]])


class _FactReply(msgspec.Struct):
    """A fact with canonical field names, independent of the dialect."""

    content: str
    kind: str | None = None
    importance: int | None = None
    expires_in: str | None = None
    happened: str | None = None
    turn_numbers: list[int] | int | None = msgspec.field(default=None, name="from")


def _convert_fact(fact: dict[str, Any], dialect: ExtractionSchema) -> _FactReply:
    field_names = {dialect.content_field: "content", dialect.kind_field: "kind"}
    renamed = {field_names.get(name, name): value for name, value in fact.items()}
    try:
        return msgspec.convert(renamed, _FactReply)
    except msgspec.ValidationError as error:
        raise InvalidReply(f"contains an invalid fact: {error}") from error


def _deduplicate_facts(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    first: dict[str, Fact] = {}
    for fact in facts:
        first.setdefault(content_key(fact.content), fact)
    return tuple(first.values())


def _build_fact(reply: _FactReply, dialect: ExtractionSchema, turn_count: int) -> Fact:
    kind = (reply.kind or "").strip().casefold()
    return Fact(
        content=clean_text(reply.content),
        kind=kind if kind in dialect.kinds else dialect.default_kind,
        turn_indexes=_parse_turn_numbers(reply.turn_numbers, turn_count),
        importance=_parse_importance(reply.importance) if dialect.has_importance else None,
        expires_in=_parse_expiry(reply.expires_in) if dialect.has_expiry else "",
        happened_on=_parse_day(reply.happened) if dialect.has_dates else None,
    )


def _parse_turn_numbers(numbers: list[int] | int | None, turn_count: int) -> tuple[int, ...]:
    values = [numbers] if isinstance(numbers, int) else numbers or []
    return tuple(sorted({number - 1 for number in values if 1 <= number <= turn_count}))


def _parse_importance(value: int | None) -> float:
    return min(max(value or DEFAULT_IMPORTANCE, 1), 10) / 10


def _parse_expiry(value: str | None) -> str:
    expiry = (value or "").strip().casefold()
    return expiry if _EXPIRY.fullmatch(expiry) and int(expiry[:-1]) > 0 else ""


def _parse_day(value: str | None) -> date | None:
    match = _DATE.match((value or "").strip())
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:  # the calendar has no such day
        return None


def _build_fields(dialect: ExtractionSchema) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return, for each field of a fact, its description for the model and its JSON schema."""
    kinds = "; ".join(f'"{kind}" ({description})' for kind, description in dialect.kinds.items())
    fields: dict[str, tuple[str, dict[str, Any]]] = {
        "from": (
            "the numbers of the turns that say it, such as [1]",
            {"type": "array", "items": {"type": "integer"}},
        ),
        dialect.content_field: ("the sentence", {"type": "string"}),
        dialect.kind_field: (f"one of {kinds}", {"type": "string", "enum": [*dialect.kinds]}),
    }
    if dialect.has_importance:
        fields["importance"] = ("how much it matters, from 1 to 10", {"type": "integer"})
    if dialect.has_expiry:
        description = 'how long it holds, such as "7d" or "12h"; "" where nothing limits it'
        fields["expires_in"] = (description, {"type": "string"})
    if dialect.has_dates:
        description = "the day it happened or will, as YYYY-MM-DD; null where none is said"
        fields["happened"] = (description, {"type": ["string", "null"]})
    return fields


def _build_schema(dialect: ExtractionSchema) -> ResponseSchema:
    fact = build_object_schema(
        {name: schema for name, (_, schema) in _build_fields(dialect).items()}
    )
    return ResponseSchema("facts", build_object_schema({"facts": {"type": "array", "items": fact}}))


# --- Arbitration between a new memory and a similar known one


ARBITRATION_MAX_TOKENS = 512
"""A memory of 500 bytes and a reason."""

_ARBITRATION_RULES = f"""\
You keep a long-term memory free of repetition. You are given a known memory and a new one that \
is like it. Say what to do with the new one:
- ADD: they are about different things, or both can be true. Keep both.
- UPDATE: they are about the same thing, and together they say it best. Give the one sentence that \
says all that is in both, and nothing else.
- DELETE: the new one says that the known one no longer holds. Keep the new one only.
- NOOP: the known one says all that the new one says.
Where in doubt: ADD. Two people, two things or two times are different things. Keep names and \
numbers as they are.

{FENCE_EXPLANATION}

Reply with JSON only: {{"reasoning": a few words, "operation": "ADD", "UPDATE", "DELETE" or \
"NOOP", "content": the sentence for UPDATE, else ""}}"""

_VERDICT_SCHEMA = ResponseSchema(
    "verdict",
    build_object_schema(
        {
            "reasoning": {"type": "string"},
            "operation": {"type": "string", "enum": [*Operation]},
            "content": {"type": "string"},
        }
    ),
)


def build_arbitration_prompt(existing: str, candidate: str, nonce: str) -> Prompt:
    """Return the prompt that asks how to treat a new memory; see `fence` for the nonce."""
    known_fence = fence(existing, nonce, "KNOWN MEMORY")
    new = fence(candidate, nonce, "NEW MEMORY")
    ask = "What is to be done with the new memory? Reply in JSON."
    return Prompt(
        messages=(
            ChatMessage("system", _ARBITRATION_RULES),
            ChatMessage("user", f"{known_fence}\n\n{new}\n\n{ask}"),
        ),
        schema=_VERDICT_SCHEMA,
        max_tokens=ARBITRATION_MAX_TOKENS,
        purpose="arbitration",
    )


def parse_verdict(text: str) -> Verdict:
    """Return the verdict of a reply; merged text is cleaned, but not checked against its sources.

    Raises:
        InvalidReply: The reply names no valid operation, or is UPDATE without content.
    """
    parsed = parse_json_reply(text, _VerdictReply)
    name = parsed.operation.strip().upper()
    if name not in set(Operation):
        raise InvalidReply("contains no valid operation")
    operation = Operation(name)
    content = clean_text(parsed.content or "") if operation is Operation.UPDATE else ""
    if operation is Operation.UPDATE and not content:
        raise InvalidReply("is UPDATE without content")
    return Verdict(operation, content, parsed.reasoning or "")


class _VerdictReply(msgspec.Struct):
    operation: str
    content: str | None = None
    reasoning: str | None = None
