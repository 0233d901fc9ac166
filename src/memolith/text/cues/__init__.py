"""Cues: phrases by which a sentence says who somebody is, what they like, what was wrong.

Each language is one module here with a value `CUES`; adding a language is adding a file.
"""

from __future__ import annotations

from memolith.text.cues.language import CueKind, Cues
from memolith.text.cues.matching import find_cue_kinds, find_cue_sentences, load_cues

__all__ = ["CueKind", "Cues", "find_cue_kinds", "find_cue_sentences", "load_cues"]
