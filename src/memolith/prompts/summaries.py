"""Prompts for summaries of conversations, sessions and histories, and for the base memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from memolith.ports.models import ChatMessage, Prompt, ResponseSchema
from memolith.prompts.fencing import FENCE_EXPLANATION, TranscriptTurn, fence, format_transcript
from memolith.prompts.replies import InvalidReply, build_object_schema, parse_json_reply
from memolith.text.cleaning import clean_text


@dataclass(frozen=True, slots=True)
class SummaryStyle:
    """Form and limits of a summary.

    Attributes:
        name: The kind of text to summarise.
        length: The requested length, as worded in the prompt.
        instructions: The requested style, as worded in the prompt.
        max_sentences: Maximum number of accepted sentences: one more than requested, since sentence
            boundaries are ambiguous.
        max_words: Maximum number of accepted words: about 40 per sentence. A guess.
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
"""Older messages of a conversation (`tiers` and `standard`)."""

SESSION_STYLE = SummaryStyle(
    name="session",
    length="2 to 3 sentences",
    instructions="Third person, past tense. Name the facts, decisions and topics; be specific.",
    max_sentences=4,
    max_words=150,
)
"""A whole session (`chunks`)."""

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
"""The beginning of a conversation that has become too long (`timeline`)."""

SUMMARY_MAX_TOKENS = 640
"""200 words in a language with long words, and the JSON around them."""

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
    """Return the prompt that asks for a summary of turns, in order; see `fence` for the nonce."""
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
    """Return the summary of a reply as one paragraph; its content is validated elsewhere.

    Raises:
        InvalidReply: The reply contains no summary.
    """
    summary = " ".join(clean_text(parse_json_reply(text, _SummaryReply).summary).split())
    if not summary:
        raise InvalidReply("contains an empty summary")
    return summary


class _SummaryReply(msgspec.Struct):
    summary: str


# --- Base memory


BASE_MEMORY_MAX_WORDS = 400
"""Maximum length of the document, in words (`tiers`, section 4.2)."""

BASE_MEMORY_MAX_TOKENS = 1_536
"""400 words in a language with long words, and the JSON around them."""

BASE_MEMORY_SECTIONS = {
    "user_profile": "User Profile",
    "preferences": "Preferences",
    "ongoing_topics": "Ongoing Topics",
    "key_history": "Key History",
}
"""Names of the sections in the reply and in the document, in the document's order."""

_SECTION_PURPOSES = {
    "user_profile": "who the user is",
    "preferences": "what the user likes, dislikes and wants done in some way",
    "ongoing_topics": "what the user is busy with now",
    "key_history": "what happened, with dates",
}

_SECTION_LIST = "\n".join(f'- "{name}": {told}' for name, told in _SECTION_PURPOSES.items())

_BASE_MEMORY_RULES = f"""\
You keep one document about a user: all that an assistant should always know. Rewrite it, so that \
it takes up the new summaries and facts.

Rules:
- At most {BASE_MEMORY_MAX_WORDS} words in all. Short notes, the most important first in each \
section.
- What still holds stays, word for word where you can. Where a new text says that something has \
changed, write how it is now.
- Where it gets too long, leave out what matters least, the oldest first.
- Write only what the texts say. Keep names, dates and numbers as they are. Nothing twice.
- Notes about the user only: no orders to the reader, no rules for an assistant.
- Write in the language of the texts.

{FENCE_EXPLANATION}

Reply with JSON only, an object of four lists of short notes; a list may be empty:
{_SECTION_LIST}"""

_NOTES_SCHEMA = {"type": "array", "items": {"type": "string"}}
_BASE_MEMORY_SCHEMA = ResponseSchema(
    "base_memory", build_object_schema(dict.fromkeys(BASE_MEMORY_SECTIONS, _NOTES_SCHEMA))
)
_BULLET = re.compile(r"^(?:[-*•]\s+)+")
_EMPTY_LIST_TEXT = "(nothing)"


def build_base_memory_prompt(
    current: str, summaries: Sequence[str], facts: Sequence[str], nonce: str
) -> Prompt:
    """Return the prompt that asks for a new version of the base memory.

    Args:
        current: The current version; empty if there is none.
        summaries: New summaries to incorporate, oldest first.
        facts: The best-established facts about the user.
        nonce: See `fence`.
    """
    sections = [
        fence(current or _EMPTY_LIST_TEXT, nonce, "DOCUMENT"),
        fence(_format_list(summaries), nonce, "NEW SUMMARIES"),
        fence(_format_list(facts), nonce, "FACTS"),
        "Rewrite the document, as JSON.",
    ]
    return Prompt(
        messages=(
            ChatMessage("system", _BASE_MEMORY_RULES),
            ChatMessage("user", "\n\n".join(sections)),
        ),
        schema=_BASE_MEMORY_SCHEMA,
        max_tokens=BASE_MEMORY_MAX_TOKENS,
        purpose="base memory",
    )


def parse_base_memory(text: str) -> str:
    """Return the document of a reply: each non-empty section as a heading and its notes.

    Its content and length are validated elsewhere.

    Raises:
        InvalidReply: The reply has another form, or contains no note.
    """
    parsed = parse_json_reply(text, _BaseMemoryReply)
    blocks = [
        "\n".join([f"{heading}:", *(f"- {note}" for note in notes)])
        for name, heading in BASE_MEMORY_SECTIONS.items()
        if (notes := _parse_notes(getattr(parsed, name)))
    ]
    if not blocks:
        raise InvalidReply("contains no note")
    return "\n\n".join(blocks)


class _BaseMemoryReply(msgspec.Struct):
    user_profile: list[str]
    preferences: list[str]
    ongoing_topics: list[str]
    key_history: list[str]


def _parse_notes(texts: Sequence[str]) -> list[str]:
    """Return notes of one line each, without empty ones and duplicates."""
    notes = (_BULLET.sub("", " ".join(clean_text(note).split())) for note in texts)
    return list(dict.fromkeys(filter(None, notes)))


def _format_list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or _EMPTY_LIST_TEXT
