"""Whether a text tries to instruct whoever reads it: a model that is shown it as a memory."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING

from memolith.text.folding import fold
from memolith.text.markup import decoded, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.text.injection_rules import Rule

# Where an order begins: at a sentence's or clause's start, or after a word that leads to one.
_ORDER_BEGINS = re.compile(
    r"(?:^|[.!?:;,\n()\[\]{}<>*#|/\-–—…\"'`“”„«»]"
    r"|\b(?:please|pls|bitte|now|then|and|und|just|kindly|so|but|first|instead|jetzt|dann|also|immediately"
    r"|simply|always|must|shall|from (?:here|now) on"
    r"|you (?:will|can|may|should|have to|need to|are to|now)"
    r"|(?:want|need|ask|order|command|instruct|tell) you to"
    r"|ai|assistant|claude|gpt|chatgpt|copilot))\s*$"
)
_BEFORE = 40
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "„": "“", "«": "»", "»": "«", "‘": "’"}
_MOST_QUOTED = 60

_BLOB = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,4000}={0,2}(?![\w+/=])")
_MOST_BLOBS = 50
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_ROT13_MARKS = ("vtaber", "qvfertneq", "flfgrz cebzcg", "lbh ner abj")


def is_suspicious(text: str) -> bool:
    """Tell whether a text tries to instruct a model.

    By its words and marks (`memolith.text.injection_rules`): orders to drop earlier orders, new
    roles, orders about memory and about the user, tags and line heads of roles, fake ends of a
    section. Letters that look the same count as the same, invisible ones not at all; base64 and
    rot13 are looked into, and what is said under formatting (`memolith.text.markup`). What stands
    alone in quotes is talked about, not said. A guess, kept cautious:
    `docs/decisions/0010-screening.md` has its rates. Linear in the length of the text.
    """
    folded = fold(text)
    return _instructs(folded) or any(map(_instructs, _meant(text, folded)))


def _instructs(folded: str) -> bool:
    from memolith.text.injection_rules import RULES  # here: a question is not looked at

    return any(
        _counts(folded, match, rule)
        for rule in RULES
        if _may_hold(folded, rule)
        for match in rule.regex.finditer(folded)
    )


def _may_hold(folded: str, rule: Rule) -> bool:
    """Tell whether a text has a trigger of each group. In plain loops: it is asked most often."""
    for words in rule.triggers:
        for word in words:
            if word in folded:
                break
        else:
            return False
    return True


def _counts(text: str, match: re.Match[str], rule: Rule) -> bool:
    if rule.imperative and not _ORDER_BEGINS.search(
        text[max(0, match.start() - _BEFORE) : match.start()]
    ):
        return False
    return not (rule.quotable and _is_mention(text, match))


def _is_mention(text: str, match: re.Match[str]) -> bool:
    """Tell whether a match stands in a pair of quotes of its own, within a longer text."""
    opening = text[max(0, match.start() - _BEFORE) : match.start()].rstrip()[-1:]
    closing = _QUOTES.get(opening)
    if closing is None:
        return False
    end = text.find(closing, match.end(), match.end() + _MOST_QUOTED)
    return end >= 0 and not _is_all(text, match.start(), end)


def _is_all(text: str, start: int, end: int) -> bool:
    """Tell whether nothing stands around a short quotation."""
    if start > _BEFORE or len(text) - end > _BEFORE:
        return False
    return not text[:start].strip("".join(_QUOTES) + " \n") and not text[end + 1 :].strip()


def _meant(text: str, folded: str) -> Iterator[str]:
    """Yield what a text says in base64 or rot13, and under its formatting."""
    if any(mark in folded for mark in _ROT13_MARKS):
        yield folded.translate(_ROT13)
    for blob, _ in zip(_BLOB.finditer(text), range(_MOST_BLOBS), strict=False):
        try:
            said = binascii.a2b_base64(blob[0] + "=" * (-len(blob[0]) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        yield fold(said)
    plain = decoded(text)
    if plain != text:
        folded = fold(plain)
        yield folded
    bare = unmarked(folded)
    if bare != folded:
        yield bare
