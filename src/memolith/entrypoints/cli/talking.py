"""A conversation with a language model that remembers: one exchange after the other."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memolith.adapters.clock import SystemClock
from memolith.domain.memories import State
from memolith.domain.messages import Role
from memolith.errors import InvalidInput, MemolithError, ServiceFailed
from memolith.policies import arguments
from memolith.policies.budgeting import prompt_tokens
from memolith.ports.chat import Reply, Turn
from memolith.prompts.answering import Room, answering, newest, system_text
from memolith.text.cleaning import clean, cleaned
from memolith.text.screening import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import date

    from memolith.domain.memories import Memory
    from memolith.domain.messages import Message
    from memolith.domain.recall import Recalled
    from memolith.owner import OwnerMemory
    from memolith.ports.chat import Prompt, StreamingModel
    from memolith.ports.tokens import TokenCounter

BEFORE = 200
"""How many messages of a conversation are looked at for what the model is told again: more than
most models have room for. A guess."""

_TURN_TOKENS = 4
"""What a turn costs beside its text, for its role and its ends: a guess, by what services tell."""

_SPOKEN: dict[Role | None, str] = {Role.USER: "user", Role.ASSISTANT: "assistant"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of something that was said.

    Attributes:
        text: The reply, or what came of it; without its secrets, as it is kept.
        is_whole: Whether it came to its end.
        problem: What went wrong; empty: nothing.
        is_stopped: Whether the user ended it.
        redactions: How many secrets were taken out of what was said.
        error: Why there is no reply, or none that is kept; None: there is.
    """

    text: str
    is_whole: bool
    problem: str = ""
    is_stopped: bool = False
    redactions: int = 0
    error: MemolithError | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the last answer used, and what was learned since the conversation was taken up.

    Attributes:
        used: Memories and messages that stood in the prompt, best first.
        learned: Memories made of what was said, in any state, oldest first.
        waiting: How many messages of the owner's a model is still to learn from.
        parked: How many could not be learned from, and wait for `memolith worker retry`.
    """

    used: tuple[Recalled, ...]
    learned: tuple[Memory, ...]
    waiting: int
    parked: int


@dataclass(slots=True)
class Talk:
    """A conversation, and what its last answer was made of.

    Attributes:
        memory: Who remembers.
        model: Who answers.
        session: The name of the conversation.
        learns: Whether it is learned from, not only logged.
        tokens: Counts tokens.
        room: How many there are.
        heeded: The block in which Ctrl-C is heeded, as a `KeyboardInterrupt`.
        context: What was remembered for the last answer, as the model was told it.
        used: The same, one by one.
        said: The ids of the messages that were logged since the conversation was taken up.
        unlogged: The turns that could not be logged.
    """

    memory: OwnerMemory
    model: StreamingModel
    session: str
    learns: bool
    tokens: TokenCounter
    room: Room
    heeded: Callable[[], AbstractContextManager[None]]
    context: str = ""
    used: tuple[Recalled, ...] = ()
    said: set[str] = field(default_factory=set)
    unlogged: list[Turn] = field(default_factory=list)

    def answer(self, said: str, show: Callable[[str], None]) -> Answer:
        """Answer what was said, piece by piece, and log both; what fails is told, not raised.

        Args:
            said: What the user said.
            show: Called with each piece of the reply as it comes.
        """
        try:
            said = clean(said, field="message", limit=arguments.MAX_MESSAGE_CHARS)
        except InvalidInput as error:
            return Answer("", is_whole=False, problem=str(error), error=error)
        said, redactions = redact(said)
        pieces: list[str] = []
        problem, failure, is_whole, is_stopped = "", None, False, False
        try:
            with self.heeded():
                reply = self._streamed(self._prompt(said), pieces, show)
                is_whole = reply.is_whole
                problem = _lack(reply)
        except KeyboardInterrupt:
            is_stopped = True
            problem = "stopped; what came of the reply is kept, and not learned from"
        except MemolithError as error:
            problem, failure = str(error), error
        text = redact(cleaned("".join(pieces)))[0]
        return self._logged(said, Answer(text, is_whole, problem, is_stopped, redactions, failure))

    def remembered(self) -> Remembered:
        """Return what was used and learned."""
        page = self.memory.list(state="all", limit=1_000)
        learned = [
            memory
            for memory in reversed(page.memories)
            if any(source.id in self.said for source in memory.sources)
            and memory.state is not State.FORGOTTEN
        ]
        backlog = self.memory.backlog()
        return Remembered(self.used, tuple(learned), backlog.waiting, backlog.parked)

    def _prompt(self, said: str) -> Prompt:
        """Return what the model is asked, and note what is remembered for it."""
        today = SystemClock().now().astimezone().date()
        before = self._before()
        turns = [*(turn for turn, _ in before), *self.unlogged, Turn("user", said)]
        kept = newest(self._costs(turns), self.room.turns - self._overhead(today))
        told = turns[-kept:]
        left_out = len(turns) - kept
        found = self.memory.context_with_results(
            said,
            token_budget=self.room.memory,
            without=[message.id for _, message in before[left_out:]],
        )
        self.context, self.used = found.text, found.results
        return answering(found.text, told, today, max_tokens=self.room.reply)

    def _streamed(self, prompt: Prompt, pieces: list[str], show: Callable[[str], None]) -> Reply:
        """Show a reply as it comes, note its pieces, and return it.

        Raises:
            ServiceFailed: There is none, or it broke off.
        """
        with closing(self.model.stream(prompt)) as stream:  # type: ignore[type-var] # generators
            for piece in stream:
                if isinstance(piece, Reply):
                    return piece
                pieces.append(piece)
                show(piece)
        raise ServiceFailed(self.model.name, "the reply has no end")

    def _logged(self, said: str, answer: Answer) -> Answer:
        """Log an exchange; return the answer, with what is to be said of that."""
        try:
            messages = self._log(said, answer)
        except MemolithError as error:
            self.unlogged.append(Turn("user", said))
            if answer.text:
                self.unlogged.append(Turn("assistant", answer.text))
            problem = "; ".join(filter(None, (answer.problem, f"not kept: {error}")))
            return replace(answer, problem=problem, error=error)
        self.said.update(message.id for message in messages)
        return answer

    def _log(self, said: str, answer: Answer) -> Sequence[Message]:
        return self.memory.learn(
            said,
            answer.text or None,
            session=self.session,
            action="" if self.learns else "IGNORE",
            cut=not answer.is_whole,
        ).messages

    def _before(self) -> list[tuple[Turn, Message]]:
        """Return what was said before as the model is told it, oldest first."""
        return [
            (Turn(_SPOKEN[message.role], message.content), message)  # type: ignore[arg-type] # of these two
            for message in self.memory.recent(BEFORE, session=self.session)
            if message.role in _SPOKEN
        ]

    def _costs(self, turns: Sequence[Turn]) -> list[int]:
        counts = self.tokens.count([turn.content for turn in turns])
        return [prompt_tokens(pieces) + _TURN_TOKENS for pieces in counts]

    def _overhead(self, today: date) -> int:
        (cost,) = self._costs([Turn("system", system_text("-", today))])
        return cost


def _lack(reply: Reply) -> str:
    """Return what a reply lacks; empty: nothing."""
    if not reply.is_whole:
        return "the service cut the reply off: it is kept, and not learned from"
    return "" if reply.text.strip() else "the model said nothing"
