"""The arbitrator: who tells what becomes of a new memory that is near to a known one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memolith.policies.merging import Verdict


class Arbitrator(Protocol):
    """Decides between two texts, as a language model does. Thread-safe."""

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return what becomes of the candidate; within 30 seconds, else nobody waits for it.

        Raises:
            ServiceFailed: It can't tell; both are kept then.
        """
        ...
