"""The service's OpenAPI document, which takes a second to make: several modules share it.

They name this module from the root of the tests, not as a neighbour: else each had its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mnemon import Mnemon
from mnemon.entrypoints.http.app import Serving, create_app
from mnemon.testing.embedders import HashingEmbedder, WordCounter


@cache
def document() -> dict[str, Any]:
    """Return it; not to be changed."""
    with Mnemon.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter()) as engine:
        return create_app(engine, Serving()).openapi()
