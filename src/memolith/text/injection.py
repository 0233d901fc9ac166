"""Whether a text tries to instruct whoever reads it: a model that is shown it as a memory."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING

from memolith.text.folding import fold
from memolith.text.markup import decode_escapes, remove_markup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.text.injection_rules import InjectionRule

# Where an order begins: at a sentence's or clause's start, or after a word that leads to one.
_INSTRUCTION_START = re.compile(
    r"(?:^|[.!?:;,\n()\[\]{}<>*#|/\-–—…\"'`“”„«»]"
    r"|\b(?:please|pls|bitte|now|then|and|und|just|kindly|so|but|first|instead|jetzt|dann|also|immediately"
    r"|simply|always|must|shall|from (?:here|now) on"
    r"|you (?:will|can|may|should|have to|need to|are to|now)"
    r"|(?:want|need|ask|order|command|instruct|tell) you to"
    r"|ai|assistant|claude|gpt|chatgpt|copilot))\s*$"
)
_LOOK_BACK = 40
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "„": "“", "«": "»", "»": "«", "‘": "’"}
_MAX_QUOTED_CHARS = 60

_BLOB = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,4000}={0,2}(?![\w+/=])")
_MAX_BLOBS = 50
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
    return _has_instruction(folded) or any(map(_has_instruction, _decode_variants(text, folded)))


def _has_instruction(folded: str) -> bool:
    from memolith.text.injection_rules import INJECTION_RULES  # here: a question is not looked at

    return any(
        _is_valid_match(folded, match, rule)
        for rule in INJECTION_RULES
        if _has_triggers(folded, rule)
        for match in rule.regex.finditer(folded)
    )


def _has_triggers(folded: str, rule: InjectionRule) -> bool:
    """Tell whether a text has a trigger of each group. In plain loops: it is asked most often."""
    for words in rule.triggers:
        for word in words:
            if word in folded:
                break
        else:
            return False
    return True


def _is_valid_match(text: str, match: re.Match[str], rule: InjectionRule) -> bool:
    if rule.imperative and not _INSTRUCTION_START.search(
        text[max(0, match.start() - _LOOK_BACK) : match.start()]
    ):
        return False
    return not (rule.quotable and _is_mention(text, match))


def _is_mention(text: str, match: re.Match[str]) -> bool:
    """Tell whether a match stands in a pair of quotes of its own, within a longer text."""
    opening = text[max(0, match.start() - _LOOK_BACK) : match.start()].rstrip()[-1:]
    closing = _QUOTES.get(opening)
    if closing is None:
        return False
    end = text.find(closing, match.end(), match.end() + _MAX_QUOTED_CHARS)
    return end >= 0 and not _is_whole_text(text, match.start(), end)


def _is_whole_text(text: str, start: int, end: int) -> bool:
    """Tell whether nothing stands around a short quotation."""
    if start > _LOOK_BACK or len(text) - end > _LOOK_BACK:
        return False
    return not text[:start].strip("".join(_QUOTES) + " \n") and not text[end + 1 :].strip()


def _decode_variants(text: str, folded: str) -> Iterator[str]:
    """Yield what a text says in base64 or rot13, and under its formatting."""
    if any(mark in folded for mark in _ROT13_MARKS):
        yield folded.translate(_ROT13)
    for blob, _ in zip(_BLOB.finditer(text), range(_MAX_BLOBS), strict=False):
        try:
            said = binascii.a2b_base64(blob[0] + "=" * (-len(blob[0]) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        yield fold(said)
    plain = decode_escapes(text)
    if plain != text:
        folded = fold(plain)
        yield folded
    bare = remove_markup(folded)
    if bare != folded:
        yield bare
