"""Identify the language of short texts.

Counts words that only one language has. All lists are guesses at frequent words. Text without
evidence has no known language, and callers then change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from memolith.text.lexicon import de, en
from memolith.text.lexicon.language import word_set

_ENGLISH_LIST = """
i the and of is are were my you your she they i'm with this that have has had does did not from to
like likes liked want wants needs would could should can cannot don't doesn't didn't isn't aren't
it its it's what who how where why there here been being which about our their his him them on at
by as or if when every each some any many much very than then only just because but we he's she's
we're they're you're i've we've i'll never always works work lives live bought got goes came
"""
_FRENCH = (
    "le les un une des du et est je tu il elle nous vous ils elles dans avec sur pas que qui ce"
)
_SPANISH = (
    "el los las una y en con por para que es se su sus mi mis muy pero más está fue yo usted va"
)
_ITALIAN = (
    "il gli di e che è per con non sono una uno suo sua ho hai ha del della nel alla le la lo"
)
_PORTUGUESE = "o os um uma em não com por que da dos das é eu você ele ela meu minha ao"
_OTHERS = "de het een ik je niet az egy és nem van és się nie jest na że și este je jsem není"
_GERMAN_LIST = """
ich du er sie wir ist sind habe haben hast nicht kein keine keinen und oder mit für auf aus bei von
zu zum zur im der das dem ein eine einen einem einer eines mein meine meinen meinem meiner dein
deine sein seine unser unsere heißt heisst heiße wohne mag möchte kann wird wurde auch nur noch
schon sehr aber weil dass wenn nach über vor um beim ins vom mich dich ihn uns euch mir dir ihm
ihr gern gerne lieber immer nie hatte waren bist gehört arbeitet wohnt kommt geht macht
"""
_ENGLISH = word_set(_ENGLISH_LIST)
_GERMAN = word_set(_GERMAN_LIST)
_FOREIGN = _GERMAN | word_set(f"{_FRENCH} {_SPANISH} {_ITALIAN} {_PORTUGUESE} {_OTHERS}")
_MORE_ENGLISH = _ENGLISH | en.STOP_WORDS
_MORE_GERMAN = _GERMAN | de.STOP_WORDS
_ENGLISH_SPELLING = re.compile(
    r"(?=[a-z]{3})(?:\w*(?:th|sh|ck|wh|ght|oo|ee|oa|ow|aw|ay|ew)|\w+(?:ing|[^aeiou\W]ed|[^aeiou\W]y)$)"
)
_UMLAUT = re.compile(r"[äöüß]")


def is_english(words: Sequence[str]) -> bool:
    """Return whether more words look English than belong to another language."""
    lower = [word.lower() for word in words]
    foreign = sum(word in _FOREIGN for word in lower)
    known = sum(word in _ENGLISH for word in lower)
    if known > foreign:  # the usual case; skips the check of spelling
        return True
    others = (word for word in lower if word not in _ENGLISH)
    return known + sum(_ENGLISH_SPELLING.match(word) is not None for word in others) > foreign


def is_german(words: Sequence[str]) -> bool:
    """Return whether some word is German and none English."""
    lower = [word.lower() for word in words]
    if not _ENGLISH.isdisjoint(lower):
        return False
    return not _GERMAN.isdisjoint(lower) or _UMLAUT.search("".join(lower)) is not None


def guess_language(words: Sequence[str]) -> Literal["de", "en"] | None:
    """Return the language with more words in a text; None in a tie.

    Counts frequent words of both languages, and German letters. For callers that have to assume a
    language; `is_english` and `is_german` require more evidence.
    """
    lower = [word.lower() for word in words]
    english = sum(word in _MORE_ENGLISH for word in lower)
    german = sum(word in _MORE_GERMAN or _UMLAUT.search(word) is not None for word in lower)
    if english == german:
        return None
    return "de" if german > english else "en"
