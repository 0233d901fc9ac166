"""The ranking of `timeline`: by keywords alone; no text is ever embedded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.model import Query, Scores, sum_parts
from memolith.text.analysis import terms
from memolith.text.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from memolith.domain.messages import Participant
    from memolith.policies.ranking.model import Candidates

KEYWORD_POOL_FACTOR = 4
"""So many times what is wanted, for what does not fit into the budget: a guess."""

_PUNCTUATION = "?!.,;:…\"'“”„‘’«»()[]{}<>"
"""What stands around a word and is no part of it; "%" and "_" may be."""


@dataclass(frozen=True, slots=True)
class KeywordRanking:
    """Implements `Ranking`: BM25; what only holds the words as parts by how many, then newest."""

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the keywords, and the words to look for where these are found nowhere."""
        del participants, now
        found = tuple(dict.fromkeys(terms(text)))
        return Query(text, dense_text="", terms=found, words=split_query_words(text))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times what is wanted."""
        return KEYWORD_POOL_FACTOR * top_k

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return BM25; of what has no keyword, the number of words it holds, and its newness."""
        del query
        by_parts = (candidates.text == 0.0) & (candidates.held > 0)
        parts = {
            "text": candidates.text,
            "held": np.where(by_parts, candidates.held, 0).astype(np.float64),
            "newness": np.where(by_parts, _rank_by_newness(candidates.at), 0.0),
        }
        return sum_parts(parts, (candidates.text > 0.0) | by_parts)


def split_query_words(text: str) -> tuple[str, ...]:
    """Return the different words of a query as they are written, but for what stands around them.

    Stop words stand in most texts and say nothing; they stay only where there is nothing else.
    """
    bare = (word.strip(_PUNCTUATION) or word for word in text.split())
    words = dict.fromkeys(word.casefold() for word in bare)
    telling = tuple(word for word in words if word not in STOP_WORDS)
    return telling or tuple(words)


def _rank_by_newness(at: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each one's place by time, as a share: over 0 for the oldest, under 1 for the newest.

    Less than one word held, so that it only decides between equals.
    """
    earlier = np.searchsorted(np.sort(at), at)
    return (earlier.astype(np.float64) + 1.0) / (len(at) + 1.0)
