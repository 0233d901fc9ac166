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
from memolith.policies.budgeting import estimate_prompt_tokens
from memolith.ports.chat import ChatMessage, Completion
from memolith.prompts.answering import (
    WindowAllocation,
    build_answer_prompt,
    build_system_text,
    count_fitting_turns,
)
from memolith.text.cleaning import clean, clean_text
from memolith.text.screening import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import date

    from memolith.domain.memories import Memory
    from memolith.domain.messages import Message
    from memolith.domain.recall import RecalledItem
    from memolith.owner import OwnerMemory
    from memolith.ports.chat import Prompt, StreamingChatModel
    from memolith.ports.tokens import TokenCounter

HISTORY_MESSAGES = 200
"""How many messages of a conversation are looked at for what the model is told again: more than
most models have room for. A guess."""

_TURN_OVERHEAD_TOKENS = 4
"""What a turn costs beside its text, for its role and its ends: a guess, by what services tell."""

_CHAT_ROLES: dict[Role | None, str] = {Role.USER: "user", Role.ASSISTANT: "assistant"}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
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
    is_complete: bool
    problem: str = ""
    is_stopped: bool = False
    redactions: int = 0
    error: MemolithError | None = None


@dataclass(frozen=True, slots=True)
class ChatMemories:
    """What the last answer used, and what was learned since the conversation was taken up.

    Attributes:
        used: Memories and messages that stood in the prompt, best first.
        learned: Memories made of what was said, in any state, oldest first.
        waiting: How many messages of the owner's a model is still to learn from.
        parked: How many could not be learned from, and wait for `memolith worker retry`.
    """

    used: tuple[RecalledItem, ...]
    learned: tuple[Memory, ...]
    pending_messages: int
    dead_letters: int


@dataclass(slots=True)
class ChatLoop:
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
    model: StreamingChatModel
    session: str
    should_learn: bool
    tokens: TokenCounter
    room: WindowAllocation
    allow_interrupts: Callable[[], AbstractContextManager[None]]
    context: str = ""
    used: tuple[RecalledItem, ...] = ()
    logged_ids: set[str] = field(default_factory=set)
    unlogged_turns: list[ChatMessage] = field(default_factory=list)

    def answer(self, message: str, show: Callable[[str], None]) -> ChatAnswer:
        """Answer what was said, piece by piece, and log both; what fails is told, not raised.

        Args:
            said: What the user said.
            show: Called with each piece of the reply as it comes.
        """
        try:
            message = clean(message, field="message", limit=arguments.MAX_MESSAGE_CHARS)
        except InvalidInput as error:
            return ChatAnswer("", is_complete=False, problem=str(error), error=error)
        message, redactions = redact(message)
        pieces: list[str] = []
        problem, failure, is_whole, is_stopped = "", None, False, False
        try:
            with self.allow_interrupts():
                reply = self._stream_reply(self._build_prompt(message), pieces, show)
                is_whole = reply.is_complete
                problem = _describe_problem(reply)
        except KeyboardInterrupt:
            is_stopped = True
            problem = "stopped; what came of the reply is kept, and not learned from"
        except MemolithError as error:
            problem, failure = str(error), error
        text = redact(clean_text("".join(pieces)))[0]
        return self._log_answer(
            message, ChatAnswer(text, is_whole, problem, is_stopped, redactions, failure)
        )

    def get_memories(self) -> ChatMemories:
        """Return what was used and learned."""
        page = self.memory.list(state="all", limit=1_000)
        learned = [
            memory
            for memory in reversed(page.memories)
            if any(source.id in self.logged_ids for source in memory.sources)
            and memory.state is not State.FORGOTTEN
        ]
        backlog = self.memory.backlog()
        return ChatMemories(
            self.used, tuple(learned), backlog.pending_messages, backlog.dead_letters
        )

    def _build_prompt(self, said: str) -> Prompt:
        """Return what the model is asked, and note what is remembered for it."""
        today = SystemClock().now().astimezone().date()
        before = self._load_history()
        turns = [*(turn for turn, _ in before), *self.unlogged_turns, ChatMessage("user", said)]
        kept = count_fitting_turns(
            self._count_tokens(turns), self.room.turns - self._count_system_tokens(today)
        )
        told = turns[-kept:]
        left_out = len(turns) - kept
        found = self.memory.context_with_results(
            said,
            token_budget=self.room.memory,
            exclude=[message.id for _, message in before[left_out:]],
        )
        self.context, self.used = found.text, found.results
        return build_answer_prompt(found.text, told, today, max_tokens=self.room.reply)

    def _stream_reply(
        self, prompt: Prompt, pieces: list[str], show: Callable[[str], None]
    ) -> Completion:
        """Show a reply as it comes, note its pieces, and return it.

        Raises:
            ServiceFailed: There is none, or it broke off.
        """
        with closing(self.model.stream(prompt)) as stream:  # type: ignore[type-var] # generators
            for piece in stream:
                if isinstance(piece, Completion):
                    return piece
                pieces.append(piece)
                show(piece)
        raise ServiceFailed(self.model.name, "the reply has no end")

    def _log_answer(self, said: str, answer: ChatAnswer) -> ChatAnswer:
        """Log an exchange; return the answer, with what is to be said of that."""
        try:
            messages = self._log_exchange(said, answer)
        except MemolithError as error:
            self.unlogged_turns.append(ChatMessage("user", said))
            if answer.text:
                self.unlogged_turns.append(ChatMessage("assistant", answer.text))
            problem = "; ".join(filter(None, (answer.problem, f"not kept: {error}")))
            return replace(answer, problem=problem, error=error)
        self.logged_ids.update(message.id for message in messages)
        return answer

    def _log_exchange(self, said: str, answer: ChatAnswer) -> Sequence[Message]:
        return self.memory.learn(
            said,
            answer.text or None,
            session=self.session,
            action="" if self.should_learn else "IGNORE",
            is_truncated=not answer.is_complete,
        ).messages

    def _load_history(self) -> list[tuple[ChatMessage, Message]]:
        """Return what was said before as the model is told it, oldest first."""
        return [
            (ChatMessage(_CHAT_ROLES[message.role], message.content), message)  # type: ignore[arg-type] # of these two
            for message in self.memory.recent(HISTORY_MESSAGES, session=self.session)
            if message.role in _CHAT_ROLES
        ]

    def _count_tokens(self, turns: Sequence[ChatMessage]) -> list[int]:
        counts = self.tokens.count([turn.content for turn in turns])
        return [estimate_prompt_tokens(pieces) + _TURN_OVERHEAD_TOKENS for pieces in counts]

    def _count_system_tokens(self, today: date) -> int:
        (cost,) = self._count_tokens([ChatMessage("system", build_system_text("-", today))])
        return cost


def _describe_problem(reply: Completion) -> str:
    """Return what a reply lacks; empty: nothing."""
    if not reply.is_complete:
        return "the service cut the reply off: it is kept, and not learned from"
    return "" if reply.text.strip() else "the model said nothing"
