"""Looking whether a store holds what it must: by reading, by searching, and by `verify`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from memolith import Memolith
from memolith.domain.recall import SearchMode
from support.durability.write_log import Ledger, everything

COLUMNS = (
    "trials",
    "acknowledged",
    "looked for",
    "by vector",
    "by word",
    "lost",
    "findings",
)

Key = tuple[str, str]


@dataclass(slots=True)
class Tally:
    """What trials have come to.

    Attributes:
        trials: How often a process was killed, or the power cut.
        acknowledged: Calls that were acknowledged before that.
        sought: How often a record was searched for by its words.
        by_vector: How often it was found with vectors alone.
        by_word: How often with keywords alone.
        lost: Records that were acknowledged and not there, or not as acknowledged.
        findings: What `verify` found.
    """

    trials: int = 0
    acknowledged: int = 0
    sought: int = 0
    by_vector: int = 0
    by_word: int = 0
    lost: int = 0
    findings: int = 0

    def values(self) -> list[int]:
        return [getattr(self, each.name) for each in fields(self)]


def check(memory: Memolith, ledger: Ledger, tally: Tally) -> None:
    """Check a store after a trial: all of it by reading, what the trial wrote by searching."""
    differences = ledger.settle(everything(memory))
    tally.trials += 1
    tally.lost += len(differences.lost)
    report = memory.verify()
    tally.findings += len(report.findings)
    assert not differences
    assert report.findings == ()
    search(memory, ledger, ledger.fresh, tally)
    for (owner, id_), content in ledger.gone.items():
        assert not finds(memory, owner, id_, content, ask=content, mode="hybrid")
    ledger.start_anew()


def check_all(memory: Memolith, ledger: Ledger, tally: Tally) -> None:
    """Search for everything that was ever acknowledged and has not gone since."""
    keys = [(owner, id_) for owner, records in ledger.records.items() for id_ in records]
    search(memory, ledger, keys, tally)
    tally.acknowledged += ledger.acknowledged


def search(memory: Memolith, ledger: Ledger, keys: Iterable[Key], tally: Tally) -> None:
    """Search for records by vector and by word."""
    missed: list[tuple[SearchMode, Key]] = []
    for owner, id_ in keys:
        content = ledger.records[owner][id_]
        word = content.rsplit(maxsplit=1)[-1]
        by_vector = finds(memory, owner, id_, content, ask=content, mode="vector")
        by_word = finds(memory, owner, id_, content, ask=word, mode="keyword")
        missed += [("vector", (owner, id_))] if not by_vector else []
        missed += [("keyword", (owner, id_))] if not by_word else []
        tally.sought += 1
        tally.by_vector += by_vector
        tally.by_word += by_word
    assert missed == []


def finds(
    memory: Memolith, owner: str, id_: str, content: str, *, ask: str, mode: SearchMode
) -> bool:
    """Return whether a search comes upon a record, or upon one that says the same."""
    result = memory.recall(ask, owner=owner, mode=mode, touch=False)
    return any(
        id_ in (each.id, *each.collapsed_ids) or each.content == content for each in result.memories
    )
