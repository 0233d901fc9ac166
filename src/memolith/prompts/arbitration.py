"""Arbitration: what becomes of a new memory that is near to a known one."""

from __future__ import annotations

import msgspec

from memolith.policies.merging import Operation, Verdict
from memolith.ports.chat import Prompt, Schema, Turn
from memolith.prompts.fencing import WHAT_A_FENCE_IS, fenced
from memolith.prompts.replies import BadReply, read_json
from memolith.prompts.schemas import all_of
from memolith.text.cleaning import cleaned

MAX_TOKENS = 512
"""A memory of 500 bytes and a reason."""

_RULES = f"""\
You keep a long-term memory free of repetition. You are given a known memory and a new one that \
is like it. Say what to do with the new one:
- ADD: they are about different things, or both can be true. Keep both.
- UPDATE: they are about the same thing, and together they say it best. Give the one sentence that \
says all that is in both, and nothing else.
- DELETE: the new one says that the known one no longer holds. Keep the new one only.
- NOOP: the known one says all that the new one says.
Where in doubt: ADD. Two people, two things or two times are different things. Keep names and \
numbers as they are.

{WHAT_A_FENCE_IS}

Reply with JSON only: {{"reasoning": a few words, "operation": "ADD", "UPDATE", "DELETE" or \
"NOOP", "content": the sentence for UPDATE, else ""}}"""

_SCHEMA = Schema(
    "verdict",
    all_of(
        {
            "reasoning": {"type": "string"},
            "operation": {"type": "string", "enum": [*Operation]},
            "content": {"type": "string"},
        }
    ),
)


def arbitration(existing: str, candidate: str, nonce: str) -> Prompt:
    """Return the prompt that asks what becomes of a new memory; for the nonce see `fenced`."""
    known = fenced(existing, nonce, "KNOWN MEMORY")
    new = fenced(candidate, nonce, "NEW MEMORY")
    ask = "What is to be done with the new memory? Reply in JSON."
    return Prompt(
        turns=(Turn("system", _RULES), Turn("user", f"{known}\n\n{new}\n\n{ask}")),
        schema=_SCHEMA,
        max_tokens=MAX_TOKENS,
        purpose="arbitration",
    )


def read_verdict(text: str) -> Verdict:
    """Return what a reply says; a merged text is cleaned, not checked against the two.

    Raises:
        BadReply: It says none of the four, or UPDATE without a text.
    """
    given = read_json(text, _Given)
    name = given.operation.strip().upper()
    if name not in set(Operation):
        raise BadReply("names none of the four operations")
    operation = Operation(name)
    content = cleaned(given.content or "") if operation is Operation.UPDATE else ""
    if operation is Operation.UPDATE and not content:
        raise BadReply("is UPDATE without a text")
    return Verdict(operation, content, given.reasoning or "")


class _Given(msgspec.Struct):
    operation: str
    content: str | None = None
    reasoning: str | None = None
