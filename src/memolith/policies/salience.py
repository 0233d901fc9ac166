"""Score chunks by novelty and salience, and route texts to the kinds of `chunks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memolith.domain.memories import Origin
from memolith.text.cues import has_preference, is_about_now, is_statement
from memolith.text.entities import has_named_entity, has_number_or_date, has_technical_term


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """The score of a chunk, each value 0..1.

    Attributes:
        novelty: Distance from the owner's memories.
        salience: Amount of important content.
        importance: Weighted sum of both.
        is_kept: Whether the importance suffices to store the chunk.
    """

    novelty: float
    salience: float
    importance: float
    is_kept: bool


class ChunkScoring(Protocol):
    """Scores chunks. Pure."""

    def score_chunk(self, text: str, *, novelty: float, word_pieces: int) -> ChunkScore:
        """Return the score of a chunk.

        Args:
            text: The chunk.
            novelty: Cosine distance from the centroid of the owner's memories, 0..2.
            word_pieces: Number of its word pieces.
        """
        ...


# --- Salience


_NOVELTY_SHARE = 0.6
_SALIENCE_SHARE = 0.4
_NAMED_ENTITY = 0.3
_NUMBER_OR_DATE = 0.2
_PREFERENCE = 0.4
_TECHNICAL_TERM = 0.1
# Rounding hides binary fractions: an importance of exactly 0.3 must pass a threshold of 0.3.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class SalienceSignals:
    """Signals of important content in a text.

    Attributes:
        named_entity: The name of a person, organisation, place or product.
        number_or_date: A number, in digits or words, or a date.
        preference: A preference or a habit.
        technical_term: A technical term or an identifier.
    """

    named_entity: bool = False
    number_or_date: bool = False
    preference: bool = False
    technical_term: bool = False


def find_signals(text: str, *, tokens: int) -> SalienceSignals:
    """Return the signals in a text, by words and their shapes, in English and German.

    Args:
        text: A chunk.
        tokens: Number of its word pieces in the tokenizer of the local embedder.
    """
    return SalienceSignals(
        named_entity=has_named_entity(text),
        number_or_date=has_number_or_date(text),
        preference=has_preference(text),
        technical_term=has_technical_term(text, tokens=tokens),
    )


def compute_salience(signals: SalienceSignals) -> float:
    """Return 0..1: named entity 0.3, number or date 0.2, preference 0.4, technical term 0.1."""
    total = (
        _NAMED_ENTITY * signals.named_entity
        + _NUMBER_OR_DATE * signals.number_or_date
        + _PREFERENCE * signals.preference
        + _TECHNICAL_TERM * signals.technical_term
    )
    return min(max(round(total, _DIGITS), 0.0), 1.0)


def compute_importance(novelty: float, salience: float) -> float:
    """Return 0.6·novelty + 0.4·salience, each 0..1."""
    return round(_NOVELTY_SHARE * novelty + _SALIENCE_SHARE * salience, _DIGITS)


@dataclass(frozen=True, slots=True)
class SalienceScoring:
    """Keeps chunks that are new or contain important content (`chunks`).

    Attributes:
        min_importance: Minimum importance of a chunk to be stored.
    """

    min_importance: float

    def score_chunk(self, text: str, *, novelty: float, word_pieces: int) -> ChunkScore:
        """Return the score of a chunk."""
        new = min(max(float(novelty), 0.0), 1.0)
        salient = compute_salience(find_signals(text, tokens=word_pieces))
        total = compute_importance(new, salient)
        return ChunkScore(new, salient, total, is_kept=total >= self.min_importance)


# --- Routing to kinds


WORKING = "working"
SEMANTIC = "semantic"
EPISODIC = "episodic"
PROCEDURAL = "procedural"
KINDS = (PROCEDURAL, SEMANTIC, EPISODIC, WORKING)
"""In rendering order."""


def route(text: str, *, origin: Origin) -> str:
    """Return the kind of a text, by the first rule that applies.

    A preference is procedural; a text about the present or this session is working; a statement
    with subject, predicate and object is semantic; anything else is episodic. Only the user has
    preferences: "I always …" of any other origin is semantic.
    """
    if has_preference(text):
        return restrict_kind(PROCEDURAL, origin)
    if is_about_now(text):
        return WORKING
    return SEMANTIC if is_statement(text) else EPISODIC


def restrict_kind(kind: str, origin: Origin) -> str:
    """Return the kind that a text of that origin may have: semantic instead of procedural."""
    return SEMANTIC if kind == PROCEDURAL and origin is not Origin.USER else kind


@dataclass(frozen=True, slots=True)
class RoutingClassifier:
    """Classifies by routing (`chunks`); explicitly stored texts count as entirely new."""

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind by `route`."""
        return route(text, origin=origin)

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return the kind, and 0.6 + 0.4·salience; technical terms are recognised by shape only."""
        return self.get_kind(text, origin), compute_importance(
            1.0, compute_salience(find_signals(text, tokens=0))
        )
