"""A scripted model for the command line, and the settings that name it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memolith.demo.model_server import Asked, ModelServer

FACT = "The user lives in Oslo."


@dataclass
class Model:
    """Answers by what was said last, and finds one fact in what it is shown.

    Attributes:
        answers: What it answers to what is said; to all else it repeats it.
        facts: What it answers where facts are asked for; None: the fact, where it is told.
        asked: What it was asked for answers.
    """

    answers: dict[str, Any] = field(default_factory=dict)
    facts: Any = None
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Any:
        """Return the answer."""
        if not asked.is_stream:
            return {"facts": list(_facts(asked))} if self.facts is None else self.facts
        self.asked.append(asked)
        last = asked.user.splitlines()[-1]
        answer = self.answers.get(last, f"You said {last}")
        return answer(asked) if callable(answer) else answer

    @property
    def told(self) -> list[tuple[str, str]]:
        """What was said to it last, without the system's words."""
        return [(turn.role, turn.content) for turn in self.asked[-1].turns[1:]]


def _facts(asked: Asked) -> Iterator[dict[str, Any]]:
    if "I live in Oslo" in asked.user:
        yield fact(FACT)


def fact(content: str) -> dict[str, Any]:
    """Return a fact as profile `facts` asks for one."""
    return {
        "content": content,
        "category": "identity",
        "importance": 8,
        "expires_in": "",
        "from": [1],
    }


def settings(server: ModelServer) -> dict[str, str]:
    """Return the variables that name a scripted model."""
    return {
        "MEMOLITH_CHAT__PROVIDER": "openai",
        "MEMOLITH_CHAT__MODEL": "scripted",
        "MEMOLITH_CHAT__BASE_URL": server.openai_url,
        "MEMOLITH_CHAT__MAX_RETRIES": "0",
        "OPENAI_API_KEY": "sk-of-the-tests",
        "MEMOLITH_ENABLE_ENCRYPTION": "false",
    }
