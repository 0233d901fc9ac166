"""`standard`: verbatim episodes and typed memories, hybrid search, nothing destroyed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memolith.domain.memories import Origin
from memolith.policies.classification import CueClassifier
from memolith.policies.consolidation import (
    LONG_CASCADE,
    ConsolidationPolicy,
    ConversationSummaryPolicy,
)
from memolith.policies.decay import DecayParameters, EbbinghausDecay
from memolith.policies.extraction import STANDARD_SCHEMA
from memolith.policies.learning import SentenceLearning
from memolith.policies.merging import SameTextMerging
from memolith.policies.ranking.relevance_fitted import FITTED as RELEVANCE
from memolith.policies.ranking.standard import StandardRanking
from memolith.policies.rendering.formats import SectionedRendering
from memolith.policies.supersession.arbiter import GrammarSupersession
from memolith.profiles.model import Profile

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

DECAY_PARAMETERS = {
    "correction": DecayParameters(0.50, 0.35),
    "identity": DecayParameters(0.50, 0.35),
    "fact": DecayParameters(0.70, 0.30),
    "preference": DecayParameters(0.80, 0.25),
    "project": DecayParameters(0.80, 0.10),
    "event": DecayParameters(0.70, 0.10),
    "summary": DecayParameters(0.70, 0.20),
    "context": DecayParameters(1.00, 0.00),
    "tool_result": DecayParameters(1.00, 0.00),
}


EXTERNAL_KINDS = MappingProxyType(
    {Origin.TOOL: "tool_result", Origin.DOCUMENT: "context"},
)
"""A text from outside that speaks of the user says nothing sure of them."""


def standard(
    decay_factor: float = DECAY_FACTOR,
    decay_parameters: Mapping[str, DecayParameters] = MappingProxyType(DECAY_PARAMETERS),
) -> Profile:
    """Return the profile: what is left of a memory after a day, and how each kind fades."""
    return Profile(
        name="standard",
        description="always, unless one below is what you need",
        kinds=tuple(HEADINGS),
        classifier=CueClassifier(),
        learning=SentenceLearning(),
        extraction=STANDARD_SCHEMA,
        consolidation=ConsolidationPolicy(
            conversations=ConversationSummaryPolicy(),
            summaries=LONG_CASCADE,
            kind="summary",
            runs_without_model=False,
        ),
        merging=SameTextMerging(),
        supersession=GrammarSupersession(),
        ranking=StandardRanking(),
        relevance_by_embedder=RELEVANCE,
        decay=EbbinghausDecay(decay_factor, decay_parameters),
        rendering=SectionedRendering(HEADINGS),
        recalls_messages=True,
        merges_duplicates=True,
        external_kinds=EXTERNAL_KINDS,
    )
