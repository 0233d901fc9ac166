"""`companion`: typed memories learned by cues with no model, Ebbinghaus forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memolith.domain.memories import Origin
from memolith.policies.classification import CueClassifier, get_companion_kind
from memolith.policies.decay import DecayParameters, EbbinghausDecay
from memolith.policies.learning import ExchangeLearning
from memolith.policies.merging import SimilarityMerging
from memolith.policies.ranking.weighted import FreshnessRanking
from memolith.policies.rendering.formats import PriorityRendering
from memolith.profiles.model import Profile

DECAY_PARAMETERS = {
    "correction": DecayParameters(0.50, 0.35),
    "fact": DecayParameters(0.70, 0.30),
    "preference": DecayParameters(0.80, 0.25),
    "context": DecayParameters(1.00, 0.10),
    "tool_result": DecayParameters(1.00, 0.10),
}
"""How each kind fades; by priority."""

KINDS = tuple(DECAY_PARAMETERS)

_OWN_KINDS = {
    "correction": "correction",
    "identity": "fact",
    "preference": "preference",
    "fact": "fact",
    "project": "fact",
    "event": "fact",
    "context": "context",
    "tool_result": "tool_result",
    "summary": "context",
}

EXTERNAL_KINDS = MappingProxyType({Origin.TOOL: "tool_result", Origin.DOCUMENT: "context"})
"""A text from outside that speaks of the user says nothing sure of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanionSettings:
    """The numbers of the profile; the defaults are its own.

    Attributes:
        rag_threshold: The similarity under which nothing is recalled.
        merge_threshold: The similarity over which memories are merged.
        min_importance: The strength under which a cleanup lets memories fade.
        decay_factor: What is left of a strength after a day without use.
        rag_limit: How many memories are recalled, or stand in a prompt, where it is not said.
        context_chars: The longest prompt text, in characters.
        similarity_weight: What likeness weighs in recall.
        importance_weight: What strength weighs.
        freshness_weight: What freshness weighs.
        fadings: How each kind fades.
    """

    rag_threshold: float = 0.5
    merge_threshold: float = 0.85
    min_importance: float = 0.1
    decay_factor: float = 0.95
    rag_limit: int = 5
    context_chars: int = 2_000
    similarity_weight: float = 0.5
    importance_weight: float = 0.2
    freshness_weight: float = 0.3
    decay_parameters: Mapping[str, DecayParameters] = field(
        default_factory=lambda: MappingProxyType(DECAY_PARAMETERS)
    )


def companion(settings: CompanionSettings = CompanionSettings()) -> Profile:
    """Return the profile with these numbers."""
    judging = CueClassifier(get_companion_kind)
    return Profile(
        name="companion",
        description="a personal assistant that must not call a model to learn",
        kinds=KINDS,
        standard_kinds=MappingProxyType({kind: kind for kind in KINDS}),
        own_kinds=MappingProxyType(_OWN_KINDS),
        classifier=judging,
        learning=ExchangeLearning(judging),
        merging=SimilarityMerging(KINDS, settings.merge_threshold),
        ranking=FreshnessRanking(
            floor=settings.rag_threshold,
            similarity=settings.similarity_weight,
            strength=settings.importance_weight,
            freshness=settings.freshness_weight,
        ),
        decay=EbbinghausDecay(settings.decay_factor, settings.decay_parameters),
        rendering=PriorityRendering(KINDS, settings.context_chars),
        external_kinds=EXTERNAL_KINDS,
        cleanup_threshold=settings.min_importance,
        default_top_k=settings.rag_limit,
    )
