"""`memolith learn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.options import Instant, read_text_argument
from memolith.entrypoints.cli.output import format_count, format_redactions
from memolith.entrypoints.cli.terminal import to_one_line

if TYPE_CHECKING:
    from datetime import datetime

LEARN_EXAMPLES = """
memolith learn "My name is Alice and I live in Oslo" "Nice to meet you, Alice!"
memolith learn "No, it's the 14th" --session planning --at 2026-05-08T13:56
"""


@command("learn", example=LEARN_EXAMPLES)
@click.argument("user")
@click.argument("assistant", required=False)
@click.option("--session", default="default", show_default=True, help="The conversation.")
@click.option("--at", type=Instant(), help="When it was said; default: now.")
def learn_command(
    call: CommandCall, user: str, assistant: str | None, session: str, at: datetime | None
) -> None:
    """Take in an exchange: what the USER said, and the ASSISTANT's reply.

    Both are kept word for word, and what the user says of lasting interest becomes memories. Where
    a language model is configured, it is not waited for: `memolith worker` lets it learn from them.
    """
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        memory = engine.owner(call.owner)
        learned = memory.learn(read_text_argument(user), assistant, session=session, at=at)
        has_model = engine.chat_model(call.owner) is not None
        waiting = memory.backlog().pending_messages if has_model else 0
    wait = f"\n{format_count(waiting, 'message waits', 'messages wait')} for the model: memolith worker"
    kept = "".join(f"\n  {each.kind}: {to_one_line(each.content)}" for each in learned.memories)
    call.respond(
        f"{format_count(len(learned.messages), 'message', 'messages')} logged, "
        f"{format_count(len(learned.memories), 'memory', 'memories')} learned"
        f"{format_redactions(learned.redactions)}{kept}{wait if waiting else ''}",
        learned,
    )
