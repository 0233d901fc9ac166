"""Compare texts by sentences: duplicates, joined texts, and paraphrases of forgotten memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from memolith.policies.evidence import Sources, read_sources
from memolith.policies.grounding import find_support, names_and_numbers, words_and_numbers
from memolith.text.canonical_form import CONTRACTION_PARTS, content_key
from memolith.text.segmentation import sentences
from memolith.text.synonyms import content_terms

_SPEAKER_LABEL = re.compile(r"[QA]: (?=\S)")
_LONG_WORD = re.compile(r"[a-z]{4,}")
_NORMALISED_WORDS = CONTRACTION_PARTS | {"eine"}
"""Words that the canonical form expands, drops or replaces."""


def strip_speaker_label(sentence: str) -> str:
    """Return a sentence without the label of an exchange: "Q: " or "A: "."""
    return _SPEAKER_LABEL.sub("", sentence, count=1) if _SPEAKER_LABEL.match(sentence) else sentence


def sentence_keys(text: str) -> frozenset[str]:
    """Return the canonical forms of a text's sentences.

    A text whose sentences all occur in another adds nothing to it. Similarity is not sufficient:
    "Anna owes Bob" and "Bob owes Anna" are similar.
    """
    return frozenset(_sentence_key(span.extract(text)) for span in sentences(text))


def long_words(text: str) -> frozenset[str] | None:
    """Return the words of a text that its canonical form preserves; None if unknown.

    If one text has such a word and another does not, it is no duplicate. This check is forty times
    faster than comparing canonical forms.
    """
    return (
        frozenset(_LONG_WORD.findall(text.lower())) - _NORMALISED_WORDS if text.isascii() else None
    )


def remove_sentences(text: str, removed_keys: frozenset[str]) -> str:
    """Return a text without the sentences with these canonical forms; may be empty."""
    return _filter_sentences(text, lambda sentence: _sentence_key(sentence) in removed_keys)


def remove_matching_sentences(text: str, is_removed: Callable[[str], bool]) -> str:
    """Return a text without the sentences that `is_removed` selects; called in order."""
    return _filter_sentences(text, is_removed)


def join_texts(first: str, second: str) -> str:
    """Append the sentences of another text that are not in the first, each once."""
    seen_keys = set(sentence_keys(first))

    def is_repeated(sentence: str) -> bool:
        key = _sentence_key(sentence)
        is_known = key in seen_keys
        seen_keys.add(key)
        return is_known

    added = _filter_sentences(second, is_repeated)
    return f"{first}\n{added}" if added else first


def _filter_sentences(text: str, is_removed: Callable[[str], bool]) -> str:
    """Return a text without the sentences that `is_removed` selects; called in order."""
    pieces: list[str] = []
    end = 0
    for span in sentences(text):
        if not is_removed(span.extract(text)):
            pieces.append(text[end : span.end])
        elif not pieces:
            pieces.append(text[end : span.start])
        end = span.end
    joined = "".join(pieces)
    return joined.strip()


def _sentence_key(sentence: str) -> str:
    return content_key(strip_speaker_label(sentence))


# --- Paraphrases of forgotten memories


MIN_PARAPHRASE_TERMS = 2
"""Shorter sentences ("I know.") have no paraphrases. A guess."""

MIN_PARAPHRASE_NAMES = 2
"""A sentence with all names and numbers of another paraphrases it, if there are at least this many:
a single name, such as a friend's, occurs in much else. A guess.
"""


@dataclass(frozen=True, slots=True)
class _ForgottenSentence:
    """A sentence of a forgotten memory, with the terms and names that a paraphrase contains."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class ParaphraseDetector:
    """Detects paraphrases of given texts; built by `build_paraphrase_detector`."""

    keys: frozenset[str]
    sources: Sources
    forgotten: tuple[_ForgottenSentence, ...]

    def __call__(self, sentence: str) -> bool:
        """Return whether a sentence repeats one of the texts, or is supported by them alone."""
        if content_key(strip_speaker_label(sentence)) in self.keys:
            return True
        if find_support(sentence, self.sources):
            return True
        words = words_and_numbers(sentence)
        terms = frozenset(content_terms(sentence))
        return any(self._is_paraphrase(each, sentence, terms, words) for each in self.forgotten)

    def _is_paraphrase(
        self,
        forgotten: _ForgottenSentence,
        sentence: str,
        terms: frozenset[str],
        words: frozenset[str],
    ) -> bool:
        if len(forgotten.names) >= MIN_PARAPHRASE_NAMES and forgotten.names <= words:
            return True
        if not forgotten.names <= words or terms.isdisjoint(forgotten.terms):
            return False
        return bool(
            find_support(forgotten.text, read_sources([sentence], names=self.sources.names))
        )


def build_paraphrase_detector(
    texts: Sequence[str], dates: Sequence[date | None] = (), names: Iterable[str] = ()
) -> ParaphraseDetector:
    """Return a detector for paraphrases of texts. It compares words, not meaning.

    Args:
        texts: The texts.
        dates: The date of each text, None if unknown; empty: all unknown.
        names: Names of the owner, whom "I" denotes.
    """
    forgotten = (span.extract(text) for text in texts for span in sentences(text))
    parts = (
        _ForgottenSentence(each, frozenset(content_terms(each)), names_and_numbers(each))
        for each in forgotten
    )
    return ParaphraseDetector(
        frozenset().union(*map(sentence_keys, texts)),
        read_sources(texts, dates, names),
        tuple(each for each in parts if len(each.terms) + len(each.names) >= MIN_PARAPHRASE_TERMS),
    )
