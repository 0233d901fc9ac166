"""Announced and acknowledged writes of a program, and the expected content of its store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from memolith import Memolith, Memory, Message

Stored = dict[str, dict[str, str]]
"""Contents of all active memories and messages, by owner and id."""

PAGE = 1_000


class Begun(msgspec.Struct, tag="begun", frozen=True):
    """A worker is about to make a call.

    Attributes:
        new: Contents of records it creates, whose ids are unknown.
        rewritten: New contents of records it changes or restores, by id.
        gone: Ids of records it removes.
    """

    worker: str
    owner: str
    new: tuple[str, ...] = ()
    rewritten: dict[str, str] = {}
    gone: tuple[str, ...] = ()


class Done(msgspec.Struct, tag="done", frozen=True):
    """The call returned: its effects are acknowledged.

    Attributes:
        made: Contents of created records, by id.
    """

    worker: str
    made: dict[str, str] = {}


Line = Begun | Done

encode = msgspec.json.encode
decode = msgspec.json.Decoder(Line).decode


@dataclass(slots=True)
class Differences:
    """Differences between actual and expected content, each with an owner and an id or a text."""

    lost: list[tuple[str, str]] = field(default_factory=list)
    unexpected: list[tuple[str, str]] = field(default_factory=list)
    halved: list[tuple[str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.unexpected or self.halved)


class Ledger:
    """Tracks acknowledged calls, and calls that were announced but not acknowledged."""

    def __init__(self) -> None:
        self.records: Stored = defaultdict(dict)
        self.acknowledged = 0
        self.fresh: set[tuple[str, str]] = set()
        self.gone: dict[tuple[str, str], str] = {}
        self._open: dict[str, Begun] = {}

    def take(self, line: Line) -> None:
        if isinstance(line, Begun):
            self._open[line.worker] = line
            return
        self._apply(self._open.pop(line.worker), line.made)
        self.acknowledged += 1

    def settle(self, stored: Stored) -> Differences:
        """Compare, and determine which of the interrupted calls took effect.

        Each of them must have taken effect completely or not at all.
        """
        differences = Differences()
        for begun in self._open.values():
            there = stored.get(begun.owner, {})
            if _has_happened(begun, there):
                known = self.records[begun.owner]
                made = {i: c for i, c in there.items() if c in begun.new and i not in known}
                if sorted(made.values()) != sorted(begun.new):
                    differences.halved.append((begun.owner, " / ".join(begun.new)))
                self._apply(begun, made)
        self._open.clear()
        for owner in self.records.keys() | stored.keys():
            self._compare(owner, stored.get(owner, {}), differences)
        return differences

    def start_anew(self) -> None:
        """Start another trial: no records are new or recently removed."""
        self.fresh.clear()
        self.gone.clear()

    def _apply(self, begun: Begun, made: Mapping[str, str]) -> None:
        records = self.records[begun.owner]
        for id_ in begun.gone:
            self.gone[begun.owner, id_] = records.pop(id_)
            self.fresh.discard((begun.owner, id_))
        for id_ in (*begun.rewritten, *made):
            self.fresh.add((begun.owner, id_))
            self.gone.pop((begun.owner, id_), None)
        records.update(begun.rewritten)
        records.update(made)

    def _compare(self, owner: str, stored: Mapping[str, str], differences: Differences) -> None:
        known = self.records[owner]
        differences.lost += [(owner, i) for i, content in known.items() if stored.get(i) != content]
        differences.unexpected += [(owner, i) for i in stored if i not in known]


def _has_happened(begun: Begun, stored: Mapping[str, str]) -> bool:
    if begun.gone:
        return any(id_ not in stored for id_ in begun.gone)
    if begun.rewritten:
        return any(stored.get(id_) == content for id_, content in begun.rewritten.items())
    return not set(begun.new).isdisjoint(stored.values())


def everything(memory: Memolith) -> Stored:
    """Return the active records of all owners."""
    return {
        owner: {each.id: each.content for each in memories(memory, owner)}
        | {each.id: each.content for each in _messages(memory, owner)}
        for owner in memory.owners()
    }


def memories(memory: Memolith, owner: str) -> Iterator[Memory]:
    """Yield an owner's active memories."""
    page = memory.list(owner=owner, limit=PAGE)
    yield from page.memories
    while page.cursor is not None:
        page = memory.list(owner=owner, limit=PAGE, cursor=page.cursor)
        yield from page.memories


def _messages(memory: Memolith, owner: str) -> Iterator[Message]:
    for session in memory.sessions(owner=owner):
        yield from memory.messages(session.id, owner=owner)
