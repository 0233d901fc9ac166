"""`mnemon stats`."""

from __future__ import annotations

from mnemon.entrypoints.cli.calls import Call, command
from mnemon.entrypoints.cli.output import console, facts, print_json

EXAMPLE = """
mnemon stats
mnemon stats --owner alice --json
"""


@command("stats", example=EXAMPLE)
def run(call: Call) -> None:
    """Show how much is stored."""
    with call.memory() as memory:
        stats = memory.stats()
    if call.as_json:
        print_json(stats)
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
            )
        )
    )
