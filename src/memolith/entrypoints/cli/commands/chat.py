"""`memolith chat`."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.interrupts import Interrupts
from memolith.entrypoints.cli.notices import aside, held_back
from memolith.entrypoints.cli.output import console, counted, print_json_line, print_text, table
from memolith.entrypoints.cli.terminal import VisiblePieces, one_line
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.engine import Memolith
    from memolith.entrypoints.cli.notices import HeldBack
    from memolith.entrypoints.cli.talking import Answer, Remembered, Talk
    from memolith.errors import MemolithError
    from memolith.ports.chat import StreamingModel

EXAMPLE = """
memolith chat
memolith chat --session planning --profile facts
echo "Where do I live?" | memolith chat
"""

HELP = {
    "/memories": "what the last answer used, and what was learned in this conversation",
    "/context": "what the model was told of it, word for word",
    "/help": "this",
    "/quit": "leave, as Ctrl-D does; Ctrl-C ends a reply",
}

_COMMAND = re.compile(r"/[a-z]+")
_COLUMNS = ("", "kind", "…text")

_NO_MODEL = (
    "is none: name a language model to talk with, as"
    " `MEMOLITH_CHAT__PROVIDER=ollama MEMOLITH_CHAT__MODEL=llama3.2 memolith chat`"
)

_DRAIN_S = 60.0
"""For how long it is waited at the end that what was said is learned: a guess."""

_PATIENCE_S = 0.3
"""After how long a person at the terminal is told why they wait."""


@command("chat", example=EXAMPLE)
@click.option("--session", default="chat", show_default=True, help="The conversation.")
@click.option("--no-learn", is_flag=True, help="Log what is said, but learn nothing of it.")
def run(call: Call, session: str, *, no_learn: bool) -> None:
    """Talk with the configured language model, which remembers.

    What is relevant is put before the model each time, and what you say is learned. A conversation
    is taken up where it was left, by its --session; what the model has no room for is left out,
    the oldest first. /memories shows what the last answer used and what was learned, /help all
    such words; Ctrl-C ends a reply, Ctrl-D or the end of the input leaves.

    Each line is a message. With --json each answer is a line: "reply", "is_whole", "problem",
    "used" and "learned". Where the input is no terminal and an answer fails, the exit code is that
    of the last failure.
    """
    loaded = call.settings()
    if loaded.settings.chat.provider == "none":  # before a store is made for nothing
        raise InvalidConfiguration("chat.provider", _NO_MODEL)
    with call.wiring.engine(loaded) as engine, Interrupts() as interrupts, held_back() as notices:
        model = engine.chat_model(call.owner)
        if model is None:
            raise InvalidConfiguration("chat.provider", _NO_MODEL)
        talk = _talk(call, engine, model, interrupts, session=session, learns=not no_learn)
        conversation = _Conversation(talk, notices, call.as_json)
        conversation.begin()
        for line in _lines(interrupts, is_json=call.as_json):
            if line in ("/quit", "/exit"):
                break
            conversation.hear(line)
        _drain(engine, talk, interrupts)
    if conversation.failure is not None and not sys.stdin.isatty():
        from memolith.entrypoints.exits import exit_code

        click.get_current_context().exit(exit_code(conversation.failure))


def _talk(
    call: Call,
    engine: Memolith,
    model: StreamingModel,
    interrupts: Interrupts,
    *,
    session: str,
    learns: bool,
) -> Talk:
    from memolith.entrypoints.cli.talking import Talk
    from memolith.prompts.answering import Room

    loaded = call.settings()
    own = loaded.settings
    return Talk(
        memory=engine.owner(call.owner),
        model=model,
        session=session,
        learns=learns,
        tokens=call.wiring.counter(loaded),
        room=Room.of(own.chat.context_window, own.token_budget),
        heeded=interrupts.heeded,
    )


def _lines(interrupts: Interrupts, *, is_json: bool) -> Iterator[str]:
    """Yield what is typed or comes through a pipe, without empty lines, to the end of it."""
    lines = (
        _typed(interrupts, "" if is_json else "> ") if sys.stdin.isatty() else _piped(interrupts)
    )
    return filter(None, (line.strip() for line in lines))


def _piped(interrupts: Interrupts) -> Iterator[str]:
    while True:
        with interrupts.heeded():
            line = sys.stdin.buffer.readline()
        if not line:
            return
        yield line.decode("utf-8", "replace")


def _typed(interrupts: Interrupts, prompt: str) -> Iterator[str]:
    with suppress(ImportError):  # not everywhere; with it a line can be edited
        import readline  # noqa: F401
    while True:
        try:
            with interrupts.heeded():
                line = input(prompt if sys.stdout.isatty() else "")
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D or /quit leaves)", err=True)
        else:
            yield line


@dataclass(slots=True)
class _Conversation:
    """A conversation on the screen, or as lines for a program."""

    talk: Talk
    notices: HeldBack
    as_json: bool
    failure: MemolithError | None = None

    def begin(self) -> None:
        """Say who answers, and where the conversation was left."""
        before = len(self.talk.memory.recent(session=self.talk.session, limit=1_000))
        if sys.stdin.isatty() and not self.as_json:
            left = f"; taken up after {counted(before, 'message', 'messages')}" if before else ""
            aside(f"talking with {self.talk.model.name}{left}; /help says what can be asked")

    def hear(self, line: str) -> None:
        """Answer what was typed."""
        if not _COMMAND.fullmatch(line):
            self._answer(line)
        elif line == "/memories":
            self._show_memories(self.talk.remembered())
        elif line == "/context":
            self._show_context(self.talk.context)
        else:
            if line != "/help":
                aside(f"there is no {line}")
            width = max(map(len, HELP))
            for name, told in HELP.items():
                click.echo(f"  {name:{width}}  {told}", err=True)

    def _answer(self, said: str) -> None:
        shown = VisiblePieces()

        def show(piece: str) -> None:
            if not self.as_json:
                click.echo(shown.after(piece), nl=False)

        answer = self.talk.answer(said, show)
        self.failure = answer.error or self.failure
        if self.as_json:
            print_json_line(_as_line(answer, self.talk.remembered()))
            return
        rest = shown.end()
        if answer.text or rest:
            click.echo(rest)
        if answer.redactions:
            aside(f"{counted(answer.redactions, 'secret', 'secrets')} redacted")
        for told in (answer.problem, *self.notices.taken()):
            if told:
                aside(told)
        if answer.is_stopped and not sys.stdin.isatty():  # nobody is there to say the next thing
            raise KeyboardInterrupt

    def _show_context(self, context: str) -> None:
        if self.as_json:
            print_json_line({"context": context})
        elif context:
            print_text(context)
        else:
            click.echo("The model was told of no memory yet.")

    def _show_memories(self, found: Remembered) -> None:
        if self.as_json:
            print_json_line(found)
            return
        used = [("used", one.kind, one_line(one.text)) for one in found.used]
        learned = [(_become(each.state), each.kind, each.content) for each in found.learned]
        if used or learned:
            console().print(table(_COLUMNS, [*used, *learned], cut=True))
        else:
            click.echo("Nothing was used, and nothing learned yet.")
        if found.waiting:
            click.echo(f"{counted(found.waiting, 'message', 'messages')} still to be learned from.")
        if found.parked:
            parked = counted(found.parked, "message", "messages")
            click.echo(f"{parked} could not be learned from: memolith worker retry")


def _as_line(answer: Answer, found: Remembered) -> dict[str, object]:
    return {
        "reply": answer.text,
        "is_whole": answer.is_whole,
        "problem": answer.problem or None,
        "used": [{"id": one.id, "kind": one.kind, "content": one.text} for one in found.used],
        "learned": [
            {"id": each.id, "kind": each.kind, "content": each.content, "state": each.state}
            for each in found.learned
        ],
    }


def _become(state: str) -> str:
    """Return what became of what was learned, in a word."""
    return {"active": "learned", "unsupported": "withheld"}.get(state, state)


def _drain(engine: Memolith, talk: Talk, interrupts: Interrupts) -> None:
    """Wait until what was said is learned; Ctrl-C leaves it for later."""
    if not (talk.learns and talk.said):
        return
    with suppress(KeyboardInterrupt), interrupts.heeded():
        if not engine.drain(_PATIENCE_S):
            if sys.stdin.isatty():
                aside("learning from what was said; Ctrl-C leaves it for later")
            engine.drain(_DRAIN_S)
    waiting = talk.memory.backlog().waiting
    if waiting:
        left = counted(waiting, "message", "messages")
        aside(f"{left} still to be learned from: memolith worker, or the next chat, does that")
