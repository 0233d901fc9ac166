"""Summaries: of a stretch of a conversation, of a session, of a history that was too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from memolith.ports.chat import ChatMessage, Prompt, ResponseSchema
from memolith.prompts.fencing import FENCE_EXPLANATION, fence
from memolith.prompts.replies import InvalidReply, parse_json_reply
from memolith.prompts.schemas import build_object_schema
from memolith.prompts.transcripts import format_transcript
from memolith.text.cleaning import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.prompts.transcripts import TranscriptTurn


@dataclass(frozen=True, slots=True)
class SummaryStyle:
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
    instructions: str
    max_sentences: int
    max_words: int


CASCADE_STYLE = SummaryStyle(
    name="conversation",
    length="3 to 5 sentences",
    instructions="Third person, past tense.",
    max_sentences=6,
    max_words=200,
)
"""Of messages that are no longer new (`tiers`, and `standard`)."""

SESSION_STYLE = SummaryStyle(
    name="session",
    length="2 to 3 sentences",
    instructions="Third person, past tense. Name the facts, decisions and topics; be specific.",
    max_sentences=4,
    max_words=150,
)
"""Of a whole session (`chunks`)."""

HISTORY_STYLE = SummaryStyle(
    name="history",
    length="2 to 5 sentences",
    instructions=(
        "Third person, past tense. Say what was asked, found out, decided and done, and what is"
        " still open, so that the work can go on from it."
    ),
    max_sentences=6,
    max_words=200,
)
"""Of the beginning of a conversation that has become too long (`timeline`)."""

SUMMARY_MAX_TOKENS = 640
"""200 words of a language of long words, and the JSON around them."""

_SUMMARY_RULES = """\
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

_SUMMARY_REQUEST = 'Summarise it in {length}, as JSON: {{"summary": "…"}}'
_SUMMARY_SCHEMA = ResponseSchema("summary", build_object_schema({"summary": {"type": "string"}}))


def build_summary_prompt(
    style: SummaryStyle, turns: Sequence[TranscriptTurn], nonce: str
) -> Prompt:
    """Return the prompt that asks for a summary of turns, in order; for the nonce see `fenced`."""
    rules = _SUMMARY_RULES.format(
        length=style.length, manner=style.instructions, fence=FENCE_EXPLANATION
    )
    conversation = fence(format_transcript(turns), nonce, "CONVERSATION")
    ask = _SUMMARY_REQUEST.format(length=style.length)
    return Prompt(
        messages=(ChatMessage("system", rules), ChatMessage("user", f"{conversation}\n\n{ask}")),
        schema=_SUMMARY_SCHEMA,
        max_tokens=SUMMARY_MAX_TOKENS,
        purpose="summary",
    )


def parse_summary(text: str) -> str:
    """Return the summary of a reply as one paragraph; what it says is checked elsewhere.

    Raises:
        BadReply: It holds none.
    """
    said = " ".join(clean_text(parse_json_reply(text, _SummaryReply).summary).split())
    if not said:
        raise InvalidReply("holds an empty summary")
    return said


class _SummaryReply(msgspec.Struct):
    summary: str
