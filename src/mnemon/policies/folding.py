"""Telling when one text says all that another says, so that only one need be shown."""

from __future__ import annotations

from mnemon.text.normal import content_key
from mnemon.text.sentences import sentences


def sentence_keys(text: str) -> frozenset[str]:
    """Return the normal forms of a text's sentences.

    A text whose sentences all stand in another, as whole sentences, adds nothing to it. Nearness
    in meaning is no reason to leave a text out: "Anna owes Bob" and "Bob owes Anna" are near.
    """
    return frozenset(content_key(span.of(text)) for span in sentences(text))


def without(text: str, forgotten: frozenset[str]) -> str:
    """Return a text without the sentences of these normal forms; empty where none is left."""
    pieces: list[str] = []
    end = 0
    for span in sentences(text):
        if content_key(span.of(text)) not in forgotten:
            pieces.append(text[end : span.end])
        elif not pieces:
            pieces.append(text[end : span.start])
        end = span.end
    kept = "".join(pieces)
    return kept.strip()
