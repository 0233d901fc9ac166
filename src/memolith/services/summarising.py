"""Writing summaries: by a model, checked against what they are made of, or taken from it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.exchanges import truncate_text
from memolith.policies.extractive import EXTRACT_MARK, extract_summary, find_candidates
from memolith.policies.faithfulness import SummaryLimits, check_summary
from memolith.policies.portions import split_into_parts
from memolith.prompts.summary import build_summary_prompt, parse_summary
from memolith.prompts.transcripts import MAX_TRANSCRIPT_CHARS, TranscriptTurn
from memolith.services.asking import ask_model, new_nonce
from memolith.services.indexing import IndexText
from memolith.text.injection import is_suspicious
from memolith.text.screening import redact
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memolith.policies.extractive import SentenceCandidate
    from memolith.policies.faithfulness import SummaryCheck
    from memolith.ports.chat import ChatModel
    from memolith.prompts.summary import SummaryStyle
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.models import ChatModels

MAX_SUMMARY_ATTEMPTS = 2
"""How often a model is asked whose summary loses something; then it is taken from the sources."""

MAX_PARTS = 16
"""Of how many parts a long text is summarised; of more, each part is longer than a prompt, and
shortened in it. A guess: what an hour's limit on calls can bear."""

_EXCERPT_CHARS = 200
"""How much of the first text stands for texts in which nothing is stated: a guess."""

_PLACEHOLDER = "…"
"""What stands for texts that only try to instruct a model."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary.

    Attributes:
        text: What it says.
        by_model: Whether a model wrote it; else its sentences stand so in the sources, and it says
            that they do.
    """

    text: str
    by_model: bool


class Summariser:
    """Writes summaries."""

    def __init__(self, access: Access, models: ChatModels, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._models = models
        self._indexer = indexer

    def summarise(
        self, owner_id: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> Summary:
        """Return a summary of what was told, in order.

        A model's is taken where it neither loses nor adds too much, and gives no orders; if not,
        and where there is no model, it is made of the sentences that say most. Of more than a
        prompt has room for, it is the summary of the summaries of its parts.

        Raises:
            ServiceFailed: The model failed.
        """
        model = self._models.for_owner(owner_id)
        if model is None or not transcript:
            return self.extract_summary(owner_id, transcript, style)
        pieces = split_into_parts(
            [len(each.content) for each in transcript], MAX_TRANSCRIPT_CHARS, MAX_PARTS
        )
        if len(pieces) == 1:
            return self._ask_model(owner_id, model, transcript, transcript, style)
        made = [
            self._ask_model(owner_id, model, transcript[start:end], transcript[start:end], style)
            for start, end in pieces
        ]
        given = [TranscriptTurn(each.text.removeprefix(EXTRACT_MARK).strip()) for each in made]
        return self._ask_model(owner_id, model, given, transcript, style)

    def _ask_model(
        self,
        owner_id: str,
        model: ChatModel,
        given: Sequence[TranscriptTurn],
        transcript: Sequence[TranscriptTurn],
        style: SummaryStyle,
    ) -> Summary:
        """Return a model's summary of what it is given, held against what was told."""
        for _ in range(MAX_SUMMARY_ATTEMPTS):
            said = ask_model(model, build_summary_prompt(style, given, new_nonce()), parse_summary)
            found = _check_summary(said, transcript, style, owner_id)
            if found.is_faithful and not is_suspicious(said):
                return Summary(redact(said)[0], by_model=True)
            problems = found.problems or ("gives orders",)
            _log.info("a summary was not taken: %s", ", ".join(problems))
        return self.extract_summary(owner_id, transcript, style)

    def extract_summary(
        self, owner_id: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> Summary:
        """Return the sentences that say most, in their order; the empty text of nothing."""
        among = _build_candidates(transcript)
        return _build_extract(transcript, among, self._get_vectors(owner_id, among), style)

    def extract_by_words(
        self, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> Summary:
        """Return such sentences by their words alone: nothing is embedded, and nothing can fail."""
        return _build_extract(transcript, _build_candidates(transcript), None, style)

    def extract_sentences(
        self, owner_id: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle
    ) -> list[str]:
        """Return those sentences one by one, as they were said; none of nothing."""
        among = _build_candidates(transcript)
        text = _extract_text(among, self._get_vectors(owner_id, among), style).removeprefix(
            EXTRACT_MARK
        )
        return [" ".join(span.extract(text).split()) for span in sentences(text)]

    def _get_vectors(
        self, owner_id: str, pool: Sequence[SentenceCandidate]
    ) -> NDArray[np.float32] | None:
        if not pool or not self._access.get_profile(owner_id).uses_vectors:
            return None
        entries = self._indexer.build_entries([IndexText(each.text) for each in pool], owner_id)
        found = [entry.passages[0].vector for entry in entries]
        if any(each is None for each in found):
            return None
        return np.array(found, dtype=np.float32)


def _build_candidates(transcript: Sequence[TranscriptTurn]) -> tuple[SentenceCandidate, ...]:
    return find_candidates((each.speaker, each.content) for each in transcript)


def _extract_text(
    pool: Sequence[SentenceCandidate], vectors: NDArray[np.float32] | None, style: SummaryStyle
) -> str:
    return extract_summary(
        pool, vectors, max_sentences=style.max_sentences, max_words=style.max_words
    )


def _build_extract(
    transcript: Sequence[TranscriptTurn],
    pool: Sequence[SentenceCandidate],
    vectors: NDArray[np.float32] | None,
    style: SummaryStyle,
) -> Summary:
    text = _extract_text(pool, vectors, style)
    if not text and transcript:  # nothing but questions and the like
        said = (each.content for each in transcript if not is_suspicious(each.content))
        text = f"{EXTRACT_MARK} {truncate_text(next(said, _PLACEHOLDER), _EXCERPT_CHARS)}"
    return Summary(redact(text)[0], by_model=False)


def _check_summary(
    summary_text: str, transcript: Sequence[TranscriptTurn], style: SummaryStyle, owner_id: str
) -> SummaryCheck:
    return check_summary(
        summary_text,
        [each.content for each in transcript],
        SummaryLimits(style.max_words, style.max_sentences),
        said_on=[None if each.at is None else each.at.date() for each in transcript],
        names=[owner_id, *(each.speaker for each in transcript)],
    )
