"""What a server answers where something fails, for every error there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUSES: Mapping[type[errors.MemolithError], int] = {
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
"""HTTP statuses."""

_WRONG, _FAILED = -32602, -32603  # JSON-RPC's own: invalid params, internal error

RPC_CODES: Mapping[type[errors.MemolithError], int] = {
    errors.MemolithError: _FAILED,
    errors.InvalidInput: _WRONG,
    errors.InvalidConfiguration: _FAILED,
    errors.NotFound: _WRONG,
    errors.Forbidden: _WRONG,
    errors.Conflict: _WRONG,
    errors.Disabled: _FAILED,
    errors.WrongEmbeddingModel: _FAILED,
    errors.KeyUnavailable: _FAILED,
    errors.StoreUnavailable: _FAILED,
    errors.StoreReadOnly: _FAILED,
    errors.StoreDamaged: _FAILED,
    errors.StoreTooNew: _FAILED,
    errors.OwnerErased: _WRONG,
    errors.LibraryOnly: _FAILED,
    errors.ServiceFailed: _FAILED,
    errors.LimitReached: _FAILED,
}
"""Codes of JSON-RPC, for what MCP answers where no tool does: resources and prompts."""


def rpc_code_of(error: errors.MemolithError) -> int:
    """Return an error's code of JSON-RPC: its own, or that of the nearest class above it."""
    return next(RPC_CODES[kind] for kind in type(error).__mro__ if kind in RPC_CODES)


def status_of(error: errors.MemolithError) -> int:
    """Return an error's status: its own, or that of the nearest class above it."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
