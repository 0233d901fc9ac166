"""Minimal edits that change the meaning of a sentence, to test that two facts stay separate.

`swaps("Anna owes Bob 20 euros.")` returns "Bob owes Anna 20 euros.", "Anna does not owe Bob 20
euros.", "Anna owes Bob 21 euros." and so on. These texts look similar, also to an embedding, but
say something else. A memory that confuses them loses a fact.

Supports English and German. The language is the one with more of its listed words in the sentence,
or English in a tie. The edits use word lists and patterns instead of a parser. Limits:

- Grammar may suffer ("my brothers lives here"); only the meaning matters.
- Anything not in the lists is unchanged: rare verbs and names, passives, clauses exchanged around
  "because", idioms, commas ("Let's eat, Grandma"), words that differ only in the case of their
  first letter ("Turkey", "turkey"; German "Sie", "sie"), and German articles ("der See", "die
  See").
- A symmetric sentence ("Anna is engaged to Bob") may be reversed. Known symmetric forms are "and",
  "or", "with", forms of "be" and a few verbs.
- A sentence in two languages is treated as one of them.
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
"""Kinds whose sentences may differ only in the case of a word, a sign, a symbol or the final mark.

Sentences of other kinds differ in their words.
"""


@dataclass(frozen=True, slots=True)
class Swap:
    """One edit.

    Attributes:
        kind: Kind of the change; one of `KINDS`.
        original: The given sentence.
        changed: The sentence with another meaning.
    """

    kind: str
    original: str
    changed: str


def swaps(sentence: str) -> list[Swap]:
    """Return the edits of a sentence that change its meaning, each changed text once.

    The order is that of `KINDS`, then of position, and deterministic. No edit differs from the
    sentence only in case, punctuation, articles or contractions, except those of `MARK_KINDS`. The
    list is empty if no rule applies.

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
"""All kinds of edits, in the order of `swaps`."""


def _rules(language: Language) -> dict[str, Rule]:
    def of_kind(kind: str) -> Iterable[Rule]:
        if kind in _WORD_KINDS:
            fixed = FIXED[language].get(kind, "")
            yield word_rule(kind, WORDS[language][kind], fixed)
        yield from (rules[kind] for rules in (_BY_LANGUAGE[language], _EITHER) if kind in rules)

    return {kind: _both(*of_kind(kind)) for kind in KINDS}


_RULES: Final[dict[Language, dict[str, Rule]]] = {"en": _rules("en"), "de": _rules("de")}
