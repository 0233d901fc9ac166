"""Edits to verbs: negation and tense."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from corpora.meaning_edits.edits import like, put
from corpora.meaning_edits.words import ENGLISH_VERBS, GERMAN_PAST, listed

_BASE: Final = {forms[0]: forms for forms in ENGLISH_VERBS.values()}
_THIRD: Final = {forms[1]: forms for forms in ENGLISH_VERBS.values()}
_PAST: Final = {forms[2]: forms for forms in ENGLISH_VERBS.values()}
_AUXILIARIES: Final = listed(
    """get gets got getting has have had having is are was were be been being am do does did will
    would can could may might must should to not a an the my your his her our their this these
    of in on at"""
)
_NO_SUBJECTS: Final = frozenset(_BASE) | listed("turn keep bear look lean far nothing")
_ADVERBS: Final = r"(?:always|never|often|usually|also|really|still|just|only|sometimes|now)"
_SUBJECT_VERB: Final = re.compile(rf"\b([\w'’]+)((?: {_ADVERBS})? )([a-z]+)\b(?!['’]t|n['’]t)")
_IRREGULAR_PARTICIPLES: Final = listed(
    """been gone done made had got met read bought left paid told found kept felt lost won sent
    lent sold taught thought slept spent come run begun sung swum drunk known seen heard put"""
)
_PARTICIPLE: Final = re.compile(rf" (?:{'|'.join(sorted(_IRREGULAR_PARTICIPLES))}|\w+ed|\w+en)\b")
_INVERTED: Final = re.compile(
    r"\b(?:do|does|did|will|would|can|could|may|might|must|should|let|n['’]t) $", re.IGNORECASE
)
_PLURAL_SUBJECTS: Final = frozenset({"i", "you", "we", "they"})


def _finite_verbs(sentence: str) -> Iterator[tuple[re.Match[str], str, tuple[str, str, str]]]:
    """Yield subject and verb, the name of the form, and all three forms."""
    starts = (place.start() for place in re.finditer(r"(?<!\S)\w", sentence))
    for match in filter(None, (_SUBJECT_VERB.match(sentence, start) for start in starts)):
        if _INVERTED.search(sentence, 0, match.start()):
            continue
        subject, verb = match.group(1).lower(), match.group(3)
        perfect = verb in {"have", "has", "had"} and _PARTICIPLE.match(sentence, match.end())
        used_to = verb == "used" and sentence.startswith(" to ", match.end())
        if perfect or used_to or re.search("['’]", subject) or subject in _NO_SUBJECTS:
            continue
        if verb in _BASE and subject in _PLURAL_SUBJECTS:
            yield match, "base", _BASE[verb]
        elif verb in _THIRD and subject not in _AUXILIARIES | _PLURAL_SUBJECTS:
            yield match, "third", _THIRD[verb]
        elif verb in _PAST and subject not in _AUXILIARIES:
            yield match, "past", _PAST[verb]


def english_tense(sentence: str) -> Iterator[str]:
    """Change the tense of a finite verb."""
    for match, form, (base, _, past) in _finite_verbs(sentence):
        if re.match(r" (?:not|n['’]t)\b", sentence[match.end() :]) is None:
            yield put(sentence, *match.span(3), f"will {base}" if form == "past" else past)
    for match in re.finditer(r"\bwill ([a-z]+)\b|['’]ll ([a-z]+)\b", sentence):
        verb = match.group(1) or match.group(2)
        past = _BASE[verb][2] if verb in _BASE else "was" if verb == "be" else f"did {verb}"
        yield put(sentence, *match.span(), past if match.group(1) else f" {past}")
    for match in re.finditer(r"\bused to (?=[a-z])", sentence):
        yield put(sentence, *match.span(), "")
    for match in re.finditer(r"['’](m|re)\b", sentence):
        yield put(sentence, *match.span(), " was" if match.group(1) == "m" else " were")


_NEGATIVE: Final = re.compile(
    r"(?P<drop>(?<!,)(?<! if)(?<! or)(?<!but) not\b(?! (?:only|just|to mention|least)\b))|"
    r"(?P<cannot>\b(?:can['’]t|cannot)\b)|(?P<wont>\bwon['’]t\b)|(?P<short>(?<=\w)n['’]t\b)",
    re.IGNORECASE,
)
_POSITIVE: Final = {"drop": "", "cannot": "can", "wont": "will", "short": ""}
_TAG: Final = re.compile(r", \w+(?:n['’]t)? (?:\w+ )?(?:not )?\w+\?$")
_NOT_HERE: Final = re.compile(
    r"\b(?:(?<=I )am|is|are|was|were|can|could|will|would|should|must|may|might)\b"
    r"(?!\s+(?:not|I|you|he|she|it|we|they|there)\b)(?!n?['’]t)",
)


def english_negation(sentence: str) -> Iterator[str]:
    """Remove a negation, or insert one after an auxiliary or with "do"."""
    tag = _TAG.search(sentence)
    end = tag.start() if tag else len(sentence)
    for match in _NEGATIVE.finditer(sentence, 0, end):
        kind = match.lastgroup or "drop"
        yield put(sentence, *match.span(), like(match.group().strip() or "x", _POSITIVE[kind])
                   if _POSITIVE[kind] else "")  # fmt: skip
    for match in _NOT_HERE.finditer(sentence, 0, end):
        before = sentence[: match.start()].split()
        if before and before[-1].lower() not in {"a", "the", "that's", "my", "in"}:
            yield put(sentence, match.end(), match.end(), " not")
    for match in re.finditer(r"(?<=[a-z])['’](?:m|re|ve|ll)\b", sentence[:end], re.IGNORECASE):
        yield put(sentence, match.end(), match.end(), " not")
    for match in re.finditer(r"(?<=\w) (?:has|have|had)(?= )", sentence[:end]):
        if _PARTICIPLE.match(sentence, match.end()):
            yield put(sentence, match.end(), match.end(), " not")
    helpers = {"base": "do not", "third": "does not", "past": "did not"}
    for match, form, (base, _, _) in _finite_verbs(sentence):
        if base != "do" and not sentence.startswith(" not", match.end()):
            yield put(sentence, *match.span(3), f"{helpers[form]} {base}")


_KEIN: Final = re.compile(r"\b(?:(k)(?=ein(?:e[nmrs]?)?\b)|(?=ein(?:e[nmrs]?)?\b))", re.IGNORECASE)
_AUXILIARY: Final = listed(
    """bin bist ist sind war waren kann kannst können muss musst darf soll will wird werde werden
    hat habe haben hatte"""
)
_FINITE: Final = "|".join(sorted({*_AUXILIARY, *GERMAN_PAST, *GERMAN_PAST.values()}))
_GERMAN_VERB: Final = re.compile(
    rf"\b(?:{_FINITE})\b(?: (?:ich|du|er|sie|es|wir|ihr|mich|dich|sich|uns|mir|dir|ihn|ihm|ihnen))*"
)


def german_negation(sentence: str) -> Iterator[str]:
    """Remove "nicht" or the k of "kein", or insert one."""
    for match in re.finditer(r" nicht\b(?! nur)", sentence):
        yield put(sentence, *match.span(), "")
    for match in _KEIN.finditer(sentence):
        word = "" if match.group(1) else "k"
        rest = sentence[match.end() :]
        capital = sentence[match.start()].isupper()
        rest = rest.capitalize()[:1] + rest[1:] if match.group(1) and capital else rest
        rest = rest[0].lower() + rest[1:] if word and capital else rest
        yield sentence[: match.start()] + (word.upper() if capital else word) + rest
    for match in _GERMAN_VERB.finditer(sentence):
        if re.match(r" (?:nicht|k?ein(?:e[nmr]?)?|nie|niemals)\b", sentence[match.end() :]) is None:
            yield put(sentence, match.end(), match.end(), " nicht")


def german_tense(sentence: str) -> Iterator[str]:
    """Exchange present and simple past."""
    present = {past: now for now, past in reversed([*GERMAN_PAST.items()])}
    for match in re.finditer(r"\b[a-zäöüß]+\b", sentence):
        for table in (GERMAN_PAST, present):
            if new := table.get(match.group()):
                yield put(sentence, *match.span(), new)
