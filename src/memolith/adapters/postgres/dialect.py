"""How values go to PostgreSQL and come back: integers, texts of any letters, and vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper

from memolith.adapters.sql.embedding_generations import (
    HAS_VECTORS,
    IS_MISSING_VECTORS,
    OWNERS_MISSING_VECTORS,
)
from memolith.adapters.sql.service_tables import OWNERS_TO_LEARN, OWNERS_WITHOUT_LEASE
from memolith.adapters.sql.store import OWNER_NAMES
from memolith.adapters.sql.transaction import HOLDS_LEASE, SET_STRENGTHS

_TEXT = 25
"""PostgreSQL's own number of the type text."""

_BIGINT, _BIGINTS, _BIGINT_BYTES = 20, 1016, 8
"""Its numbers of the type bigint and of arrays of it, and how long one is."""

_ELEMENT = np.dtype([("length", ">i4"), ("value", ">i8")])

_ESCAPE = "\uffff"
"""Stands for no letter, in any language: Unicode keeps it for programs."""

_ESCAPED_NUL, _ESCAPED_ESCAPE = f"{_ESCAPE}0", f"{_ESCAPE}1"
"""PostgreSQL's texts can't hold the letter NUL; ours can."""

_HEADER = 4
"""pgvector sends the number of components and two bytes of nothing before them."""


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """How the vectors of a store stand in its columns, exactly.

    Attributes:
        type_name: pgvector's type.
        column: One component as it is sent.
        stored: One component as the cipher gives and takes it.
    """

    type_name: str
    column_dtype: str
    stored_dtype: str


HALF_PRECISION = VectorFormat("halfvec", ">f2", "i1")
"""Half precision is exact for integers up to 2,048; ours are up to 127."""

ENCRYPTED = VectorFormat("vector", ">f4", "<i2")
"""Hidden components are integers up to 16,256, of which half precision would lose some."""

FULL_PRECISION = VectorFormat("vector", ">f4", "i1")
"""A plain store's where half precision was not wanted."""


def select_vector_format(type_name: str, *, is_encrypted: bool) -> VectorFormat:
    """Return how vectors stand in a store: by pgvector's type, and whether a cipher hides them."""
    if is_encrypted:
        return ENCRYPTED
    return HALF_PRECISION if type_name == HALF_PRECISION.type_name else FULL_PRECISION


@dataclass(frozen=True, slots=True)
class VectorParameter:
    """A vector as the cipher has hidden it, on its way to a column."""

    stored: bytes


@dataclass(frozen=True, slots=True)
class BigintArray:
    """Integers as one value: an array of `bigint`, whatever they are.

    psycopg would take the narrowest type for a list, and, where integers are always sent as
    `bigint`, the narrowest of all.
    """

    values: Sequence[int]


class BigintArrayDumper(Dumper):
    """Sends integers as PostgreSQL's array of one dimension."""

    format = Format.BINARY
    oid = _BIGINTS

    def dump(self, obj: BigintArray) -> Buffer | None:
        """Return the array's head, and each element behind its length."""
        elements = np.empty(len(obj.values), dtype=_ELEMENT)
        elements["length"] = _BIGINT_BYTES
        elements["value"] = obj.values
        head = np.array((1, 0, _BIGINT, len(elements), 1), dtype=">i4")
        return head.tobytes() + elements.tobytes()


class TextDumper(StrBinaryDumper):
    """Sends texts as texts, with NUL escaped."""

    oid = _TEXT

    def dump(self, obj: str) -> Buffer | None:
        """Return the text's bytes."""
        if "\0" in obj or _ESCAPE in obj:
            obj = obj.replace(_ESCAPE, _ESCAPED_ESCAPE).replace("\0", _ESCAPED_NUL)
        return obj.encode()


class TextLoader(Loader):
    """Takes texts as `TextDumper` sent them."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        """Return the text."""
        text = bytes(data).decode()
        return (
            text.replace(_ESCAPED_NUL, "\0").replace(_ESCAPED_ESCAPE, _ESCAPE)
            if _ESCAPE in text
            else text
        )


def register_adapters(connection: Connection[Any]) -> None:
    """Let a connection send and take our integers and texts."""
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    connection.adapters.register_dumper(BigintArray, BigintArrayDumper)
    connection.adapters.register_dumper(str, TextDumper)
    connection.adapters.register_loader("text", TextLoader)


def register_vector_adapters(
    connection: Connection[Any], vector_format: VectorFormat, vector_oid: int
) -> None:
    """Let a connection send and take our vectors."""

    class VectorDumper(Dumper):
        format = Format.BINARY
        oid = vector_oid

        def dump(self, obj: VectorParameter) -> Buffer | None:
            values = np.frombuffer(obj.stored, dtype=vector_format.stored_dtype).astype(
                vector_format.column_dtype
            )
            return len(values).to_bytes(2, "big") + bytes(2) + values.tobytes()

    class VectorLoader(Loader):
        format = Format.BINARY

        def load(self, data: Buffer) -> bytes:
            values = np.frombuffer(data, dtype=vector_format.column_dtype, offset=_HEADER)
            return values.astype(vector_format.stored_dtype).tobytes()

    connection.adapters.register_dumper(VectorParameter, VectorDumper)
    connection.adapters.register_loader(vector_oid, VectorLoader)


# --- The shared statements in PostgreSQL's words; see `adapters.sql.connection` for what they use


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
