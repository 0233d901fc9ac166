"""How a text goes into the index: what is embedded of it, and by which keywords it is found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memolith.domain.messages import Role, get_role
from memolith.text.analysis import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_TOKENS = 128
"""A message shares its keywords' window with the one before it where both fit in this. Measured:
a turn alone is often meaningless ("Yes, last week!"), and an unbounded window halves recall on
long answers."""


def proper_name(speaker: str | None) -> str | None:
    """Return a speaker's name; None where there is none, or only a role ("user", "assistant")."""
    if not speaker or get_role(speaker, owner_id="") is not Role.PARTICIPANT:
        return None
    return speaker


def build_embedded_text(speaker: str | None, passage: str) -> str:
    """Return what is embedded of a passage: with its speaker's name in front, if there is one."""
    name = proper_name(speaker)
    return f"{name}: {passage}" if name else passage


def count_passage_terms(speaker: str | None, passage: str) -> Mapping[str, int]:
    """Return the keywords of a passage and how often each stands in it.

    The speaker's name is among them, so that a name finds what was said under it.
    """
    return Counter([*terms(passage), *terms(proper_name(speaker) or "")])


def add_key_terms(text_terms: Mapping[str, int], key: str | None) -> Mapping[str, int]:
    """Return the keywords of a passage with those of a key that finds it too."""
    return Counter(text_terms) + Counter(terms(key)) if key else text_terms


def remove_key_terms(text_terms: Mapping[str, int], key: str) -> Mapping[str, int]:
    """Return what `keyed_terms` made more of."""
    return Counter(text_terms) - Counter(terms(key))


def add_window_terms(
    text_terms: Mapping[str, int],
    text_tokens: int,
    previous: Mapping[str, int],
    previous_tokens: int,
) -> Mapping[str, int]:
    """Return a message's keywords with those of the message before it, where both fit.

    Only for two messages of a single passage each.
    """
    if text_tokens + previous_tokens > WINDOW_TOKENS:
        return text_terms
    return Counter(text_terms) + Counter(previous)
