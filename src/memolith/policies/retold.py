"""Whether a sentence tells what was told elsewhere: what is forgotten is to stand nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.evidence import read_sources
from memolith.policies.folding import sentence_keys, strip_speaker_label
from memolith.policies.support import find_support, names_and_numbers, words_and_numbers
from memolith.text.normal import content_key
from memolith.text.sentences import sentences
from memolith.text.wordings import content_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from memolith.policies.evidence import Sources

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
