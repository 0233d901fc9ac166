"""Routing: which kind of the profile `chunks` a text is, where the caller does not say."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.domain.memories import Origin
from memolith.policies.salience import compute_importance, compute_salience, find_signals
from memolith.text.signs import has_preference, is_about_now, is_statement

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
    if has_preference(text):
        return restrict_kind(PROCEDURAL, origin)
    if is_about_now(text):
        return WORKING
    return SEMANTIC if is_statement(text) else EPISODIC


def restrict_kind(kind: str, origin: Origin) -> str:
    """Return the kind that a text of that origin may have: semantic instead of procedural."""
    return SEMANTIC if kind == PROCEDURAL and origin is not Origin.USER else kind


@dataclass(frozen=True, slots=True)
class RoutingClassifier:
    """`chunks`: the kind by routing; the importance of what is told by itself, as if all new."""

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind that `route` makes of a text."""
        return route(text, origin=origin)

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return that, and 0.6 and 0.4 of the salience: of technical terms their shape counts."""
        return self.get_kind(text, origin), compute_importance(
            1.0, compute_salience(find_signals(text, tokens=0))
        )
