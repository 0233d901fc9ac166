"""The shared statements in PostgreSQL's words; see `adapters.sql.connection` for what they use."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count

from memolith.adapters.sql.claims import OWNERS_TO_LEARN, OWNERS_WITHOUT_LEASE
from memolith.adapters.sql.reembedding import (
    HAS_VECTORS,
    IS_MISSING_VECTORS,
    OWNERS_MISSING_VECTORS,
)
from memolith.adapters.sql.store import OWNER_NAMES
from memolith.adapters.sql.upkeep import SET_STRENGTHS
from memolith.adapters.sql.work_changes import HOLDS_LEASE

STATEMENT_OVERRIDES = {
    # What goes across owners is asked of functions, which alone may; see the schema.
    OWNER_NAMES: "SELECT owner_names()",
    OWNERS_WITHOUT_LEASE: "SELECT unclaimed_owners($1, $2)",
    OWNERS_TO_LEARN: "SELECT learning_owners($1, $2)",
    HAS_VECTORS: "SELECT 1 WHERE has_vectors()",
    OWNERS_MISSING_VECTORS: "SELECT bare_owners()",
    IS_MISSING_VECTORS: "SELECT bare_owners() LIMIT 1",
    HOLDS_LEASE: (
        "SELECT 1 FROM claims WHERE owner_id = $1 AND work = $2 AND token = $3 FOR UPDATE"
    ),
    SET_STRENGTHS: (
        "UPDATE memories SET strength = w.strength FROM (SELECT decode(key, 'hex') AS id,"
        " value::float8 AS strength FROM json_each_text($1::json)) AS w"
        " WHERE owner_id = $2 AND memories.id = w.id AND memories.strength <> w.strength"
    ),
}
"""What is said otherwise as a whole."""

_SUBSTITUTIONS = (
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    (re.compile(r"\bIN \(SELECT value FROM carray\((\?\d*)\)\)"), r"= ANY(\1)"),
    (re.compile(r"\bcarray\((\?\d*)\) AS w\b"), r"unnest(\1) WITH ORDINALITY AS w (value, rowid)"),
)
_PLACEHOLDER = re.compile(r"\?(\d*)")
_MAX_MIN_CALL = re.compile(r"\b(max|min)\(")
_SCALAR_NAMES = {"max": "greatest", "min": "least"}

_SINGLE_ROW_INSERT = re.compile(r"(INSERT INTO [^?]* VALUES )(\([?\d, ]*\))")
"""A statement that stores one row, all of whose columns are values."""

_CACHE_SIZE = 1_024
"""More statements than there are; some lists are written out, in many lengths."""


@lru_cache(_CACHE_SIZE)
def translate(statement: str) -> str:
    """Return a shared statement as PostgreSQL takes it."""
    if statement in STATEMENT_OVERRIDES:
        return STATEMENT_OVERRIDES[statement]
    for pattern, words in _SUBSTITUTIONS:
        statement = pattern.sub(words, statement)
    places = count(1)
    statement = _PLACEHOLDER.sub(lambda place: f"${place[1] or next(places)}", statement)
    return _MAX_MIN_CALL.sub(lambda call: _scalar_call(call, statement), statement)


def _scalar_call(call: re.Match[str], statement: str) -> str:
    """Return the beginning of a call of `max` or `min`: other names are for several values."""
    name = call[1]
    return f"{_SCALAR_NAMES[name] if _has_multiple_arguments(statement[call.end() :]) else name}("


def _has_multiple_arguments(rest: str) -> bool:
    """Tell whether there is a comma before the parenthesis that is open is closed."""
    depth = 0
    for letter in rest:
        if letter == "," and not depth:
            return True
        if letter == ")" and not depth:
            return False
        depth += {"(": 1, ")": -1}.get(letter, 0)
    return False


@lru_cache(_CACHE_SIZE)
def translate_multi_row_insert(statement: str, rows: int) -> str | None:
    """Return a shared statement that stores one row as one that stores so many.

    Its values are those of the rows, one row after the other. None: it is no such statement.
    """
    found = _SINGLE_ROW_INSERT.fullmatch(statement)
    if found is None:
        return None
    places = [int(place) for place in _PLACEHOLDER.findall(translate(found[2]).replace("$", "?"))]
    row = found[2]
    width = max(places)
    return found[1] + ", ".join(_number_placeholders(row, width * n) for n in range(rows))


def _number_placeholders(row: str, offset: int) -> str:
    """Return a row's places, behind so many values of other rows."""
    places = count(1)
    return _PLACEHOLDER.sub(lambda place: f"${offset + int(place[1] or next(places))}", row)
