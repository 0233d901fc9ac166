"""Hollow texts: what is said in a conversation and tells nothing, and pieces of sentences.

Each language is one module here with a value `HOLLOW`; adding a language is adding a file.
"""

from __future__ import annotations

from memolith.text.hollow.language import Hollow
from memolith.text.hollow.matching import (
    filler,
    in_language,
    is_order,
    is_recalling,
    is_reply,
    is_unfinished,
    languages,
)

__all__ = [
    "Hollow",
    "filler",
    "in_language",
    "is_order",
    "is_recalling",
    "is_reply",
    "is_unfinished",
    "languages",
]
