"""`memolith recall`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.options import read_text_argument, recall_options
from memolith.entrypoints.cli.output import console, print_json
from memolith.entrypoints.cli.results import show_recall

RECALL_EXAMPLES = """
memolith recall "which units should I use?"
memolith recall "when did we talk about Oslo?" --kind episode --since 2026-01-01
memolith recall "where do I live?" --as-of 2025-06-01 --json
"""


@command("recall", example=RECALL_EXAMPLES)
@click.argument("query")
@recall_options
@click.option("--trace", is_flag=True, help="Say how the answer came about.")
def recall_command(call: CommandCall, query: str, **given: Any) -> None:
    """Find what is relevant to QUERY, with the parts of each score.

    A term of a score is what one signal adds to it; the terms add up to the total, which only
    compares results of one query.
    """
    if given["token_budget"] is None:
        given["token_budget"] = call.load_settings().settings.token_budget
    with call.open_memory() as memory:
        result = memory.recall(read_text_argument(query), **_normalise_filters(given))
    if call.as_json:
        print_json(result)
    else:
        show_recall(console(), result)


def _normalise_filters(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "kinds": given["kinds"] or None, "tags": given["tags"] or None}
