"""How well changes of facts are told: a confusion table, precision and recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from memolith.policies.changing.relation import Relation, relation


@dataclass(frozen=True, slots=True)
class Judged:
    """One labelled pair and what was found.

    Attributes:
        old: What was said first.
        new: What was said later.
        label: What is so: "changed", "restated", or anything else for neither.
        found: What was found.
        reason: Why.
    """

    old: str
    new: str
    label: str
    found: Relation
    reason: str


@dataclass(frozen=True, slots=True)
class Shares:
    """Of a relation: of what was called so, the share that is so; of what is so, that called so.

    Both 1.0 where there is nothing.
    """

    precision: float
    recall: float


def judged(pairs: Iterable[tuple[str, str, str]]) -> list[Judged]:
    """Return what is found of pairs of an old text, a new one, and a label."""
    found = ((old, new, label, relation(old, new)) for old, new, label in pairs)
    return [Judged(old, new, label, each.relation, each.reason) for old, new, label, each in found]


def shares(results: Sequence[Judged], which: Relation) -> Shares:
    """Return precision and recall of one relation."""
    called = [each for each in results if each.found is which]
    so = [each for each in results if each.label == which]
    right = sum(each.label == which for each in called)
    return Shares(
        precision=right / len(called) if called else 1.0,
        recall=right / len(so) if so else 1.0,
    )


def rendered(results: Sequence[Judged]) -> RenderableType:
    """Return the confusion table, the shares, and the pairs that were not told."""
    return Group(_table(results), *_lines(results), "", *_missed(results))


def as_json(results: Sequence[Judged]) -> dict[str, Any]:
    """Return the same as values that JSON can hold; shares lie in 0..1."""
    return {
        "pairs": len(results),
        "confusion": [
            {"label": label, "found": str(found), "pairs": count}
            for (label, found), count in sorted(_counts(results).items())
        ],
        **{str(which): asdict(shares(results, which)) for which in _TOLD},
        "missed": [
            asdict(each) for each in results if each.label in _TOLD and each.found != each.label
        ],
        "wrong": [
            asdict(each) for each in results if each.found in _TOLD and each.found != each.label
        ],
    }


_TOLD = (Relation.CHANGED, Relation.RESTATED)


def _counts(results: Sequence[Judged]) -> Counter[tuple[str, Relation]]:
    return Counter((each.label, each.found) for each in results)


def _table(results: Sequence[Judged]) -> Table:
    counts = _counts(results)
    table = Table(title=f"{len(results)} pairs: what they are, and what they were called")
    table.add_column("what they are")
    for which in Relation:
        table.add_column(str(which), justify="right")
    for label in sorted({each.label for each in results}):
        table.add_row(label, *(str(counts[label, which]) for which in Relation))
    return table


def _lines(results: Sequence[Judged]) -> Iterable[str]:
    for which in _TOLD:
        found = shares(results, which)
        yield f"{which}: precision {found.precision:.1%}, recall {found.recall:.1%}"


def _missed(results: Sequence[Judged]) -> Iterable[str]:
    for each in results:
        if each.found != each.label and {each.found, each.label} & set(_TOLD):
            yield f"{each.label}, called {each.found} ({each.reason}): {each.old} | {each.new}"
