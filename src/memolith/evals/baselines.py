"""Baselines: exact searches over the same messages.

- cosine: the similarity of a message's nearest passage;
- bm25: over whole messages, k1 1.2 and b 0.75, with the stemmer and stop words of the engine;
- sum: both scaled to 0..1 over the conversation, with equal weights;
- rrf: reciprocal rank fusion of both with k = 60 (Cormack et al. 2009).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Message
from memolith.evals.datasets import Conversation, Question
from memolith.evals.runner import Answer, Recall, System
from memolith.policies.indexing import build_embedded_text
from memolith.ports.models import Embedder, TokenCounter
from memolith.text.analysis import terms
from memolith.text.passages import passages

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
"""The defaults of Lucene."""

RRF_K = 60
"""The value of Cormack et al. (2009)."""

_TOKEN_DEPTH = 10
"""Number of results whose tokens are counted: those of recall@10."""


@dataclass(frozen=True, slots=True)
class _ConversationIndex:
    """The index of a conversation.

    Attributes:
        ids: External ids of the messages, shape (n,).
        tokens: Tokens of the whole messages, shape (n,).
        vectors: Vectors of all passages, shape (p, dimension), with norm 1 or 0.
        first_passage: Index of each message's first passage, shape (n,).
        frequencies: Term frequencies of each message.
        document_frequencies: Number of messages with each term.
    """

    ids: tuple[str, ...]
    tokens: NDArray[np.int64]
    vectors: NDArray[np.float32]
    first_passage: NDArray[np.int64]
    frequencies: tuple[Counter[str], ...]
    document_frequencies: Counter[str]

    def cosine(self, query: NDArray[np.float32]) -> Floats:
        """Return the cosine of each message's nearest passage, shape (n,)."""
        return np.maximum.reduceat((self.vectors @ query).astype(np.float64), self.first_passage)

    def bm25(self, query: list[str]) -> Floats:
        """Return the BM25 score of each message, shape (n,)."""
        lengths = np.array([words.total() for words in self.frequencies], dtype=np.float64)
        mean = lengths.sum() / max(len(lengths), 1) or 1.0
        norm = K1 * (1.0 - B + B * lengths / mean)
        score = np.zeros(len(lengths))
        for term in dict.fromkeys(query):
            document_frequency = self.document_frequencies[term]
            idf = math.log1p((len(lengths) - document_frequency + 0.5) / (document_frequency + 0.5))
            term_frequencies = np.array(
                [words[term] for words in self.frequencies], dtype=np.float64
            )
            score += idf * term_frequencies * (K1 + 1.0) / (term_frequencies + norm)
        return score


@dataclass(slots=True)
class Baselines:
    """The baseline systems. Each conversation is indexed once for all of them.

    Attributes:
        embedder: Embeds passages and queries.
        counter: Counts tokens of passages and messages.
    """

    embedder: Embedder
    counter: TokenCounter
    _indexes: dict[str, _ConversationIndex] = field(default_factory=dict)

    def systems(self) -> dict[str, System]:
        """Return the systems for the runner, by name."""
        return {
            "cosine": lambda conversation: self._build_recall(conversation, 1.0, 0.0),
            "bm25": lambda conversation: self._build_recall(conversation, 0.0, 1.0),
            "sum": lambda conversation: self._build_recall(conversation, 0.5, 0.5),
            "rrf": lambda conversation: self._build_recall(
                conversation, 1.0, 1.0, scale=_compute_reciprocal_ranks
            ),
        }

    def _build_recall(
        self,
        conversation: Conversation,
        dense: float,
        sparse: float,
        scale: Callable[[Floats], Floats] | None = None,
    ) -> Recall:
        index, scaled = self._get_index(conversation), scale or _scale_to_unit

        def recall(question: Question, k: int) -> Answer:
            score = np.zeros(len(index.ids))
            if dense:
                query = self.embedder.embed([question.text], role="query")[0]
                score += dense * scaled(index.cosine(query))
            if sparse:
                score += sparse * scaled(index.bm25(terms(question.text)))
            best = np.argsort(-score, kind="stable")[:k]
            return Answer(
                [(index.ids[i],) for i in best], int(index.tokens[best[:_TOKEN_DEPTH]].sum())
            )

        return recall

    def _get_index(self, conversation: Conversation) -> _ConversationIndex:
        if conversation.id not in self._indexes:
            index = _build_index(conversation, self.embedder, self.counter)
            self._indexes[conversation.id] = index
        return self._indexes[conversation.id]


def _build_index(
    conversation: Conversation, embedder: Embedder, counter: TokenCounter
) -> _ConversationIndex:
    messages = tuple(conversation.messages())
    texts = [_get_embedded_texts(message, counter) for message in messages]
    counts = np.array([len(parts) for parts in texts], dtype=np.int64)
    frequencies = tuple(Counter(terms(message.content)) for message in messages)
    return _ConversationIndex(
        ids=tuple(message.external_id or "" for message in messages),
        tokens=np.array(counter.count([message.content for message in messages]), dtype=np.int64),
        vectors=embedder.embed([part for parts in texts for part in parts], role="document"),
        first_passage=np.cumsum(counts) - counts,
        frequencies=frequencies,
        document_frequencies=Counter(term for words in frequencies for term in words),
    )


def _get_embedded_texts(message: Message, counter: TokenCounter) -> list[str]:
    """Return the texts that are embedded for a message: at least one."""
    spans = [span for span, _ in passages(message.content, counter)]
    texts = [span.extract(message.content) for span in spans] or [message.content]
    return [build_embedded_text(message.speaker, text) for text in texts]


def _scale_to_unit(values: Floats) -> Floats:
    span = float(np.ptp(values)) if len(values) else 0.0
    return (values - values.min()) / span if span else np.zeros(len(values))


def _compute_reciprocal_ranks(values: Floats) -> Floats:
    """Return 1/(60 + rank). The highest value has rank 1; ties keep their order."""
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return 1.0 / (RRF_K + ranks)
