from __future__ import annotations

from memolith.policies.rendering.layout import estimate_prompt_tokens


def test_prompt_estimate_adds_ten_percent_to_pieces() -> None:
    assert [estimate_prompt_tokens(pieces) for pieces in (0, 1, 11, 100)] == [0, 2, 13, 111]
