"""Signs: what a text says of habits, of now, or of what is so.

Each language is one module here with a value `SIGNS`; adding a language is adding a file.
"""

from __future__ import annotations

from memolith.text.signs.language import DiscourseMarkers
from memolith.text.signs.matching import (
    has_preference,
    is_about_now,
    is_statement,
    load_discourse_markers,
)

__all__ = [
    "DiscourseMarkers",
    "has_preference",
    "is_about_now",
    "is_statement",
    "load_discourse_markers",
]
