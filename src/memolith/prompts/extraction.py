"""Extraction: the facts of a conversation that are worth keeping."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import msgspec

from memolith.ports.chat import Prompt, Schema, Turn
from memolith.prompts.fencing import WHAT_A_FENCE_IS, fenced
from memolith.prompts.replies import BadReply, read_json
from memolith.prompts.schemas import all_of
from memolith.prompts.transcripts import numbered
from memolith.text.cleaning import cleaned
from memolith.text.normal import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memolith.policies.dialects import Dialect
    from memolith.prompts.transcripts import Spoken

MAX_FACTS = 5
"""Of one exchange (`facts`: MaxFactsPerExtraction)."""

MAX_TOKENS = 1_024
"""Five facts of 500 bytes and their fields take some 900."""

USUAL_WEIGHT = 5
"""How much a fact matters of which nothing is said, from 1 to 10 (`facts`: AddOpts)."""

_EXPIRY = re.compile(r"[0-9]{1,9}[dhm]")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)\b")

_RULES = """\
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

_ASK = 'Write down the facts of this conversation, as JSON: {"facts": [ … ]}'


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a model has taken from a conversation.

    Attributes:
        content: The text, cleaned, not empty.
        kind: One of the dialect's kinds.
        places: Which of the turns it rests on, as the model says: from 0, ascending, none twice.
            Empty: it does not say.
        importance: 0..1; None where the dialect does not weigh.
        expires_in: Like "7d"; empty: as long as its kind lasts.
        happened: The day, where the dialect asks for one and the model gave one.
    """

    content: str
    kind: str
    places: tuple[int, ...] = ()
    importance: float | None = None
    expires_in: str = ""
    happened: date | None = None


def extraction(dialect: Dialect, turns: Sequence[Spoken], nonce: str) -> Prompt:
    """Return the prompt that asks for the facts of a conversation.

    Args:
        dialect: Which fields a fact has.
        turns: The conversation, in order; a fact names turns by their places in it.
        nonce: See `fenced`.
    """
    fields = "\n".join(f'- "{name}": {told}' for name, (told, _) in _fields(dialect).items())
    rules = _RULES.format(max_facts=MAX_FACTS, fence=WHAT_A_FENCE_IS, fields=fields)
    conversation = fenced(numbered(turns), nonce, "CONVERSATION")
    return Prompt(
        turns=(Turn("system", rules), Turn("user", f"{conversation}\n\n{_ASK}")),
        schema=_schema(dialect),
        max_tokens=MAX_TOKENS,
        purpose="extraction",
    )


def read_facts(text: str, dialect: Dialect, turn_count: int) -> tuple[Fact, ...]:
    """Return the facts of a reply: the first five, none twice; none where nothing is to note.

    An unknown kind is the dialect's ordinary one; an expiry or a day that is none counts as not
    given, and so do numbers of turns that there are not. A bare list of facts is read too.

    Args:
        text: The reply.
        dialect: The one that was asked in.
        turn_count: How many turns the prompt had.

    Raises:
        BadReply: It is anything else.
    """
    reply = read_json(text, _REPLY)
    given = reply.facts if isinstance(reply, _Facts) else reply
    facts = (_fact(_given(one, dialect), dialect, turn_count) for one in given[:MAX_FACTS])
    return _once(fact for fact in facts if fact.content)


class _Facts(msgspec.Struct):
    facts: list[dict[str, Any]]


_REPLY = cast("type[_Facts | list[dict[str, Any]]]", _Facts | list[dict[str, Any]])


class _Given(msgspec.Struct):
    """A fact under our own names, whatever the dialect calls them."""

    content: str
    kind: str | None = None
    importance: int | None = None
    expires_in: str | None = None
    happened: str | None = None
    places: list[int] | int | None = msgspec.field(default=None, name="from")


def _given(fact: dict[str, Any], dialect: Dialect) -> _Given:
    ours = {dialect.content_field: "content", dialect.kind_field: "kind"}
    renamed = {ours.get(name, name): value for name, value in fact.items()}
    try:
        return msgspec.convert(renamed, _Given)
    except msgspec.ValidationError as error:
        raise BadReply(f"holds a fact of another form: {error}") from error


def _once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    first: dict[str, Fact] = {}
    for fact in facts:
        first.setdefault(content_key(fact.content), fact)
    return tuple(first.values())


def _fact(given: _Given, dialect: Dialect, turn_count: int) -> Fact:
    kind = (given.kind or "").strip().casefold()
    return Fact(
        content=cleaned(given.content),
        kind=kind if kind in dialect.kinds else dialect.ordinary,
        places=_places(given.places, turn_count),
        importance=_weight(given.importance) if dialect.weighs else None,
        expires_in=_expiry(given.expires_in) if dialect.expires else "",
        happened=_day(given.happened) if dialect.dates else None,
    )


def _places(numbers: list[int] | int | None, turn_count: int) -> tuple[int, ...]:
    given = [numbers] if isinstance(numbers, int) else numbers or []
    return tuple(sorted({number - 1 for number in given if 1 <= number <= turn_count}))


def _weight(given: int | None) -> float:
    return min(max(given or USUAL_WEIGHT, 1), 10) / 10


def _expiry(given: str | None) -> str:
    told = (given or "").strip().casefold()
    return told if _EXPIRY.fullmatch(told) and int(told[:-1]) > 0 else ""


def _day(given: str | None) -> date | None:
    found = _DATE.match((given or "").strip())
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:  # the calendar has no such day
        return None


def _fields(dialect: Dialect) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the fields of a fact: what a model is told of each, and its JSON schema."""
    kinds = "; ".join(f'"{kind}" ({told})' for kind, told in dialect.kinds.items())
    fields: dict[str, tuple[str, dict[str, Any]]] = {
        "from": (
            "the numbers of the turns that say it, such as [1]",
            {"type": "array", "items": {"type": "integer"}},
        ),
        dialect.content_field: ("the sentence", {"type": "string"}),
        dialect.kind_field: (f"one of {kinds}", {"type": "string", "enum": [*dialect.kinds]}),
    }
    if dialect.weighs:
        fields["importance"] = ("how much it matters, from 1 to 10", {"type": "integer"})
    if dialect.expires:
        told = 'how long it holds, such as "7d" or "12h"; "" where nothing limits it'
        fields["expires_in"] = (told, {"type": "string"})
    if dialect.dates:
        told = "the day it happened or will, as YYYY-MM-DD; null where none is said"
        fields["happened"] = (told, {"type": ["string", "null"]})
    return fields


def _schema(dialect: Dialect) -> Schema:
    fact = all_of({name: schema for name, (_, schema) in _fields(dialect).items()})
    return Schema("facts", all_of({"facts": {"type": "array", "items": fact}}))
