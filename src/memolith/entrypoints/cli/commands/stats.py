"""`memolith stats`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, facts, print_json, table
from memolith.ports.usage import Spent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.services.spending import Spending

EXAMPLE = """
memolith stats
memolith stats --owner alice --json
"""

_COLUMNS = ("model", ">calls this hour", ">tokens", ">cost", ">today", ">tokens", ">cost")


@command("stats", example=EXAMPLE)
def run(call: Call) -> None:
    """Show how much is stored, and what the language model was asked for it.

    Hours and days are those of UTC. With prices in the configuration, what it cost is shown too.
    """
    with call.memory() as memory:
        stats = memory.stats()
        hour = memory.usage()
        day = memory.usage(since=hour.since.replace(hour=0))
    if call.as_json:
        print_json({**asdict(stats), "usage": {"hour": hour, "day": day}})
        return
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(stats.by_kind.items()))
    states = ", ".join(f"{name} {count}" for name, count in sorted(stats.by_state.items()))
    console().print(
        facts(
            (
                ("owner", call.owner),
                ("memories", stats.total_count),
                ("by kind", kinds),
                ("by state", states),
                ("mean importance", f"{stats.avg_importance:.2f}"),
                ("messages", stats.messages),
                ("conversations", stats.sessions),
                ("vectors", stats.vectors),
                *([("not in Chroma yet", stats.vectors_due)] if stats.vectors_due else []),
            )
        )
    )
    if day.by_purpose:
        console().print(table(_COLUMNS, [*_rows(hour, day), _total(hour, day)]))


def _rows(hour: Spending, day: Spending) -> Iterator[tuple[str, ...]]:
    for purpose, spent in day.by_purpose.items():
        yield purpose, *_counts(hour.by_purpose.get(purpose, Spent())), *_counts(spent)


def _total(hour: Spending, day: Spending) -> tuple[str, ...]:
    return "in all", *_counts(hour.total, hour.cost), *_counts(day.total, day.cost)


def _counts(spent: Spent, cost: float | None = None) -> tuple[str, str, str]:
    return f"{spent.calls:,}", f"{spent.tokens:,}", "" if cost is None else f"{cost:,.4f}"
