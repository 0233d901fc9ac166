"""Finding cues in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from mnemon.domain.items import Span
from mnemon.text import cues
from mnemon.text.code import without_code
from mnemon.text.cues.language import CueKind, Cues
from mnemon.text.sentences import sentences

_QUESTION_END = re.compile(r"[?？؟]\W*$")
_TAIL = 40
_MASK = "\x00"
# In a question these are asked for, not told. A correction may well be asked politely.
_TOLD = frozenset({CueKind.NAMING, CueKind.IDENTITY, CueKind.PREFERENCE})


@lru_cache(maxsize=1)
def languages() -> tuple[Cues, ...]:
    """Return the cues of every language there is a file for, by code."""
    modules = (import_module(f"{cues.__name__}.{m.name}") for m in iter_modules(cues.__path__))
    values = (getattr(module, "CUES", None) for module in modules)
    return tuple(sorted((v for v in values if isinstance(v, Cues)), key=lambda v: v.language))


def found(text: str) -> frozenset[CueKind]:
    """Return the kinds of cue that a text holds, outside code."""
    return _kinds_in(without_code(text))


def cue_sentences(text: str) -> list[tuple[Span, frozenset[CueKind]]]:
    """Return each sentence that holds a cue outside code, in order, with the cues' kinds.

    A question tells nothing of who somebody is or what they like ("do you know what I like?"):
    of its cues only a correction counts.
    """
    prose = without_code(text)
    if not _kinds_in(prose):
        return []
    told = ((span, _told_in(span.of(prose))) for span in sentences(text))
    return [(span, kinds) for span, kinds in told if kinds]


def _told_in(sentence: str) -> frozenset[CueKind]:
    kinds = _kinds_in(sentence)
    return kinds - _TOLD if _QUESTION_END.search(sentence[-_TAIL:]) else kinds


def _kinds_in(prose: str) -> frozenset[CueKind]:
    folded = prose.casefold().replace("’", "'")
    masked = _exceptions().sub(_MASK, folded)
    return frozenset(kind for kind, pattern in _patterns().items() if pattern.search(masked))


@lru_cache(maxsize=1)
def _patterns() -> dict[CueKind, re.Pattern[str]]:
    return {
        kind: _compiled(
            _regex(phrase, c.fillers) for c in languages() for phrase in c.phrases(kind)
        )
        for kind in CueKind
    }


@lru_cache(maxsize=1)
def _exceptions() -> re.Pattern[str]:
    return _compiled(_regex(phrase, ()) for cues in languages() for phrase in cues.exceptions)


def _compiled(phrases: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(set(phrases)))})(?!\w)")


def _regex(phrase: str, fillers: tuple[str, ...]) -> str:
    """Return the regular expression of a phrase; the same words are folded as in the text."""
    first, *rest = map(_word_regex, phrase.casefold().split())
    if not rest:
        return first
    between = rf"(?:\s+(?:{'|'.join(map(re.escape, fillers))})){{0,2}}" if fillers else ""
    return rf"{first}{between}\s+" + r"\s+".join(rest)


def _word_regex(word: str) -> str:
    if word == "#":
        return r"\d+"
    return re.escape(word[:-1]) + r"\w*" if word.endswith("*") else re.escape(word)
