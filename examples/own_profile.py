"""Write your own profile from the policies of existing profiles.

A field log: three kinds of notes, no duplicates, no forgetting, and the newest notes first in
prompts.

Run: python own_profile.py
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memolith import Memolith
from memolith.domain.recall import RecalledItem
from memolith.policies.classification import FixedClassifier
from memolith.policies.decay import NoDecay
from memolith.policies.learning import SentenceLearning
from memolith.policies.merging import SameTextMerging
from memolith.policies.ranking.standard import StandardRanking
from memolith.policies.rendering.layout import RenderInput, escape_text
from memolith.profiles.model import Profile


@dataclass(frozen=True, slots=True)
class LogRendering:
    """Render one line for each note, newest first, within the budget."""

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it."""
        newest_first = sorted(material.results, key=lambda one: one.id, reverse=True)
        shown: list[RecalledItem] = []
        text = ""
        for result in newest_first:
            longer = f"{text}{result.kind}: {escape_text(result.text)}\n"
            if count([longer])[0] <= budget:
                text = longer
                shown.append(result)
        return text, tuple(shown)


FIELD_LOG = Profile(
    name="field-log",
    kinds=("sighting", "weather", "gear"),
    standard_kinds={"sighting": "event", "weather": "context", "gear": "fact"},
    own_kinds={"fact": "sighting", "event": "sighting", "context": "weather"},
    classifier=FixedClassifier("sighting"),
    learning=SentenceLearning(),
    merging=SameTextMerging(),
    ranking=StandardRanking(),
    decay=NoDecay(),
    rendering=LogRendering(),
    description="notes in the field",
)

with Memolith.open(":memory:", profile=FIELD_LOG) as memory:
    log = memory.owner("ines")
    log.remember("A pair of kingfishers at the weir")
    log.remember("Fog until ten, then sun", kind="weather")
    log.remember("A pair of kingfishers at the weir.")
    print(log.context("which birds were at the weir?"))
    print(log.switch_profile("standard").kinds)
