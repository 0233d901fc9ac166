"""What a program that fails tells its caller, for every error there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

FAILED: Final = 1
USAGE: Final = 2
FILES: Final = 14
FINDINGS: Final = 16
INTERRUPTED: Final = 130  # 128 and the number of SIGINT, as shells have it
PIPE_CLOSED: Final = 141  # 128 and the number of SIGPIPE

CODES: Mapping[type[errors.MemolithError], int] = {
    errors.MemolithError: FAILED,
    errors.InvalidInput: USAGE,
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
"""Exit codes. Every error has its own, so that a script can tell them apart."""


def exit_code(error: errors.MemolithError) -> int:
    """Return an error's exit code: its own, or that of the nearest class above it."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
