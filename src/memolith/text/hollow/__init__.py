"""Hollow texts: what is said in a conversation and tells nothing, and pieces of sentences.

Each language is one module here with a value `HOLLOW`; adding a language is adding a file.
"""

from __future__ import annotations

from memolith.text.hollow.language import FillerLexicon
from memolith.text.hollow.matching import (
    classify_filler,
    get_filler_lexicon,
    is_incomplete,
    is_model_instruction,
    is_recollection,
    is_reply,
    load_filler_lexicons,
)

__all__ = [
    "FillerLexicon",
    "classify_filler",
    "get_filler_lexicon",
    "is_incomplete",
    "is_model_instruction",
    "is_recollection",
    "is_reply",
    "load_filler_lexicons",
]
