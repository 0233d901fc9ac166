from __future__ import annotations

from memolith.policies.rendering.layout import estimate_prompt_tokens


def test_a_prompt_costs_a_tenth_more_than_its_pieces() -> None:
    assert [estimate_prompt_tokens(pieces) for pieces in (0, 1, 11, 100)] == [0, 2, 13, 111]
