"""Statements: what a sentence says of whom, where it says one plain thing that has one value.

"I live in Oslo", "My favourite colour is green", "Our meeting is on Friday now". Each language
is one module here with a value `GRAMMAR`; adding a language is adding a file. What no pattern
matches as a whole sentence is no statement: nothing is concluded of it.
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
