"""Replies to a schema: by the service where it can, else asked for in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from memolith.errors import ServiceFailed
from memolith.ports.chat import ChatMessage

if TYPE_CHECKING:
    from memolith.ports.chat import Prompt

T = TypeVar("T")

_SCHEMA_REFUSED: Final = frozenset({400, 422})
"""What services answer to a field that they do not know."""


def describe_schema_in_prompt(prompt: Prompt) -> Prompt:
    """Return a prompt that asks for its schema in words: where the system speaks, at its end.

    It stands in the one system turn, since many chat templates take no second one.
    """
    if prompt.schema is None:
        return prompt
    asked = (
        "Reply with one JSON value and nothing else: no explanation, no code fence."
        f" It must match this JSON schema:\n{json.dumps(dict(prompt.schema.json))}"
    )
    first, *rest = prompt.messages
    if first.role != "system":
        return replace(
            prompt, messages=(ChatMessage("system", asked), *prompt.messages), schema=None
        )
    turn = ChatMessage("system", f"{first.content}\n\n{asked}")
    return replace(prompt, messages=(turn, *rest), schema=None)


class SchemaFallback:
    """Whether a service takes schemas: found out once, and remembered. Thread-safe.

    Attributes:
        are_taken: Whether it does, as far as is known.
    """

    def __init__(self) -> None:
        """Suppose that it does."""
        self.is_supported = True

    def call(self, prompt: Prompt, ask: Callable[[Prompt], T]) -> T:
        """Return what a service replies: asked with the schema or, if it refuses that, in words.

        Raises:
            ServiceFailed: It gave no reply to either.
        """
        if prompt.schema is None or not self.is_supported:
            return ask(describe_schema_in_prompt(prompt))
        try:
            return ask(prompt)
        except ServiceFailed as failure:
            if failure.status not in _SCHEMA_REFUSED:
                raise
        reply = ask(describe_schema_in_prompt(prompt))
        self.is_supported = False  # only now: the prompt itself might have been what was refused
        return reply
