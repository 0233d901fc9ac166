"""Extract the terms of a text for keyword search.

A term depends on its word alone, never on the surrounding text, so that a one-word query finds the
word in any text. Texts without terms are exceptions: their stop words, or else their symbols,
become terms.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain, pairwise

import Stemmer

from memolith.text.lexicon import STOP_WORDS

ANALYSER_VERSION = 1
"""Changes whenever a text yields different terms; text indexed by another version is re-indexed."""

MAX_TERM_CHARS = 64
"""Longer words (keys, base64) are truncated. A guess."""

# Characters of a word: letters, digits, "_", and characters that Python's \w lacks: vowel marks and
# the invisible characters that join letters.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0970-\u0df3\u0e30-\u0e3a\u0e40-\u0e4e\u0eb0-\u0ece\u0f18-\u0f39\u0f71-\u0fbc"
    "\u102b-\u103e\u1056-\u109d\u17b4-\u17d3\u200c\u200d\u3099\u309a\ufe20-\ufe2f"
)
_LETTER = rf"[\w{_MARKS}]"
_WORD = re.compile(rf"{_LETTER}+(?:['’.]{_LETTER}+|(?<=\d)[,:]\d+)*(?:\+\+|#(?!\w))?")
_SYMBOL = re.compile(r"[^\s\u200b-\u200f\ufe00-\ufe0f]")

# Scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer; kana, Han and their
# punctuation. Hangul is separate, since its words include their endings.
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    f"\uff66-\uff9f{_HAN}"
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_BY_CHARACTER = re.compile(rf"[{_UNSPACED}]+|[{_HANGUL}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")

# Evidence that a word is German: letters or a suffix that English words lack.
_GERMAN = re.compile(
    r".*[äöüß]|.{3,}(?:ung|heit|keit|schaft)(?:en)?$|.{3,}(?:lich|isch)(?:e[mnrs]?)?$"
)
_FOLDED_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652\u200c\u200d]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ONLY_PUNCTUATION = re.compile(r"[\W_]+")
_LETTERS_WITH_POINTS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_PART = re.compile(r"[^._+#]+")
_CACHE_SIZE = 1 << 16


def terms(text: str) -> list[str]:
    """Return a text's terms in order, with repetitions: folded, without stop words, stemmed.

    Latin words are stemmed as English, or as German if the word itself is recognisably German.
    Names with dots or underscores, "C++" and "C#" become a whole term and their parts. Text without
    spaces becomes pairs of characters, and each Chinese character is also a term.
    """
    words = _WORD.findall(text)
    all_terms = list(chain.from_iterable(map(_get_terms, words)))
    if all_terms:
        return all_terms
    folded = [_fold_word(word)[:MAX_TERM_CHARS] for word in words]
    return folded or [_fold_word(symbol) for symbol in _SYMBOL.findall(text)]


def _get_terms(word: str) -> tuple[str, ...]:
    # Long strings, such as base64, would fill the cache.
    return _cached_terms(word) if len(word) <= MAX_TERM_CHARS else _analyse_word(word)


@lru_cache(maxsize=_CACHE_SIZE)
def _cached_terms(word: str) -> tuple[str, ...]:
    return _analyse_word(word)


def _analyse_word(word: str) -> tuple[str, ...]:
    lower = _strip_suffix(word.lower().replace("’", "'"))
    if _is_stop_word(word, lower):
        return ()
    if not word.isascii() and _BY_CHARACTER.search(word):
        return tuple(_get_character_terms(word))
    if lower[0].isdigit():
        return (_normalise_number(lower),)
    if _LETTERS_WITH_POINTS.fullmatch(lower):  # "U.S." is "US"
        lower = lower.replace(".", "")
    if lower.isalpha():
        return (_stem_word(lower),)
    return tuple(_stem_word(part) for part in _split_compound(lower) if part not in STOP_WORDS)


def _normalise_number(lower: str) -> str:
    """Return one term for a number, with a decimal point and without thousands separators."""
    mark = "" if _THOUSANDS.fullmatch(lower) else "."
    return _fold_word(lower.replace(",", mark))[:MAX_TERM_CHARS]


def _strip_suffix(lower: str) -> str:
    """Return a word without a possessive 's or the ending of a contraction."""
    stem, mark, ending = lower.rpartition("'")
    return stem if mark and ending in {"s", "m", "re", "ve", "ll", "d"} else lower


def _is_stop_word(word: str, lower: str) -> bool:
    """Return whether a word is a stop word or bare "_"; in capitals it is a name (US, IT, WHO)."""
    if lower in STOP_WORDS:
        return len(lower) == 1 or not word.isupper()
    return _ONLY_PUNCTUATION.fullmatch(lower) is not None


def _split_compound(lower: str) -> list[str]:
    joined = lower.replace("'", "")
    parts = [part for piece in lower.split("'") for part in _PART.findall(piece)]
    return [joined, *(part for part in parts if part != joined)]


def _stem_word(lower: str) -> str:
    if not lower.isalpha():
        return _fold_word(lower)[:MAX_TERM_CHARS]
    if lower.isascii() and not _GERMAN.match(lower):
        return _stem("english", lower)[:MAX_TERM_CHARS]
    if _CYRILLIC.match(lower):
        return _fold_word(_stem("russian", lower))[:MAX_TERM_CHARS]
    if _GERMAN.match(lower):
        return _fold_word(_stem("german", lower))[:MAX_TERM_CHARS]
    return _stem("english", _fold_word(lower))[:MAX_TERM_CHARS]


def _stem(language: str, word: str) -> str:
    # Stemmers are not thread-safe; creating one takes 0.3 µs.
    stem: str = Stemmer.Stemmer(language, 0).stemWord(word)
    return stem


def _fold_word(word: str) -> str:
    """Return a word without case, accents and differences in width; ß becomes ss."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return unicodedata.normalize("NFKC", _FOLDED_MARKS.sub("", decomposed)) or word


def _get_character_terms(word: str) -> list[str]:
    """Return the terms of a word that contains text without spaces, or Hangul."""
    pieces: list[str] = []
    end = 0
    for run in _BY_CHARACTER.finditer(word):
        pieces += terms(word[end : run.start()]) if run.start() > end else []
        pieces += _get_pairs(_fold_word(run[0]))
        end = run.end()
    return pieces + terms(word[end:]) if end < len(word) else pieces


def _get_pairs(run: str) -> list[str]:
    pairs = [first + second for first, second in pairwise(run)]
    return pairs + _IS_HAN.findall(run) if pairs else [run]
