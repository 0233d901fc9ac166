"""Translate shared SQL to PostgreSQL, and convert integers, texts and vectors."""

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
"""PostgreSQL's oid of the type text."""

_BIGINT, _BIGINTS, _BIGINT_BYTES = 20, 1016, 8
"""PostgreSQL's oids of bigint and bigint[], and the size of a bigint."""

_ELEMENT = np.dtype([("length", ">i4"), ("value", ">i8")])

_ESCAPE = "\uffff"
"""A Unicode noncharacter, which does not occur in text."""

_ESCAPED_NUL, _ESCAPED_ESCAPE = f"{_ESCAPE}0", f"{_ESCAPE}1"
"""Escapes: PostgreSQL's text cannot contain NUL characters."""

_HEADER = 4
"""Size of the header of pgvector's binary format: dimension and two zero bytes."""


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """How vectors are stored in a column, without loss.

    Attributes:
        type_name: The type of pgvector.
        column_dtype: The NumPy type of a component in pgvector's binary format.
        stored_dtype: The NumPy type of a component for the cipher.
    """

    type_name: str
    column_dtype: str
    stored_dtype: str


HALF_PRECISION = VectorFormat("halfvec", ">f2", "i1")
"""Half precision is exact for integers up to 2,048. Components are at most 127."""

ENCRYPTED = VectorFormat("vector", ">f4", "<i2")
"""Encrypted components are integers up to 16,256, too large for half precision."""

FULL_PRECISION = VectorFormat("vector", ">f4", "i1")
"""For unencrypted stores without half precision."""


def select_vector_format(type_name: str, *, is_encrypted: bool) -> VectorFormat:
    """Return the vector format of a store, given pgvector's type and whether it is encrypted."""
    if is_encrypted:
        return ENCRYPTED
    return HALF_PRECISION if type_name == HALF_PRECISION.type_name else FULL_PRECISION


@dataclass(frozen=True, slots=True)
class VectorParameter:
    """A vector parameter of a statement, as returned by the cipher."""

    stored: bytes


@dataclass(frozen=True, slots=True)
class BigintArray:
    """Integers as one parameter of type `bigint[]`.

    psycopg would select the narrowest type that fits the values.
    """

    values: Sequence[int]


class BigintArrayDumper(Dumper):
    """Sends integers as a one-dimensional PostgreSQL array."""

    format = Format.BINARY
    oid = _BIGINTS

    def dump(self, obj: BigintArray) -> Buffer | None:
        """Return the array's header, followed by each element with its length."""
        elements = np.empty(len(obj.values), dtype=_ELEMENT)
        elements["length"] = _BIGINT_BYTES
        elements["value"] = obj.values
        head = np.array((1, 0, _BIGINT, len(elements), 1), dtype=">i4")
        return head.tobytes() + elements.tobytes()


class TextDumper(StrBinaryDumper):
    """Sends strings as `text`, with NUL escaped."""

    oid = _TEXT

    def dump(self, obj: str) -> Buffer | None:
        """Return the encoded text."""
        if "\0" in obj or _ESCAPE in obj:
            obj = obj.replace(_ESCAPE, _ESCAPED_ESCAPE).replace("\0", _ESCAPED_NUL)
        return obj.encode()


class TextLoader(Loader):
    """Receives texts sent by `TextDumper`."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        """Return the decoded text."""
        text = bytes(data).decode()
        return (
            text.replace(_ESCAPED_NUL, "\0").replace(_ESCAPED_ESCAPE, _ESCAPE)
            if _ESCAPE in text
            else text
        )


def register_adapters(connection: Connection[Any]) -> None:
    """Register the adapters for integers and texts with a connection."""
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    connection.adapters.register_dumper(BigintArray, BigintArrayDumper)
    connection.adapters.register_dumper(str, TextDumper)
    connection.adapters.register_loader("text", TextLoader)


def register_vector_adapters(
    connection: Connection[Any], vector_format: VectorFormat, vector_oid: int
) -> None:
    """Register the adapters for vectors with a connection."""

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


# --- Translation of shared statements; `adapters.sql.connection` describes their dialect


STATEMENT_OVERRIDES = {
    # Queries across owners need SECURITY DEFINER functions; see the schema.
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
"""Statements that are replaced entirely."""

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
"""An INSERT of one row of placeholders."""

_CACHE_SIZE = 1_024
"""More than the number of statements; some contain lists of varying length."""


@lru_cache(_CACHE_SIZE)
def translate(statement: str) -> str:
    """Return a shared statement in PostgreSQL's dialect."""
    if statement in STATEMENT_OVERRIDES:
        return STATEMENT_OVERRIDES[statement]
    for pattern, words in _SUBSTITUTIONS:
        statement = pattern.sub(words, statement)
    numbers = count(1)
    statement = _PLACEHOLDER.sub(lambda match: f"${match[1] or next(numbers)}", statement)
    return _MAX_MIN_CALL.sub(lambda call: _scalar_call(call, statement), statement)


def _scalar_call(call: re.Match[str], statement: str) -> str:
    """Return the name of a `max` or `min` call; the scalar versions have other names."""
    name = call[1]
    return f"{_SCALAR_NAMES[name] if _has_multiple_arguments(statement[call.end() :]) else name}("


def _has_multiple_arguments(rest: str) -> bool:
    """Return whether a comma precedes the closing parenthesis of the call."""
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
    """Return an INSERT of one row as an INSERT of several rows, or None if it is not one.

    Its parameters are those of the rows, one row after the other.
    """
    match = _SINGLE_ROW_INSERT.fullmatch(statement)
    if match is None:
        return None
    numbers = [
        int(number) for number in _PLACEHOLDER.findall(translate(match[2]).replace("$", "?"))
    ]
    row = match[2]
    width = max(numbers)
    return match[1] + ", ".join(_number_placeholders(row, width * n) for n in range(rows))


def _number_placeholders(row: str, offset: int) -> str:
    """Return a row of placeholders, numbered after `offset` preceding parameters."""
    numbers = count(1)
    return _PLACEHOLDER.sub(lambda match: f"${offset + int(match[1] or next(numbers))}", row)
