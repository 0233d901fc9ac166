"""Rows that can't become values: who reads them learns that the store is damaged."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

_DECODE_ERRORS = (LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""What a column raises that holds another type, an unknown word, no text or a time out of range."""


def translate_decode_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function, which does nothing but turn rows into values, raise `StoreDamaged`.

    The error does not quote the row, which may be content; its cause does.
    """

    @wraps(function)
    def decoded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except _DECODE_ERRORS as error:
            raise StoreDamaged(
                f"the store is damaged: a row can't be read ({type(error).__name__}); run"
                " `memolith verify`"
            ) from error

    return decoded
