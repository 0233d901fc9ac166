"""Taking turns: what only so many threads may have at once, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque


class FairSemaphore:
    """Lets so many threads in at once. Unlike a lock's, its order is that of arrival.

    Who takes a lock again and again gets it before those whom it has just woken; under load some
    would wait for seconds, and others not at all.
    """

    def __init__(self, permits: int) -> None:
        """Take how many may be in at once."""
        self._lock = threading.Lock()
        self._free = permits
        self._waiters: deque[threading.Event] = deque()

    def acquire(self, timeout_s: float) -> bool:
        """Wait for one's turn, at most so long; return whether it came."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = threading.Event()
            self._waiters.append(turn)
        if turn.wait(max(0.0, timeout_s)):
            return True
        with self._lock:
            if turn.is_set():  # just now
                return True
            self._waiters.remove(turn)
        return False

    def release(self) -> None:
        """End one's turn: it is that of who waits longest."""
        with self._lock:
            if self._waiters:
                self._waiters.popleft().set()
            else:
                self._free += 1
