"""Write your own profile from the policies of existing profiles.

A field log: three kinds of notes, no duplicates, no forgetting, and the newest notes first in
prompts.

Run: python own_profile.py
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memolith import Memolith
from memolith.domain.recall import Recalled
from memolith.policies.forgetting import Unfading
from memolith.policies.judging import FixedJudging
from memolith.policies.learning import SentencesLearned
from memolith.policies.merging import SameWords
from memolith.policies.ranking.standard import StandardRanking
from memolith.policies.rendering.defusing import defuse
from memolith.policies.rendering.model import Material
from memolith.profiles.model import Profile


@dataclass(frozen=True, slots=True)
class LogRendering:
    """Render one line for each note, newest first, within the budget."""

    def render(
        self, material: Material, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[Recalled, ...]]:
        """Return the text and the results in it."""
        newest_first = sorted(material.results, key=lambda one: one.id, reverse=True)
        shown: list[Recalled] = []
        text = ""
        for result in newest_first:
            longer = f"{text}{result.kind}: {defuse(result.text)}\n"
            if count([longer])[0] <= budget:
                text = longer
                shown.append(result)
        return text, tuple(shown)


FIELD_LOG = Profile(
    name="field-log",
    kinds=("sighting", "weather", "gear"),
    standard_kinds={"sighting": "event", "weather": "context", "gear": "fact"},
    own_kinds={"fact": "sighting", "event": "sighting", "context": "weather"},
    judging=FixedJudging("sighting"),
    learning=SentencesLearned(),
    merging=SameWords(),
    ranking=StandardRanking(),
    forgetting=Unfading(),
    rendering=LogRendering(),
    told="notes in the field",
)

with Memolith.open(":memory:", profile=FIELD_LOG) as memory:
    log = memory.owner("ines")
    log.remember("A pair of kingfishers at the weir")
    log.remember("Fog until ten, then sun", kind="weather")
    log.remember("A pair of kingfishers at the weir.")
    print(log.context("which birds were at the weir?"))
    print(log.switch_profile("standard").kinds)
