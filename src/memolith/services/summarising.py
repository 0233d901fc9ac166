"""Writing summaries: by a model, checked against what they are made of, or taken from it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.exchanges import shortened
from memolith.policies.extractive import MARK, candidates, extract
from memolith.policies.faithfulness import Limits, check
from memolith.policies.portions import parts
from memolith.prompts.summary import read_summary, summary
from memolith.prompts.transcripts import MAX_CHARS, Spoken
from memolith.services.asking import answered, nonce
from memolith.services.indexing import Text
from memolith.text.injection import is_suspicious
from memolith.text.screening import redact
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memolith.policies.extractive import Candidate
    from memolith.policies.faithfulness import Check
    from memolith.ports.chat import ChatModel
    from memolith.prompts.summary import Style
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.models import Models

TRIES = 2
"""How often a model is asked whose summary loses something; then it is taken from the sources."""

MOST_PARTS = 16
"""Of how many parts a long text is summarised; of more, each part is longer than a prompt, and
shortened in it. A guess: what an hour's limit on calls can bear."""

_BEGINNING_CHARS = 200
"""How much of the first text stands for texts in which nothing is stated: a guess."""

_NOTHING = "…"
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


class Summarising:
    """Writes summaries."""

    def __init__(self, access: Access, models: Models, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._models = models
        self._indexer = indexer

    def summary(self, owner_id: str, told: Sequence[Spoken], style: Style) -> Summary:
        """Return a summary of what was told, in order.

        A model's is taken where it neither loses nor adds too much, and gives no orders; if not,
        and where there is no model, it is made of the sentences that say most. Of more than a
        prompt has room for, it is the summary of the summaries of its parts.

        Raises:
            ServiceFailed: The model failed.
        """
        model = self._models.of(owner_id)
        if model is None or not told:
            return self.extracted(owner_id, told, style)
        pieces = parts([len(each.content) for each in told], MAX_CHARS, MOST_PARTS)
        if len(pieces) == 1:
            return self._asked(owner_id, model, told, told, style)
        made = [
            self._asked(owner_id, model, told[start:end], told[start:end], style)
            for start, end in pieces
        ]
        given = [Spoken(each.text.removeprefix(MARK).strip()) for each in made]
        return self._asked(owner_id, model, given, told, style)

    def _asked(
        self,
        owner_id: str,
        model: ChatModel,
        given: Sequence[Spoken],
        told: Sequence[Spoken],
        style: Style,
    ) -> Summary:
        """Return a model's summary of what it is given, held against what was told."""
        for _ in range(TRIES):
            said = answered(model, summary(style, given, nonce()), read_summary)
            found = _checked(said, told, style, owner_id)
            if found.is_faithful and not is_suspicious(said):
                return Summary(redact(said)[0], by_model=True)
            problems = found.problems or ("gives orders",)
            _log.info("a summary was not taken: %s", ", ".join(problems))
        return self.extracted(owner_id, told, style)

    def extracted(self, owner_id: str, told: Sequence[Spoken], style: Style) -> Summary:
        """Return the sentences that say most, in their order; the empty text of nothing."""
        among = _among(told)
        return _extracted(told, among, self._vectors(owner_id, among), style)

    def by_words(self, told: Sequence[Spoken], style: Style) -> Summary:
        """Return such sentences by their words alone: nothing is embedded, and nothing can fail."""
        return _extracted(told, _among(told), None, style)

    def sentences(self, owner_id: str, told: Sequence[Spoken], style: Style) -> list[str]:
        """Return those sentences one by one, as they were said; none of nothing."""
        among = _among(told)
        text = _extract(among, self._vectors(owner_id, among), style).removeprefix(MARK)
        return [" ".join(span.of(text).split()) for span in sentences(text)]

    def _vectors(self, owner_id: str, among: Sequence[Candidate]) -> NDArray[np.float32] | None:
        if not among or not self._access.profile(owner_id).vectors:
            return None
        entries = self._indexer.entries([Text(each.text) for each in among], owner_id)
        found = [entry.passages[0].vector for entry in entries]
        if any(each is None for each in found):
            return None
        return np.array(found, dtype=np.float32)


def _among(told: Sequence[Spoken]) -> tuple[Candidate, ...]:
    return candidates((each.who, each.content) for each in told)


def _extract(among: Sequence[Candidate], vectors: NDArray[np.float32] | None, style: Style) -> str:
    return extract(among, vectors, max_sentences=style.max_sentences, max_words=style.max_words)


def _extracted(
    told: Sequence[Spoken],
    among: Sequence[Candidate],
    vectors: NDArray[np.float32] | None,
    style: Style,
) -> Summary:
    text = _extract(among, vectors, style)
    if not text and told:  # nothing but questions and the like
        said = (each.content for each in told if not is_suspicious(each.content))
        text = f"{MARK} {shortened(next(said, _NOTHING), _BEGINNING_CHARS)}"
    return Summary(redact(text)[0], by_model=False)


def _checked(said: str, told: Sequence[Spoken], style: Style, owner_id: str) -> Check:
    return check(
        said,
        [each.content for each in told],
        Limits(style.max_words, style.max_sentences),
        said_on=[None if each.at is None else each.at.date() for each in told],
        names=[owner_id, *(each.who for each in told)],
    )
