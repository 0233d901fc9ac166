"""The service's OpenAPI document, which takes a second to make: several modules share it.

They name this module from the root of the tests, not as a neighbour: else each had its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, WordCounter


@cache
def document() -> dict[str, Any]:
    """Return it; not to be changed."""
    with Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter()) as engine:
        return create_app(engine, ServerOptions()).openapi()
