"""Asking a language model on behalf of an owner, and reading what it replies."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from memolith.errors import ServiceFailed
from memolith.prompts.arbitration import arbitration, read_verdict
from memolith.prompts.replies import BadReply

if TYPE_CHECKING:
    from memolith.policies.merging import Verdict
    from memolith.ports.chat import ChatModel, Prompt

T = TypeVar("T")

TRIES = 2
"""How often a model is asked that replies in another form than it was told to."""

_NONCE_BYTES = 16


def nonce() -> str:
    """Return a fresh code for the fences of a prompt."""
    return secrets.token_hex(_NONCE_BYTES)


def answered(model: ChatModel, prompt: Prompt, read: Callable[[str], T]) -> T:
    """Return a model's reply as what it was asked for; ask again where it has another form.

    Raises:
        ServiceFailed: There is no reply, or none in the form asked for.
    """
    problem = ""
    for _ in range(TRIES):
        reply = model.complete(prompt)
        try:
            return read(reply.text)
        except BadReply as error:
            problem = error.problem if reply.is_whole else f"was cut, and {error.problem}"
    raise ServiceFailed(model.name, f"its reply {problem}")


class AskedArbitrator:
    """An arbitrator that asks a language model."""

    def __init__(self, model: ChatModel) -> None:
        """Ask this one."""
        self._model = model

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the model's verdict.

        Raises:
            ServiceFailed: It gave none.
        """
        prompt = arbitration(existing, candidate, nonce())
        return answered(self._model, prompt, read_verdict)
