"""Detect named entities, numbers, dates and technical terms in text.

Named entities are guessed from capitals and a bundled list, without a model. In English, a
capitalised word inside a sentence is a name. German capitalises all nouns, so that a name needs
other evidence:

- an entry in the list;
- two capitals ("BMW");
- a title or a naming word before it ("Frau Berg", "heißt Otto", "wohnt in Celle");
- two capitalised words in a row ("Anna Berg"), unless the first is a measure or a time ("Tasse
  Kaffee", "Anfang Mai").
"""

from __future__ import annotations

import re
from itertools import pairwise

from memolith.text.features import NUMBER_WORDS
from memolith.text.language_id import guess_language
from memolith.text.lexicon import STOP_WORDS
from memolith.text.lexicon.language import word_set
from memolith.text.lexicon.names import CAPITALISED_NAMES, LOWERCASE_NAMES, NAME_PHRASES
from memolith.text.segmentation import mask_code, sentences

_NAME_WORD = re.compile(r"[^\W\d_](?:[\w’'&-]*\w)?")
# Precedes a word inside a sentence: another word, or a mark within the sentence.
_WORD_GAP = re.compile(r"(?<=[\w,;’')\]./&%€$*_-])\s+[*_(\[]*(?=[^\W\d_])")
_END_MARK = re.compile(r"[.!?…]\W*$")
_HEADING = re.compile(r"\s{0,3}#")

# Capitalised in English without being an entity: "I", dates, forms of address.
_NON_NAMES = word_set(
    """
    i i'm i've i'll i'd ok okay monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december mr mrs ms dr prof
    sir madam mom mum dad god am pm tv
    montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli
    oktober dezember
    """
)
_MEASURES = word_set(
    """
    tasse tassen glas gläser stück flasche flaschen kilo gramm liter meter paar dose dosen scheibe
    scheiben teller löffel becher anfang mitte ende uhr prozent euro dollar sorte art ende seite
    kapitel nummer teil montag dienstag mittwoch donnerstag freitag samstag sonntag gegen million
    millionen tausend
    """
)
_GERMAN_NAME_CONTEXT = re.compile(
    r"\b(?:Herrn?|Frau|Doktor|Dr\.|Prof\.|Professor(?:in)?|Firma|namens|[Hh]eiß(?:t|e|en)|[Nn]amen?"
    r"\s+ist|[Nn]enn(?:t|e)?\s+(?:mich|dich|sich)|Stadt|Insel)\s+([A-ZÄÖÜ][\w-]+)"
    r"|\b(?:[Ww]ohn|[Ll]eb|[Aa]rbeit|[Kk]omm|[Ff]lieg|[Rr]eis|[Ff]ähr|[Ff]ahr|[Zz]ieh|[Ss]tamm"
    r"|[Gg]eh|[Ww]ar|[Bb]in|[Ii]st)\w*\s+(?:\w+\s+){0,3}?"
    r"(?:in|nach|aus|bei)\s+(?!Hause|Ordnung|Eile|Sorge|Zukunft|Frage|Form|Kontakt|Rente|Urlaub)"
    r"([A-ZÄÖÜ][\w-]+)"
)
_MIXED_CAPITALS = re.compile(r"\b\w*[A-ZÄÖÜ]\w*[A-ZÄÖÜ]\w*\b")
# A title has at least this many long words, and at least this share of them capitalised. Guesses.
_TITLE_WORDS, _TITLE_SHARE, _LONG_WORD = 3, 0.75, 4


def has_named_entity(text: str) -> bool:
    """Return whether a text outside of code names a person, organisation, place or product."""
    prose = mask_code(text)
    if _has_known_name(prose):
        return True
    texts = [span.extract(prose) for span in sentences(prose)]
    if guess_language(_NAME_WORD.findall(prose)) == "de":
        return any(map(_has_german_name, texts))
    return any(map(_has_capitalised_name, texts))


def _has_known_name(prose: str) -> bool:
    words = set(_NAME_WORD.findall(prose))
    return (
        not CAPITALISED_NAMES.isdisjoint(words)
        or not LOWERCASE_NAMES.isdisjoint(word.lower() for word in words)
        or NAME_PHRASES.search(prose) is not None
    )


def _has_capitalised_name(sentence: str) -> bool:
    if _is_title(sentence) or sentence.isupper():
        return False
    first = _NAME_WORD.search(sentence)
    return first is not None and any(
        (word := _NAME_WORD.match(sentence, gap.end())) is not None and _is_name(word[0])
        for gap in _WORD_GAP.finditer(sentence, first.end())
    )


def _is_name(word: str) -> bool:
    lower = word.lower().replace("’", "'")
    return (
        word[0].isupper()
        and len(word) > 1
        and lower not in _NON_NAMES
        and not (word.isupper() and lower in STOP_WORDS)
    )


def _is_title(sentence: str) -> bool:
    """Return whether a line is a heading or in title case, where capitals carry no meaning."""
    if _HEADING.match(sentence):
        return True
    long = [word for word in _NAME_WORD.findall(sentence) if len(word) >= _LONG_WORD]
    capitalised = sum(word[0].isupper() for word in long)
    return (
        _END_MARK.search(sentence) is None
        and len(long) >= _TITLE_WORDS
        and capitalised >= _TITLE_SHARE * len(long)
    )


def _has_german_name(sentence: str) -> bool:
    if sentence.isupper() or _HEADING.match(sentence):
        return False
    if _GERMAN_NAME_CONTEXT.search(sentence) or any(
        match[0].lower() not in _NON_NAMES for match in _MIXED_CAPITALS.finditer(sentence)
    ):
        return True
    # Skip the first word, which is always capitalised.
    words = list(_NAME_WORD.finditer(sentence))[1:]
    return any(
        _is_name_pair(first[0], second[0]) and sentence[first.end() : second.start()].isspace()
        for first, second in pairwise(words)
    )


def _is_name_pair(first: str, second: str) -> bool:
    return (
        first[0].isupper()
        and second[0].isupper()
        and first.lower() not in STOP_WORDS | _MEASURES | _NON_NAMES
        and second.lower() not in STOP_WORDS | _NON_NAMES
    )


# --- Numbers and dates


# Not inside a word: "utf8" and "B2B" are names.
_NUMBER = re.compile(r"(?<![^\W_])\d")
_LIST_NUMBER = re.compile(r"^[^\S\n]*\d{1,3}[.)](?=\s)", re.MULTILINE)
_LETTERS = re.compile(r"[^\W\d_]+")

# Without "May", "March" and "Mai": as dates they come with a number, which is detected anyway.
_DATE_WORDS = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday january february april june july
    august september october november december
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar jänner februar
    märz juni juli oktober dezember
    """
)
_QUANTITY_WORDS = NUMBER_WORDS | _DATE_WORDS


def has_number_or_date(text: str) -> bool:
    """Return whether a text contains a number, in digits or words, a weekday or a month.

    Ignores code and the numbers of list items. "One" and "ein" are ignored, because they are rarely
    used as numbers.
    """
    prose = _LIST_NUMBER.sub("", mask_code(text))
    return _NUMBER.search(prose) is not None or not _QUANTITY_WORDS.isdisjoint(
        word.lower() for word in _LETTERS.findall(prose)
    )


# --- Technical terms


# Minimum average of a technical text. A guess: English prose has about 1.2.
_RARE_PIECES_PER_WORD = 1.6
# In shorter texts, one long name would dominate the average. A guess.
_MIN_WORDS = 4

_TOKEN = re.compile(r"[^\W_]+")
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_LATIN = re.compile(r"[A-Za-z]")

_FILE_ENDINGS = (
    "py|js|ts|tsx|jsx|c|h|cpp|rs|go|java|rb|sh|md|txt|json|ya?ml|toml|ini|cfg|csv|sql|html|css|xml"
    "|log|conf|lock|db|exe|dll|so|zip|gz|tar|pdf"
)
_IDENTIFIER_SHAPES = (
    r"`[^`\n]+`|^ {0,3}(?:```|~~~)",  # code
    r"(?<![\w@])[^\W\d]\w*_\w+",  # snake_case, CONSTANT_CASE
    r"(?<!\w)[a-z]+[A-Z]\w*",  # camelCase
    r"(?<!\w)(?!Mc|Mac)[A-Z][a-z\d]+[A-Z]\w*",  # PascalCase
    r"\w\(\)|\w::\w",  # call(), std::vector
    r"(?<![\w-])--[a-z][\w-]+",  # --flag
    r"(?<![\w.])[A-Za-z_]\w+(?:\.[a-z_]\w+){2,}",  # a.dotted.name
    rf"\w\.(?:{_FILE_ENDINGS})(?!\w)",  # a file name
    r"(?<![\w/:.])(?:~|\.{1,2})?/[\w.-]+/[\w.-]",  # a path
    r"(?<![\w.])v?\d+\.\d+\.\d+(?![\w.]*\d)",  # a version
    r"(?<!\w)[A-Z]{2,}-?\d+(?!\w)",  # UTF-8, SHA256
    r"(?<!\w)(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,}(?!\w)",  # a hash
    r"(?<!\w)(?:C\+\+|C#|F#|\.NET)(?!\w)",
)
_IDENTIFIER = re.compile("|".join(_IDENTIFIER_SHAPES), re.MULTILINE)


def has_technical_term(text: str, *, tokens: int) -> bool:
    """Return whether a text contains an identifier-like word, or is full of rare words.

    Rare words are missing from the vocabulary of the local embedder's tokenizer: the average is at
    least 1.6 word pieces per word, without punctuation. The vocabulary is English, so that texts in
    German or in other scripts are not checked for rare words.

    Args:
        text: A chunk.
        tokens: Its number of word pieces.
    """
    return _IDENTIFIER.search(text) is not None or _has_rare_words(text, tokens)


def _has_rare_words(text: str, tokens: int) -> bool:
    words = _TOKEN.findall(text)
    if len(words) < _MIN_WORDS or 2 * len(_LATIN.findall(text)) < sum(map(len, words)):
        return False
    pieces = tokens - len(_PUNCTUATION.findall(text))
    return pieces >= _RARE_PIECES_PER_WORD * len(words) and guess_language(words) != "de"
