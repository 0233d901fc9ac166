"""Taking turns: what only so many threads may have at once, in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """Lets so many threads in at once. Unlike a lock's, its order is that of arrival.

    Who takes a lock again and again gets it before those whom it has just woken; under load some
    would wait for seconds, and others not at all.
    """

    def __init__(self, places: int) -> None:
        """Take how many may be in at once."""
        self._lock = threading.Lock()
        self._free = places
        self._waiting: deque[threading.Event] = deque()

    def take(self, timeout_s: float) -> bool:
        """Wait for one's turn, at most so long; return whether it came."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = threading.Event()
            self._waiting.append(turn)
        if turn.wait(max(0.0, timeout_s)):
            return True
        with self._lock:
            if turn.is_set():  # just now
                return True
            self._waiting.remove(turn)
        return False

    def end(self) -> None:
        """End one's turn: it is that of who waits longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
