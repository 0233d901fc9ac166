"""Cutting a list of texts into batches that a service takes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def iter_batches(texts: Sequence[str], max_texts: int, max_chars: int) -> Iterator[Sequence[str]]:
    """Yield texts in their order, in batches of at most `most` texts and `chars` characters.

    A text that is longer than that by itself is a batch of its own.

    Args:
        texts: What is to be batched.
        most: From 1.
        chars: From 1.
    """
    first, size = 0, 0
    for place, text in enumerate(texts):
        if place > first and (place - first == max_texts or size + len(text) > max_chars):
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]
