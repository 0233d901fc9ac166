"""Telling when one text says all that another says, so that only one need be shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memolith.text.contractions import CONTRACTION_PARTS
from memolith.text.normal import content_key
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable

_SPEAKER_LABEL = re.compile(r"[QA]: (?=\S)")
_LONG_WORD = re.compile(r"[a-z]{4,}")
_NORMALISED_WORDS = CONTRACTION_PARTS | {"eine"}
"""Words that the normal form writes out, leaves out, or makes of others."""


def strip_speaker_label(sentence: str) -> str:
    """Return a sentence without the mark of an exchange ("Q: …", "A: …") before it."""
    return _SPEAKER_LABEL.sub("", sentence, count=1) if _SPEAKER_LABEL.match(sentence) else sentence


def sentence_keys(text: str) -> frozenset[str]:
    """Return the normal forms of a text's sentences.

    A text whose sentences all stand in another, as whole sentences, adds nothing to it. Nearness
    in meaning is no reason to leave a text out: "Anna owes Bob" and "Bob owes Anna" are near.
    """
    return frozenset(_sentence_key(span.extract(text)) for span in sentences(text))


def long_words(text: str) -> frozenset[str] | None:
    """Return words of a text that its normal form keeps; None where that is not known.

    A text with one that another lacks says something that the other does not, which is told so
    forty times faster than by their normal forms.
    """
    return (
        frozenset(_LONG_WORD.findall(text.lower())) - _NORMALISED_WORDS if text.isascii() else None
    )


def remove_sentences(text: str, removed_keys: frozenset[str]) -> str:
    """Return a text without the sentences of these normal forms; empty where none is left."""
    return _filter_sentences(text, lambda sentence: _sentence_key(sentence) in removed_keys)


def remove_matching_sentences(text: str, is_removed: Callable[[str], bool]) -> str:
    """Return a text without the sentences of which that is true, asked of each in order."""
    return _filter_sentences(text, is_removed)


def join_texts(first: str, second: str) -> str:
    """Return a text, and under it what another says besides, each sentence of that once."""
    said = set(sentence_keys(first))

    def is_said(sentence: str) -> bool:
        key = _sentence_key(sentence)
        known = key in said
        said.add(key)
        return known

    more = _filter_sentences(second, is_said)
    return f"{first}\n{more}" if more else first


def _filter_sentences(text: str, is_removed: Callable[[str], bool]) -> str:
    """Return a text without the sentences that are out; asked of each in order."""
    pieces: list[str] = []
    end = 0
    for span in sentences(text):
        if not is_removed(span.extract(text)):
            pieces.append(text[end : span.end])
        elif not pieces:
            pieces.append(text[end : span.start])
        end = span.end
    kept = "".join(pieces)
    return kept.strip()


def _sentence_key(sentence: str) -> str:
    return content_key(strip_speaker_label(sentence))
