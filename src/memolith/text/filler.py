"""Detect filler, openings of assistant replies, and incomplete sentences.

The phrases are in the `FillerLexicon` of each language in `memolith.text.lexicon`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memolith.text.lexicon import load_languages
from memolith.text.lexicon.language import FillerLexicon
from memolith.text.segmentation import sentences

__all__ = [
    "FillerLexicon",
    "classify_filler",
    "get_filler_lexicon",
    "is_incomplete",
    "is_model_instruction",
    "is_recollection",
    "is_reply",
    "load_filler_lexicons",
]

MAX_FILLER_CHARS = 600
"""Longer texts never count as filler as a whole."""

_OPENING_WORDS = 24
_OPENING_CHARS = 300
_APOSTROPHE = str.maketrans("’‘ʼ`´", "'" * 5)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@lru_cache(maxsize=1)
def load_filler_lexicons() -> tuple[FillerLexicon, ...]:
    """Return the filler lexicons of all languages, ordered by language code."""
    return load_languages(FillerLexicon)


def get_filler_lexicon(code: str | None) -> FillerLexicon | None:
    """Return the filler lexicon of a language; None if there is none."""
    return next((each for each in load_filler_lexicons() if each.language == code), None)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return _WORD.findall(text.translate(_APOSTROPHE).lower())


def classify_filler(text: str) -> str | None:
    """Return the type of a text that is only filler ("greeting"), by its first phrase.

    None if any sentence says more, or the text has no words.
    """
    if len(text) > MAX_FILLER_CHARS:
        return None
    found = [
        _classify_sentence(" ".join(plain_words(span.extract(text)))) for span in sentences(text)
    ]
    names = [name for name in found if name != ""]
    return names[0] if names and all(names) else None


def is_reply(text: str) -> bool:
    """Return whether a text begins like an assistant's reply: "Sure, here is …"."""
    return _compile_reply_openings().match(_get_opening(text)) is not None


def is_recollection(text: str) -> bool:
    """Return whether a text begins by repeating something already known: "As you told me"."""
    return _compile_recollection_openings().match(_get_opening(text)) is not None


def is_model_instruction(text: str) -> bool:
    """Return whether a text begins like instructions to a model: "You are a helpful …"."""
    return _compile_instruction_openings().match(_get_opening(text)) is not None


def is_incomplete(words: Sequence[str]) -> bool:
    """Return whether a text of these `plain_words` ends before its point: "Lives in"."""
    return _compile_incomplete_texts().fullmatch(" ".join(words)) is not None


def _classify_sentence(sentence: str) -> str | None:
    """Return the type of the first filler in a sentence; None if the sentence says more.

    Empty for a sentence without words. The longest filler wins at each position.
    """
    name, at = "", 0
    while at < len(sentence):
        end, best = max(
            (
                (match.end(), each)
                for each, regex in _compile_fillers()
                if (match := regex.match(sentence, at))
            ),
            default=(at, ""),
        )
        if end == at:
            return None
        name, at = name or best, end + 1
    return name


def _get_opening(text: str) -> str:
    return " ".join(plain_words(text[:_OPENING_CHARS])[:_OPENING_WORDS])


def _compile_any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


@lru_cache(maxsize=1)
def _compile_fillers() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(rf"(?:{pattern})(?= |$)"))
        for each in load_filler_lexicons()
        for name, patterns in each.phrases.items()
        for pattern in patterns
    )


@lru_cache(maxsize=1)
def _compile_reply_openings() -> re.Pattern[str]:
    return _compile_any(
        pattern for each in load_filler_lexicons() for pattern in each.reply_openings
    )


@lru_cache(maxsize=1)
def _compile_recollection_openings() -> re.Pattern[str]:
    return _compile_any(
        pattern for each in load_filler_lexicons() for pattern in each.recollection_openings
    )


@lru_cache(maxsize=1)
def _compile_instruction_openings() -> re.Pattern[str]:
    return _compile_any(
        pattern for each in load_filler_lexicons() for pattern in each.instruction_openings
    )


@lru_cache(maxsize=1)
def _compile_incomplete_texts() -> re.Pattern[str]:
    return _compile_any(
        pattern for each in load_filler_lexicons() for pattern in each.incomplete_texts
    )
