"""Whether a sentence tells what was told elsewhere: what is forgotten is to stand nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.evidence import sources
from memolith.policies.folding import sentence_keys, spoken
from memolith.policies.support import names_and_numbers, supported_by, words_and_numbers
from memolith.text.normal import content_key
from memolith.text.sentences import sentences
from memolith.text.wordings import content_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from memolith.policies.evidence import Sources

LEAST_TERMS = 2
"""A sentence of fewer words that say something ("I know.") is told by no other. A guess."""

LEAST_NAMES = 2
"""A sentence that has all names and numbers of another tells it, where they are so many: one
alone, as of a friend, stands in much else. A guess."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence that was told: what of it must stand in another that tells it."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Retold:
    """Tells whether sentences tell what texts tell; made by `retold`."""

    keys: frozenset[str]
    sources: Sources
    told: tuple[_Told, ...]

    def __call__(self, sentence: str) -> bool:
        """Tell whether a sentence says one of the texts' sentences, or rests on them alone."""
        if content_key(spoken(sentence)) in self.keys:
            return True
        if supported_by(sentence, self.sources):
            return True
        held = words_and_numbers(sentence)
        terms = frozenset(content_terms(sentence))
        return any(self._is_told(each, sentence, terms, held) for each in self.told)

    def _is_told(
        self, told: _Told, sentence: str, terms: frozenset[str], held: frozenset[str]
    ) -> bool:
        if len(told.names) >= LEAST_NAMES and told.names <= held:
            return True
        if not told.names <= held or terms.isdisjoint(told.terms):
            return False
        return bool(supported_by(told.text, sources([sentence], names=self.sources.names)))


def retold(
    texts: Sequence[str], said_on: Sequence[date | None] = (), names: Iterable[str] = ()
) -> Retold:
    """Return what tells whether a sentence tells what texts tell. By words, not by meaning.

    Args:
        texts: What was told.
        said_on: The day each was, where it is known; empty: none is.
        names: Of the owner: who is meant by "I".
    """
    told = (span.of(text) for text in texts for span in sentences(text))
    parts = (_Told(each, frozenset(content_terms(each)), names_and_numbers(each)) for each in told)
    return Retold(
        frozenset().union(*map(sentence_keys, texts)),
        sources(texts, said_on, names),
        tuple(each for each in parts if len(each.terms) + len(each.names) >= LEAST_TERMS),
    )
