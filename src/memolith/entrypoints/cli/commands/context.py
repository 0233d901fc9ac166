"""`memolith context`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.options import scope_options, text_argument
from memolith.entrypoints.cli.output import print_json, print_text

EXAMPLE = """
memolith context "which units should I use?"
memolith context "plan my trip" --token-budget 500 > prompt.txt
"""


@command("context", example=EXAMPLE)
@click.argument("query")
@scope_options
@click.option("--state", default="", help="How things stand now (profile tiers).")
def run(call: Call, query: str, **given: Any) -> None:
    """Print what is relevant to QUERY as text for a prompt; nothing where there is nothing."""
    if given["token_budget"] is None:
        given["token_budget"] = call.settings().settings.token_budget
    given |= {"kinds": given["kinds"] or None, "tags": given["tags"] or None}
    with call.memory() as memory:
        text = memory.context(text_argument(query), **given)
    if call.as_json:
        print_json({"context": text})
    elif text:
        print_text(text)
