"""Which memories are not worth keeping: fragments, filler and echoes, by their text alone.

By words and their order, no model and no parse. Where in doubt a memory is worth keeping: what is
named here is to be junk, not all junk is named.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memolith.policies.echoes import without_context
from memolith.policies.exchanges import ANSWER, QUESTION
from memolith.policies.fragments import fragment
from memolith.policies.rendering.defusing import QUOTED
from memolith.policies.rendering.lines import CLAIMS
from memolith.text.hollow import filler, is_order, is_recalling, is_reply

_LIST = re.compile(
    r"(?:^|\n)\W{0,6}(?:(?:user|relevant|known|recalled|retrieved|your|my|previous|saved|stored"
    r"|long[- ]term|past|the|bekannte|relevante|gespeicherte) ){0,3}"
    r"(?:memor(?:y|ies)|memory context|erinnerungen)"
    r"(?: (?:of|about|from|über|von) [\w' ]{1,40})?\W{0,4}\n\s*(?:[-*•]|\d{1,2}[.)]) ",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"</?(?:(?:relevant|user|recalled|retrieved|long[-_]?term|core|archival)[-_])?"
    r"(?:memor(?:y|ies)|memory[-_]context)\b[^<>\n]{0,80}>",
    re.IGNORECASE,
)
_KIND = re.compile(r"\[(?:WORKING|SEMANTIC|EPISODIC|PROCEDURAL)\] \S")


class Judgement(StrEnum):
    """What a memory is that is not worth keeping."""

    DUPLICATE = "duplicate"
    FRAGMENT = "fragment"
    FILLER = "filler"
    ECHO = "echo"


def judged(text: str, *, keyed: bool = False, by_user: bool = False) -> dict[Judgement, str]:
    """Return what a memory's text is, and why; empty where it is worth keeping.

    Args:
        text: The memory's.
        keyed: Whether it has a key, which says what it is about: then it is no fragment.
        by_user: Whether it is known to be the user's own words: then nothing in them is taken for
            an assistant's or a program's.
    """
    said = _said(text)
    found: dict[Judgement, str] = {}
    name = filler(said)
    if name is None and not by_user and is_reply(text):
        name = "reply"
    if name is not None:
        found[Judgement.FILLER] = name
    if (echo := _echo(text, by_user=by_user)) is not None:
        found[Judgement.ECHO] = echo
    if not found and not keyed and said is text and (piece := fragment(text)) is not None:
        found[Judgement.FRAGMENT] = piece
    return found


def _said(text: str) -> str:
    """Return what an exchange says, without the marks of who speaks; other texts as they are."""
    if not text.startswith(QUESTION):
        return text
    return text.removeprefix(QUESTION).replace(f"\n{ANSWER}", "\n")


def _echo(text: str, *, by_user: bool) -> str | None:
    if without_context(text) != text or _LIST.search(text) or _TAG.search(text):
        return "memory as a prompt shows it"
    if text.startswith(QUOTED) or _KIND.match(text) or text.endswith(tuple(CLAIMS.values())):
        return "memory as a prompt shows it"
    if by_user:
        return None
    if is_order(text):
        return "order to a model"
    return "what is remembered, told back" if is_recalling(text) else None
