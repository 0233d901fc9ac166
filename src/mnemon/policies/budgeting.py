"""What a text costs in a prompt."""

from __future__ import annotations

import math

PROMPT_FACTOR = 1.1
"""Word pieces of the local tokenizer to tokens of a chat model: a tenth more, to be safe."""


def prompt_tokens(pieces: int) -> int:
    """Return what that many word pieces cost in a prompt."""
    return math.ceil(pieces * PROMPT_FACTOR)
