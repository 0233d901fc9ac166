"""`memolith learn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.options import Instant, text_argument
from memolith.entrypoints.cli.output import counted, redacted
from memolith.entrypoints.cli.terminal import one_line

if TYPE_CHECKING:
    from datetime import datetime

EXAMPLE = """
memolith learn "My name is Alice and I live in Oslo" "Nice to meet you, Alice!"
memolith learn "No, it's the 14th" --session planning --at 2026-05-08T13:56
"""


@command("learn", example=EXAMPLE)
@click.argument("user")
@click.argument("assistant", required=False)
@click.option("--session", default="default", show_default=True, help="The conversation.")
@click.option("--at", type=Instant(), help="When it was said; default: now.")
def run(call: Call, user: str, assistant: str | None, session: str, at: datetime | None) -> None:
    """Take in an exchange: what the USER said, and the ASSISTANT's reply.

    Both are kept word for word, and what the user says of lasting interest becomes memories. Where
    a language model is configured, it is not waited for: `memolith worker` lets it learn from them.
    """
    with call.wiring.engine(call.settings(), worker=False) as engine:
        memory = engine.owner(call.owner)
        learned = memory.learn(text_argument(user), assistant, session=session, at=at)
        has_model = engine.chat_model(call.owner) is not None
        waiting = memory.backlog().waiting if has_model else 0
    wait = f"\n{counted(waiting, 'message waits', 'messages wait')} for the model: memolith worker"
    kept = "".join(f"\n  {each.kind}: {one_line(each.content)}" for each in learned.memories)
    call.say(
        f"{counted(len(learned.messages), 'message', 'messages')} logged, "
        f"{counted(len(learned.memories), 'memory', 'memories')} learned"
        f"{redacted(learned.redactions)}{kept}{wait if waiting else ''}",
        learned,
    )
