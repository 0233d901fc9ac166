"""`memolith chat`."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.interrupts import InterruptGuard
from memolith.entrypoints.cli.notices import defer_warnings, print_note
from memolith.entrypoints.cli.output import (
    build_table,
    console,
    format_count,
    print_json_line,
    print_text,
)
from memolith.entrypoints.cli.terminal import StreamEscaper, to_one_line
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.engine import Memolith
    from memolith.entrypoints.cli.notices import DeferredWarnings
    from memolith.entrypoints.cli.talking import ChatAnswer, ChatLoop, ChatMemories
    from memolith.errors import MemolithError
    from memolith.ports.chat import StreamingChatModel

CHAT_EXAMPLES = """
memolith chat
memolith chat --session planning --profile facts
echo "Where do I live?" | memolith chat
"""

CHAT_COMMANDS = {
    "/memories": "what the last answer used, and what was learned in this conversation",
    "/context": "what the model was told of it, word for word",
    "/help": "this",
    "/quit": "leave, as Ctrl-D does; Ctrl-C ends a reply",
}

_CHAT_COMMAND = re.compile(r"/[a-z]+")
_MEMORY_COLUMNS = ("", "kind", "…text")

_NO_MODEL = (
    "is none: name a language model to talk with, as"
    " `MEMOLITH_CHAT__PROVIDER=ollama MEMOLITH_CHAT__MODEL=llama3.2 memolith chat`"
)

_LEARNING_TIMEOUT_S = 60.0
"""For how long it is waited at the end that what was said is learned: a guess."""

_NOTICE_AFTER_S = 0.3
"""After how long a person at the terminal is told why they wait."""


@command("chat", example=CHAT_EXAMPLES)
@click.option("--session", default="chat", show_default=True, help="The conversation.")
@click.option("--no-learn", is_flag=True, help="Log what is said, but learn nothing of it.")
def chat_command(call: CommandCall, session: str, *, no_learn: bool) -> None:
    """Talk with the configured language model, which remembers.

    What is relevant is put before the model each time, and what you say is learned. A conversation
    is taken up where it was left, by its --session; what the model has no room for is left out,
    the oldest first. /memories shows what the last answer used and what was learned, /help all
    such words; Ctrl-C ends a reply, Ctrl-D or the end of the input leaves.

    Each line is a message. With --json each answer is a line: "reply", "is_whole", "problem",
    "used" and "learned". Where the input is no terminal and an answer fails, the exit code is that
    of the last failure.
    """
    loaded = call.load_settings()
    if loaded.settings.chat.provider == "none":  # before a store is made for nothing
        raise InvalidConfiguration("chat.provider", _NO_MODEL)
    with (
        call.engine_factory.engine(loaded) as engine,
        InterruptGuard() as interrupts,
        defer_warnings() as notices,
    ):
        model = engine.chat_model(call.owner)
        if model is None:
            raise InvalidConfiguration("chat.provider", _NO_MODEL)
        talk = _make_chat_loop(
            call, engine, model, interrupts, session=session, should_learn=not no_learn
        )
        conversation = _ChatScreen(talk, notices, call.as_json)
        conversation.show_header()
        for line in _read_lines(interrupts, is_json=call.as_json):
            if line in ("/quit", "/exit"):
                break
            conversation.handle_line(line)
        _wait_for_learning(engine, talk, interrupts)
    if conversation.failure is not None and not sys.stdin.isatty():
        from memolith.entrypoints.exits import get_exit_code

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
    from memolith.entrypoints.cli.talking import ChatLoop
    from memolith.prompts.answering import WindowAllocation

    loaded = call.load_settings()
    own = loaded.settings
    return ChatLoop(
        memory=engine.owner(call.owner),
        model=model,
        session=session,
        should_learn=should_learn,
        tokens=call.engine_factory.counter(loaded),
        room=WindowAllocation.allocate(own.chat.context_window, own.token_budget),
        allow_interrupts=interrupts.allow_interrupts,
    )


def _read_lines(interrupts: InterruptGuard, *, is_json: bool) -> Iterator[str]:
    """Yield what is typed or comes through a pipe, without empty lines, to the end of it."""
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
    with suppress(ImportError):  # not everywhere; with it a line can be edited
        import readline  # noqa: F401
    while True:
        try:
            with interrupts.allow_interrupts():
                line = input(prompt if sys.stdout.isatty() else "")
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D or /quit leaves)", err=True)
        else:
            yield line


@dataclass(slots=True)
class _ChatScreen:
    """A conversation on the screen, or as lines for a program."""

    loop: ChatLoop
    notices: DeferredWarnings
    as_json: bool
    failure: MemolithError | None = None

    def show_header(self) -> None:
        """Say who answers, and where the conversation was left."""
        before = len(self.loop.memory.recent(session=self.loop.session, limit=1_000))
        if sys.stdin.isatty() and not self.as_json:
            left = (
                f"; taken up after {format_count(before, 'message', 'messages')}" if before else ""
            )
            print_note(f"talking with {self.loop.model.name}{left}; /help says what can be asked")

    def handle_line(self, line: str) -> None:
        """Answer what was typed."""
        if not _CHAT_COMMAND.fullmatch(line):
            self._show_answer(line)
        elif line == "/memories":
            self._show_memories(self.loop.get_memories())
        elif line == "/context":
            self._show_context(self.loop.context)
        else:
            if line != "/help":
                print_note(f"there is no {line}")
            width = max(map(len, CHAT_COMMANDS))
            for name, told in CHAT_COMMANDS.items():
                click.echo(f"  {name:{width}}  {told}", err=True)

    def _show_answer(self, said: str) -> None:
        shown = StreamEscaper()

        def show(piece: str) -> None:
            if not self.as_json:
                click.echo(shown.feed(piece), nl=False)

        answer = self.loop.answer(said, show)
        self.failure = answer.error or self.failure
        if self.as_json:
            print_json_line(_answer_as_json(answer, self.loop.get_memories()))
            return
        rest = shown.flush()
        if answer.text or rest:
            click.echo(rest)
        if answer.redactions:
            print_note(f"{format_count(answer.redactions, 'secret', 'secrets')} redacted")
        for told in (answer.problem, *self.notices.take_new()):
            if told:
                print_note(told)
        if answer.is_stopped and not sys.stdin.isatty():  # nobody is there to say the next thing
            raise KeyboardInterrupt

    def _show_context(self, context: str) -> None:
        if self.as_json:
            print_json_line({"context": context})
        elif context:
            print_text(context)
        else:
            click.echo("The model was told of no memory yet.")

    def _show_memories(self, found: ChatMemories) -> None:
        if self.as_json:
            print_json_line(found)
            return
        used = [("used", one.kind, to_one_line(one.text)) for one in found.used]
        learned = [(_describe_state(each.state), each.kind, each.content) for each in found.learned]
        if used or learned:
            console().print(build_table(_MEMORY_COLUMNS, [*used, *learned], cut=True))
        else:
            click.echo("Nothing was used, and nothing learned yet.")
        if found.pending_messages:
            click.echo(
                f"{format_count(found.pending_messages, 'message', 'messages')} still to be learned from."
            )
        if found.dead_letters:
            parked = format_count(found.dead_letters, "message", "messages")
            click.echo(f"{parked} could not be learned from: memolith worker retry")


def _answer_as_json(answer: ChatAnswer, found: ChatMemories) -> dict[str, object]:
    return {
        "reply": answer.text,
        "is_whole": answer.is_complete,
        "problem": answer.problem or None,
        "used": [{"id": one.id, "kind": one.kind, "content": one.text} for one in found.used],
        "learned": [
            {"id": each.id, "kind": each.kind, "content": each.content, "state": each.state}
            for each in found.learned
        ],
    }


def _describe_state(state: str) -> str:
    """Return what became of what was learned, in a word."""
    return {"active": "learned", "unsupported": "withheld"}.get(state, state)


def _wait_for_learning(engine: Memolith, talk: ChatLoop, interrupts: InterruptGuard) -> None:
    """Wait until what was said is learned; Ctrl-C leaves it for later."""
    if not (talk.should_learn and talk.logged_ids):
        return
    with suppress(KeyboardInterrupt), interrupts.allow_interrupts():
        if not engine.drain(_NOTICE_AFTER_S):
            if sys.stdin.isatty():
                print_note("learning from what was said; Ctrl-C leaves it for later")
            engine.drain(_LEARNING_TIMEOUT_S)
    waiting = talk.memory.backlog().pending_messages
    if waiting:
        left = format_count(waiting, "message", "messages")
        print_note(f"{left} still to be learned from: memolith worker, or the next chat, does that")
