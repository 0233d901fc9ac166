"""What the protocols share: turns, pieces of a text, counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memolith.ports.chat import ChatMessage
from memolith.testing.embedders import WordCounter

if TYPE_CHECKING:
    from memolith.testing.model_server.answers import Answer
    from memolith.testing.model_server.asked import Asked

_PIECE = re.compile(r"\S+\s*|\s+")


def turn(role: str, content: Any) -> ChatMessage:
    """Return a turn; content that comes in blocks is joined."""
    known: Any = "system" if role == "developer" else role
    return ChatMessage(known, content if isinstance(content, str) else _joined(content or ()))


def _joined(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def pieces(text: str) -> list[str]:
    """Return a text in pieces, as a model would stream it: a word and the space after it."""
    return _PIECE.findall(text)


def tokens(texts: Iterable[str]) -> list[int]:
    """Return how many tokens each text has."""
    return WordCounter().count(list(texts))


def counts(asked: Asked, answer: Answer) -> tuple[int, int]:
    """Return how many tokens were asked and said: as the answer has it, or counted."""
    given, said = answer.input_tokens, answer.output_tokens
    return (
        sum(tokens(turn.content for turn in asked.turns)) if given is None else given,
        sum(tokens([answer.text])) if said is None else said,
    )
