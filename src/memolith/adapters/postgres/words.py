"""The shared statements in PostgreSQL's words; see `adapters.sql.connection` for what they use."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count

from memolith.adapters.sql.claims import LEARNERS, OWNERS
from memolith.adapters.sql.reembedding import BARE_OWNERS, HAS_VECTORS, IS_BARE
from memolith.adapters.sql.store import NAMES
from memolith.adapters.sql.upkeep import SET_STRENGTHS
from memolith.adapters.sql.work_changes import HOLDS

INSTEAD = {
    # What goes across owners is asked of functions, which alone may; see the schema.
    NAMES: "SELECT owner_names()",
    OWNERS: "SELECT unclaimed_owners($1, $2)",
    LEARNERS: "SELECT learning_owners($1, $2)",
    HAS_VECTORS: "SELECT 1 WHERE has_vectors()",
    BARE_OWNERS: "SELECT bare_owners()",
    IS_BARE: "SELECT bare_owners() LIMIT 1",
    HOLDS: ("SELECT 1 FROM claims WHERE owner_id = $1 AND work = $2 AND token = $3 FOR UPDATE"),
    SET_STRENGTHS: (
        "UPDATE memories SET strength = w.strength FROM (SELECT decode(key, 'hex') AS id,"
        " value::float8 AS strength FROM json_each_text($1::json)) AS w"
        " WHERE owner_id = $2 AND memories.id = w.id AND memories.strength <> w.strength"
    ),
}
"""What is said otherwise as a whole."""

_WORDS = (
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    (re.compile(r"\bIN \(SELECT value FROM carray\((\?\d*)\)\)"), r"= ANY(\1)"),
    (re.compile(r"\bcarray\((\?\d*)\) AS w\b"), r"unnest(\1) WITH ORDINALITY AS w (value, rowid)"),
)
_PLACE = re.compile(r"\?(\d*)")
_OF_SEVERAL = re.compile(r"\b(max|min)\(")
_NAMES = {"max": "greatest", "min": "least"}

_INSERTED = re.compile(r"(INSERT INTO [^?]* VALUES )(\([?\d, ]*\))")
"""A statement that stores one row, all of whose columns are values."""

_KEPT = 1_024
"""More statements than there are; some lists are written out, in many lengths."""


@lru_cache(_KEPT)
def in_words(statement: str) -> str:
    """Return a shared statement as PostgreSQL takes it."""
    if statement in INSTEAD:
        return INSTEAD[statement]
    for pattern, words in _WORDS:
        statement = pattern.sub(words, statement)
    places = count(1)
    statement = _PLACE.sub(lambda place: f"${place[1] or next(places)}", statement)
    return _OF_SEVERAL.sub(lambda call: _named(call, statement), statement)


def _named(call: re.Match[str], statement: str) -> str:
    """Return the beginning of a call of `max` or `min`: other names are for several values."""
    name = call[1]
    return f"{_NAMES[name] if _has_several(statement[call.end() :]) else name}("


def _has_several(rest: str) -> bool:
    """Tell whether there is a comma before the parenthesis that is open is closed."""
    depth = 0
    for letter in rest:
        if letter == "," and not depth:
            return True
        if letter == ")" and not depth:
            return False
        depth += {"(": 1, ")": -1}.get(letter, 0)
    return False


@lru_cache(_KEPT)
def in_rows(statement: str, rows: int) -> str | None:
    """Return a shared statement that stores one row as one that stores so many.

    Its values are those of the rows, one row after the other. None: it is no such statement.
    """
    found = _INSERTED.fullmatch(statement)
    if found is None:
        return None
    places = [int(place) for place in _PLACE.findall(in_words(found[2]).replace("$", "?"))]
    row = found[2]
    width = max(places)
    return found[1] + ", ".join(_row(row, width * n) for n in range(rows))


def _row(row: str, before: int) -> str:
    """Return a row's places, behind so many values of other rows."""
    places = count(1)
    return _PLACE.sub(lambda place: f"${before + int(place[1] or next(places))}", row)
