"""Edits between singular and plural."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from corpora.meaning_edits.edits import like, put, word_rule
from corpora.meaning_edits.words import ENGLISH_VERBS, Exchanges, exchanges, listed

PLURALS: Final[Exchanges] = exchanges(
    """child/children, man/men, woman/women, person/people, wife/wives, foot/feet, tooth/teeth,
    mouse/mice, knife/knives, leaf/leaves"""
)
GERMAN_PLURALS: Final[Exchanges] = exchanges(
    """Kind/Kinder, Hund/Hunde, Katze/Katzen, Bruder/Brüder, Schwester/Schwestern,
    Freund/Freunde, Freundin/Freundinnen, Tochter/Töchter, Sohn/Söhne, Auto/Autos, Haus/Häuser,
    Buch/Bücher, Wohnung/Wohnungen, Stunde/Stunden, Tablette/Tabletten, Stadt/Städte,
    Nachbar/Nachbarn, Kollege/Kollegen, Fahrrad/Fahrräder, Termin/Termine"""
)
NO_PLURAL_S: Final = listed(
    """news bus gas tennis physics maths mathematics lens always perhaps yes this his its is was
    has does across towards glasses trousers jeans scissors pants clothes christmas plus less
    sometimes besides as us"""
)
"""Words that end in s and have no singular without it."""

_ONE: Final = re.compile(
    r"\b(an? |my |your |his |her |our |their )([a-z]{3,})\b(?=\s*(?:$|[.,;!?]|(?:in|on|at|of|and|or"
    r"|is|was|who|that|with|from|to|has|had|will|can|\w+s|\w+ed)\b))",
    re.IGNORECASE,
)
_SEVERAL: Final = re.compile(r"\b(my |your |his |her |our |their |the |two )([a-z]{2,}[^s\W]s)\b")

_NO_NOUNS: Final = listed("yesterday today tomorrow again often always never not little own")
_THIRD_PERSONS: Final = {third for _, third, _ in ENGLISH_VERBS.values()}


def _plural(noun: str) -> str:
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(?:s|x|z|ch|sh)$", noun) else "s")


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-2] if re.search(r"(?:s|x|z|ch|sh)es$", noun) else noun[:-1]


def english_plurals(sentence: str) -> Iterator[str]:
    """Change the number of a noun after an article or a possessive, or of a listed one."""
    for match in _ONE.finditer(sentence):
        article, noun = match.groups()
        if noun not in PLURALS and noun not in _NO_NOUNS and not noun.endswith(("s", "ed")):
            owner = "" if article.lower() in {"a ", "an "} else article
            yield put(sentence, *match.span(), like(article.strip(), owner + _plural(noun)))
    for match in _SEVERAL.finditer(sentence):
        if match.group(2) not in NO_PLURAL_S and match.group(2) not in _THIRD_PERSONS:
            yield put(sentence, *match.span(2), _singular(match.group(2)))
    yield from word_rule("plural", PLURALS)(sentence)


german_plurals: Final = word_rule("plural", GERMAN_PLURALS)
"""Changes the number of a listed noun."""
