"""`standard`: verbatim episodes and typed memories, hybrid search, nothing destroyed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from memolith.domain.memories import Origin
from memolith.policies.changing.arbiter import GrammarArbiter
from memolith.policies.condensing import Condensing, Conversations
from memolith.policies.dialects import STANDARD
from memolith.policies.forgetting import Ebbinghaus, Fading
from memolith.policies.judging import CueJudging
from memolith.policies.learning import SentencesLearned
from memolith.policies.merging import SameWords
from memolith.policies.ranking.relevance_fitted import FITTED as RELEVANCE
from memolith.policies.ranking.standard import StandardRanking
from memolith.policies.rendering.standard import SectionedRendering
from memolith.policies.triggers import LONG_CASCADE
from memolith.profiles.model import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

DECAY_FACTOR = 0.95

HEADINGS = {
    "correction": "Corrections",
    "identity": "About the user",
    "preference": "Preferences",
    "fact": "Facts",
    "project": "Projects",
    "event": "Events",
    "summary": "Summaries",
    "context": "Context",
    "tool_result": "Tool results",
}

FADINGS = {
    "correction": Fading(0.50, 0.35),
    "identity": Fading(0.50, 0.35),
    "fact": Fading(0.70, 0.30),
    "preference": Fading(0.80, 0.25),
    "project": Fading(0.80, 0.10),
    "event": Fading(0.70, 0.10),
    "summary": Fading(0.70, 0.20),
    "context": Fading(1.00, 0.00),
    "tool_result": Fading(1.00, 0.00),
}


OUTSIDE_KINDS = MappingProxyType(
    {Origin.TOOL: "tool_result", Origin.DOCUMENT: "context"},
)
"""A text from outside that speaks of the user says nothing sure of them."""


def standard(
    decay_factor: float = DECAY_FACTOR, fadings: Mapping[str, Fading] = MappingProxyType(FADINGS)
) -> Profile:
    """Return the profile: what is left of a memory after a day, and how each kind fades."""
    return Profile(
        name="standard",
        told="always, unless one below is what you need",
        kinds=tuple(HEADINGS),
        judging=CueJudging(),
        learning=SentencesLearned(),
        extraction=STANDARD,
        condensing=Condensing(
            conversations=Conversations(),
            summaries=LONG_CASCADE,
            kind="summary",
            without_model=False,
        ),
        merging=SameWords(),
        arbiter=GrammarArbiter(),
        ranking=StandardRanking(),
        relevance=RELEVANCE,
        forgetting=Ebbinghaus(decay_factor, fadings),
        rendering=SectionedRendering(HEADINGS),
        episodes=True,
        folds=True,
        outside_kinds=OUTSIDE_KINDS,
    )
