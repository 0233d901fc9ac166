"""How values go to PostgreSQL and come back: integers, texts of any letters, and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection
    from psycopg.abc import Buffer

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
