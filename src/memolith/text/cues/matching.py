"""Finding cues in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from memolith.domain.items import Span
from memolith.text import cues
from memolith.text.code import mask_code
from memolith.text.cues.language import CueKind, Cues
from memolith.text.sentences import sentences

_QUESTION_END = re.compile(r"[?？؟]\W*$")
_QUESTION_TAIL = 40
MASK = "\x00"
"""What stands for a phrase that is no cue: neither a letter nor white space."""
_CLAUSE_MARK = re.compile(r"[,;:.!–—()]")
_CLAUSE_START = r"(?:(?<![^.!?,;:\n])|(?<=[.!?,;:\n]\s))"


@lru_cache(maxsize=1)
def load_cues() -> tuple[Cues, ...]:
    """Return the cues of every language there is a file for, by code."""
    from importlib import import_module
    from pkgutil import iter_modules

    modules = (import_module(f"{cues.__name__}.{m.name}") for m in iter_modules(cues.__path__))
    values = (getattr(module, "CUES", None) for module in modules)
    return tuple(sorted((v for v in values if isinstance(v, Cues)), key=lambda v: v.language))


def find_cue_kinds(text: str) -> frozenset[CueKind]:
    """Return the kinds of cue that a text holds, outside code."""
    return _match_kinds(mask_code(text))


def find_cue_sentences(text: str) -> list[tuple[Span, frozenset[CueKind]]]:
    """Return each sentence that holds a cue outside code, in order, with the cues' kinds.

    A question tells nothing of who somebody is or what they like ("do you know what I like?"),
    except in a clause of its own ("I like tea, do you?"). A correction may well be asked politely.
    """
    prose = mask_code(text)
    told = ((span, _find_sentence_kinds(span.extract(prose))) for span in sentences(text))
    return [(span, kinds) for span, kinds in told if kinds]


def _find_sentence_kinds(sentence: str) -> frozenset[CueKind]:
    if not is_question(sentence):
        return _match_kinds(sentence)
    masked = _mask_exceptions(sentence)
    return frozenset(
        kind
        for kind, pattern in _compile_cue_patterns().items()
        if any(
            kind is CueKind.CORRECTION or _is_asserted(masked, cue)
            for cue in pattern.finditer(masked)
        )
    )


def _is_asserted(question: str, cue: re.Match[str]) -> bool:
    """Tell whether the clause that a cue stands in tells something, and another one asks."""
    if _CLAUSE_MARK.search(question, cue.end()) is None:
        return False
    before = _CLAUSE_MARK.split(question[: cue.start()])[-1]
    return _compile_question_words().search(before) is None


def _match_kinds(prose: str) -> frozenset[CueKind]:
    masked = _mask_exceptions(prose)
    return frozenset(
        kind for kind, pattern in _compile_cue_patterns().items() if pattern.search(masked)
    )


def _mask_exceptions(prose: str) -> str:
    """Return the prose as patterns expect it, with exceptions blotted out."""
    return _compile_exceptions().sub(MASK, fold_prose(prose))


def fold_prose(prose: str) -> str:
    """Return the prose as the patterns of phrases expect it."""
    return prose.casefold().replace("’", "'")


def is_question(sentence: str) -> bool:
    """Tell whether a sentence ends in a question mark."""
    return _QUESTION_END.search(sentence[-_QUESTION_TAIL:]) is not None


@lru_cache(maxsize=1)
def _compile_cue_patterns() -> dict[CueKind, re.Pattern[str]]:
    return {
        kind: compile_phrases(
            build_phrase_regex(phrase, c.fillers) for c in load_cues() for phrase in c.phrases(kind)
        )
        for kind in CueKind
    }


@lru_cache(maxsize=1)
def _compile_exceptions() -> re.Pattern[str]:
    return compile_phrases(
        build_phrase_regex(phrase, c.fillers) for c in load_cues() for phrase in c.exceptions
    )


@lru_cache(maxsize=1)
def _compile_question_words() -> re.Pattern[str]:
    return compile_phrases(
        build_phrase_regex(word, ()) for c in load_cues() for word in c.question_words
    )


def compile_phrases(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern that finds any of the regular expressions, as whole words."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(set(phrases)))})(?!\w)")


def build_phrase_regex(phrase: str, fillers: tuple[str, ...]) -> str:
    """Return the regular expression of a phrase, as `Cues` describes it; its words are folded."""
    words = phrase.casefold().removeprefix("^").split()
    first, *rest = (_build_word_regex(word) for word in words if not word.startswith("!"))
    not_after = "|".join(_build_word_regex(word[1:]) for word in words if word.startswith("!"))
    between = rf"(?:\s+(?:{'|'.join(map(re.escape, fillers))})){{0,2}}" if fillers and rest else ""
    return (
        (_CLAUSE_START if phrase.startswith("^") else "")
        + r"\s+".join([first + between, *rest])
        + (rf"(?!\s+(?:{not_after})(?!\w))" if not_after else "")
    )


def _build_word_regex(word: str) -> str:
    if word == "#":
        return r"\d+"
    return re.escape(word[:-1]) + r"\w*" if word.endswith("*") else re.escape(word)
