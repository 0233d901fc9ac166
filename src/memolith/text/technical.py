"""Technical terms in a text: by their shape, or by how many word pieces its words have."""

from __future__ import annotations

import re

from memolith.text.speech import guess_language

# The average from which a text counts as technical: a guess. English prose has about 1.2.
_RARE_PIECES_PER_WORD = 1.6
# The average says nothing of fewer words: one long name would decide it. A guess.
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
    rf"\w\.(?:{_FILE_ENDINGS})(?!\w)",  # a file's name
    r"(?<![\w/:.])(?:~|\.{1,2})?/[\w.-]+/[\w.-]",  # a path
    r"(?<![\w.])v?\d+\.\d+\.\d+(?![\w.]*\d)",  # a version
    r"(?<!\w)[A-Z]{2,}-?\d+(?!\w)",  # UTF-8, SHA256
    r"(?<!\w)(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,}(?!\w)",  # a hash
    r"(?<!\w)(?:C\+\+|C#|F#|\.NET)(?!\w)",
)
_IDENTIFIER = re.compile("|".join(_IDENTIFIER_SHAPES), re.MULTILINE)


def has_technical_term(text: str, *, tokens: int) -> bool:
    """Tell whether a text holds something in the shape of an identifier, or is full of rare words.

    Rare words are those that the local embedder's tokenizer has no entry for: at least 1.6 word
    pieces a word on average, the marks aside. Its vocabulary is English, so that this is not asked
    of a text in German, nor of one in another script.

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
