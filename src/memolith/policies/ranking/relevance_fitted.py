"""The weights of relevance, as fitted by `make bench-recall ARGS="--nothing --fit"`.

Do not edit. 2026-11-22, on locomo-dev.json and beam-dev.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memolith.policies.ranking.relevance import Relevance

FITTED: Mapping[str, Relevance] = MappingProxyType(
    {
        "all-MiniLM-L6-v2": Relevance(
            constant=-4.08,
            nearness=13.59,
            words=4.84,
            extent=-1.19,
            speaker_constant=-0.33,
            speaker_lead=2.57,
        ),
    }
)
