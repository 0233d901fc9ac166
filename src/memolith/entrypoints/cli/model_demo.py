"""A language model for the demo: a server on this machine that knows what is worth keeping."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from memolith.config.settings import Chat
from memolith.demo import load_facts
from memolith.entrypoints.cli.output import console, format_count, plain_text
from memolith.entrypoints.cli.terminal import to_one_line
from memolith.testing.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memolith.config import LoadedSettings
    from memolith.demo import DemoConversation
    from memolith.domain.memories import Memory
    from memolith.owner import OwnerMemory
    from memolith.testing.model_server import Asked

MODEL_DEMO_PROFILE = "facts"

_USER_LINE = re.compile(r"^> \[(\d+)\] user[^:]*: (.*)$", re.MULTILINE)
_QUOTED_MEMORY = re.compile(r"^> (.+)$", re.MULTILINE)


@contextmanager
def run_scripted_model(
    loaded: LoadedSettings, conversation: DemoConversation
) -> Iterator[LoadedSettings]:
    """Run the model, and yield the settings that name it."""
    with ModelServer(_ScriptedRule(conversation)) as server:
        chat = Chat(provider="openai", model="scripted", base_url=server.openai_url, api_key_env="")
        yield replace(
            loaded, settings=replace(loaded.settings, profile=MODEL_DEMO_PROFILE, chat=chat)
        )


def show_model_results(memory: OwnerMemory, since: datetime) -> None:
    """Show what became of the facts, and what it took since then."""
    screen = console()
    screen.rule("What became of what was learned")
    for title, found in _group_by_outcome(memory).items():
        screen.print(plain_text(f"\n{title}", "bold"))
        for each in found:
            line = plain_text(f"    {to_one_line(each.content)}", "")
            screen.print(line, overflow="ellipsis", no_wrap=True)
    spent = memory.usage(since=since).by_purpose
    calls = ", ".join(f"{one.calls} for {purpose}" for purpose, one in spent.items())
    total = sum(one.calls for one in spent.values())
    screen.print(
        f"\nThe scripted model was called {format_count(total, 'time', 'times')}: {calls}.\n"
    )


def _group_by_outcome(memory: OwnerMemory) -> dict[str, list[Memory]]:
    """Return the facts that are not recalled, by why."""
    titles = {
        "superseded": "Took another's place, or gave way to it:",
        "expired": "Is over, since its time was up:",
        "unsupported": "Withheld, since no sentence says so (memolith review):",
    }
    memories = memory.list(state="all", limit=1_000).memories
    found = {
        title: [each for each in reversed(memories) if each.state == state]
        for state, title in titles.items()
    }
    return {title: each for title, each in found.items() if each}


class _ScriptedRule:
    """The rule of the model."""

    def __init__(self, conversation: DemoConversation) -> None:
        known = load_facts()
        messages = {one.id: one.content for each in conversation.sessions for one in each.messages}
        self._facts = [(messages[fact.message].splitlines()[0], fact) for fact in known.facts]
        self._changes = set(known.changes)

    def __call__(self, asked: Asked) -> object:
        if asked.schema is not None and asked.schema.name == "verdict":
            known, new = _QUOTED_MEMORY.findall(asked.user)
            operation = "DELETE" if (known, new) in self._changes else "ADD"
            return {"reasoning": "by script", "operation": operation, "content": ""}
        return {"facts": list(self._iter_matching_facts(asked.user))}

    def _iter_matching_facts(self, prompt: str) -> Iterator[dict[str, object]]:
        for number, line in _USER_LINE.findall(prompt):
            for said, fact in self._facts:
                if said == line:
                    yield {
                        "content": fact.content,
                        "category": fact.category,
                        "importance": fact.importance,
                        "expires_in": fact.expires_in,
                        "from": [int(number)],
                    }
