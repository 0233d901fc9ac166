"""Memolith itself as a system that the runner can measure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from memolith.domain.memories import Memory
from memolith.evals.conversations import Conversation, Question
from memolith.evals.runner import Answer, Recall, System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.domain.messages import Message
    from memolith.domain.recall import RecalledItem, RecallResult

TOKEN_BUDGET = 2_000
"""What a question's context may cost: the budget that `recall` has when none is given."""


class OwnerView(Protocol):
    """What is used of one owner's memory; `memolith.OwnerMemory` has it."""

    def log(self, messages: Sequence[Message], *, session: str) -> object:
        """Store messages of a session, in order."""
        ...

    def recall(self, query: str, *, top_k: int, token_budget: int, touch: bool) -> RecallResult:
        """Return what is found, best first."""
        ...


class Engine(Protocol):
    """What is used of the engine; `memolith.Memolith` has it."""

    def owner(self, owner: str) -> OwnerView:
        """Return one owner's view."""
        ...


@dataclass(slots=True)
class QuestionClock:
    """A clock that stands where the question asked stands. Not thread-safe.

    Open the engine with it (`Memolith.open(..., clock=clock)`), and give it to `system_of`.
    """

    at: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the instant last set."""
        return self.at


def build_system(
    engine: Engine, clock: QuestionClock, *, token_budget: int = TOKEN_BUDGET
) -> System:
    """Return the engine as a system; it must have been opened with this clock.

    Each conversation goes into the memory of its own owner, who should have none yet.
    """

    def load(conversation: Conversation) -> Recall:
        clock.at = max((m.at for m in conversation.messages() if m.at), default=clock.at)
        view = engine.owner(conversation.owner)
        for session in conversation.sessions:
            view.log(session.messages, session=session.id)

        def recall(question: Question, k: int) -> Answer:
            clock.at = question.asked_at
            result = view.recall(question.text, top_k=k, token_budget=token_budget, touch=False)
            results = [get_message_ids(recalled) for recalled in result.memories]
            return Answer(results, result.total_tokens)

        return recall

    return load


def get_message_ids(recalled: RecalledItem) -> tuple[str, ...]:
    """Return external ids of the messages a result stands for: itself, or its sources."""
    record = recalled.record
    if isinstance(record, Memory):
        ids = [source.external_id for source in record.sources if source.record_type == "message"]
    else:
        ids = [record.external_id]
    return tuple(id_ for id_ in ids if id_ is not None)
