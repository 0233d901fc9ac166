"""The command `chat`: a conversation with a language model that remembers."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

import click

from memolith.adapters.clock import SystemClock
from memolith.api.owner import OwnerMemory
from memolith.cli.context import CommandCall, command
from memolith.cli.output import (
    DeferredWarnings,
    StreamEscaper,
    build_table,
    console,
    defer_warnings,
    format_count,
    print_json_line,
    print_note,
    print_text,
    to_one_line,
)
from memolith.domain.memories import Memory, State
from memolith.domain.messages import Message, Role
from memolith.domain.recall import RecalledItem
from memolith.error_codes import get_exit_code
from memolith.errors import InvalidConfiguration, InvalidInput, MemolithError, ServiceFailed
from memolith.policies import arguments
from memolith.policies.rendering.layout import estimate_prompt_tokens
from memolith.ports.models import ChatMessage, Completion, Prompt, StreamingChatModel, TokenCounter
from memolith.prompts.chat import (
    WindowAllocation,
    build_answer_prompt,
    build_system_text,
    count_fitting_turns,
)
from memolith.text.cleaning import clean, clean_text
from memolith.text.screening import redact

if TYPE_CHECKING:
    from memolith.api.engine import Memolith


class InterruptGuard:
    """Raises `KeyboardInterrupt` on Ctrl-C in blocks that allow it, and ignores Ctrl-C elsewhere.

    Writes are thus not interrupted. Use it in the main thread, which receives signals.
    """

    def __init__(self) -> None:
        """Allow no interrupts yet."""
        self._is_allowed = False

    def __enter__(self) -> Self:
        """Install the signal handler."""
        self._before = signal.signal(signal.SIGINT, self._handle_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the previous signal handler."""
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def allow_interrupts(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` on Ctrl-C while the block runs."""
        self._is_allowed = True
        try:
            yield
        finally:
            self._is_allowed = False

    def _handle_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_allowed:
            raise KeyboardInterrupt


# --- Conversation


HISTORY_MESSAGES = 200
"""Number of messages that are loaded for the prompt: more than most models can take. A guess."""

_TURN_OVERHEAD_TOKENS = 4
"""Tokens of a turn besides its text, for its role and delimiters. A guess based on reported usage.
"""

_CHAT_ROLES: dict[Role | None, str] = {Role.USER: "user", Role.ASSISTANT: "assistant"}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The answer to one message.

    Attributes:
        text: The reply, or the received part of it, with secrets redacted as in the store.
        is_complete: Whether the reply is complete.
        problem: A description of the failure. Empty: none.
        is_stopped: Whether the user interrupted the reply.
        redactions: The number of secrets redacted from the message.
        error: The error that prevented the reply or its storage. None: none.
    """

    text: str
    is_complete: bool
    problem: str = ""
    is_stopped: bool = False
    redactions: int = 0
    error: MemolithError | None = None


@dataclass(frozen=True, slots=True)
class ChatMemories:
    """The memories used by the last answer, and those learned since the chat started.

    Attributes:
        used: Memories and messages in the prompt, best first.
        learned: Memories learned from this chat, in any state except forgotten, oldest first.
        pending_messages: The number of the owner's messages that wait to be learned from.
        dead_letters: The number of messages whose learning failed permanently until `memolith
            worker retry`.
    """

    used: tuple[RecalledItem, ...]
    learned: tuple[Memory, ...]
    pending_messages: int
    dead_letters: int


@dataclass(slots=True)
class ChatLoop:
    """A conversation, with the context of its last answer.

    Attributes:
        memory: The memory of the user.
        model: The language model.
        session: The name of the conversation.
        should_learn: Whether to learn from messages, or only log them.
        tokens: Counts tokens.
        room: The allocation of the context window.
        allow_interrupts: Returns the context manager in which Ctrl-C raises `KeyboardInterrupt`.
        context: The memory text in the prompt of the last answer.
        used: The results in that text.
        logged_ids: The ids of the messages logged since the chat started.
        unlogged_turns: The turns that could not be stored.
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
        """Answer a message piece by piece and log both. Failures are returned, not raised.

        Args:
            message: The user's message.
            show: Called with each piece of the reply.
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
            problem = "stopped; the partial reply is stored, but not learned from"
        except MemolithError as error:
            problem, failure = str(error), error
        text = redact(clean_text("".join(pieces)))[0]
        return self._log_answer(
            message, ChatAnswer(text, is_whole, problem, is_stopped, redactions, failure)
        )

    def get_memories(self) -> ChatMemories:
        """Return the used and learned memories."""
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

    def _build_prompt(self, user_text: str) -> Prompt:
        """Return the prompt, and store its memory context."""
        today = SystemClock().now().astimezone().date()
        before = self._load_history()
        turns = [
            *(turn for turn, _ in before),
            *self.unlogged_turns,
            ChatMessage("user", user_text),
        ]
        kept_count = count_fitting_turns(
            self._count_tokens(turns), self.room.turns - self._count_system_tokens(today)
        )
        prompt_turns = turns[-kept_count:]
        left_out = len(turns) - kept_count
        context = self.memory.context_with_results(
            user_text,
            token_budget=self.room.memory,
            exclude=[message.id for _, message in before[left_out:]],
        )
        self.context, self.used = context.text, context.results
        return build_answer_prompt(context.text, prompt_turns, today, max_tokens=self.room.reply)

    def _stream_reply(
        self, prompt: Prompt, pieces: list[str], show: Callable[[str], None]
    ) -> Completion:
        """Show the pieces of a reply as they arrive, collect them, and return the completion.

        Raises:
            ServiceFailed: The model failed, or the stream ended early.
        """
        with closing(self.model.stream(prompt)) as stream:  # type: ignore[type-var] # generators
            for piece in stream:
                if isinstance(piece, Completion):
                    return piece
                pieces.append(piece)
                show(piece)
        raise ServiceFailed(self.model.name, "the reply ended early")

    def _log_answer(self, user_text: str, answer: ChatAnswer) -> ChatAnswer:
        """Log an exchange. Return the answer, with the error if logging failed."""
        try:
            messages = self._log_exchange(user_text, answer)
        except MemolithError as error:
            self.unlogged_turns.append(ChatMessage("user", user_text))
            if answer.text:
                self.unlogged_turns.append(ChatMessage("assistant", answer.text))
            problem = "; ".join(filter(None, (answer.problem, f"not stored: {error}")))
            return replace(answer, problem=problem, error=error)
        self.logged_ids.update(message.id for message in messages)
        return answer

    def _log_exchange(self, user_text: str, answer: ChatAnswer) -> Sequence[Message]:
        return self.memory.learn(
            user_text,
            answer.text or None,
            session=self.session,
            action="" if self.should_learn else "IGNORE",
            is_truncated=not answer.is_complete,
        ).messages

    def _load_history(self) -> list[tuple[ChatMessage, Message]]:
        """Return the earlier turns for the prompt with their messages, oldest first."""
        return [
            (ChatMessage(_CHAT_ROLES[message.role], message.content), message)  # type: ignore[arg-type] # user or assistant
            for message in self.memory.recent(HISTORY_MESSAGES, session=self.session)
            if message.role in _CHAT_ROLES
        ]

    def _count_tokens(self, turns: Sequence[ChatMessage]) -> list[int]:
        counts = self.tokens.count([turn.content for turn in turns])
        return [estimate_prompt_tokens(strings) + _TURN_OVERHEAD_TOKENS for strings in counts]

    def _count_system_tokens(self, today: date) -> int:
        (cost,) = self._count_tokens([ChatMessage("system", build_system_text("-", today))])
        return cost


def _describe_problem(reply: Completion) -> str:
    """Return the problem of a reply. Empty: none."""
    if not reply.is_complete:
        return "the service truncated the reply; it is stored, but not learned from"
    return "" if reply.text.strip() else "the reply is empty"


# --- `memolith chat`


CHAT_EXAMPLES = """
memolith chat
memolith chat --session planning --profile facts
echo "Where do I live?" | memolith chat
"""

CHAT_COMMANDS = {
    "/memories": "show the memories that the last answer used, and those learned in this chat",
    "/context": "show the memory text in the last prompt",
    "/help": "show this list",
    "/quit": "end the chat, like Ctrl-D; Ctrl-C stops a reply",
}

_CHAT_COMMAND = re.compile(r"/[a-z]+")
_MEMORY_COLUMNS = ("", "kind", "…text")

_NO_MODEL = (
    "is none: configure a language model, for example"
    " `MEMOLITH_CHAT__PROVIDER=ollama MEMOLITH_CHAT__MODEL=llama3.2 memolith chat`"
)

_LEARNING_TIMEOUT_S = 60.0
"""How long to wait for pending learning at the end, in seconds. A guess."""

_NOTICE_AFTER_S = 0.3
"""After this many seconds of waiting, the reason is shown."""


@command("chat", example=CHAT_EXAMPLES)
@click.option("--session", default="chat", show_default=True, help="Name of the conversation.")
@click.option("--no-learn", is_flag=True, help="Log messages without learning from them.")
def chat_command(call: CommandCall, session: str, *, no_learn: bool) -> None:
    """Chat with the configured language model, which remembers earlier conversations.

    Each line of input is a message. Relevant memories are added to every prompt, and the exchange
    is learned from. --session continues an earlier conversation. If the history exceeds the context
    window, the oldest messages are omitted.

    /memories shows the used and the learned memories, /help lists all chat commands. Ctrl-C stops a
    reply. Ctrl-D or the end of the input ends the chat.

    With --json, each answer is one line with "reply", "is_complete", "problem", "used" and
    "learned". If the input is not a terminal, the exit code is that of the last failed answer.
    """
    loaded = call.load_settings()
    if loaded.settings.chat.provider == "none":  # before a store is created
        raise InvalidConfiguration("chat.provider", _NO_MODEL)
    with (
        call.engine_factory.engine(loaded) as engine,
        InterruptGuard() as interrupts,
        defer_warnings() as notices,
    ):
        model = engine.chat_model(call.owner)
        if model is None:
            raise InvalidConfiguration("chat.provider", _NO_MODEL)
        loop = _make_chat_loop(
            call, engine, model, interrupts, session=session, should_learn=not no_learn
        )
        conversation = _ChatScreen(loop, notices, call.as_json)
        conversation.show_header()
        for line in _read_lines(interrupts, is_json=call.as_json):
            if line in ("/quit", "/exit"):
                break
            conversation.handle_line(line)
        _wait_for_learning(engine, loop, interrupts)
    if conversation.failure is not None and not sys.stdin.isatty():
        click.get_current_context().exit(get_exit_code(conversation.failure))


def _make_chat_loop(
    call: CommandCall,
    engine: Memolith,
    model: StreamingChatModel,
    interrupts: InterruptGuard,
    *,
    session: str,
    should_learn: bool,
) -> ChatLoop:
    loaded = call.load_settings()
    settings = loaded.settings
    return ChatLoop(
        memory=engine.owner(call.owner),
        model=model,
        session=session,
        should_learn=should_learn,
        tokens=call.engine_factory.counter(loaded),
        room=WindowAllocation.allocate(settings.chat.context_window, settings.token_budget),
        allow_interrupts=interrupts.allow_interrupts,
    )


def _read_lines(interrupts: InterruptGuard, *, is_json: bool) -> Iterator[str]:
    """Yield the nonempty lines of the input."""
    lines = (
        _read_typed_lines(interrupts, "" if is_json else "> ")
        if sys.stdin.isatty()
        else _read_piped_lines(interrupts)
    )
    return filter(None, (line.strip() for line in lines))


def _read_piped_lines(interrupts: InterruptGuard) -> Iterator[str]:
    while True:
        with interrupts.allow_interrupts():
            line = sys.stdin.buffer.readline()
        if not line:
            return
        yield line.decode("utf-8", "replace")


def _read_typed_lines(interrupts: InterruptGuard, prompt: str) -> Iterator[str]:
    with suppress(ImportError):  # missing on some systems; enables line editing
        import readline  # noqa: F401
    while True:
        try:
            with interrupts.allow_interrupts():
                line = input(prompt if sys.stdout.isatty() else "")
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            click.echo("\n(end the chat with Ctrl-D or /quit)", err=True)
        else:
            yield line


@dataclass(slots=True)
class _ChatScreen:
    """Shows a conversation on a terminal, or as JSON lines."""

    loop: ChatLoop
    notices: DeferredWarnings
    as_json: bool
    failure: MemolithError | None = None

    def show_header(self) -> None:
        """Print the model, and how many messages the conversation has."""
        before = len(self.loop.memory.recent(session=self.loop.session, limit=1_000))
        if sys.stdin.isatty() and not self.as_json:
            note = (
                f"; continuing after {format_count(before, 'message', 'messages')}"
                if before
                else ""
            )
            print_note(f"chatting with {self.loop.model.name}{note}; /help lists commands")

    def handle_line(self, line: str) -> None:
        """Answer a message or run a chat command."""
        if not _CHAT_COMMAND.fullmatch(line):
            self._show_answer(line)
        elif line == "/memories":
            self._show_memories(self.loop.get_memories())
        elif line == "/context":
            self._show_context(self.loop.context)
        else:
            if line != "/help":
                print_note(f"unknown command {line}")
            width = max(map(len, CHAT_COMMANDS))
            for name, description in CHAT_COMMANDS.items():
                click.echo(f"  {name:{width}}  {description}", err=True)

    def _show_answer(self, message: str) -> None:
        escaper = StreamEscaper()

        def show(piece: str) -> None:
            if not self.as_json:
                click.echo(escaper.feed(piece), nl=False)

        answer = self.loop.answer(message, show)
        self.failure = answer.error or self.failure
        if self.as_json:
            print_json_line(_answer_as_json(answer, self.loop.get_memories()))
            return
        rest = escaper.flush()
        if answer.text or rest:
            click.echo(rest)
        if answer.redactions:
            print_note(f"{format_count(answer.redactions, 'secret', 'secrets')} redacted")
        for note in (answer.problem, *self.notices.take_new()):
            if note:
                print_note(note)
        if answer.is_stopped and not sys.stdin.isatty():  # no user can send the next message
            raise KeyboardInterrupt

    def _show_context(self, context: str) -> None:
        if self.as_json:
            print_json_line({"context": context})
        elif context:
            print_text(context)
        else:
            click.echo("No memories were used yet.")

    def _show_memories(self, memories: ChatMemories) -> None:
        if self.as_json:
            print_json_line(memories)
            return
        used = [("used", one.kind, to_one_line(one.text)) for one in memories.used]
        learned = [
            (_describe_state(each.state), each.kind, each.content) for each in memories.learned
        ]
        if used or learned:
            console().print(build_table(_MEMORY_COLUMNS, [*used, *learned], cut=True))
        else:
            click.echo("No memories were used or learned yet.")
        if memories.pending_messages:
            pending = format_count(memories.pending_messages, "message", "messages")
            click.echo(f"{pending} to be learned from.")
        if memories.dead_letters:
            dead_letters = format_count(memories.dead_letters, "message", "messages")
            click.echo(f"Learning failed for {dead_letters}: run `memolith worker retry`")


def _answer_as_json(answer: ChatAnswer, memories: ChatMemories) -> dict[str, object]:
    return {
        "reply": answer.text,
        "is_complete": answer.is_complete,
        "problem": answer.problem or None,
        "used": [{"id": one.id, "kind": one.kind, "content": one.text} for one in memories.used],
        "learned": [
            {"id": each.id, "kind": each.kind, "content": each.content, "state": each.state}
            for each in memories.learned
        ],
    }


def _describe_state(state: str) -> str:
    """Return one word for the state of a learned memory."""
    return {"active": "learned", "unsupported": "quarantined"}.get(state, state)


def _wait_for_learning(engine: Memolith, loop: ChatLoop, interrupts: InterruptGuard) -> None:
    """Wait until the logged messages are learned. Ctrl-C leaves them for later."""
    if not (loop.should_learn and loop.logged_ids):
        return
    with suppress(KeyboardInterrupt), interrupts.allow_interrupts():
        if not engine.drain(_NOTICE_AFTER_S):
            if sys.stdin.isatty():
                print_note("learning from this chat; Ctrl-C postpones it")
            engine.drain(_LEARNING_TIMEOUT_S)
    pending = loop.memory.backlog().pending_messages
    if pending:
        count = format_count(pending, "message", "messages")
        print_note(f"{count} pending for learning by `memolith worker` or the next chat")
