"""Arbitration: what becomes of a new memory that is near to a known one."""

from __future__ import annotations

import msgspec

from memolith.policies.merging import Operation, Verdict
from memolith.ports.chat import ChatMessage, Prompt, ResponseSchema
from memolith.prompts.fencing import FENCE_EXPLANATION, fence
from memolith.prompts.replies import InvalidReply, parse_json_reply
from memolith.prompts.schemas import build_object_schema
from memolith.text.cleaning import clean_text

ARBITRATION_MAX_TOKENS = 512
"""A memory of 500 bytes and a reason."""

_ARBITRATION_RULES = f"""\
You keep a long-term memory free of repetition. You are given a known memory and a new one that \
is like it. Say what to do with the new one:
- ADD: they are about different things, or both can be true. Keep both.
- UPDATE: they are about the same thing, and together they say it best. Give the one sentence that \
says all that is in both, and nothing else.
- DELETE: the new one says that the known one no longer holds. Keep the new one only.
- NOOP: the known one says all that the new one says.
Where in doubt: ADD. Two people, two things or two times are different things. Keep names and \
numbers as they are.

{FENCE_EXPLANATION}

Reply with JSON only: {{"reasoning": a few words, "operation": "ADD", "UPDATE", "DELETE" or \
"NOOP", "content": the sentence for UPDATE, else ""}}"""

_VERDICT_SCHEMA = ResponseSchema(
    "verdict",
    build_object_schema(
        {
            "reasoning": {"type": "string"},
            "operation": {"type": "string", "enum": [*Operation]},
            "content": {"type": "string"},
        }
    ),
)


def build_arbitration_prompt(existing: str, candidate: str, nonce: str) -> Prompt:
    """Return the prompt that asks what becomes of a new memory; for the nonce see `fenced`."""
    known = fence(existing, nonce, "KNOWN MEMORY")
    new = fence(candidate, nonce, "NEW MEMORY")
    ask = "What is to be done with the new memory? Reply in JSON."
    return Prompt(
        messages=(
            ChatMessage("system", _ARBITRATION_RULES),
            ChatMessage("user", f"{known}\n\n{new}\n\n{ask}"),
        ),
        schema=_VERDICT_SCHEMA,
        max_tokens=ARBITRATION_MAX_TOKENS,
        purpose="arbitration",
    )


def parse_verdict(text: str) -> Verdict:
    """Return what a reply says; a merged text is cleaned, not checked against the two.

    Raises:
        BadReply: It says none of the four, or UPDATE without a text.
    """
    given = parse_json_reply(text, _VerdictReply)
    name = given.operation.strip().upper()
    if name not in set(Operation):
        raise InvalidReply("names none of the four operations")
    operation = Operation(name)
    content = clean_text(given.content or "") if operation is Operation.UPDATE else ""
    if operation is Operation.UPDATE and not content:
        raise InvalidReply("is UPDATE without a text")
    return Verdict(operation, content, given.reasoning or "")


class _VerdictReply(msgspec.Struct):
    operation: str
    content: str | None = None
    reasoning: str | None = None
