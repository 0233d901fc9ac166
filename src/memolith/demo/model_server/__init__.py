"""A scripted language model: a local HTTP server with predefined replies, for the demo and tests.

It implements the APIs of OpenAI, Ollama and Anthropic, so that their clients can call it, and
simulates network faults.
"""

from __future__ import annotations

from memolith.demo.model_server.messages import ReceivedRequest
from memolith.demo.model_server.rules import (
    Answer,
    Fault,
    Rule,
    Unreliable,
    answer_in_sequence,
    delayed_answer,
    dropped_connection,
    embed_by_words,
    error_answer,
    fenced_answer,
    malformed_answer,
    reject_schemas,
    truncated_answer,
)
from memolith.demo.model_server.server import ModelServer

__all__ = [
    "Answer",
    "Fault",
    "ModelServer",
    "ReceivedRequest",
    "Rule",
    "Unreliable",
    "answer_in_sequence",
    "delayed_answer",
    "dropped_connection",
    "embed_by_words",
    "error_answer",
    "fenced_answer",
    "malformed_answer",
    "reject_schemas",
    "truncated_answer",
]
