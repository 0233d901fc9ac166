"""Edits to meaningful marks: the case of acronyms, symbols, the question mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from corpora.meaning_edits.edits import put

_ACRONYMS: Final = re.compile(r"(?<![\w'’.-])(?:US|IT|WHO|us)(?![\w'’-]|\.\w)")
_BITS: Final = re.compile(r"(?<=\d)( ?)(MB|Mb|GB|Gb|MW|mW)\b")
_OTHER_BITS: Final = {"MB": "Mb", "Mb": "MB", "GB": "Gb", "Gb": "GB", "MW": "mW", "mW": "MW"}


def case(sentence: str) -> Iterator[str]:
    """Change the case of an acronym that is also a word, and of a unit's prefix (MB, Mb)."""
    if sentence.isupper():
        return
    for match in _ACRONYMS.finditer(sentence):
        yield put(sentence, *match.span(), match.group().swapcase())
    for match in _BITS.finditer(sentence):
        yield put(sentence, *match.span(2), _OTHER_BITS[match.group(2)])


_SYMBOLS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (re.compile(r"(?<![\w+#-])C\+\+(?![\w+])"), ("C", "C#")),
    (re.compile(r"(?<![\w+#-])C#(?!\w)"), ("C", "C++")),
    (re.compile(r"(?<=\bin )C(?![\w+#°'’-])(?! (?:major|minor)\b)"), ("C++", "C#")),
    (re.compile(r"€"), ("$",)),
    (re.compile(r"(?<![A-Z])\$(?=\d)|(?<=\d)\$|(?<=\d )\$"), ("€",)),
    (re.compile(r"(?<=\d) ?%(?!\w)"), ("", " ‰")),
    (re.compile(r"(?<=°)C\b"), ("F",)),
    (re.compile(r"(?<=°)F\b"), ("C",)),
    (re.compile(r"(?<= )<(?= )"), (">",)),
    (re.compile(r"(?<= )>(?= )"), ("<",)),
    (re.compile(r"(?<= )==(?= )"), ("!=",)),
    (re.compile(r"(?<= )!=(?= )"), ("==",)),
    (re.compile(r"(?<=\d )\+(?= \d)"), ("-",)),
    (re.compile(r":\)"), (":(",)),
    (re.compile(r":\("), (":)",)),
    (re.compile(r"\b(?:A|B|AB|O)(?:\+)(?!\w)"), ("A-",)),
)


def symbol(sentence: str) -> Iterator[str]:
    """Exchange C++, C and C#, currencies, relations and faces; remove a percent sign."""
    for pattern, replacements in _SYMBOLS:
        for match in pattern.finditer(sentence):
            for new in replacements:
                yield put(sentence, *match.span(), new)


_STATEMENT: Final = re.compile(
    r"^(?:I|you|he|she|we|they|it|this|that|there|my|your|his|her|our|the|ich|du|er|sie|es|wir|ihr"
    r"|mein|meine|dein|deine|der|die|das"
    r"|[A-Z][a-z]+ (?:is|was|likes|lives|has|works|ist|war|hat))\b",
    re.IGNORECASE,
)
_TAG_WORDS: Final = re.compile(
    r", (?:right|ok|okay|eh|oder|ne|gell|no|ja|\w+(?:n['’]t)? (?:not )?\w+)\?$"
)


def question(sentence: str) -> Iterator[str]:
    """Turn a statement into a question by its mark alone, and back, unless word order decides."""
    text = sentence.rstrip()
    if not _STATEMENT.match(text) or _TAG_WORDS.search(text) or text[-1] in '…:;,"“)':
        return
    body = text.rstrip(".!?")
    if body and body[-1].isalnum():
        yield body + ("." if "?" in text[len(body) :] else "?")
