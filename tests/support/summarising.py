"""An engine with a scripted model that summarises, for any profile and store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memolith import Memolith, OwnerMemory
from memolith.config import load
from memolith.demo.model_server import Asked, ModelServer, Rule
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.scripted_learning import client

_TURN = re.compile(r"^> \[\d+\] (?:[^:\n]*: )?(.*)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.]+\.")
_NOTE = re.compile(r"^> - (.+)$", re.MULTILINE)


def turns(asked: Asked) -> list[str]:
    """Return the messages of the transcript in a prompt."""
    return _TURN.findall(asked.user)


def summarising(asked: Asked) -> Any:
    """Summarise by the first words of the first messages, and add all of it to documents."""
    if asked.texts:
        return None
    if '"summary"' in asked.system:
        said = [turn for turn in turns(asked) if not turn.startswith("[")]
        return {"summary": " ".join(said[:5]) or "They talked about this and that."}
    if '"user_profile"' in asked.system:
        told = (note for notes in _NOTE.findall(asked.user) for note in _SENTENCE.findall(notes))
        notes = list(dict.fromkeys(each.strip() for each in told))
        return {
            "user_profile": notes,
            "preferences": [],
            "ongoing_topics": [],
            "key_history": [],
        }
    return {"facts": []}


@contextmanager
def condensing(
    profile: str,
    clock: SettableClock,
    rule: Rule | None = summarising,
    store: str | Path = ":memory:",
    *,
    numbers: Mapping[str, object] | None = None,
) -> Iterator[tuple[Memolith, ModelServer]]:
    """Open an engine with a scripted model; None for no model."""
    with (
        ModelServer(rule or summarising) as server,
        Memolith.open(
            store,
            profile=profile,
            embedder=HashingEmbedder(),
            tokens=WordCounter(),
            clock=clock,
            config=load(None, {}, dict(numbers or {})),
            chat=client(server.openai_url, timeout_s=10.0) if rule else None,
            worker=False,
        ) as memory,
    ):
        yield memory, server


def say(own: OwnerMemory, count: int, session: str = "s", first: int = 0) -> None:
    """Log user messages with one statement each."""
    for number in range(first, first + count):
        own.learn(sentence(number), session=session)


def sentence(number: int) -> str:
    """Return one of many dissimilar sentences."""
    return f"The {_THINGS[number % len(_THINGS)]} number {number + 100} stands in Hall {number}."


_THINGS = ("lathe", "press", "kiln", "loom", "crane", "pump", "mill")
