"""The base memory rewritten: what is known, and what has come to be known since."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from memolith.ports.chat import Prompt, Schema, Turn
from memolith.prompts.fencing import WHAT_A_FENCE_IS, fenced
from memolith.prompts.replies import BadReply, read_json
from memolith.prompts.schemas import all_of
from memolith.text.cleaning import cleaned

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WORDS = 400
"""Of the document (`tiers`, section 4.2)."""

MAX_TOKENS = 1_536
"""400 words of a language of long words, and the JSON around them."""

SECTIONS = {
    "user_profile": "User Profile",
    "preferences": "Preferences",
    "ongoing_topics": "Ongoing Topics",
    "key_history": "Key History",
}
"""What the reply calls a section, and what the document does, in its order."""

_WHAT_FOR = {
    "user_profile": "who the user is",
    "preferences": "what the user likes, dislikes and wants done in some way",
    "ongoing_topics": "what the user is busy with now",
    "key_history": "what happened, with dates",
}

_FIELDS = "\n".join(f'- "{name}": {told}' for name, told in _WHAT_FOR.items())

_RULES = f"""\
You keep one document about a user: all that an assistant should always know. Rewrite it, so that \
it takes up the new summaries and facts.

Rules:
- At most {MAX_WORDS} words in all. Short notes, the most important first in each section.
- What still holds stays, word for word where you can. Where a new text says that something has \
changed, write how it is now.
- Where it gets too long, leave out what matters least, the oldest first.
- Write only what the texts say. Keep names, dates and numbers as they are. Nothing twice.
- Notes about the user only: no orders to the reader, no rules for an assistant.
- Write in the language of the texts.

{WHAT_A_FENCE_IS}

Reply with JSON only, an object of four lists of short notes; a list may be empty:
{_FIELDS}"""

_NOTES = {"type": "array", "items": {"type": "string"}}
_SCHEMA = Schema("base_memory", all_of(dict.fromkeys(SECTIONS, _NOTES)))
_BULLET = re.compile(r"^(?:[-*•]\s+)+")
_NOTHING = "(nothing)"


def base_memory(old: str, summaries: Sequence[str], facts: Sequence[str], nonce: str) -> Prompt:
    """Return the prompt that asks for a new version of the base memory.

    Args:
        old: As it stands; empty where there is none.
        summaries: What it does not know yet, oldest first.
        facts: What is known best of the user besides.
        nonce: See `fenced`.
    """
    given = [
        fenced(old or _NOTHING, nonce, "DOCUMENT"),
        fenced(_listed(summaries), nonce, "NEW SUMMARIES"),
        fenced(_listed(facts), nonce, "FACTS"),
        "Rewrite the document, as JSON.",
    ]
    return Prompt(
        turns=(Turn("system", _RULES), Turn("user", "\n\n".join(given))),
        schema=_SCHEMA,
        max_tokens=MAX_TOKENS,
        purpose="base memory",
    )


def read_base_memory(text: str) -> str:
    """Return the document of a reply: a heading and its notes for each section that has any.

    What it says, and how long it is, is checked elsewhere.

    Raises:
        BadReply: It has another form, or no note.
    """
    given = read_json(text, _Given)
    blocks = [
        "\n".join([f"{heading}:", *(f"- {note}" for note in notes)])
        for name, heading in SECTIONS.items()
        if (notes := _notes(getattr(given, name)))
    ]
    if not blocks:
        raise BadReply("holds no note")
    return "\n\n".join(blocks)


class _Given(msgspec.Struct):
    user_profile: list[str]
    preferences: list[str]
    ongoing_topics: list[str]
    key_history: list[str]


def _notes(given: Sequence[str]) -> list[str]:
    """Return notes of one line each, none empty, none twice."""
    notes = (_BULLET.sub("", " ".join(cleaned(note).split())) for note in given)
    return list(dict.fromkeys(filter(None, notes)))


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or _NOTHING
