"""A language model by script: a server over a real socket that says what a test tells it to.

It speaks the protocols of OpenAI, Ollama and Anthropic, so that the services' own clients can be
run against it, with everything that goes wrong in a network.
"""

from memolith.testing.model_server.answers import (
    Answer,
    Fault,
    cut_off,
    dropped,
    fenced,
    late,
    malformed,
    refused,
)
from memolith.testing.model_server.asked import Asked
from memolith.testing.model_server.rules import (
    Rule,
    Unreliable,
    by_words,
    in_turn,
    refusing_schemas,
)
from memolith.testing.model_server.serving import ModelServer

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
