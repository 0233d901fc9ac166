"""Detect junk memories by their text alone: fragments, filler and echoes.

The rules use words and word order, without a model or a parser. They aim at precision: text in
doubt is not junk.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memolith.policies.context_echo import strip_context
from memolith.policies.fragments import find_fragment_reason
from memolith.policies.learning import ANSWER_LABEL, QUESTION_LABEL
from memolith.policies.rendering.layout import CLAIM_NOTES, QUOTED_LABEL
from memolith.text.filler import classify_filler, is_model_instruction, is_recollection, is_reply

_MEMORY_LIST = re.compile(
    r"(?:^|\n)\W{0,6}(?:(?:user|relevant|known|recalled|retrieved|your|my|previous|saved|stored"
    r"|long[- ]term|past|the|bekannte|relevante|gespeicherte) ){0,3}"
    r"(?:memor(?:y|ies)|memory context|erinnerungen)"
    r"(?: (?:of|about|from|über|von) [\w' ]{1,40})?\W{0,4}\n\s*(?:[-*•]|\d{1,2}[.)]) ",
    re.IGNORECASE,
)
_MEMORY_TAG = re.compile(
    r"</?(?:(?:relevant|user|recalled|retrieved|long[-_]?term|core|archival)[-_])?"
    r"(?:memor(?:y|ies)|memory[-_]context)\b[^<>\n]{0,80}>",
    re.IGNORECASE,
)
_KIND_TAG = re.compile(r"\[(?:WORKING|SEMANTIC|EPISODIC|PROCEDURAL)\] \S")


class JunkKind(StrEnum):
    """Why a memory is not worth keeping."""

    DUPLICATE = "duplicate"
    FRAGMENT = "fragment"
    FILLER = "filler"
    ECHO = "echo"


def classify_junk(
    text: str, *, has_key: bool = False, by_user: bool = False
) -> dict[JunkKind, str]:
    """Return the kinds of junk that a memory's text is, with reasons; empty if none.

    Args:
        text: The memory's text.
        has_key: Whether the memory has a key, which states its subject: then it is not a fragment.
        by_user: Whether the words are known to be the user's: then they are not attributed to an
            assistant or a program.
    """
    content = _strip_speaker_labels(text)
    reasons: dict[JunkKind, str] = {}
    name = classify_filler(content)
    if name is None and not by_user and is_reply(text):
        name = "reply"
    if name is not None:
        reasons[JunkKind.FILLER] = name
    if (echo := _find_echo(text, by_user=by_user)) is not None:
        reasons[JunkKind.ECHO] = echo
    if (
        not reasons
        and not has_key
        and content is text
        and (piece := find_fragment_reason(text)) is not None
    ):
        reasons[JunkKind.FRAGMENT] = piece
    return reasons


def _strip_speaker_labels(text: str) -> str:
    """Return the text of a learned exchange without its speaker labels; other text unchanged."""
    if not text.startswith(QUESTION_LABEL):
        return text
    return text.removeprefix(QUESTION_LABEL).replace(f"\n{ANSWER_LABEL}", "\n")


def _find_echo(text: str, *, by_user: bool) -> str | None:
    if strip_context(text) != text or _MEMORY_LIST.search(text) or _MEMORY_TAG.search(text):
        return "rendered memory context"
    if (
        text.startswith(QUOTED_LABEL)
        or _KIND_TAG.match(text)
        or text.endswith(tuple(CLAIM_NOTES.values()))
    ):
        return "rendered memory context"
    if by_user:
        return None
    if is_model_instruction(text):
        return "instruction to a model"
    return "recollection of an assistant" if is_recollection(text) else None
