"""Words too frequent to search by: one data file a language."""

from __future__ import annotations

from memolith.text.stopwords.de import STOP_WORDS as GERMAN
from memolith.text.stopwords.en import STOP_WORDS as ENGLISH

STOP_WORDS = ENGLISH | GERMAN
"""One list for all texts: a word's terms must not depend on the text it stands in."""
