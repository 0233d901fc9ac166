"""Asking a language model on behalf of an owner, and reading what it replies."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from memolith.errors import ServiceFailed
from memolith.prompts.arbitration import build_arbitration_prompt, parse_verdict
from memolith.prompts.replies import InvalidReply

if TYPE_CHECKING:
    from memolith.policies.merging import Verdict
    from memolith.ports.chat import ChatModel, Prompt

T = TypeVar("T")

MAX_ATTEMPTS = 2
"""How often a model is asked that replies in another form than it was told to."""

_NONCE_BYTES = 16


def new_nonce() -> str:
    """Return a fresh code for the fences of a prompt."""
    return secrets.token_hex(_NONCE_BYTES)


def ask_model(model: ChatModel, prompt: Prompt, parse: Callable[[str], T]) -> T:
    """Return a model's reply as what it was asked for; ask again where it has another form.

    Raises:
        ServiceFailed: There is no reply, or none in the form asked for.
    """
    problem = ""
    for _ in range(MAX_ATTEMPTS):
        reply = model.complete(prompt)
        try:
            return parse(reply.text)
        except InvalidReply as error:
            problem = error.problem if reply.is_complete else f"was cut, and {error.problem}"
    raise ServiceFailed(model.name, f"its reply {problem}")


class ChatArbitrator:
    """An arbitrator that asks a language model."""

    def __init__(self, model: ChatModel) -> None:
        """Ask this one."""
        self._model = model

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the model's verdict.

        Raises:
            ServiceFailed: It gave none.
        """
        prompt = build_arbitration_prompt(existing, candidate, new_nonce())
        return ask_model(self._model, prompt, parse_verdict)
