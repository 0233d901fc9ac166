"""Imports everything that a process needs to open a store and learn.

It opens a store and learns once, since many modules are imported lazily. It leaves no open files or
threads, so that processes can be forked afterwards.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from corpora.exchanges import KnowingModel, load_script
from memolith.demo.model_server import ModelServer
from memolith.testing.fakes import SettableClock
from support.scripted_learning import START, client, opened, say
from support.stores import ciphers


def _learn_once(folder: Path) -> None:
    clock = SettableClock(START)
    with (
        ModelServer(KnowingModel()) as server,
        opened(
            folder / "memory.db",
            client(server.openai_url),
            clock=clock,
            profile="standard",
            cipher=ciphers(str(folder / "key")),
        ) as memory,
    ):
        say(memory, clock, load_script()[:1])
        memory.work()


with tempfile.TemporaryDirectory() as _folder:
    _learn_once(Path(_folder))
