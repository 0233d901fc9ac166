"""The service's OpenAPI document, cached because it takes a second to build.

Import this module by its full name, so that all test modules share the cache.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, WordCounter


@cache
def document() -> dict[str, Any]:
    """Return the document, which must not be modified."""
    with Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter()) as engine:
        return create_app(engine, ServerOptions()).openapi()
