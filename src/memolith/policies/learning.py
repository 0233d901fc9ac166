"""What a conversation makes, with no model: which of its texts become memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memolith.domain.memories import Origin
from memolith.domain.messages import Role
from memolith.text.cues import find_cue_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memolith.domain.messages import Message

MAX_SENTENCES = 50
"""How many sentences of one message become memories, at most: who says more of himself at once
pastes a document. A guess."""

MAX_SENTENCE_CHARS = 500
"""The longest sentence that becomes a memory: as long as a fact of `facts` may be. What is longer
without an end is a list or a listing, and is found as the message it stands in."""


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """A memory that a conversation makes.

    Attributes:
        content: Its text.
        places: Which of the messages it is made from, ascending; the first says when and where.
        kind: Its kind; None: judged by the text.
        importance: Its importance, 0..1; None: judged by the text.
        origin: Who said it.
    """

    content: str
    places: tuple[int, ...]
    kind: str | None = None
    importance: float | None = None
    origin: Origin = Origin.USER


class LearningPolicy(Protocol):
    """A way to learn from a conversation. Pure."""

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return the memories that messages of one session make, in order."""
        ...


@dataclass(frozen=True, slots=True)
class NoLearning:
    """Messages are logged only: learning needs a model, or the agent's own hand."""

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return nothing."""
        del messages
        return []


@dataclass(frozen=True, slots=True)
class SentenceLearning:
    """`standard`: each sentence of the user's that has a cue, asks nothing and means something.

    "I love it!" has a cue, and is found as the message it stands in: alone it means nothing.
    """

    def build_memories(self, messages: Sequence[Message]) -> list[LearnedMemory]:
        """Return a memory for each such sentence."""
        return [
            LearnedMemory(sentence, (place,))
            for place, message in enumerate(messages)
            if message.role is Role.USER
            for sentence in _find_memorable_sentences(message.content)
        ]


def _find_memorable_sentences(content: str) -> Iterator[str]:
    told = 0
    for span, _cues in find_cue_sentences(content):
        sentence = span.extract(content)
        is_short = len(sentence) <= MAX_SENTENCE_CHARS
        is_kept = is_short and not sentence.endswith("?") and not _is_meaningless(sentence)
        if told < MAX_SENTENCES and is_kept:
            told += 1
            yield sentence


def _is_meaningless(sentence: str) -> bool:
    # At the first cue, for a program that only recalls needs none of it.
    from memolith.policies.fragments import find_fragment_reason
    from memolith.text.hollow import classify_filler

    return classify_filler(sentence) is not None or find_fragment_reason(sentence) is not None
