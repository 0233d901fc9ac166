"""What a program that fails tells its caller, for every error there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_FILE_ERROR: Final = 14
EXIT_FINDINGS: Final = 16
EXIT_INTERRUPTED: Final = 130  # 128 and the number of SIGINT, as shells have it
EXIT_PIPE_CLOSED: Final = 141  # 128 and the number of SIGPIPE

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
"""Exit codes. Every error has its own, so that a script can tell them apart."""


def get_exit_code(error: errors.MemolithError) -> int:
    """Return an error's exit code: its own, or that of the nearest class above it."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)
