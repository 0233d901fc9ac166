"""What is worth keeping of a long text: the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memolith.domain.memories import Origin
from memolith.text.cues import has_preference, is_about_now, is_statement
from memolith.text.entities import has_named_entity, has_number_or_date, has_technical_term


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """What a stretch of text was found to be worth, each 0..1.

    Attributes:
        novelty: How far it is from what the owner has.
        salience: How much of what matters it holds.
        importance: What they come to.
        kept: Whether that is enough.
    """

    novelty: float
    salience: float
    importance: float
    is_kept: bool


class ChunkScoring(Protocol):
    """A judgement of the stretches of a text. Pure."""

    def score_chunk(self, text: str, *, novelty: float, word_pieces: int) -> ChunkScore:
        """Return what a stretch is worth.

        Args:
            text: The stretch.
            novelty: Its distance from the centroid of what the owner has, 0..2.
            pieces: Its word pieces.
        """
        ...


# --- Salience: what in a text makes it worth keeping, and what that makes of its importance


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

    min_importance: float

    def score_chunk(self, text: str, *, novelty: float, word_pieces: int) -> ChunkScore:
        """Return what a chunk is worth."""
        new = min(max(float(novelty), 0.0), 1.0)
        salient = compute_salience(find_signals(text, tokens=word_pieces))
        total = compute_importance(new, salient)
        return ChunkScore(new, salient, total, is_kept=total >= self.min_importance)


# --- Routing: which kind of the profile `chunks` a text is, where the caller does not say


WORKING = "working"
SEMANTIC = "semantic"
EPISODIC = "episodic"
PROCEDURAL = "procedural"
KINDS = (PROCEDURAL, SEMANTIC, EPISODIC, WORKING)
"""In the order in which they are rendered."""


def route(text: str, *, origin: Origin) -> str:
    """Return the kind of a text: the first rule that holds.

    A preference is procedural; what is about now or this session is working; a statement of a
    subject, a predicate and an object is semantic; else episodic. Nobody but the user has
    preferences here: of any other origin "I always …" is semantic.
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
    """`chunks`: the kind by routing; the importance of what is told by itself, as if all new."""

    def get_kind(self, text: str, origin: Origin) -> str:
        """Return the kind that `route` makes of a text."""
        return route(text, origin=origin)

    def classify(self, text: str, origin: Origin) -> tuple[str, float]:
        """Return that, and 0.6 and 0.4 of the salience: of technical terms their shape counts."""
        return self.get_kind(text, origin), compute_importance(
            1.0, compute_salience(find_signals(text, tokens=0))
        )
