"""`mnemon chat`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from mnemon.entrypoints.cli.calls import Call, command
from mnemon.entrypoints.cli.output import console, print_text, table
from mnemon.entrypoints.cli.terminal import one_line, visible
from mnemon.errors import InvalidConfiguration, ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mnemon.domain.recall import Recalled
    from mnemon.owner import OwnerMemory
    from mnemon.ports.chat import Reply, StreamingModel, Turn
    from mnemon.services.context import Context
    from mnemon.services.learn import Learned

EXAMPLE = """
mnemon chat
mnemon chat --session planning --profile facts
echo "Where do I live?" | mnemon chat
"""

HELP = "/memories: what was used and learned; /context: what the model was told; /quit"

_COLUMNS = ("", "kind", "…text")


@command("chat", example=EXAMPLE)
@click.option("--session", default="chat", show_default=True, help="The conversation.")
@click.option("--no-learn", is_flag=True, help="Log what is said, but learn nothing of it.")
def run(call: Call, session: str, *, no_learn: bool) -> None:
    """Talk with the configured language model, which remembers.

    What is relevant is put before the model each time, and what you say is learned. A conversation
    is taken up where it was left, by its --session. /memories shows what the last answer used and
    what was learned of it; /quit, or the end of the input, leaves.
    """
    loaded = call.settings()
    with call.wiring.engine(loaded) as engine:
        model = engine.chat_model(call.owner)
        if model is None:
            raise InvalidConfiguration(
                "chat.provider",
                "is none: name a language model to talk with, as"
                " `MNEMON_CHAT__PROVIDER=ollama MNEMON_CHAT__MODEL=llama3.2 mnemon chat`",
            )
        talk = _Talk(engine.owner(call.owner), model, session, learns=not no_learn)
        if sys.stdin.isatty():
            click.echo(f"mnemon: talking with {model.name}; {HELP}", err=True)
        for line in _lines():
            if line in ("/quit", "/exit"):
                return
            talk.hear(line)


def _lines() -> Iterator[str]:
    """Yield what is typed, without empty lines, to the end of the input."""
    while True:
        try:
            line = input("> " if sys.stdin.isatty() else "")
        except EOFError:
            return
        if line.strip():
            yield line.strip()


@dataclass(slots=True)
class _Talk:
    """A conversation, and what its last answer was made of."""

    memory: OwnerMemory
    model: StreamingModel
    session: str
    learns: bool
    context: Context | None = None
    learned: list[Learned] = field(default_factory=list)

    def hear(self, line: str) -> None:
        """Answer what was typed."""
        if line == "/memories":
            self._show_memories()
        elif line == "/context":
            print_text(self.context.text if self.context else "")
        elif line.startswith("/"):
            click.echo(HELP, err=True)
        else:
            self._answer(line)

    def _answer(self, said: str) -> None:
        from mnemon.adapters.clock import SystemClock
        from mnemon.ports.chat import Turn
        from mnemon.prompts.answering import answering

        self.context = self.memory.context_with_results(said)
        turns = [*self._before(), Turn("user", said)]
        prompt = answering(self.context.text, turns, SystemClock().now().date())
        text, is_whole = self._streamed(self.model.stream(prompt))
        action = "" if self.learns else "IGNORE"
        self.learned = [
            self.memory.learn(
                said, text or None, session=self.session, action=action, cut=not is_whole
            )
        ]

    def _before(self) -> list[Turn]:
        """Return the last messages of the conversation as the model is told them."""
        from mnemon.domain.messages import Role
        from mnemon.ports.chat import Turn

        spoken = {Role.USER: "user", Role.ASSISTANT: "assistant"}
        return [
            Turn(spoken[message.role], message.content)  # type: ignore[arg-type] # of these two
            for message in self.memory.recent(session=self.session)
            if message.role in spoken
        ]

    def _streamed(self, pieces: Iterator[str | Reply]) -> tuple[str, bool]:
        """Show an answer as it comes; return its text, and whether it came to its end."""
        text, is_whole = "", False
        try:
            for piece in pieces:
                if isinstance(piece, str):
                    text += piece
                    click.echo(visible(piece), nl=False)
                else:
                    text, is_whole = piece.text, piece.is_whole
        except ServiceFailed as error:
            click.echo(f"\nmnemon: {error}", err=True)
        except KeyboardInterrupt:
            click.echo(" …", nl=False)
        click.echo()
        return text, is_whole

    def _show_memories(self) -> None:
        used = [("used", one.kind, one_line(one.content)) for one in self._used()]
        learned = [
            ("learned", each.kind, one_line(each.content))
            for given in self.learned
            for each in given.memories
        ]
        if used or learned:
            console().print(table(_COLUMNS, [*used, *learned], cut=True))
        else:
            click.echo("Nothing was used, and nothing learned yet.")

    def _used(self) -> Sequence[Recalled]:
        return self.context.results if self.context else ()
