"""The `standard` profile: verbatim episodes, typed memories and hybrid search.

It deletes nothing: strength affects ranking only slightly, and old memories remain recallable.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from memolith.domain.memories import Origin
from memolith.policies.classification import CueClassifier
from memolith.policies.consolidation import (
    Cascade,
    ConsolidationPolicy,
    ConversationSummaryPolicy,
)
from memolith.policies.decay import EbbinghausDecay
from memolith.policies.extraction import STANDARD_SCHEMA
from memolith.policies.learning import SentenceLearning
from memolith.policies.merging import SameTextMerging
from memolith.policies.ranking.relevance_fitted import FITTED as RELEVANCE
from memolith.policies.ranking.standard import StandardRanking
from memolith.policies.rendering.formats import SectionedRendering
from memolith.policies.supersession.arbiter import GrammarSupersession
from memolith.profiles.model import Profile
from memolith.profiles.settings import (
    DEFAULT_TOP_K,
    DecayFactor,
    DecayModifier,
    Share,
    describe,
    describe_floor,
    describe_modifier,
    get_decay_parameters,
)

_SUMMARIES = Cascade(threshold=20, keep=10)
"""Summaries merged into the base memory; the values are those of `tiers`."""

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


EXTERNAL_KINDS = MappingProxyType(
    {Origin.TOOL: "tool_result", Origin.DOCUMENT: "context"},
)
"""The kind of external text that makes claims about the user, by origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardSettings:
    """Settings of the `standard` profile: `[memory.standard]`."""

    decay_factor: Annotated[
        DecayFactor, describe("share of strength left after a day without use")
    ] = 0.95
    correction_decay_modifier: Annotated[DecayModifier, describe_modifier("corrections")] = 0.5
    correction_importance_floor: Annotated[Share, describe_floor("corrections")] = 0.35
    identity_decay_modifier: Annotated[DecayModifier, describe_modifier("identity facts")] = 0.5
    identity_importance_floor: Annotated[Share, describe_floor("identity facts")] = 0.35
    preference_decay_modifier: Annotated[DecayModifier, describe_modifier("preferences")] = 0.8
    preference_importance_floor: Annotated[Share, describe_floor("preferences")] = 0.25
    fact_decay_modifier: Annotated[DecayModifier, describe_modifier("facts")] = 0.7
    fact_importance_floor: Annotated[Share, describe_floor("facts")] = 0.3
    project_decay_modifier: Annotated[DecayModifier, describe_modifier("project facts")] = 0.8
    project_importance_floor: Annotated[Share, describe_floor("project facts")] = 0.1
    event_decay_modifier: Annotated[DecayModifier, describe_modifier("events")] = 0.7
    event_importance_floor: Annotated[Share, describe_floor("events")] = 0.1
    context_decay_modifier: Annotated[DecayModifier, describe_modifier("temporary context")] = 1.0
    context_importance_floor: Annotated[Share, describe_floor("temporary context")] = 0.0
    tool_result_decay_modifier: Annotated[DecayModifier, describe_modifier("tool results")] = 1.0
    tool_result_importance_floor: Annotated[Share, describe_floor("tool results")] = 0.0
    summary_decay_modifier: Annotated[DecayModifier, describe_modifier("summaries")] = 0.7
    summary_importance_floor: Annotated[Share, describe_floor("summaries")] = 0.2


def standard(
    settings: StandardSettings = StandardSettings(), top_k: int = DEFAULT_TOP_K
) -> Profile:
    """Return the profile, configured by `settings`."""
    del top_k
    return Profile(
        name="standard",
        description="always, unless one below is what you need",
        kinds=tuple(HEADINGS),
        classifier=CueClassifier(),
        learning=SentenceLearning(),
        extraction=STANDARD_SCHEMA,
        consolidation=ConsolidationPolicy(
            conversations=ConversationSummaryPolicy(),
            summaries=_SUMMARIES,
            kind="summary",
            runs_without_model=False,
        ),
        merging=SameTextMerging(),
        supersession=GrammarSupersession(),
        ranking=StandardRanking(),
        relevance_by_embedder=RELEVANCE,
        decay=EbbinghausDecay(settings.decay_factor, get_decay_parameters(settings, HEADINGS)),
        rendering=SectionedRendering(HEADINGS),
        recalls_messages=True,
        merges_duplicates=True,
        external_kinds=EXTERNAL_KINDS,
    )
