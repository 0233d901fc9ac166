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
from memolith.text.code import mask_code
from memolith.text.cues import CueKind, find_cue_sentences
from memolith.text.cues import load_cues as cue_languages
from memolith.text.cues.matching import (
    MASK,
    build_phrase_regex,
    compile_phrases,
    fold_prose,
    is_question,
)
from memolith.text.cues.phrases import PhraseIndex, get_runs
from memolith.text.sentences import sentences
from memolith.text.signs.language import DiscourseMarkers
from memolith.text.speech import guess_language

# A subject, a predicate and something it says of it.
_MIN_STATEMENT_WORDS = 3
# A longer sentence states more than one thing, or is none: as long as a fact may be.
_MAX_STATEMENT_CHARS = 500
# As "[\w'’.+#&/-]*[\w+#]" is, each run of marks looked at once.
_WORD = re.compile(r"(?<!['’.&/-])['’.&/-]*+[\w+#]++(?:['’.&/-]++[\w+#]++)*+")
_MARKS = frozenset(",;:–—()")
_WORD_OR_MARK = re.compile(rf"{_WORD.pattern}|[,;:–—()]")
# Who asks or exclaims states nothing.
_NON_STATEMENT_END = re.compile(r"[?!？！؟][^\w]*$")
_STATEMENT_TAIL = 40


@lru_cache(maxsize=1)
def load_discourse_markers() -> tuple[DiscourseMarkers, ...]:
    """Return the signs of every language there is a file for, by code."""
    modules = (import_module(f"{signs.__name__}.{m.name}") for m in iter_modules(signs.__path__))
    values = (getattr(module, "SIGNS", None) for module in modules)
    found = (_fold_marker_words(value) for value in values if isinstance(value, DiscourseMarkers))
    return tuple(sorted(found, key=lambda value: value.language))


def _fold_marker_words(signs: DiscourseMarkers) -> DiscourseMarkers:
    """Return the signs with their words as those of a folded text: "fliesst"."""
    sets: dict[str, Any] = {
        field.name: frozenset(map(fold_prose, value))
        for field in fields(signs)
        if isinstance(value := getattr(signs, field.name), frozenset)
    }
    return replace(signs, **sets)


def has_preference(text: str) -> bool:
    """Tell whether some sentence says what the speaker likes, or does always, outside code.

    The cues for preferences, and the habits beside them; a question tells nothing.
    """
    prose = mask_code(text)
    found = get_runs(prose)
    if _has_possible_cue(CueKind.PREFERENCE, found) and any(
        CueKind.PREFERENCE in kinds for _, kinds in find_cue_sentences(prose)
    ):
        return True
    habits = _load_habit_phrases().get_pattern(found)
    return habits is not None and any(
        not is_question(sentence)
        and habits.search(_compile_habit_exceptions().sub(MASK, fold_prose(sentence)))
        for sentence in _split_sentences(prose)
    )


def is_about_now(text: str) -> bool:
    """Tell whether a text is explicitly about now, or this session: half its sentences are."""
    prose = mask_code(text)
    now = _load_current_phrases().get_pattern(get_runs(prose))
    return now is not None and _is_true_of_most(
        _split_sentences(prose), lambda sentence: now.search(fold_prose(sentence)) is not None
    )


def is_statement(text: str) -> bool:
    """Tell whether a text states what is so: a subject, a predicate, and what it says of it.

    Half its sentences do, or say who the user is; questions, wishes and what happened do not. A
    guess by words and their order, no parse.
    """
    prose = mask_code(text)
    found = get_runs(prose)
    told = (
        {s.extract(prose) for s, kinds in find_cue_sentences(prose) if CueKind.IDENTITY in kinds}
        if _has_possible_cue(CueKind.IDENTITY, found)
        else ()
    )
    forms = [
        _StatementMatcher(signs, _load_aside_phrases()[signs.language].get_pattern(found))
        for signs in _get_markers(prose)
    ]
    return _is_true_of_most(
        _split_sentences(prose),
        lambda sentence: sentence in told or any(form.is_statement(sentence) for form in forms),
    )


def _is_true_of_most(sentences: Sequence[str], holds: Callable[[str], bool]) -> bool:
    return bool(sentences) and 2 * sum(map(holds, sentences)) >= len(sentences)


def _split_sentences(prose: str) -> list[str]:
    """Return the sentences that have a word in them."""
    found = (span.extract(prose) for span in sentences(prose))
    return [sentence for sentence in found if _WORD.search(sentence)]


def _get_markers(prose: str) -> list[DiscourseMarkers]:
    """Return the signs of the language that a text is in; of every one where it can't be told."""
    language = guess_language(_WORD.findall(prose))
    return [signs for signs in load_discourse_markers() if language in (None, signs.language)]


@dataclass(frozen=True, slots=True)
class _StatementMatcher:
    """How a language states a fact.

    Attributes:
        signs: The language's.
        aside: What is no statement, as far as the text may hold it.
    """

    markers: DiscourseMarkers
    non_statement: re.Pattern[str] | None

    def is_statement(self, sentence: str) -> bool:
        if len(sentence) > _MAX_STATEMENT_CHARS or _NON_STATEMENT_END.search(
            sentence[-_STATEMENT_TAIL:]
        ):
            return False
        lower = fold_prose(sentence)
        if self.non_statement is not None and self.non_statement.search(lower):
            return False
        if re.search(self.markers.event_tense_pattern, sentence):
            return False
        words = self._split_words(lower)
        if sum(word not in _MARKS for word in words) < _MIN_STATEMENT_WORDS:
            return False
        for at in range(1, len(words) - 1):
            if self._is_predicate(words, at):
                return self._has_lasting_claim(words, at)
        return False

    def _split_words(self, lower: str) -> list[str]:
        """Return words and the marks between clauses, contractions written out."""
        written_out = dict(self.markers.contractions)
        found = _WORD_OR_MARK.findall(lower)
        return [word for one in found for word in written_out.get(one, one).split()]

    def _is_predicate(self, words: Sequence[str], at: int) -> bool:
        word, before, s = words[at], words[at - 1], self.markers
        if word in s.being or word in s.past_being:
            return True
        if word in s.past_predicates or word in s.predicates:
            return before not in s.noun_markers
        subject = before in s.pronouns or before.endswith("s") or before in s.adverbs
        return word in s.ambiguous_predicates and subject

    def _has_lasting_claim(self, words: Sequence[str], at: int) -> bool:
        """Tell whether the predicate there says something lasting of its subject."""
        s = self.markers
        subject, word = _get_last_clause(words[:at]), words[at]
        rest = [one for one in words[at + 1 :] if one not in _MARKS]
        if not rest or s.non_subjects.issuperset(subject):
            return False
        if word in s.past_predicates:
            return s.speakers.isdisjoint(subject)
        if word in s.past_being:
            return s.speakers.isdisjoint(subject) and not s.past_complements.isdisjoint(rest)
        said = next((one for one in rest if one not in s.adverbs), rest[0])
        is_vague = said in s.transient_states or s.vague_subjects.issuperset(subject)
        return not (word in s.being and is_vague)


def _get_last_clause(words: Sequence[str]) -> Sequence[str]:
    """Return what stands after the last mark, or all words where nothing does."""
    last = max((at for at, word in enumerate(words) if word in _MARKS), default=-1)
    return words[last + 1 :] or [word for word in words if word not in _MARKS]


@lru_cache(maxsize=1)
def _load_aside_phrases() -> Mapping[str, PhraseIndex]:
    return {
        signs.language: PhraseIndex([*signs.events, *signs.chatter])
        for signs in load_discourse_markers()
    }


@lru_cache(maxsize=1)
def _load_current_phrases() -> PhraseIndex:
    return PhraseIndex(phrase for signs in load_discourse_markers() for phrase in signs.current)


@lru_cache(maxsize=1)
def _load_habit_phrases() -> PhraseIndex:
    return PhraseIndex(phrase for signs in load_discourse_markers() for phrase in signs.habits)


@lru_cache(maxsize=1)
def _compile_habit_exceptions() -> re.Pattern[str]:
    return compile_phrases(
        build_phrase_regex(p, ())
        for signs in load_discourse_markers()
        for p in signs.habit_exceptions
    )


def _has_possible_cue(kind: CueKind, found: AbstractSet[str]) -> bool:
    """Tell whether a text with these runs may hold a cue of that kind."""
    return any(phrases.get_pattern(found) is not None for phrases in _load_cue_phrases()[kind])


@lru_cache(maxsize=1)
def _load_cue_phrases() -> Mapping[CueKind, Sequence[PhraseIndex]]:
    return {kind: [PhraseIndex(cues.phrases(kind)) for cues in cue_languages()] for kind in CueKind}
