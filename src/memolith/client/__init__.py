"""The client of a service: `Memolith.connect`. What stands here knows requests, not stores."""

from __future__ import annotations

DEFAULT_URL = "http://127.0.0.1:8377"
DEFAULT_TIMEOUT_S = 60.0
"""How long an answer may take: a guess; with a language model behind, it does take long."""
