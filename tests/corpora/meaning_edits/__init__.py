"""Minimal edits that change what a sentence says, to test that two facts stay two.

`swaps("Anna owes Bob 20 euros.")` gives "Bob owes Anna 20 euros.", "Anna does not owe Bob 20
euros.", "Anna owes Bob 21 euros." and so on: texts that look almost alike, to a reader in a hurry
and to an embedding, and say something else. A memory that takes one of them for the other has
lost a fact.

English and German; the language is the one with more of its listed words in the sentence,
English where they tie. The edits go by word lists and patterns, not by a parser, so

- grammar may suffer ("my brothers lives here"): what counts is that it says something else;
- what is not in the lists is left alone: rare verbs and names, passives, clauses exchanged
  around "because", idioms, comma against no comma ("Let's eat, Grandma"), words that differ by
  the case of their first letter alone ("Turkey", "turkey"; German "Sie", "sie"), German
  articles ("der See", "die See");
- a sentence that is the same both ways round in the world ("Anna is engaged to Bob") may be
  turned round all the same: only what is joined by "and", "or", "with", a form of "be" or a
  few symmetric verbs is known to be symmetric;
- in a sentence of two languages, one is taken for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from corpora.meaning_edits import marks, numbers, phrases, plurals, verbs
from corpora.meaning_edits.edits import Rule, word_rule
from corpora.meaning_edits.idioms import FIXED
from corpora.meaning_edits.words import WORDS, Language, language_of, listed

__all__ = ["KINDS", "MARK_KINDS", "Swap", "language_of", "swaps"]

MARK_KINDS: Final = frozenset({"case", "decimal", "question", "sign", "symbol"})
"""The kinds whose two sentences may differ in nothing but the case of a whole word, a sign, a
symbol or the final mark. Sentences of any other kind differ in their words."""


@dataclass(frozen=True, slots=True)
class Swap:
    """One edit.

    Attributes:
        kind: What was changed; one of `KINDS`.
        original: The sentence as given.
        changed: The sentence that says something else.
    """

    kind: str
    original: str
    changed: str


def swaps(sentence: str) -> list[Swap]:
    """Return the edits of a sentence that change its meaning, each changed text once.

    The order is that of `KINDS`, then of place; the same sentence always gives the same list.
    No edit differs from the sentence in case, punctuation, articles or contractions alone, except
    those of `MARK_KINDS`. The list is empty where nothing is known to change.

    >>> [swap.changed for swap in swaps("Turn left at nine.")]
    ['Turn right at nine.', 'Turn left at eight.']
    """
    found: dict[str, Swap] = {}
    words = _word_sequence(sentence)
    for kind, rule in _RULES[language_of(sentence)].items():
        for changed in rule(sentence):
            says_more = kind in MARK_KINDS or _word_sequence(changed) != words
            if says_more and changed != sentence:
                found.setdefault(changed, Swap(kind, sentence, changed))
    return list(found.values())


_ARTICLES: Final = listed("a an the der die das den dem des ein eine einen einem einer")
_CONTRACTIONS: Final = (
    ("’", "'"), ("can't", "can not"), ("cannot", "can not"), ("won't", "will not"),
    ("n't", " not"), ("'m", " am"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"),
)  # fmt: skip


def _word_sequence(text: str) -> tuple[str, ...]:
    """Return the words without case, punctuation, articles and contractions."""
    text = text.casefold()
    for short, long in _CONTRACTIONS:
        text = text.replace(short, long)
    text = re.sub(r"\b(he|she|it|that|there|what|who|where)'s\b", r"\1 is", text)
    return tuple(word for word in re.findall(r"\w+", text) if word not in _ARTICLES)


def _both(*rules: Rule) -> Rule:
    def rule(sentence: str) -> Iterator[str]:
        for part in rules:
            yield from part(sentence)

    return rule


_WORD_KINDS: Final = (
    "direction", "before_after", "modality", "tense", "number", "date", "time", "quantifier",
    "comparative", "frequency", "possessive", "pronoun", "unit", "antonym", "weekday", "month",
    "name",
)  # fmt: skip
_BY_LANGUAGE: Final[dict[Language, dict[str, Rule]]] = {
    "en": {
        "negation": verbs.english_negation,
        "tense": verbs.english_tense,
        "plural": plurals.english_plurals,
    },
    "de": {
        "negation": verbs.german_negation,
        "tense": verbs.german_tense,
        "plural": plurals.german_plurals,
    },
}
_EITHER: Final[dict[str, Rule]] = {
    "roles": phrases.roles,
    "order": phrases.order,
    "from_to": phrases.from_to,
    "number": numbers.numbers,
    "decimal": numbers.decimals,
    "sign": numbers.signs,
    "date": numbers.dates,
    "time": numbers.clock_times,
    "case": marks.case,
    "symbol": marks.symbol,
    "question": marks.question,
}

KINDS: Final = (
    "roles", "order", "from_to", "negation", "plural", *_WORD_KINDS, "decimal", "sign", "case",
    "symbol", "question",
)  # fmt: skip
"""All kinds of edits, in the order in which `swaps` gives them."""


def _rules(language: Language) -> dict[str, Rule]:
    def of_kind(kind: str) -> Iterable[Rule]:
        if kind in _WORD_KINDS:
            fixed = FIXED[language].get(kind, "")
            yield word_rule(kind, WORDS[language][kind], fixed)
        yield from (rules[kind] for rules in (_BY_LANGUAGE[language], _EITHER) if kind in rules)

    return {kind: _both(*of_kind(kind)) for kind in KINDS}


_RULES: Final[dict[Language, dict[str, Rule]]] = {"en": _rules("en"), "de": _rules("de")}
