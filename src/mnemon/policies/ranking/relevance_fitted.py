"""The weights of relevance, as fitted by `make bench-recall ARGS="--nothing --fit"`.

Do not edit. 2026-11-22, on locomo-dev.json and beam-dev.json.
"""

from collections.abc import Mapping
from types import MappingProxyType

from mnemon.policies.ranking.relevance import Relevance

FITTED: Mapping[str, Relevance] = MappingProxyType(
    {
        "all-MiniLM-L6-v2": Relevance(
            constant=-2.90,
            nearness=14.07,
            words=3.57,
            extent=-1.49,
            said=-0.33,
            ahead=2.57,
        ),
    }
)
