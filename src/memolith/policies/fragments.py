"""Detect fragments: cut-off sentences, and sentences without meaning of their own.

The rules use words and word order, without a parser. Text in doubt is not a fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memolith.policies.grounding import names_and_numbers
from memolith.text.filler import FillerLexicon, get_filler_lexicon, is_incomplete, plain_words
from memolith.text.language_id import guess_language
from memolith.text.lexicon import STOP_WORDS
from memolith.text.polarity import FIRST_PERSON_PATTERN
from memolith.text.synonyms import content_terms

MAX_SHORT_WORDS = 4
"""A text of at most this many words may lack a part of a sentence: "Lives in". A guess."""

MAX_REFERRING_WORDS = 7
"""A text of at most this many words may depend on earlier text: "I would love to try it"."""

MAX_REFERRING_TERMS = 2
"""A text that refers to earlier text is meaningless with at most this many content words."""

_MAX_FRAGMENT_CHARS = 400
"""Longer texts are fragments only if they are cut off."""

_TAIL_CHARS = 80
_EMOTICON = re.compile(r"(?:[:;=8xX]['’-]?[)(\[\]dDpPoO/\\|*3]+|<3)$")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LATIN_END = 0x24F
_ENDS_CUT = re.compile(r"(?:[,:(\[–—]|\s[-*•])$")
_OPEN, _CLOSED = re.compile(r"[(\[{]"), re.compile(r"[)\]}]")
_DATA = re.compile(r"(?:[\[{]\s*[\"\]}{\[]|```|\"\w[\w ]{0,30}\"\s*:)")
_EXTRACTED = re.compile(r"\"(?:facts?|memor(?:y|ies)|content|importance|category)\"\s*:")
_FENCE = "```"


def find_fragment_reason(text: str) -> str | None:
    """Return why a text is a fragment, or None if it is not."""
    if _is_data(text):
        return "data"
    plain = _EMOTICON.sub("", text.rstrip()).strip()
    if not any(map(str.isalpha, plain)):
        return "no words"
    if _is_truncated(plain):
        return "cut off"
    if len(plain) > _MAX_FRAGMENT_CHARS or any(
        ord(char) > _LATIN_END for char in plain if char.isalpha()
    ):
        return None
    words = plain_words(plain)
    if is_incomplete(words):
        return "cut off"
    language = get_filler_lexicon(guess_language(_WORD.findall(plain)))
    return next(_iter_reasons(plain, words, language), None)


def _iter_reasons(text: str, words: Sequence[str], language: FillerLexicon | None) -> Iterator[str]:
    terms = content_terms(text)
    if STOP_WORDS.issuperset(terms) and not names_and_numbers(text):
        yield "no content"
    if language is None:
        return
    if _ends_early(text, words, language):
        yield "cut off"
    if (
        text[0].islower()
        and words[0] in language.continuation_words
        and not FIRST_PERSON_PATTERN.search(text)
    ):
        yield "begins in the middle"
    if _has_dangling_reference(text, words, len(terms), language) and not names_and_numbers(text):
        yield "refers to earlier text"
    if _is_bare_phrase(words, language) and not names_and_numbers(text):
        yield "no predicate"


def _is_data(text: str) -> bool:
    start = text.lstrip()
    if not _DATA.match(start):
        return False
    is_whole = _count_unclosed(start) == 0 and start.count(_FENCE) % 2 == 0
    return not is_whole or _EXTRACTED.search(start[:_MAX_FRAGMENT_CHARS]) is not None


def _is_truncated(text: str) -> bool:
    return _ENDS_CUT.search(text[-_TAIL_CHARS:]) is not None or _count_unclosed(text) > 0


def _count_unclosed(text: str) -> int:
    """Return the number of opening brackets minus that of closing brackets."""
    return len(_OPEN.findall(text)) - len(_CLOSED.findall(text))


def _ends_early(text: str, words: Sequence[str], language: FillerLexicon) -> bool:
    last = words[-1]
    if not text.rstrip(".… ").lower().endswith(last):
        return False
    if last in language.incomplete_endings:
        if guess_language(words[:-1]) != language.language:  # "but" is also a French word
            return False
        return not text.endswith((".", "!", "?")) or text.endswith("..")
    return (
        len(words) <= MAX_SHORT_WORDS
        and last in language.short_incomplete_endings
        and language.question_words.isdisjoint(words)
        and (len(words) == 1 or words[-2] not in language.being)
        and not text.endswith("!")
    )


def _has_dangling_reference(
    text: str, words: Sequence[str], terms: int, language: FillerLexicon
) -> bool:
    """Return whether a text refers to earlier text without naming its subject."""
    is_first_person = FIRST_PERSON_PATTERN.search(text) is not None
    opens = text.split(maxsplit=1)[0].lower()
    if opens.rstrip(",.!?") in language.subjects and not is_first_person:
        return True
    is_short = terms <= MAX_REFERRING_TERMS
    is_vague = any(re.match(rf"{each}\b", " ".join(words)) for each in language.vague_openings)
    if is_vague and is_short and not is_first_person:
        return True
    return (
        is_short
        and len(words) <= MAX_REFERRING_WORDS
        and len(words) > 1
        and words[-1] in language.objects
    )


def _is_bare_phrase(words: Sequence[str], language: FillerLexicon) -> bool:
    return (
        1 < len(words) <= MAX_SHORT_WORDS
        and words[0] in language.determiners
        and not any(re.fullmatch(language.predicate_pattern, word) for word in words[1:])
    )
