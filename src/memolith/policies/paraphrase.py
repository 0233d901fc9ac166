"""Telling when one text says all that another says, so that only one need be shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from memolith.policies.evidence import Sources, read_sources
from memolith.policies.grounding import find_support, names_and_numbers, words_and_numbers
from memolith.text.canonical_form import CONTRACTION_PARTS, content_key
from memolith.text.segmentation import sentences
from memolith.text.synonyms import content_terms

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


# --- Whether a sentence tells what was told elsewhere: what is forgotten is to stand nowhere


MIN_PARAPHRASE_TERMS = 2
"""A sentence of fewer words that say something ("I know.") is told by no other. A guess."""

MIN_PARAPHRASE_NAMES = 2
"""A sentence that has all names and numbers of another tells it, where they are so many: one
alone, as of a friend, stands in much else. A guess."""


@dataclass(frozen=True, slots=True)
class _ForgottenSentence:
    """A sentence that was told: what of it must stand in another that tells it."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class ParaphraseDetector:
    """Tells whether sentences tell what texts tell; made by `retold`."""

    keys: frozenset[str]
    sources: Sources
    forgotten: tuple[_ForgottenSentence, ...]

    def __call__(self, sentence: str) -> bool:
        """Tell whether a sentence says one of the texts' sentences, or rests on them alone."""
        if content_key(strip_speaker_label(sentence)) in self.keys:
            return True
        if find_support(sentence, self.sources):
            return True
        held = words_and_numbers(sentence)
        terms = frozenset(content_terms(sentence))
        return any(self._is_paraphrase(each, sentence, terms, held) for each in self.forgotten)

    def _is_paraphrase(
        self,
        forgotten: _ForgottenSentence,
        sentence: str,
        terms: frozenset[str],
        held: frozenset[str],
    ) -> bool:
        if len(forgotten.names) >= MIN_PARAPHRASE_NAMES and forgotten.names <= held:
            return True
        if not forgotten.names <= held or terms.isdisjoint(forgotten.terms):
            return False
        return bool(
            find_support(forgotten.text, read_sources([sentence], names=self.sources.names))
        )


def build_paraphrase_detector(
    texts: Sequence[str], said_on: Sequence[date | None] = (), names: Iterable[str] = ()
) -> ParaphraseDetector:
    """Return what tells whether a sentence tells what texts tell. By words, not by meaning.

    Args:
        texts: What was told.
        said_on: The day each was, where it is known; empty: none is.
        names: Of the owner: who is meant by "I".
    """
    told = (span.extract(text) for text in texts for span in sentences(text))
    parts = (
        _ForgottenSentence(each, frozenset(content_terms(each)), names_and_numbers(each))
        for each in told
    )
    return ParaphraseDetector(
        frozenset().union(*map(sentence_keys, texts)),
        read_sources(texts, said_on, names),
        tuple(each for each in parts if len(each.terms) + len(each.names) >= MIN_PARAPHRASE_TERMS),
    )
