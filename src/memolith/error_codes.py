"""Map errors to exit codes, HTTP statuses and JSON-RPC codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memolith import errors

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_FILE_ERROR: Final = 14
EXIT_FINDINGS: Final = 16
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, the convention of shells
EXIT_PIPE_CLOSED: Final = 141  # 128 + SIGPIPE

EXIT_CODES: Mapping[type[errors.MemolithError], int] = {
    errors.MemolithError: EXIT_FAILED,
    errors.InvalidInput: EXIT_USAGE,
    errors.InvalidConfiguration: 3,
    errors.NotFound: 4,
    errors.Forbidden: 5,
    errors.Conflict: 6,
    errors.Disabled: 7,
    errors.WrongEmbeddingModel: 8,
    errors.KeyUnavailable: 9,
    errors.StoreUnavailable: 10,
    errors.StoreDamaged: 11,
    errors.StoreTooNew: 12,
    errors.ServiceFailed: 13,
    errors.OwnerErased: 15,
    errors.StoreReadOnly: 17,
    errors.LimitReached: 18,
    errors.LibraryOnly: 19,
}
"""Exit code of each error. All differ, so that scripts can distinguish errors."""


def get_exit_code(error: errors.MemolithError) -> int:
    """Return the exit code of an error: its own, or that of its closest base class."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


# --- HTTP statuses and JSON-RPC codes


HTTP_STATUSES: Mapping[type[errors.MemolithError], int] = {
    errors.MemolithError: 500,
    errors.InvalidInput: 422,
    errors.InvalidConfiguration: 500,
    errors.NotFound: 404,
    errors.Forbidden: 403,
    errors.Conflict: 409,
    errors.Disabled: 503,
    errors.WrongEmbeddingModel: 503,
    errors.KeyUnavailable: 503,
    errors.StoreUnavailable: 503,
    errors.StoreReadOnly: 503,
    errors.StoreDamaged: 500,
    errors.StoreTooNew: 500,
    errors.OwnerErased: 410,
    errors.LibraryOnly: 501,
    errors.ServiceFailed: 502,
    errors.LimitReached: 429,
}
"""HTTP status of each error."""

_INVALID_PARAMS, _INTERNAL_ERROR = -32602, -32603  # defined by JSON-RPC

RPC_CODES: Mapping[type[errors.MemolithError], int] = {
    errors.MemolithError: _INTERNAL_ERROR,
    errors.InvalidInput: _INVALID_PARAMS,
    errors.InvalidConfiguration: _INTERNAL_ERROR,
    errors.NotFound: _INVALID_PARAMS,
    errors.Forbidden: _INVALID_PARAMS,
    errors.Conflict: _INVALID_PARAMS,
    errors.Disabled: _INTERNAL_ERROR,
    errors.WrongEmbeddingModel: _INTERNAL_ERROR,
    errors.KeyUnavailable: _INTERNAL_ERROR,
    errors.StoreUnavailable: _INTERNAL_ERROR,
    errors.StoreReadOnly: _INTERNAL_ERROR,
    errors.StoreDamaged: _INTERNAL_ERROR,
    errors.StoreTooNew: _INTERNAL_ERROR,
    errors.OwnerErased: _INVALID_PARAMS,
    errors.LibraryOnly: _INTERNAL_ERROR,
    errors.ServiceFailed: _INTERNAL_ERROR,
    errors.LimitReached: _INTERNAL_ERROR,
}
"""JSON-RPC code of each error, for MCP responses outside of tools: resources and prompts."""


def get_rpc_code(error: errors.MemolithError) -> int:
    """Return the JSON-RPC code of an error: its own, or that of its closest base class."""
    return next(RPC_CODES[kind] for kind in type(error).__mro__ if kind in RPC_CODES)


def get_http_status(error: errors.MemolithError) -> int:
    """Return the HTTP status of an error: its own, or that of its closest base class."""
    return next(HTTP_STATUSES[kind] for kind in type(error).__mro__ if kind in HTTP_STATUSES)
