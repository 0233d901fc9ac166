"""HTTP client of a Memolith server, used by `Memolith.connect`."""

from __future__ import annotations

DEFAULT_URL = "http://127.0.0.1:8377"
DEFAULT_TIMEOUT_S = 60.0
"""Timeout of a response. A guess: calls that use a language model take long."""
