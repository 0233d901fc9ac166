"""Which memories are not worth keeping: fragments, filler and echoes, by their text alone.

By words and their order, no model and no parse. Where in doubt a memory is worth keeping: what is
named here is to be junk, not all junk is named.
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
    """What a memory is that is not worth keeping."""

    DUPLICATE = "duplicate"
    FRAGMENT = "fragment"
    FILLER = "filler"
    ECHO = "echo"


def classify_junk(
    text: str, *, has_key: bool = False, by_user: bool = False
) -> dict[JunkKind, str]:
    """Return what a memory's text is, and why; empty where it is worth keeping.

    Args:
        text: The memory's.
        keyed: Whether it has a key, which says what it is about: then it is no fragment.
        by_user: Whether it is known to be the user's own words: then nothing in them is taken for
            an assistant's or a program's.
    """
    said = _strip_speaker_labels(text)
    found: dict[JunkKind, str] = {}
    name = classify_filler(said)
    if name is None and not by_user and is_reply(text):
        name = "reply"
    if name is not None:
        found[JunkKind.FILLER] = name
    if (echo := _find_echo(text, by_user=by_user)) is not None:
        found[JunkKind.ECHO] = echo
    if (
        not found
        and not has_key
        and said is text
        and (piece := find_fragment_reason(text)) is not None
    ):
        found[JunkKind.FRAGMENT] = piece
    return found


def _strip_speaker_labels(text: str) -> str:
    """Return what an exchange says, without the marks of who speaks; other texts as they are."""
    if not text.startswith(QUESTION_LABEL):
        return text
    return text.removeprefix(QUESTION_LABEL).replace(f"\n{ANSWER_LABEL}", "\n")


def _find_echo(text: str, *, by_user: bool) -> str | None:
    if strip_context(text) != text or _MEMORY_LIST.search(text) or _MEMORY_TAG.search(text):
        return "memory as a prompt shows it"
    if (
        text.startswith(QUOTED_LABEL)
        or _KIND_TAG.match(text)
        or text.endswith(tuple(CLAIM_NOTES.values()))
    ):
        return "memory as a prompt shows it"
    if by_user:
        return None
    if is_model_instruction(text):
        return "order to a model"
    return "what is remembered, told back" if is_recollection(text) else None
