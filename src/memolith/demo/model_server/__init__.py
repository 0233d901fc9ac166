"""A language model by script: a server over a real socket that says what a test tells it to.

It speaks the protocols of OpenAI, Ollama and Anthropic, so that the services' own clients can be
run against it, with everything that goes wrong in a network.
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
