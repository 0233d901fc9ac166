"""The base memory rewritten: what is known, and what has come to be known since."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from memolith.ports.chat import ChatMessage, Prompt, ResponseSchema
from memolith.prompts.fencing import FENCE_EXPLANATION, fence
from memolith.prompts.replies import InvalidReply, parse_json_reply
from memolith.prompts.schemas import build_object_schema
from memolith.text.cleaning import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE_MEMORY_MAX_WORDS = 400
"""Of the document (`tiers`, section 4.2)."""

BASE_MEMORY_MAX_TOKENS = 1_536
"""400 words of a language of long words, and the JSON around them."""

BASE_MEMORY_SECTIONS = {
    "user_profile": "User Profile",
    "preferences": "Preferences",
    "ongoing_topics": "Ongoing Topics",
    "key_history": "Key History",
}
"""What the reply calls a section, and what the document does, in its order."""

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
- At most {BASE_MEMORY_MAX_WORDS} words in all. Short notes, the most important first in each section.
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
        old: As it stands; empty where there is none.
        summaries: What it does not know yet, oldest first.
        facts: What is known best of the user besides.
        nonce: See `fenced`.
    """
    given = [
        fence(current or _EMPTY_LIST_TEXT, nonce, "DOCUMENT"),
        fence(_format_list(summaries), nonce, "NEW SUMMARIES"),
        fence(_format_list(facts), nonce, "FACTS"),
        "Rewrite the document, as JSON.",
    ]
    return Prompt(
        messages=(
            ChatMessage("system", _BASE_MEMORY_RULES),
            ChatMessage("user", "\n\n".join(given)),
        ),
        schema=_BASE_MEMORY_SCHEMA,
        max_tokens=BASE_MEMORY_MAX_TOKENS,
        purpose="base memory",
    )


def parse_base_memory(text: str) -> str:
    """Return the document of a reply: a heading and its notes for each section that has any.

    What it says, and how long it is, is checked elsewhere.

    Raises:
        BadReply: It has another form, or no note.
    """
    given = parse_json_reply(text, _BaseMemoryReply)
    blocks = [
        "\n".join([f"{heading}:", *(f"- {note}" for note in notes)])
        for name, heading in BASE_MEMORY_SECTIONS.items()
        if (notes := _parse_notes(getattr(given, name)))
    ]
    if not blocks:
        raise InvalidReply("holds no note")
    return "\n\n".join(blocks)


class _BaseMemoryReply(msgspec.Struct):
    user_profile: list[str]
    preferences: list[str]
    ongoing_topics: list[str]
    key_history: list[str]


def _parse_notes(given: Sequence[str]) -> list[str]:
    """Return notes of one line each, none empty, none twice."""
    notes = (_BULLET.sub("", " ".join(clean_text(note).split())) for note in given)
    return list(dict.fromkeys(filter(None, notes)))


def _format_list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or _EMPTY_LIST_TEXT
