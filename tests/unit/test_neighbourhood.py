from __future__ import annotations

import sys
from types import FrameType

from memolith import Memolith
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.rows import check_each


@check_each("profile", ["standard", "companion", "facts", "tiers"])
def test_what_is_near_to_a_new_memory_is_searched_once(profile: str) -> None:
    searches: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name == "nearest" and code.co_filename.endswith("/noted.py"):
            searches.append(event)

    opened = Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), profile=profile
    )
    with opened as memory:
        memory.remember("The tide gauge at Wurzen reads eleven metres", owner="a")
        sys.setprofile(note)
        try:
            memory.remember("Plants tomatoes on the balcony every April", owner="a")
        finally:
            sys.setprofile(None)
        assert memory.list(owner="a").total == 2
    assert len(searches) == 1
