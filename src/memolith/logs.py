"""Loggers that are got when something is first logged.

Importing `logging` takes as long as a dozen modules of ours, and most recalls have nothing to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import logging


def logger(name: str) -> logging.Logger:
    """Return what does as `logging.getLogger(name)`."""
    return cast("logging.Logger", _Logger(name))


class _Logger:
    """Stands for a logger, and gets it when it is asked for anything."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> object:
        from logging import getLogger

        return getattr(getLogger(self.name), attribute)
