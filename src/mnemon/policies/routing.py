"""Routing: which kind of the profile `chunks` a text is, where the caller does not say."""

from __future__ import annotations

from mnemon.domain.memories import Origin
from mnemon.text.signs import is_about_now, is_statement, tells_preference

WORKING = "working"
SEMANTIC = "semantic"
EPISODIC = "episodic"
PROCEDURAL = "procedural"
KINDS = (PROCEDURAL, SEMANTIC, EPISODIC, WORKING)
"""In the order in which they are rendered."""


def route(text: str, *, origin: Origin) -> str:
    """Return the kind of a text: the first rule that holds.

    A preference is procedural; what is about now or this session is working; a statement of a
    subject, a predicate and an object is semantic; else episodic. Nobody but the user has
    preferences here: of any other origin "I always …" is semantic.
    """
    if tells_preference(text):
        return allowed(PROCEDURAL, origin)
    if is_about_now(text):
        return WORKING
    return SEMANTIC if is_statement(text) else EPISODIC


def allowed(kind: str, origin: Origin) -> str:
    """Return the kind that a text of that origin may have: semantic instead of procedural."""
    return SEMANTIC if kind == PROCEDURAL and origin is not Origin.USER else kind
