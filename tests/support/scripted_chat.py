"""A scripted model for command-line tests, and settings that select it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memolith.demo.model_server import Asked, ModelServer

FACT = "The user lives in Oslo."


@dataclass
class Model:
    """Replies by the last message, and extracts one fact.

    Attributes:
        answers: Replies by message; other messages are echoed.
        facts: Response to an extraction; None for the fact, if it occurs in the prompt.
        asked: Prompts for replies.
    """

    answers: dict[str, Any] = field(default_factory=dict)
    facts: Any = None
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Any:
        """Return the response."""
        if not asked.is_stream:
            return {"facts": list(_facts(asked))} if self.facts is None else self.facts
        self.asked.append(asked)
        last = asked.user.splitlines()[-1]
        answer = self.answers.get(last, f"You said {last}")
        return answer(asked) if callable(answer) else answer

    @property
    def told(self) -> list[tuple[str, str]]:
        """Messages of the last prompt, without the system message."""
        return [(turn.role, turn.content) for turn in self.asked[-1].turns[1:]]


def _facts(asked: Asked) -> Iterator[dict[str, Any]]:
    if "I live in Oslo" in asked.user:
        yield fact(FACT)


def fact(content: str) -> dict[str, Any]:
    """Return a fact in the schema of profile `facts`."""
    return {
        "content": content,
        "category": "identity",
        "importance": 8,
        "expires_in": "",
        "from": [1],
    }


def settings(server: ModelServer) -> dict[str, str]:
    """Return the environment variables that select a scripted model."""
    return {
        "MEMOLITH_CHAT__PROVIDER": "openai",
        "MEMOLITH_CHAT__MODEL": "scripted",
        "MEMOLITH_CHAT__BASE_URL": server.openai_url,
        "MEMOLITH_CHAT__MAX_RETRIES": "0",
        "OPENAI_API_KEY": "sk-of-the-tests",
        "MEMOLITH_ENABLE_ENCRYPTION": "false",
    }
