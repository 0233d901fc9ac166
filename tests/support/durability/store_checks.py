"""Check that a store contains all acknowledged records: by reading, searching and `verify`."""

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
    """Totals of trials.

    Attributes:
        trials: Number of kills or power cuts.
        acknowledged: Number of acknowledged calls.
        sought: Number of records searched for.
        by_vector: Number of records found by vector alone.
        by_word: Number of records found by keyword alone.
        lost: Acknowledged records that are missing or changed.
        findings: Findings of `verify`.
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
    """Check a store after a trial: read all records, and search for those of the trial."""
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
    """Search for all acknowledged records that were not removed since."""
    keys = [(owner, id_) for owner, records in ledger.records.items() for id_ in records]
    search(memory, ledger, keys, tally)
    tally.acknowledged += ledger.acknowledged


def search(memory: Memolith, ledger: Ledger, keys: Iterable[Key], tally: Tally) -> None:
    """Search for records by vector and by keyword."""
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
    """Return whether a search finds a record, or one with the same content."""
    result = memory.recall(ask, owner=owner, mode=mode, touch=False)
    return any(
        id_ in (each.id, *each.collapsed_ids) or each.content == content for each in result.memories
    )
