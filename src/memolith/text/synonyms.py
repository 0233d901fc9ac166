"""Map synonyms to one term, so that a paraphrased fact can be compared with its source.

The lists are deliberately small: unlisted words count as different. English and German, from
general knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from memolith.text.analysis import terms
from memolith.text.lexicon.language import word_set
from memolith.text.numbers import LARGE_NUMBER_VALUES, NUMBER_WORD_VALUES, parse_numbers
from memolith.text.polarity import replace_dislikes

_SYNONYM_GROUPS = (
    "like love enjoy adore fond fan favorite favourite prefer mag mögen liebe liebt gern lieber",
    "work job employ employed occupation profession arbeite arbeitet beruf",
    "live reside based home wohne wohnt wohnen lebe lebt leben",
    "child kid children kids kinder kind",
    "wife spouse husband ehefrau ehemann",
    "mother mom mum mama mutter",
    "father dad papa vater",
    "buy bought purchase purchased kaufe kauft gekauft kaufte",
    "move moved relocate relocated umziehen umgezogen ziehe zieht zog",
    "begin began begun start started beginne beginnt begann",
    "go goes went gone gehe geht ging gegangen",
    "come comes came komme kommt kam gekommen",
    "drive drove driven fahre fährt fuhr gefahren",
    "eat ate eaten esse isst essen gegessen",
    "drink drank drunk trinke trinkt getrunken",
    "meet met meeting appointment termin",
    "leave left leaving",
    "write wrote written schreibe schreibt geschrieben",
    "read reads lese liest gelesen",
    "speak spoke spoken spreche spricht",
    "teach taught teacher",
    "run ran running",
    "swim swam swum",
    "build built building",
    "grow grew grown",
    "lose lost losing",
    "sell sold selling",
    "win won winning",
    "get got gotten receive received",
    "give gave given",
    "take took taken",
    "sleep slept schlafe schläft",
    "feel felt feeling",
    "think thought",
    "break broke broken",
    "marry married wedding verheiratet heirate heiratet geheiratet",
    "study student studying studiere studiert",
    "holiday vacation urlaub",
    "flat apartment wohnung",
    "car auto wagen",
    "movie film",
    "photo picture photograph foto",
    "doctor physician arzt ärztin",
    "help assist helfe hilft",
    "big large",
    "allergic allergy allergies allergisch allergie",
    "birthday born birthdate geburtstag geboren",
    "name named namens heiße heißt heißen nenne nennt",
    "want need wish request ask asked möchte will",
    "answer reply response respond antwort antworte antwortet",
    "short brief briefly concise concisely kurz knapp",
    "dog puppy hund",
    "cat kitten katze",
)

_UNINFORMATIVE_WORDS = """
user users person currently current now presently still say says said state states stated mention
mentions mentioned tell tells told note notes noted express expressed identify identifies really
also nutzer nutzers nutzerin benutzer benutzerin derzeit momentan aktuell sagt sagte erwähnt
speaker yes yeah okay please bitte own owns owned
longer anymore ever never nie niemals mehr will
"""


def _build_canonical_terms() -> Iterator[tuple[str, str]]:
    for group in _SYNONYM_GROUPS:
        first, *_ = terms(group)
        for term in terms(group):
            yield term, first


CANONICAL_TERMS: Mapping[str, str] = dict(_build_canonical_terms())
"""Each term with the term that represents all its synonyms."""

CONTRASTS = word_set(
    "before after more less most least over under above below better worse vor mehr weniger über"
)
"""Words, mostly stop words, that change the meaning of their neighbours."""

NAME_TERM = CANONICAL_TERMS["name"]
"""The term for words that introduce a name."""

NUMBER_TERMS = frozenset(
    chain.from_iterable(map(terms, [*NUMBER_WORD_VALUES, *LARGE_NUMBER_VALUES]))
)
"""Terms of number words."""

UNINFORMATIVE_TERMS = frozenset(terms(_UNINFORMATIVE_WORDS))
"""Terms added when a fact is reported in the third person."""


# Multi-word synonyms.
_PHRASES = (
    (re.compile(r"\bwork(?:s|ed|ing)? as\b|\barbeitet? als\b", re.IGNORECASE), " "),
    (re.compile(r"\b(?:years?|months?)[\s-]old\b|\bJahre alt\b", re.IGNORECASE), " "),
    (re.compile(r"[$]"), " dollar "),
    (re.compile("€"), " euro "),
    (re.compile("%"), " percent "),
    (re.compile("£"), " pound "),
    (re.compile(r"(?:\bwould|'d) (?:like|love)\b", re.IGNORECASE), " want "),
    (re.compile(r"\b(?:is|are|am|was|be|been|'s|'m|dog|cat) called\b", re.IGNORECASE), " name "),
    (re.compile(r"\bcall(?:s|ed)? (?=(?:me|him|her|it|them)\b)", re.IGNORECASE), " name "),
)
# An instruction implies a wish.
_INSTRUCTION = re.compile(
    r"\b(?:please|bitte|always|never|immer|nie|from now on|ab jetzt|should|must|soll\w*"
    r"|don't|do not)\b"
    r"|^\W*(?:keep|use|call|write|answer|speak|be|make|give|avoid|stop|start|remember|reply"
    r"|respond)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_COUNTED_NOUN = re.compile(
    rf"(?<![\w.,])(?P<number>\d[\d.,]{{0,20}}"
    rf"|{'|'.join(sorted(NUMBER_WORD_VALUES, key=len, reverse=True))})"
    r"[\s-]+(?=(?P<what>[^\W\d_]+(?:[\s-]+[^\W\d_]+)?))"
)
_WANT_TERMS = frozenset(map(CANONICAL_TERMS.__getitem__, terms("like want")))
_INTRODUCTION = re.compile(
    r"(?i:\b(?:i'm|i am|this is|ich bin)) (?=[A-ZÄÖÜ])|\b[Mm]y(?: [a-zäöüß]+){1,2},? (?=[A-ZÄÖÜ])"
)


def content_terms(text: str) -> tuple[str, ...]:
    """Return the informative terms of a text, in order, each synonym as its canonical term."""
    plain = replace_dislikes(text)
    for phrase, replacement in _PHRASES:
        plain = phrase.sub(replacement, plain)
    words = (
        CANONICAL_TERMS.get(term, term) for term in terms(plain) if term not in UNINFORMATIVE_TERMS
    )
    contrasts = (word for word in _WORD.findall(plain.lower()) if word in CONTRASTS)
    return tuple(dict.fromkeys([*words, *contrasts]))


def counted_terms(text: str) -> frozenset[tuple[str, str]]:
    """Return the counts in a text: pairs of a term and the number before it."""
    return frozenset(
        (term, number)
        for match in _COUNTED_NOUN.finditer(text.lower())
        for term in content_terms(match["what"])[:1]
        for number in parse_numbers(match["number"])
    )


def implied_terms(text: str) -> frozenset[str]:
    """Return terms that a text implies: an instruction implies "want", an introduction "name"."""
    want_terms = _WANT_TERMS if _INSTRUCTION.search(text) else frozenset()
    return want_terms | {NAME_TERM} if _INTRODUCTION.search(text) else want_terms


_ENDINGS = frozenset(
    ["", "e", "t", "st", "et", "en", "s", "es", "er", "em", "n", "te", "ten", "i", "ic", "ing", "r"]
)
_MIN_STEM_CHARS = 4


def is_same_word(first: str, second: str) -> bool:
    """Return whether two terms are forms of one word: "allerg", "allergi"; "wohn", "wohnt"."""
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    return shared >= _MIN_STEM_CHARS and first[shared:] in _ENDINGS and second[shared:] in _ENDINGS
