"""`memolith stats`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_field_table, build_table, console, print_json
from memolith.ports.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.services.spending import UsageReport

STATS_EXAMPLES = """
memolith stats
memolith stats --owner alice --json
"""

_USAGE_COLUMNS = ("model", ">calls this hour", ">tokens", ">cost", ">today", ">tokens", ">cost")


@command("stats", example=STATS_EXAMPLES)
def stats_command(call: CommandCall) -> None:
    """Show how much is stored, and what the language model was asked for it.

    Hours and days are those of UTC. With prices in the configuration, what it cost is shown too.
    """
    with call.open_memory() as memory:
        stats = memory.stats()
        hour = memory.usage()
        day = memory.usage(since=hour.since.replace(hour=0))
    if call.as_json:
        print_json({**asdict(stats), "usage": {"hour": hour, "day": day}})
        return
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(stats.by_kind.items()))
    states = ", ".join(f"{name} {count}" for name, count in sorted(stats.by_state.items()))
    console().print(
        build_field_table(
            (
                ("owner", call.owner),
                ("memories", stats.total_count),
                ("by kind", kinds),
                ("by state", states),
                ("mean importance", f"{stats.avg_importance:.2f}"),
                ("messages", stats.messages),
                ("conversations", stats.sessions),
                ("vectors", stats.vectors),
                *([("not in Chroma yet", stats.vectors_pending)] if stats.vectors_pending else []),
            )
        )
    )
    if day.by_purpose:
        console().print(
            build_table(_USAGE_COLUMNS, [*_iter_usage_rows(hour, day), _get_usage_total(hour, day)])
        )


def _iter_usage_rows(hour: UsageReport, day: UsageReport) -> Iterator[tuple[str, ...]]:
    for purpose, spent in day.by_purpose.items():
        yield (
            purpose,
            *_format_usage(hour.by_purpose.get(purpose, ModelUsage())),
            *_format_usage(spent),
        )


def _get_usage_total(hour: UsageReport, day: UsageReport) -> tuple[str, ...]:
    return "in all", *_format_usage(hour.total, hour.cost), *_format_usage(day.total, day.cost)


def _format_usage(spent: ModelUsage, cost: float | None = None) -> tuple[str, str, str]:
    return f"{spent.calls:,}", f"{spent.tokens:,}", "" if cost is None else f"{cost:,.4f}"
