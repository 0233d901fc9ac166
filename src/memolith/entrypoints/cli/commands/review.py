"""`memolith review`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.domain.memories import Memory, State
from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import (
    build_table,
    console,
    format_count,
    format_date,
    print_json,
)
from memolith.entrypoints.cli.terminal import to_one_line

if TYPE_CHECKING:
    from memolith.domain.messages import Message

REVIEW_EXAMPLES = """
memolith review
memolith review 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --approve
memolith review 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --reject
"""

_REVIEW_COLUMNS = ("id", "from", "why", "date", "…text")

_INJECTION_REASON = "order"


@command("review", example=REVIEW_EXAMPLES)
@click.argument("id", required=False)
@click.option("--approve", is_flag=True, help="Let ID be recalled; an order, as a quote.")
@click.option("--reject", is_flag=True, help="Forget ID.")
def review_command(call: CommandCall, id: str | None, *, approve: bool, reject: bool) -> None:
    """List what is not recalled until it is reviewed, or judge the memory or message ID.

    That is what tools, documents, imports and assistants said that tries to instruct a model
    ("order"), and what a model has learned that nothing said supports ("unsupported").
    """
    if approve + reject != (id is not None):
        raise click.UsageError("Give an id with either --approve or --reject, or nothing.")
    if id is None:
        _list_for_review(call)
    elif approve:
        with call.open_memory() as memory:
            approved = memory.approve(id)
        call.respond(f"Approved: {approved.id}", approved)
    else:
        with call.open_memory() as memory:
            gone = memory.reject(id)
        count = format_count(len(gone.memories) + len(gone.messages), "record", "records")
        call.respond(f"Rejected: {id}, {count} forgotten", gone)


def _list_for_review(call: CommandCall) -> None:
    with call.open_memory() as memory:
        waiting = memory.review()
    if call.as_json:
        print_json(waiting)
        return
    out = console()
    if not waiting:
        out.print("Nothing waits for a review.")
        return
    out.print(build_table(_REVIEW_COLUMNS, [_build_review_row(each) for each in waiting], cut=True))


def _build_review_row(record: Memory | Message) -> tuple[str, str, str, str, str]:
    if isinstance(record, Memory):
        said_by, at = record.origin.value, record.happened_at or record.created_at
        why = "unsupported" if record.state is State.UNSUPPORTED else _INJECTION_REASON
        return record.id, said_by, why, format_date(at), to_one_line(record.content)
    said_by = record.speaker or str(record.role)
    return (
        record.id,
        said_by,
        _INJECTION_REASON,
        format_date(record.at),
        to_one_line(record.content),
    )
