"""Features: what can be told of a text when it is written, so that ranking need not read it."""

from __future__ import annotations

import re

from memolith.domain.items import Features, Trait
from memolith.text.code import mask_code
from memolith.text.injection import is_suspicious
from memolith.text.patterns import (
    FIRST_PERSON_WORDS,
    NUMBER_WORDS,
    PLACE_PATTERNS,
    PLACE_WORDS,
    PREFERENCE_PATTERNS,
    PREFERENCE_WORDS,
    PROPER_NOUN,
    TIME_PATTERNS,
    TIME_WORDS,
    TriggeredPattern,
)

# The last part leaves out "i.e.".
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?(?!\.\w|[^\W\d_])")
_DIGIT = re.compile(r"\d")
# What may follow a question mark at the end: quotes, brackets, emoji, more marks, white space.
_QUESTION = re.compile(r"[?？؟՞፧⁇⁈⁉][^\w]*$")
_QUESTION_TAIL = 40
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
# Chinese and Japanese words are two characters long on average: a common rule of thumb.
_CHARACTERS_PER_WORD = 2


def extract_features(text: str, *, tokens: int) -> Features:
    """Return a text's features; `tokens` is its count of word pieces, taken as it is.

    The traits are guesses by words and patterns (`memolith.text.patterns`), English and German;
    code does not count, but for what is suspicious. German capitalises every noun, so that
    PROPER_NOUN and PLACE say little there.
    """
    return Features(traits=_detect_traits(text), words=count_words(text), tokens=tokens)


def count_words(text: str) -> int:
    """Return how many words a text has: by white space, or half the characters without spaces."""
    if text.isascii():
        return len(text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + -(-unspaced // _CHARACTERS_PER_WORD)


def _detect_traits(text: str) -> Trait:
    prose = mask_code(text)
    words = frozenset(_WORD.findall(prose.replace("’", "'").lower()))
    figures = _DIGIT.search(text) is not None
    found = {
        Trait.QUESTION: _is_question(text),
        Trait.TIME_EXPRESSION: _has_match(
            prose, words, TIME_WORDS, TIME_PATTERNS, has_digits=figures
        ),
        Trait.FIRST_PERSON: not words.isdisjoint(FIRST_PERSON_WORDS),
        Trait.NUMBER: figures or not words.isdisjoint(NUMBER_WORDS),
        Trait.PLACE: _has_match(prose, words, PLACE_WORDS, PLACE_PATTERNS),
        Trait.PROPER_NOUN: PROPER_NOUN.search(prose) is not None,
        Trait.PREFERENCE: _has_match(prose, words, PREFERENCE_WORDS, PREFERENCE_PATTERNS),
        Trait.SUSPICIOUS: is_suspicious(text),
    }
    traits = Trait.NONE
    for trait, holds in found.items():
        if holds:
            traits |= trait
    return traits


def _is_question(text: str) -> bool:
    return _QUESTION.search(text.rstrip()[-_QUESTION_TAIL:]) is not None


def _has_match(
    text: str,
    words: frozenset[str],
    single_words: frozenset[str],
    patterns: tuple[TriggeredPattern, ...],
    *,
    has_digits: bool = True,
) -> bool:
    """Tell whether a text holds one of the single words, or what one of the patterns matches.

    Args:
        text: Without code.
        words: Its words.
        single: The words.
        patterns: The patterns.
        figures: Whether there may be digits in it.
    """
    return not words.isdisjoint(single_words) or any(
        pattern.regex.search(text)
        for pattern in patterns
        if (not pattern.triggers or not words.isdisjoint(pattern.triggers))
        and (has_digits or not pattern.needs_digits)
    )
