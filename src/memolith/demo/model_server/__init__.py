"""A scripted language model: a local HTTP server with predefined replies, for the demo and tests.

It implements the APIs of OpenAI, Ollama and Anthropic, so that their clients can call it, and
simulates network faults.
"""

from __future__ import annotations

from memolith.demo.model_server.messages import Asked
from memolith.demo.model_server.rules import (
    Answer,
    Fault,
    Rule,
    Unreliable,
    by_words,
    cut_off,
    dropped,
    fenced,
    in_turn,
    late,
    malformed,
    refused,
    refusing_schemas,
)
from memolith.demo.model_server.server import ModelServer

__all__ = [
    "Answer",
    "Asked",
    "Fault",
    "ModelServer",
    "Rule",
    "Unreliable",
    "by_words",
    "cut_off",
    "dropped",
    "fenced",
    "in_turn",
    "late",
    "malformed",
    "refused",
    "refusing_schemas",
]
