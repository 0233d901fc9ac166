"""Salience: what in a text makes it worth keeping, and what that makes of its importance.

The weights and the threshold are the `chunks` profile's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from memolith.policies.keeping import ChunkScore
from memolith.text.entities import has_named_entity
from memolith.text.quantities import has_number_or_date
from memolith.text.signs import has_preference
from memolith.text.technical import has_technical_term

MIN_STORED_IMPORTANCE = 0.3
"""A chunk of less importance is not stored."""

_NOVELTY_SHARE = 0.6
_SALIENCE_SHARE = 0.4
_NAMED_ENTITY = 0.3
_NUMBER_OR_DATE = 0.2
_PREFERENCE = 0.4
_TECHNICAL_TERM = 0.1
# Sums of such decimals are exact to this many digits, so that what should be 0.3 is kept.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class SalienceSignals:
    """What a text holds.

    Attributes:
        named_entity: The name of a person, organisation, place or product.
        number_or_date: A number, in figures or words, or a date.
        preference: That somebody prefers something, or always does it.
        technical_term: A word of a trade, or an identifier.
    """

    named_entity: bool = False
    number_or_date: bool = False
    preference: bool = False
    technical_term: bool = False


def find_signals(text: str, *, tokens: int) -> SalienceSignals:
    """Return what a text holds: guesses by words and shapes, English and German.

    Args:
        text: A chunk.
        tokens: Its number of word pieces of the local embedder's tokenizer.
    """
    return SalienceSignals(
        named_entity=has_named_entity(text),
        number_or_date=has_number_or_date(text),
        preference=has_preference(text),
        technical_term=has_technical_term(text, tokens=tokens),
    )


def compute_salience(found: SalienceSignals) -> float:
    """Return 0..1: named entity 0.3, number or date 0.2, preference 0.4, technical term 0.1."""
    total = (
        _NAMED_ENTITY * found.named_entity
        + _NUMBER_OR_DATE * found.number_or_date
        + _PREFERENCE * found.preference
        + _TECHNICAL_TERM * found.technical_term
    )
    return min(max(round(total, _DIGITS), 0.0), 1.0)


def compute_importance(novelty: float, salience: float) -> float:
    """Return 0.6·novelty + 0.4·salience, for each of them 0..1."""
    return round(_NOVELTY_SHARE * novelty + _SALIENCE_SHARE * salience, _DIGITS)


@dataclass(frozen=True, slots=True)
class SalienceScoring:
    """`chunks`: what is new, or says something that matters.

    Attributes:
        kept_from: The least importance that is kept.
    """

    min_importance: float = MIN_STORED_IMPORTANCE

    def score_chunk(self, text: str, *, novelty: float, word_pieces: int) -> ChunkScore:
        """Return what a chunk is worth."""
        new = min(max(float(novelty), 0.0), 1.0)
        salient = compute_salience(find_signals(text, tokens=word_pieces))
        total = compute_importance(new, salient)
        return ChunkScore(new, salient, total, is_kept=total >= self.min_importance)
