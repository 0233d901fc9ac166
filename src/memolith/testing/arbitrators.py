"""An arbitrator that says what a test tells it to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.policies.merging import Verdict


class ScriptedArbitrator:
    """Gives its answers in turn; with none left it fails.

    Attributes:
        asked: What it was asked: the known text and the new one.
    """

    def __init__(self, answers: Sequence[Verdict] = ()) -> None:
        """Give these answers."""
        self.asked: list[tuple[str, str]] = []
        self._answers = list(answers)

    def arbitrate(self, existing: str, candidate: str) -> Verdict:
        """Return the next answer.

        Raises:
            ServiceFailed: There is none left.
        """
        self.asked.append((existing, candidate))
        if not self._answers:
            raise ServiceFailed("scripted arbitrator", "has no answer left")
        return self._answers.pop(0)
