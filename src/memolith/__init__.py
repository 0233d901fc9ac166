"""Memolith: long-term memory for AI assistants and agents.

    from memolith import Memolith

    with Memolith.open("memory.db") as memory:
        alice = memory.owner("alice")
        alice.remember("Prefers metric units")
        print(alice.context("Which units should I use?"))

Public names load at first use: importing `memolith` loads no model and opens no file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memolith.api.aio import AsyncMemolith, AsyncOwnerMemory
    from memolith.api.engine import Memolith
    from memolith.api.owner import OwnerMemory
    from memolith.domain.memories import (
        Event,
        History,
        Memory,
        Origin,
        Page,
        Source,
        State,
        Version,
    )
    from memolith.domain.messages import Message, Role, Session
    from memolith.domain.owners import Statistics
    from memolith.domain.recall import RecalledItem, RecallResult, Score
    from memolith.errors import MemolithError
    from memolith.policies.merging import Operation, Verdict
    from memolith.policies.rendering.formats import format_conversation, format_memories
    from memolith.text.screening import contains_secrets, sanitize_lines

__all__ = [
    "AsyncMemolith",
    "AsyncOwnerMemory",
    "Event",
    "History",
    "Memolith",
    "MemolithError",
    "Memory",
    "Message",
    "Operation",
    "Origin",
    "OwnerMemory",
    "Page",
    "RecallResult",
    "RecalledItem",
    "Role",
    "Score",
    "Session",
    "Source",
    "State",
    "Statistics",
    "Verdict",
    "Version",
    "__version__",
    "contains_secrets",
    "format_conversation",
    "format_memories",
    "sanitize_lines",
]

__version__ = "0.1.0"


_HOME_MODULES = {
    "AsyncMemolith": "api.aio",
    "AsyncOwnerMemory": "api.aio",
    "Event": "domain.memories",
    "History": "domain.memories",
    "Memolith": "api.engine",
    "MemolithError": "errors",
    "Memory": "domain.memories",
    "Message": "domain.messages",
    "Operation": "policies.merging",
    "Origin": "domain.memories",
    "OwnerMemory": "api.owner",
    "Page": "domain.memories",
    "RecallResult": "domain.recall",
    "RecalledItem": "domain.recall",
    "Role": "domain.messages",
    "Score": "domain.recall",
    "Session": "domain.messages",
    "Source": "domain.memories",
    "State": "domain.memories",
    "Statistics": "domain.owners",
    "Verdict": "policies.merging",
    "Version": "domain.memories",
    "contains_secrets": "text.screening",
    "format_conversation": "policies.rendering.formats",
    "format_memories": "policies.rendering.formats",
    "sanitize_lines": "text.screening",
}


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    home = _HOME_MODULES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
