"""Find cues in sentences: identity, names, preferences, corrections, statements.

The phrases are in the `Cues` and `DiscourseMarkers` of each language in `memolith.text.lexicon`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from memolith.domain.memories import Span
from memolith.text.language_id import guess_language
from memolith.text.lexicon import load_languages
from memolith.text.lexicon.language import CueKind, Cues, DiscourseMarkers
from memolith.text.segmentation import mask_code, sentences

__all__ = [
    "CueKind",
    "Cues",
    "DiscourseMarkers",
    "find_cue_kinds",
    "find_cue_sentences",
    "has_preference",
    "is_about_now",
    "is_statement",
    "load_cues",
    "load_discourse_markers",
]

_QUESTION_END = re.compile(r"[?？؟]\W*$")
_QUESTION_TAIL = 40
MASK = "\x00"
"""Replaces exceptions: neither a letter nor white space."""
_CLAUSE_MARK = re.compile(r"[,;:.!–—()]")
_CLAUSE_START = r"(?:(?<![^.!?,;:\n])|(?<=[.!?,;:\n]\s))"


@lru_cache(maxsize=1)
def load_cues() -> tuple[Cues, ...]:
    """Return the cues of all languages, ordered by language code."""
    return load_languages(Cues)


def find_cue_kinds(text: str) -> frozenset[CueKind]:
    """Return the kinds of cues in a text, outside of code."""
    return _match_kinds(mask_code(text))


def find_cue_sentences(text: str) -> list[tuple[Span, frozenset[CueKind]]]:
    """Return sentences with cues outside of code, in order, with the kinds of these cues.

    A question states neither identity nor preference ("do you know what I like?"), except in a
    clause of its own ("I like tea, do you?"). Corrections may be phrased as polite questions.
    """
    prose = mask_code(text)
    sentence_kinds = ((span, _find_sentence_kinds(span.extract(prose))) for span in sentences(text))
    return [(span, kinds) for span, kinds in sentence_kinds if kinds]


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
    """Return whether a question states the cue in a clause of its own."""
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
    """Return folded prose, with exceptions masked."""
    return _compile_exceptions().sub(MASK, fold_prose(prose))


def fold_prose(prose: str) -> str:
    """Return prose in the form that the phrase patterns expect."""
    return prose.casefold().replace("’", "'")


def is_question(sentence: str) -> bool:
    """Return whether a sentence ends with a question mark."""
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
    """Return a pattern that matches any of the regular expressions, as whole words."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(set(phrases)))})(?!\w)")


def build_phrase_regex(phrase: str, fillers: tuple[str, ...]) -> str:
    """Return the regular expression of a phrase, in the syntax of `Cues`, for folded text."""
    words = phrase.casefold().removeprefix("^").split()
    first, *rest = (_build_word_regex(word) for word in words if not word.startswith("!"))
    excluded = "|".join(_build_word_regex(word[1:]) for word in words if word.startswith("!"))
    gap = rf"(?:\s+(?:{'|'.join(map(re.escape, fillers))})){{0,2}}" if fillers and rest else ""
    return (
        (_CLAUSE_START if phrase.startswith("^") else "")
        + r"\s+".join([first + gap, *rest])
        + (rf"(?!\s+(?:{excluded})(?!\w))" if excluded else "")
    )


def _build_word_regex(word: str) -> str:
    if word == "#":
        return r"\d+"
    return re.escape(word[:-1]) + r"\w*" if word.endswith("*") else re.escape(word)


# --- Phrase index


_RUN = re.compile(r"\w+")
_CACHE_SIZE = 512


def get_runs(text: str) -> frozenset[str]:
    """Return the folded runs of letters and digits of a text, as needed by `PhraseIndex`."""
    return frozenset(_RUN.findall(fold_prose(text)))


class PhraseIndex:
    """Many phrases, indexed by their words, because one pattern of all of them would be slow."""

    def __init__(self, phrases: Iterable[str], fillers: tuple[str, ...] = ()) -> None:
        """Index phrases; `fillers` are optional words after the first word of each phrase."""
        self._phrases = [
            (_get_required_runs(phrase), build_phrase_regex(phrase, fillers))
            for phrase in sorted(set(phrases))
        ]

    def get_pattern(self, runs: AbstractSet[str]) -> re.Pattern[str] | None:
        """Return a pattern of the phrases that a text with these runs may contain; None if none.

        The pattern is for folded text, and finds the same matches as a pattern of all phrases.
        """
        possible = tuple(regex for needed, regex in self._phrases if needed <= runs)
        return _compile_phrase_pattern(possible) if possible else None


@lru_cache(maxsize=_CACHE_SIZE)
def _compile_phrase_pattern(regexes: tuple[str, ...]) -> re.Pattern[str]:
    return compile_phrases(regexes)


def _get_required_runs(phrase: str) -> frozenset[str]:
    """Return the runs that every text with this phrase contains."""
    words = (word for word in phrase.split() if not word.startswith("!") and word != "#")
    return frozenset(
        run
        for word in words
        for run in _RUN.findall(fold_prose(word.removesuffix("*")))[
            : -1 if word.endswith("*") else None
        ]
    )


# --- Preferences and statements


# Subject, predicate and complement.
_MIN_STATEMENT_WORDS = 3
# Longer sentences state several things, or nothing. Equals the maximum length of a fact.
_MAX_STATEMENT_CHARS = 500
# Like "[\w'’.+#&/-]*[\w+#]", but each run of marks is scanned once.
_WORD = re.compile(r"(?<!['’.&/-])['’.&/-]*+[\w+#]++(?:['’.&/-]++[\w+#]++)*+")
_MARKS = frozenset(",;:–—()")
_WORD_OR_MARK = re.compile(rf"{_WORD.pattern}|[,;:–—()]")
# Questions and exclamations state nothing.
_NON_STATEMENT_END = re.compile(r"[?!？！؟][^\w]*$")
_STATEMENT_TAIL = 40


@lru_cache(maxsize=1)
def load_discourse_markers() -> tuple[DiscourseMarkers, ...]:
    """Return the discourse markers of all languages, ordered by language code."""
    return tuple(map(_fold_marker_words, load_languages(DiscourseMarkers)))


def _fold_marker_words(markers: DiscourseMarkers) -> DiscourseMarkers:
    """Return the markers with folded words: "fliesst"."""
    sets: dict[str, Any] = {
        field.name: frozenset(map(fold_prose, value))
        for field in fields(markers)
        if isinstance(value := getattr(markers, field.name), frozenset)
    }
    return replace(markers, **sets)


def has_preference(text: str) -> bool:
    """Return whether a sentence outside of code states a preference or habit of the speaker.

    Uses the preference cues, and the habits of the discourse markers. Questions do not count.
    """
    prose = mask_code(text)
    runs = get_runs(prose)
    if _has_possible_cue(CueKind.PREFERENCE, runs) and any(
        CueKind.PREFERENCE in kinds for _, kinds in find_cue_sentences(prose)
    ):
        return True
    habits = _load_habit_phrases().get_pattern(runs)
    return habits is not None and any(
        not is_question(sentence)
        and habits.search(_compile_habit_exceptions().sub(MASK, fold_prose(sentence)))
        for sentence in _split_sentences(prose)
    )


def is_about_now(text: str) -> bool:
    """Return whether at least half of the sentences are about now, or about this session."""
    prose = mask_code(text)
    now = _load_current_phrases().get_pattern(get_runs(prose))
    return now is not None and _is_true_of_most(
        _split_sentences(prose), lambda sentence: now.search(fold_prose(sentence)) is not None
    )


def is_statement(text: str) -> bool:
    """Return whether a text states lasting facts: a subject, a predicate and a complement.

    At least half of its sentences must be statements or have identity cues. Questions, wishes and
    events do not count. A guess by words and their order, without parsing.
    """
    prose = mask_code(text)
    runs = get_runs(prose)
    identities = (
        {s.extract(prose) for s, kinds in find_cue_sentences(prose) if CueKind.IDENTITY in kinds}
        if _has_possible_cue(CueKind.IDENTITY, runs)
        else ()
    )
    forms = [
        _StatementMatcher(markers, _load_aside_phrases()[markers.language].get_pattern(runs))
        for markers in _get_markers(prose)
    ]
    return _is_true_of_most(
        _split_sentences(prose),
        lambda sentence: (
            sentence in identities or any(form.is_statement(sentence) for form in forms)
        ),
    )


def _is_true_of_most(sentences: Sequence[str], predicate: Callable[[str], bool]) -> bool:
    return bool(sentences) and 2 * sum(map(predicate, sentences)) >= len(sentences)


def _split_sentences(prose: str) -> list[str]:
    """Return the sentences that contain a word."""
    texts = (span.extract(prose) for span in sentences(prose))
    return [sentence for sentence in texts if _WORD.search(sentence)]


def _get_markers(prose: str) -> list[DiscourseMarkers]:
    """Return the markers of the text's language; of all languages if it is unknown."""
    language = guess_language(_WORD.findall(prose))
    return [markers for markers in load_discourse_markers() if language in (None, markers.language)]


@dataclass(frozen=True, slots=True)
class _StatementMatcher:
    """Recognises statements in one language.

    Attributes:
        markers: The discourse markers of the language.
        non_statement: Pattern of phrases that rule out a statement; None if the text has none.
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
        """Return words and clause marks, with contractions expanded."""
        written_out = dict(self.markers.contractions)
        tokens = _WORD_OR_MARK.findall(lower)
        return [word for one in tokens for word in written_out.get(one, one).split()]

    def _is_predicate(self, words: Sequence[str], at: int) -> bool:
        word, before, s = words[at], words[at - 1], self.markers
        if word in s.being or word in s.past_being:
            return True
        if word in s.past_predicates or word in s.predicates:
            return before not in s.noun_markers
        subject = before in s.pronouns or before.endswith("s") or before in s.adverbs
        return word in s.ambiguous_predicates and subject

    def _has_lasting_claim(self, words: Sequence[str], at: int) -> bool:
        """Return whether the predicate at this position makes a lasting claim about its subject."""
        s = self.markers
        subject, word = _get_last_clause(words[:at]), words[at]
        rest = [one for one in words[at + 1 :] if one not in _MARKS]
        if not rest or s.non_subjects.issuperset(subject):
            return False
        if word in s.past_predicates:
            return s.speakers.isdisjoint(subject)
        if word in s.past_being:
            return s.speakers.isdisjoint(subject) and not s.past_complements.isdisjoint(rest)
        complement = next((one for one in rest if one not in s.adverbs), rest[0])
        is_vague = complement in s.transient_states or s.vague_subjects.issuperset(subject)
        return not (word in s.being and is_vague)


def _get_last_clause(words: Sequence[str]) -> Sequence[str]:
    """Return the words after the last mark, or all words if there are none."""
    last = max((at for at, word in enumerate(words) if word in _MARKS), default=-1)
    return words[last + 1 :] or [word for word in words if word not in _MARKS]


@lru_cache(maxsize=1)
def _load_aside_phrases() -> Mapping[str, PhraseIndex]:
    return {
        markers.language: PhraseIndex([*markers.events, *markers.chatter])
        for markers in load_discourse_markers()
    }


@lru_cache(maxsize=1)
def _load_current_phrases() -> PhraseIndex:
    return PhraseIndex(phrase for markers in load_discourse_markers() for phrase in markers.current)


@lru_cache(maxsize=1)
def _load_habit_phrases() -> PhraseIndex:
    return PhraseIndex(phrase for markers in load_discourse_markers() for phrase in markers.habits)


@lru_cache(maxsize=1)
def _compile_habit_exceptions() -> re.Pattern[str]:
    return compile_phrases(
        build_phrase_regex(p, ())
        for markers in load_discourse_markers()
        for p in markers.habit_exceptions
    )


def _has_possible_cue(kind: CueKind, runs: AbstractSet[str]) -> bool:
    """Return whether a text with these runs may contain a cue of that kind."""
    return any(phrases.get_pattern(runs) is not None for phrases in _load_cue_phrases()[kind])


@lru_cache(maxsize=1)
def _load_cue_phrases() -> Mapping[CueKind, Sequence[PhraseIndex]]:
    return {kind: [PhraseIndex(cues.phrases(kind)) for cues in load_cues()] for kind in CueKind}
