"""Finding signs in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from memolith.text import signs
from memolith.text.code import without_code
from memolith.text.cues import CueKind, cue_sentences
from memolith.text.cues import languages as cue_languages
from memolith.text.cues.matching import MASK, compiled, folded, is_question, phrase_regex
from memolith.text.cues.phrases import Phrases, runs
from memolith.text.sentences import sentences
from memolith.text.signs.language import Signs
from memolith.text.speech import leaning

# A subject, a predicate and something it says of it.
_LEAST_WORDS = 3
# A longer sentence states more than one thing, or is none: as long as a fact may be.
_LONGEST_CHARS = 500
# As "[\w'’.+#&/-]*[\w+#]" is, each run of marks looked at once.
_WORD = re.compile(r"(?<!['’.&/-])['’.&/-]*+[\w+#]++(?:['’.&/-]++[\w+#]++)*+")
_MARKS = frozenset(",;:–—()")
_WORD_OR_MARK = re.compile(rf"{_WORD.pattern}|[,;:–—()]")
# Who asks or exclaims states nothing.
_NO_STATEMENT = re.compile(r"[?!？！؟][^\w]*$")
_TAIL = 40


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
    prose = without_code(text)
    found = runs(prose)
    if _may_hold(CueKind.PREFERENCE, found) and any(
        CueKind.PREFERENCE in kinds for _, kinds in cue_sentences(prose)
    ):
        return True
    habits = _habits().within(found)
    return habits is not None and any(
        not is_question(sentence) and habits.search(_no_habits().sub(MASK, folded(sentence)))
        for sentence in _sentences(prose)
    )


def is_about_now(text: str) -> bool:
    """Tell whether a text is explicitly about now, or this session: half its sentences are."""
    prose = without_code(text)
    now = _now().within(runs(prose))
    return now is not None and _mostly(
        _sentences(prose), lambda sentence: now.search(folded(sentence)) is not None
    )


def is_statement(text: str) -> bool:
    """Tell whether a text states what is so: a subject, a predicate, and what it says of it.

    Half its sentences do, or say who the user is; questions, wishes and what happened do not. A
    guess by words and their order, no parse.
    """
    prose = without_code(text)
    found = runs(prose)
    told = (
        {s.of(prose) for s, kinds in cue_sentences(prose) if CueKind.IDENTITY in kinds}
        if _may_hold(CueKind.IDENTITY, found)
        else ()
    )
    forms = [_Form(signs, _asides()[signs.language].within(found)) for signs in _spoken(prose)]
    return _mostly(
        _sentences(prose),
        lambda sentence: sentence in told or any(form.states(sentence) for form in forms),
    )


def _mostly(sentences: Sequence[str], holds: Callable[[str], bool]) -> bool:
    return bool(sentences) and 2 * sum(map(holds, sentences)) >= len(sentences)


def _sentences(prose: str) -> list[str]:
    """Return the sentences that have a word in them."""
    found = (span.of(prose) for span in sentences(prose))
    return [sentence for sentence in found if _WORD.search(sentence)]


def _spoken(prose: str) -> list[Signs]:
    """Return the signs of the language that a text is in; of every one where it can't be told."""
    language = leaning(_WORD.findall(prose))
    return [signs for signs in languages() if language in (None, signs.language)]


@dataclass(frozen=True, slots=True)
class _Form:
    """How a language states a fact.

    Attributes:
        signs: The language's.
        aside: What is no statement, as far as the text may hold it.
    """

    signs: Signs
    aside: re.Pattern[str] | None

    def states(self, sentence: str) -> bool:
        if len(sentence) > _LONGEST_CHARS or _NO_STATEMENT.search(sentence[-_TAIL:]):
            return False
        lower = folded(sentence)
        if self.aside is not None and self.aside.search(lower):
            return False
        if re.search(self.signs.happened, sentence):
            return False
        words = self._words(lower)
        if sum(word not in _MARKS for word in words) < _LEAST_WORDS:
            return False
        for at in range(1, len(words) - 1):
            if self._is_predicate(words, at):
                return self._says(words, at)
        return False

    def _words(self, lower: str) -> list[str]:
        """Return words and the marks between clauses, contractions written out."""
        written_out = dict(self.signs.written_out)
        found = _WORD_OR_MARK.findall(lower)
        return [word for one in found for word in written_out.get(one, one).split()]

    def _is_predicate(self, words: Sequence[str], at: int) -> bool:
        word, before, s = words[at], words[at - 1], self.signs
        if word in s.being or word in s.was:
            return True
        if word in s.told or word in s.predicates:
            return before not in s.before_nouns
        subject = before in s.pronouns or before.endswith("s") or before in s.adverbs
        return word in s.plain and subject

    def _says(self, words: Sequence[str], at: int) -> bool:
        """Tell whether the predicate there says something lasting of its subject."""
        s = self.signs
        subject, word = _of_clause(words[:at]), words[at]
        rest = [one for one in words[at + 1 :] if one not in _MARKS]
        if not rest or s.no_subjects.issuperset(subject):
            return False
        if word in s.told:
            return s.speakers.isdisjoint(subject)
        if word in s.was:
            return s.speakers.isdisjoint(subject) and not s.after_was.isdisjoint(rest)
        said = next((one for one in rest if one not in s.adverbs), rest[0])
        is_vague = said in s.passing or s.vague.issuperset(subject)
        return not (word in s.being and is_vague)


def _of_clause(words: Sequence[str]) -> Sequence[str]:
    """Return what stands after the last mark, or all words where nothing does."""
    last = max((at for at, word in enumerate(words) if word in _MARKS), default=-1)
    return words[last + 1 :] or [word for word in words if word not in _MARKS]


@lru_cache(maxsize=1)
def _asides() -> Mapping[str, Phrases]:
    return {signs.language: Phrases([*signs.events, *signs.chatter]) for signs in languages()}


@lru_cache(maxsize=1)
def _now() -> Phrases:
    return Phrases(phrase for signs in languages() for phrase in signs.now)


@lru_cache(maxsize=1)
def _habits() -> Phrases:
    return Phrases(phrase for signs in languages() for phrase in signs.habits)


@lru_cache(maxsize=1)
def _no_habits() -> re.Pattern[str]:
    return compiled(phrase_regex(p, ()) for signs in languages() for p in signs.no_habits)


def _may_hold(kind: CueKind, found: AbstractSet[str]) -> bool:
    """Tell whether a text with these runs may hold a cue of that kind."""
    return any(phrases.within(found) is not None for phrases in _cues()[kind])


@lru_cache(maxsize=1)
def _cues() -> Mapping[CueKind, Sequence[Phrases]]:
    return {kind: [Phrases(cues.phrases(kind)) for cues in cue_languages()] for kind in CueKind}
