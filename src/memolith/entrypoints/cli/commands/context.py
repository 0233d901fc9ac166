"""`memolith context`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.options import filter_options, read_text_argument
from memolith.entrypoints.cli.output import print_json, print_text

CONTEXT_EXAMPLES = """
memolith context "which units should I use?"
memolith context "plan my trip" --token-budget 500 > prompt.txt
"""


@command("context", example=CONTEXT_EXAMPLES)
@click.argument("query")
@filter_options
@click.option("--state", default="", help="How things stand now (profile tiers).")
def context_command(call: CommandCall, query: str, **given: Any) -> None:
    """Print what is relevant to QUERY as text for a prompt; nothing where there is nothing."""
    if given["token_budget"] is None:
        given["token_budget"] = call.load_settings().settings.token_budget
    given |= {"kinds": given["kinds"] or None, "tags": given["tags"] or None}
    with call.open_memory() as memory:
        text = memory.context(read_text_argument(query), **given)
    if call.as_json:
        print_json({"context": text})
    elif text:
        print_text(text)
