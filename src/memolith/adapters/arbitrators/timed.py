"""An arbitrator for whom nobody waits too long."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from memolith.errors import ServiceFailed
from memolith.policies.merging import Operation, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.ports.arbitrator import Arbitrator

_SERVICE = "arbitrator"


class TimedArbitrator:
    """Asks another arbitrator, or a function, and gives up after a while.

    Each question has a thread of its own, which is left behind where it takes too long. Whatever
    goes wrong is a `ServiceFailed`, so that no memory is lost by it.
    """

    def __init__(
        self, arbitrator: Arbitrator | Callable[[str, str], Verdict], timeout_s: float
    ) -> None:
        """Ask this one, for at most so long each time."""
        self._ask: Callable[[str, str], Verdict] = (
            arbitrator.arbitrate if hasattr(arbitrator, "arbitrate") else arbitrator
        )
        self._timeout_s = timeout_s

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the verdict.

        Raises:
            ServiceFailed: It failed, gave no verdict, or took too long.
        """
        answer: SimpleQueue[object] = SimpleQueue()
        work = Thread(target=self._work, args=(existing, candidate, answer), daemon=True)
        work.start()
        try:
            given = answer.get(timeout=self._timeout_s)
        except Empty:
            problem = f"gave no answer within {self._timeout_s:g} s"
            raise ServiceFailed(_SERVICE, problem, retryable=True) from None
        if isinstance(given, ServiceFailed):
            raise given
        if isinstance(given, Exception):
            raise ServiceFailed(_SERVICE, f"raised {type(given).__name__}") from given
        if not isinstance(given, Verdict):
            raise ServiceFailed(_SERVICE, f"gave a {type(given).__name__}, not a Verdict")
        if given.operation not in tuple(Operation):
            raise ServiceFailed(_SERVICE, "gave a verdict of no operation that there is")
        return given

    def _work(self, existing: str, candidate: str, answer: SimpleQueue[object]) -> None:
        try:
            answer.put(self._ask(existing, candidate))
        except Exception as error:  # noqa: BLE001 - another's code: it is told to whoever waits
            answer.put(error)
