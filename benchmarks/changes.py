"""Measure how well Memolith detects changed facts: confusion table, precision and recall.

make bench-changes                       # the labelled pairs of tests/corpora/changes.jsonl
make bench-changes ARGS="pairs.jsonl"    # your own: {"old": …, "new": …, "label": …} a line
make bench-changes ARGS="--json"
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from corpora.changes import Change, load_changes
from memolith.policies.supersession.relation import Relation, find_relation

SCORED = (Relation.CHANGED, Relation.RESTATED)


@dataclass(frozen=True, slots=True)
class Result:
    """A labelled pair and the relation that Memolith found.

    Attributes:
        old: The earlier sentence.
        new: The later sentence.
        label: The true relation.
        found: The detected relation.
        reason: Why it was detected.
    """

    old: str
    new: str
    label: str
    found: Relation
    reason: str


def main() -> None:
    """Print the results as tables or as JSON."""
    parser = argparse.ArgumentParser(description="Measure the detection of changed facts.")
    parser.add_argument(
        "file", type=Path, nargs="?", help="a file of JSON lines with your own pairs"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    results = [classify(pair) for pair in load_changes(arguments.file)]
    if arguments.json:
        print(json.dumps(as_json(results), ensure_ascii=False))
        return
    console = Console()
    console.print(confusion_table(results))
    for line in (*score_lines(results), "", *error_lines(results)):
        console.print(line, markup=False)


def classify(pair: Change) -> Result:
    """Return a pair with the relation that Memolith finds."""
    found = find_relation(pair.old, pair.new)
    return Result(pair.old, pair.new, pair.label, found.relation, found.reason)


def scores(results: Sequence[Result], which: Relation) -> dict[str, float]:
    """Return precision and recall of a relation; 1.0 where there are no pairs."""
    detected = [each for each in results if each.found is which]
    labelled = [each for each in results if each.label == which]
    right = sum(each.label == which for each in detected)
    return {
        "precision": right / len(detected) if detected else 1.0,
        "recall": right / len(labelled) if labelled else 1.0,
    }


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """Return everything as values that JSON can hold."""
    wrong = [each for each in results if each.found != each.label]
    return {
        "pairs": len(results),
        "confusion": [
            {"label": label, "found": str(found), "pairs": count}
            for (label, found), count in sorted(_counts(results).items())
        ],
        **{str(which): scores(results, which) for which in SCORED},
        "missed": [asdict(each) for each in wrong if each.label in SCORED],
        "wrong": [asdict(each) for each in wrong if each.found in SCORED],
    }


def confusion_table(results: Sequence[Result]) -> Table:
    """Return the number of pairs by label and detected relation."""
    counts = _counts(results)
    table = Table(title=f"{len(results)} pairs by label and detected relation")
    table.add_column("label")
    for which in Relation:
        table.add_column(str(which), justify="right")
    for label in sorted({str(each.label) for each in results}):
        table.add_row(label, *(str(counts[label, which]) for which in Relation))
    return table


def score_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line of precision and recall for each scored relation."""
    for which in SCORED:
        found = scores(results, which)
        precision, recall = found["precision"], found["recall"]
        yield f"{which}: precision {precision:.1%}, recall {recall:.1%}"


def error_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each missed or wrongly detected pair."""
    for each in results:
        if each.found != each.label and {each.found, each.label} & set(SCORED):
            yield f"{each.label}, found {each.found} ({each.reason}): {each.old} | {each.new}"


def _counts(results: Sequence[Result]) -> Counter[tuple[str, Relation]]:
    return Counter((str(each.label), each.found) for each in results)


if __name__ == "__main__":
    main()
