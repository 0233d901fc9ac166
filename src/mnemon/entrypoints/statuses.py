"""What a server answers where something fails, for every error there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemon import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUSES: Mapping[type[errors.MnemonError], int] = {
    errors.MnemonError: 500,
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
    errors.ServiceFailed: 502,
    errors.LimitReached: 429,
}
"""HTTP statuses."""


def status_of(error: errors.MnemonError) -> int:
    """Return an error's status: its own, or that of the nearest class above it."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
