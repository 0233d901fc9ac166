"""The normal form of a text: two texts are the same fact if, and only if, they share it.

Left aside are case, punctuation, contractions and articles; nothing else is: not tense, number,
order, figures, signs, symbols. Where leaving something aside might change what a text says, it
stays: a fact stored twice costs little, two facts made one lose a memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memolith.text.articles import remove_articles
from memolith.text.contractions import expand_contractions
from memolith.text.lists import word_set
from memolith.text.words import NUMERAL, Word, words

_SEPARATOR = "\x1f"

_TIME_OF_DAY = re.compile(r"(\d[\d:.]*)?([ap])\.?(m)\.?", re.IGNORECASE)
_TIME_SUFFIXES = ("m", "m.")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_SAME_IN_CAPITALS = frozenset({"OK", "TV", "OKAY"})
_CASED_SIGNS = re.compile(r"://|[\\_=]")
_UNIT_CHARS = 2
_MIN_CAPITAL_WORDS = 3
# Words that mean another thing with a capital: a guess at the frequent ones, months left out.
_CAPITONYMS = word_set(
    """
    Turkey China Polish Bill Mark Rose Frank Will Reading Nice Mobile Cologne Jack Drew Grace
    Hope Joy Faith Ivy Lily Daisy Pearl Ruby Amber Rob Sue Pat Chase Hunter Mercury Mars Apple
    Amazon Windows Shell Target Gap Oracle Slack Word Excel Teams Signal Discord Zoom Python
    Java Swift Rust Go Bath Cork Job God Catholic Lent Bush Stone Brown Green Black White Young
    Baker Cook Smith Miller Fisher King Gene Dean Guy Ray Ted Don Dick Jean Robin Jay Wren Star
    Visa Dove Galaxy Champagne Hamburger Turkish Guinea Chile Chad Jordan Georgia Jersey
    """
)


def content_key(text: str) -> str:
    """Return the text's normal form as one string, never empty for a text that is not."""
    return _SEPARATOR.join(canonical_words(text))


def canonical_words(text: str) -> tuple[str, ...]:
    """Return the text's words in normal form, in order.

    Signs and emoji that say something count as words, as does a question mark. A text of
    punctuation alone is its own only word.
    """
    found = words(text)
    if not found:
        marks = " ".join(text.split())
        return (marks,) if marks else ()
    is_all_caps = _is_in_capitals(found)
    spelled = expand_contractions(found, is_all_caps=is_all_caps)
    kept = remove_articles(spelled, is_all_caps=is_all_caps) or spelled
    normal: list[str] = []
    for at, word in enumerate(kept):
        normal.append(_fold_case(kept, at, is_all_caps=is_all_caps))
        if word.is_before_question_mark:
            normal.append("?")
    return tuple(normal)


def _is_in_capitals(found: Sequence[Word]) -> bool:
    """Tell whether a whole text is in capitals, so that a word in capitals is no name."""
    return (
        not any(char.islower() for word in found for char in word.text)
        and sum(word.text.isupper() for word in found) >= _MIN_CAPITAL_WORDS
    )


def _fold_case(found: Sequence[Word], at: int, *, is_all_caps: bool) -> str:
    """Return a word in lower case, or as it is where its case may say something."""
    word = found[at]
    lower = word.text.lower()
    if word.text == lower and not lower.endswith(_TIME_SUFFIXES):
        return lower
    after_number = at > 0 and NUMERAL.fullmatch(found[at - 1].text) is not None
    time = _TIME_OF_DAY.fullmatch(word.text)
    if time and (after_number or time[1]):
        return f"{time[1] or ''}{time[2]}{time[3]}".lower()  # "8 a.m." is "8 AM"
    keeps = not is_all_caps and _should_keep_case(word, after_number=after_number)
    return word.text if keeps else lower


def _should_keep_case(word: Word, *, after_number: bool) -> bool:
    text = word.text
    base = text.partition("'")[0]
    if text.islower() or _ORDINAL.fullmatch(text):
        return False
    if base.isupper() and sum(map(str.isalpha, base)) > 1:
        return text not in _SAME_IN_CAPITALS  # US and us, IT and it
    if after_number and text != "I" and (len(text) <= _UNIT_CHARS or not text[1:].islower()):
        return True  # MW and mW, MB/s and Mb/s
    return (
        _is_cased_code(text)
        or _CASED_SIGNS.search(text) is not None
        or (not word.starts_sentence and base in _CAPITONYMS)
    )


def _is_cased_code(text: str) -> bool:
    """Tell whether letters and figures are mixed as in a measure or a code: 10M, aB3x."""
    if not any(map(str.isdigit, text)):
        return False
    letters = "".join(filter(str.isalpha, text))
    return text[0].isdigit() or not (letters[1:].islower() or not letters[1:])
