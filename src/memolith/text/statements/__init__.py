"""Parse statements: simple sentences that give an attribute of a subject a single value.

Examples: "I live in Oslo", "My favourite colour is green", "Our meeting is on Friday now". A
sentence that matches no pattern as a whole yields no statement. To add a language, add a module
with a value `GRAMMAR`.
"""

from __future__ import annotations

from memolith.text.statements.grammar import Mark
from memolith.text.statements.parsing import (
    ParsedText,
    Statement,
    parse_statements,
    parse_text,
    search_terms,
)

__all__ = ["Mark", "ParsedText", "Statement", "parse_statements", "parse_text", "search_terms"]
