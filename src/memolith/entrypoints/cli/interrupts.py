"""Ctrl-C: where it may come, and where it must not."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType
    from typing import Self


class InterruptGuard:
    """Lets an interrupt through where it is heeded; elsewhere, as in a write, it is lost.

    To be used in the main thread, as signals are.
    """

    def __init__(self) -> None:
        """Heed none yet."""
        self._is_allowed = False

    def __enter__(self) -> Self:
        """Take over."""
        self._before = signal.signal(signal.SIGINT, self._handle_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let it be as it was."""
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def allow_interrupts(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` while the block runs."""
        self._is_allowed = True
        try:
            yield
        finally:
            self._is_allowed = False

    def _handle_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_allowed:
            raise KeyboardInterrupt
