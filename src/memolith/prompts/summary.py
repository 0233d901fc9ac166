"""Summaries: of a stretch of a conversation, of a session, of a history that was too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from memolith.ports.chat import Prompt, Schema, Turn
from memolith.prompts.fencing import WHAT_A_FENCE_IS, fenced
from memolith.prompts.replies import BadReply, read_json
from memolith.prompts.schemas import all_of
from memolith.prompts.transcripts import numbered
from memolith.text.cleaning import cleaned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.prompts.transcripts import Spoken


@dataclass(frozen=True, slots=True)
class Style:
    """How a summary is to be written.

    Attributes:
        name: What it is a summary of.
        length: How long, as the model is told.
        manner: How, as the model is told.
        max_sentences: The most sentences that are accepted; one more than is asked for, since
            where a sentence ends can be argued about.
        max_words: The most words that are accepted: some 40 a sentence, a guess.
    """

    name: str
    length: str
    manner: str
    max_sentences: int
    max_words: int


CASCADE = Style(
    name="conversation",
    length="3 to 5 sentences",
    manner="Third person, past tense.",
    max_sentences=6,
    max_words=200,
)
"""Of messages that are no longer new (`tiers`, and `standard`)."""

SESSION = Style(
    name="session",
    length="2 to 3 sentences",
    manner="Third person, past tense. Name the facts, decisions and topics; be specific.",
    max_sentences=4,
    max_words=150,
)
"""Of a whole session (`chunks`)."""

HISTORY = Style(
    name="history",
    length="2 to 5 sentences",
    manner=(
        "Third person, past tense. Say what was asked, found out, decided and done, and what is"
        " still open, so that the work can go on from it."
    ),
    max_sentences=6,
    max_words=200,
)
"""Of the beginning of a conversation that has become too long (`timeline`)."""

MAX_TOKENS = 640
"""200 words of a language of long words, and the JSON around them."""

_RULES = """\
You write the summary that will stand for a conversation in a long-term memory.

Rules:
- {length}, one paragraph. {manner}
- Keep every name, date and number that matters, exactly as it stands there. Where a turn shows \
its date, write the date instead of "yesterday" or "next week".
- Write only what is said there. Add nothing, guess nothing. What is denied stays denied. Say who \
said or did it: the person whose role is user is "the user".
- No greetings, no remarks of your own, nothing twice.
- Write in the language of the conversation.

{fence}

Reply with JSON only: {{"summary": "…"}}"""

_ASK = 'Summarise it in {length}, as JSON: {{"summary": "…"}}'
_SCHEMA = Schema("summary", all_of({"summary": {"type": "string"}}))


def summary(style: Style, turns: Sequence[Spoken], nonce: str) -> Prompt:
    """Return the prompt that asks for a summary of turns, in order; for the nonce see `fenced`."""
    rules = _RULES.format(length=style.length, manner=style.manner, fence=WHAT_A_FENCE_IS)
    conversation = fenced(numbered(turns), nonce, "CONVERSATION")
    ask = _ASK.format(length=style.length)
    return Prompt(
        turns=(Turn("system", rules), Turn("user", f"{conversation}\n\n{ask}")),
        schema=_SCHEMA,
        max_tokens=MAX_TOKENS,
        purpose="summary",
    )


def read_summary(text: str) -> str:
    """Return the summary of a reply as one paragraph; what it says is checked elsewhere.

    Raises:
        BadReply: It holds none.
    """
    said = " ".join(cleaned(read_json(text, _Given).summary).split())
    if not said:
        raise BadReply("holds an empty summary")
    return said


class _Given(msgspec.Struct):
    summary: str
