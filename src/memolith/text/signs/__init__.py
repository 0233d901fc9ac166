"""Signs: what a text says of habits, of now, or of what is so.

Each language is one module here with a value `SIGNS`; adding a language is adding a file.
"""

from __future__ import annotations

from memolith.text.signs.language import Signs
from memolith.text.signs.matching import (
    is_about_now,
    is_statement,
    languages,
    tells_preference,
)

__all__ = ["Signs", "is_about_now", "is_statement", "languages", "tells_preference"]
