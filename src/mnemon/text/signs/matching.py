"""Finding signs in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mnemon.text import signs
from mnemon.text.code import without_code
from mnemon.text.cues import CueKind, cue_sentences
from mnemon.text.cues.matching import MASK, compiled, folded, is_question, phrase_regex
from mnemon.text.sentences import sentences
from mnemon.text.signs.language import Signs
from mnemon.text.speech import leaning

# A subject, a predicate and something it says of it.
_LEAST_WORDS = 3
_WORD = re.compile(r"[\w'’.+#&/-]*[\w+#]")
_NOWHERE = re.compile(r"(?!)")


@lru_cache(maxsize=1)
def languages() -> tuple[Signs, ...]:
    """Return the signs of every language there is a file for, by code."""
    modules = (import_module(f"{signs.__name__}.{m.name}") for m in iter_modules(signs.__path__))
    values = (getattr(module, "SIGNS", None) for module in modules)
    found = (_with_folded_words(value) for value in values if isinstance(value, Signs))
    return tuple(sorted(found, key=lambda value: value.language))


def _with_folded_words(signs: Signs) -> Signs:
    """Return the signs with their words as those of a folded text: "fliesst"."""
    sets: dict[str, Any] = {
        field.name: frozenset(map(folded, value))
        for field in fields(signs)
        if isinstance(value := getattr(signs, field.name), frozenset)
    }
    return replace(signs, **sets)


def tells_preference(text: str) -> bool:
    """Tell whether some sentence says what the speaker likes, or does always, outside code.

    The cues for preferences, and the habits beside them; a question tells nothing.
    """
    if any(CueKind.PREFERENCE in kinds for _, kinds in cue_sentences(text)):
        return True
    return any(_tells_habit(sentence) for sentence in _sentences(text))


def is_about_now(text: str) -> bool:
    """Tell whether a text is explicitly about now, or this session: half its sentences are."""
    return _mostly(text, lambda sentence: _now().search(folded(sentence)) is not None)


def is_statement(text: str) -> bool:
    """Tell whether a text states what is so: a subject, a predicate, and what it says of it.

    Half its sentences do, or say who the user is; questions, wishes and what happened do not. A
    guess by words and their order, no parse.
    """
    prose = without_code(text)
    told = {s.of(prose) for s, kinds in cue_sentences(prose) if CueKind.IDENTITY in kinds}
    forms = _forms(prose)
    return _mostly(
        text, lambda sentence: sentence in told or any(form.states(sentence) for form in forms)
    )


def _mostly(text: str, holds: Callable[[str], bool]) -> bool:
    found = _sentences(text)
    return bool(found) and 2 * sum(map(holds, found)) >= len(found)


def _sentences(text: str) -> list[str]:
    """Return the sentences outside code that have a word in them."""
    prose = without_code(text)
    found = (span.of(prose) for span in sentences(prose))
    return [sentence for sentence in found if _WORD.search(sentence)]


def _tells_habit(sentence: str) -> bool:
    return not is_question(sentence) and any(
        habits.search(no_habits.sub(MASK, folded(sentence))) is not None
        for habits, no_habits in _habits()
    )


def _forms(text: str) -> list[_Form]:
    """Return the forms of the language that a text is in; of every one where it can't be told."""
    language = leaning(_WORD.findall(text))
    return [form for form in _all_forms() if language in (None, form.signs.language)]


@dataclass(frozen=True, slots=True)
class _Form:
    """How a language states a fact."""

    signs: Signs
    aside: re.Pattern[str]
    happened: re.Pattern[str]

    def states(self, sentence: str) -> bool:
        lower = folded(sentence)
        if is_question(sentence) or self.aside.search(lower) or self.happened.search(sentence):
            return False
        words = self._words(lower)
        if len(words) < _LEAST_WORDS:
            return False
        for at in range(1, len(words) - 1):
            if self._is_predicate(words, at):
                return self._says(words, at)
        return False

    def _words(self, lower: str) -> list[str]:
        written_out = dict(self.signs.written_out)
        found = _WORD.findall(lower)
        return [word for one in found for word in written_out.get(one, one).split()]

    def _is_predicate(self, words: Sequence[str], at: int) -> bool:
        word, before, s = words[at], words[at - 1], self.signs
        if word in s.being or word in s.was or word in s.told or word in s.predicates:
            return before != "to"
        subject = before in s.pronouns or before.endswith("s") or before in s.adverbs
        return word in s.plain and subject

    def _says(self, words: Sequence[str], at: int) -> bool:
        """Tell whether the predicate there says something lasting of its subject."""
        s = self.signs
        subject, word = words[:at], words[at]
        if s.no_subjects.issuperset(subject):
            return False
        rest = [word for word in words[at + 1 :] if word not in s.adverbs] or list(words[at + 1 :])
        if word in s.told:
            return s.speakers.isdisjoint(subject)
        if word in s.was:
            return s.speakers.isdisjoint(subject) and not s.after_was.isdisjoint(words[at + 1 :])
        return word not in s.being or rest[0] not in s.passing


@lru_cache(maxsize=1)
def _all_forms() -> tuple[_Form, ...]:
    return tuple(
        _Form(s, _phrases(*s.events, *s.chatter), re.compile(s.happened)) for s in languages()
    )


@lru_cache(maxsize=1)
def _now() -> re.Pattern[str]:
    return _phrases(*(phrase for s in languages() for phrase in s.now))


@lru_cache(maxsize=1)
def _habits() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple((_phrases(*s.habits), _phrases(*s.no_habits)) for s in languages())


def _phrases(*phrases: str) -> re.Pattern[str]:
    return compiled(phrase_regex(phrase, ()) for phrase in phrases) if phrases else _NOWHERE
