"""Commands for memories and owners, such as remember, recall, forget, review and stats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from memolith.api.owner import OwnerMemory
from memolith.cli.context import CommandCall, command
from memolith.cli.display import get_display_text, show_memory, show_message, show_recall
from memolith.cli.options import (
    Instant,
    confirm_or_abort,
    filter_options,
    read_text_argument,
    recall_options,
    yes_option,
)
from memolith.cli.output import (
    build_field_table,
    build_table,
    console,
    format_count,
    format_date,
    format_time,
    print_json,
    print_note,
    print_text,
    to_one_line,
)
from memolith.domain.memories import Event, Memory, State
from memolith.domain.messages import Message
from memolith.errors import NotFound
from memolith.ports.service import ModelUsage
from memolith.services.chat import UsageReport
from memolith.text.screening import REDACTED

REMEMBER_EXAMPLES = """
memolith remember "Prefers metric units" --kind preference --tag style
memolith remember "The flat is rented until May" --expires-at 2027-05-31
memolith remember "Prefers metric units" --key units
echo "Works at NASA" | memolith remember -
"""


@command("remember", example=REMEMBER_EXAMPLES)
@click.argument("text")
@click.option("--kind", help="Kind: fact, preference, …  [default: detected]")
@click.option("--importance", type=float, help="Importance, 0 to 1.  [default: estimated]")
@click.option("--key", help="Unique name; storing it again creates a new version.")
@click.option("--tag", "tags", multiple=True, help="Tag to filter by. Repeatable.")
@click.option("--expires-in", default="", help="Lifetime: 90d, 12h, 30m.")
@click.option("--expires-at", type=Instant(), help="Time of expiry.")
@click.option("--happened-at", type=Instant(), help="When it was true or was said.")
@click.option("--session", help="Conversation that it belongs to.")
@click.option("--origin", default="user", help="Source: user (default), tool, document, …")
def remember_command(call: CommandCall, text: str, **options: Any) -> None:
    """Store TEXT as a memory; use - to read standard input.

    A text that is stored already is not stored twice.
    """
    content = read_text_argument(text)
    with call.open_memory(create=True) as memory:
        stored = memory.remember(content, **options)
    if stored.content.count(REDACTED) > content.count(REDACTED):
        print_note("suspected secrets are stored as [REDACTED]")
    call.respond(f"Remembered as {stored.kind}: {stored.id}", stored)


# --- `memolith recall`


RECALL_EXAMPLES = """
memolith recall "which units should I use?"
memolith recall "when did we talk about Oslo?" --kind episode --since 2026-01-01
memolith recall "where do I live?" --as-of 2025-06-01 --json
"""


@command("recall", example=RECALL_EXAMPLES)
@click.argument("query")
@recall_options
@click.option("--trace", is_flag=True, help="Show candidates, scores and times of each stage.")
def recall_command(call: CommandCall, query: str, **options: Any) -> None:
    """Search memories and messages for QUERY; use - to read standard input.

    Shows the terms of each score. The terms add up to the total, which only compares results of the
    same query.
    """
    if options["token_budget"] is None:
        options["token_budget"] = call.load_settings().settings.token_budget
    with call.open_memory() as memory:
        result = memory.recall(read_text_argument(query), **_normalise_filters(options))
    if call.as_json:
        print_json(result)
    else:
        show_recall(console(), result)


def _normalise_filters(options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "kinds": options["kinds"] or None, "tags": options["tags"] or None}


# --- `memolith context`


CONTEXT_EXAMPLES = """
memolith context "which units should I use?"
memolith context "plan my trip" --token-budget 500 > prompt.txt
"""


@command("context", example=CONTEXT_EXAMPLES)
@click.argument("query")
@filter_options
@click.option("--state", default="", help="Description of the current state (profile tiers).")
def context_command(call: CommandCall, query: str, **options: Any) -> None:
    """Print memories relevant to QUERY as text for a prompt.

    Use - to read QUERY from standard input.
    """
    if options["token_budget"] is None:
        options["token_budget"] = call.load_settings().settings.token_budget
    options |= {"kinds": options["kinds"] or None, "tags": options["tags"] or None}
    with call.open_memory() as memory:
        text = memory.context(read_text_argument(query), **options)
    if call.as_json:
        print_json({"context": text})
    elif text:
        print_text(text)


# --- `memolith list`


LIST_EXAMPLES = """
memolith list --kind preference
memolith list --state forgotten --limit 10
"""

_LIST_COLUMNS = ("id", "kind", "date", ">strength", "…memory")


@command("list", example=LIST_EXAMPLES)
@click.option("--kind", help="Filter by kind.")
@click.option(
    "--state", help="Filter by state: active (default), superseded, expired, forgotten, …, or all."
)
@click.option("--tag", "tags", multiple=True, help="Filter by tag. Repeatable.")
@click.option(
    "--limit", type=int, default=50, show_default=True, help="Maximum number of memories."
)
@click.option("--cursor", help="Cursor that the previous page printed.")
def list_command(call: CommandCall, **options: Any) -> None:
    """List memories, newest first."""
    with call.open_memory() as memory:
        page = memory.list(**options)
    if call.as_json:
        print_json(page)
        return
    screen = console()
    if not page.memories:
        screen.print("No memories.")
        return
    rows = [
        (
            each.id,
            each.kind if each.state == "active" else f"{each.kind} ({each.state})",
            format_date(each.happened_at or each.created_at),
            f"{each.strength:.2f}",
            to_one_line(
                f"{each.key}: {get_display_text(each)}" if each.key else get_display_text(each)
            ),
        )
        for each in page.memories
    ]
    screen.print(build_table(_LIST_COLUMNS, rows, cut=True))
    next_page = f"; next page: --cursor {page.cursor}" if page.cursor else ""
    screen.print(f"{len(page.memories)} of {page.total}{next_page}", style="dim", soft_wrap=True)


# --- `memolith show`


SHOW_EXAMPLES = """
memolith show 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
"""


@command("show", example=SHOW_EXAMPLES)
@click.argument("id")
def show_command(call: CommandCall, id: str) -> None:
    """Show all fields of the memory or message ID, in any state."""
    with call.open_memory() as memory:
        record = _get_record(memory, id)
    if call.as_json:
        print_json(record)
    elif isinstance(record, Memory):
        show_memory(console(), record)
    else:
        show_message(console(), record)


def _get_record(memory: OwnerMemory, id_: str) -> Memory | Message:
    try:
        return memory.get(id_)
    except NotFound:
        pass
    try:
        return memory.message(id_)
    except NotFound as error:
        raise NotFound("memory or message", error.id) from None


# --- `memolith history`


HISTORY_EXAMPLES = """
memolith history 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith history --key units
"""


@command("history", example=HISTORY_EXAMPLES)
@click.argument("id", required=False)
@click.option("--key", help="Select the memory by its key instead of ID.")
def history_command(call: CommandCall, id: str | None, key: str | None) -> None:
    """Show the versions of the memory ID, and its events with their actors."""
    if (id is None) == (key is None):
        raise click.UsageError("Give either ID or --key.")
    with call.open_memory() as memory:
        history = memory.history(id, key=key)
    if call.as_json:
        print_json(history)
        return
    versions = (
        (
            each.memory.version,
            format_time(each.valid_from),
            format_time(each.valid_to),
            get_display_text(each.memory),
        )
        for each in history.versions
    )
    events = (
        (format_time(each.at), each.action.value, each.actor, each.version, _format_details(each))
        for each in history.events
    )
    screen = console()
    screen.print(build_table((">version", "from (UTC)", "to", "…memory"), versions))
    screen.print(build_table(("at (UTC)", "event", "actor", ">version", "…details"), events))


def _format_details(event: Event) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(event.details.items()))


# --- `memolith update`


UPDATE_EXAMPLES = """
memolith update 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 "Prefers metric units, also for recipes"
memolith update 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --importance 0.9 --tag style
"""


@command("update", example=UPDATE_EXAMPLES)
@click.argument("id")
@click.argument("text", required=False)
@click.option("--kind", help="New kind: fact, preference, …")
@click.option("--importance", type=float, help="New importance, 0 to 1.")
@click.option("--key", help="New unique name.")
@click.option("--tag", "tags", multiple=True, help="Replace all tags. Repeatable.")
@click.option("--expires-in", default="", help="Lifetime from now: 90d, 12h, 30m.")
@click.option("--expires-at", type=Instant(), help="Time of expiry.")
@click.option("--happened-at", type=Instant(), help="When it was true or was said.")
def update_command(call: CommandCall, id: str, text: str | None, **options: Any) -> None:
    """Change the memory ID. TEXT replaces its content; use - to read standard input.

    A new content creates a new version. `memolith history` shows earlier versions.
    """
    options["tags"] = options["tags"] or None
    with call.open_memory() as memory:
        updated = memory.update(id, None if text is None else read_text_argument(text), **options)
    call.respond(f"Updated {updated.id}, version {updated.version}", updated)


# --- `memolith supersede`


SUPERSEDE_EXAMPLES = """
memolith supersede 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 01933b70-02aa-7c33-9d51-7f3e8c0a6b42
"""


@command("supersede", example=SUPERSEDE_EXAMPLES)
@click.argument("old")
@click.argument("new")
def supersede_command(call: CommandCall, old: str, new: str) -> None:
    """Replace the memory OLD by the memory NEW. OLD is kept, but no longer recalled."""
    with call.open_memory() as memory:
        superseded = memory.supersede(old, new)
    call.respond(f"{superseded.id} is superseded by {superseded.superseded_by}", superseded)


# --- `memolith review`


REVIEW_EXAMPLES = """
memolith review
memolith review 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --approve
memolith review 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --reject
"""

_REVIEW_COLUMNS = ("id", "from", "reason", "date", "…text")

_INJECTION_REASON = "injection"


@command("review", example=REVIEW_EXAMPLES)
@click.argument("id", required=False)
@click.option(
    "--approve", is_flag=True, help="Release ID; suspected injections are quoted in prompts."
)
@click.option("--reject", is_flag=True, help="Forget ID.")
def review_command(call: CommandCall, id: str | None, *, approve: bool, reject: bool) -> None:
    """List quarantined records, or approve or reject the memory or message ID.

    Quarantined are suspected prompt injections from tools, documents, imports and assistants
    ("injection"), and facts that a model learned without support in the conversation
    ("unsupported"). They are not recalled until approved.
    """
    if approve + reject != (id is not None):
        raise click.UsageError("Give ID with either --approve or --reject, or neither.")
    if id is None:
        _list_for_review(call)
    elif approve:
        with call.open_memory() as memory:
            approved = memory.approve(id)
        call.respond(f"Approved: {approved.id}", approved)
    else:
        with call.open_memory() as memory:
            removed = memory.reject(id)
        count = format_count(len(removed.memories) + len(removed.messages), "record", "records")
        call.respond(f"Rejected: {id}, {count} forgotten", removed)


def _list_for_review(call: CommandCall) -> None:
    with call.open_memory() as memory:
        records = memory.review()
    if call.as_json:
        print_json(records)
        return
    screen = console()
    if not records:
        screen.print("Nothing is quarantined.")
        return
    screen.print(
        build_table(_REVIEW_COLUMNS, [_build_review_row(each) for each in records], cut=True)
    )


def _build_review_row(record: Memory | Message) -> tuple[str, str, str, str, str]:
    if isinstance(record, Memory):
        author, at = record.origin.value, record.happened_at or record.created_at
        reason = "unsupported" if record.state is State.UNSUPPORTED else _INJECTION_REASON
        return record.id, author, reason, format_date(at), to_one_line(record.content)
    author = record.speaker or str(record.role)
    return (
        record.id,
        author,
        _INJECTION_REASON,
        format_date(record.at),
        to_one_line(record.content),
    )


# --- `memolith forget`


FORGET_EXAMPLES = """
memolith forget 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith forget --key units
"""


@command("forget", example=FORGET_EXAMPLES)
@click.argument("id", required=False)
@click.option("--key", help="Select the memory by its key instead of ID.")
def forget_command(call: CommandCall, id: str | None, key: str | None) -> None:
    """Hide the memory or message ID and the sentences it came from.

    Nothing is deleted: `memolith restore` undoes it.
    """
    if (id is None) == (key is None):
        raise click.UsageError("Give either ID or --key.")
    with call.open_memory() as memory:
        removed = memory.forget(id, key=key)
    lines = [
        f"Forgotten: {format_count(len(removed.memories), 'memory', 'memories')}",
        f"Messages changed: {len(removed.messages)}",
        *(f"  {each}" for each in (*removed.memories, *removed.messages)),
    ]
    call.respond("\n".join(lines), removed)


# --- `memolith restore`


RESTORE_EXAMPLES = """
memolith restore 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
"""


@command("restore", example=RESTORE_EXAMPLES)
@click.argument("id")
def restore_command(call: CommandCall, id: str) -> None:
    """Restore the memory or message ID after `forget` or `supersede`."""
    with call.open_memory() as memory:
        restored = memory.restore(id)
    call.respond(f"Restored {restored.id}", restored)


# --- `memolith purge`


PURGE_EXAMPLES = """
memolith purge 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --yes
memolith purge --key units --yes
"""

REMOVAL_PENDING = (
    "Removed data is still in the store's log, because another program reads it, or in Chroma,"
    " which is unreachable. It is deleted as soon as possible, at the latest by the next purge."
)


@command("purge", example=PURGE_EXAMPLES)
@click.argument("id", required=False)
@click.option("--key", help="Select the active memory by its key instead of ID.")
@yes_option
def purge_command(call: CommandCall, id: str | None, key: str | None, *, yes: bool) -> None:
    """Remove the memory or message ID and the sentences it came from permanently.

    All its versions are removed and cannot be restored. Forgotten records can be purged too.
    Earlier exports and backups still contain them.
    """
    if (id is None) == (key is None):
        raise click.UsageError("Give either ID or --key.")
    confirm_or_abort(f"Remove {id or key} permanently?", is_confirmed=yes)
    with call.open_memory() as memory:
        removed = memory.purge(id, key=key)
    lines = [
        f"Removed permanently: {format_count(len(removed.memories), 'memory', 'memories')}",
        f"Messages changed or removed: {len(removed.messages)}",
        *(f"  {each}" for each in (*removed.memories, *removed.messages)),
        *([] if removed.compacted else [REMOVAL_PENDING]),
    ]
    call.respond("\n".join(lines), removed)


# --- `memolith erase`


ERASE_EXAMPLES = """
memolith erase --owner alice --yes
memolith erase --owner alice --readmit
"""


@command("erase", example=ERASE_EXAMPLES)
@yes_option
@click.option("--readmit", is_flag=True, help="Allow writes for the erased owner again.")
def erase_command(call: CommandCall, *, yes: bool, readmit: bool) -> None:
    """Remove all data and the key of the owner named by --owner permanently.

    Later writes for that owner are refused, and restored backups omit the owner, until --readmit.
    """
    if "owner" not in call.options:
        raise click.UsageError("--owner is required.")
    if not readmit:
        confirm_or_abort(f"Remove all data of {call.owner} permanently?", is_confirmed=yes)
    with call.engine_factory.engine(call.load_settings()) as engine:
        if readmit:
            engine.readmit(call.owner)
            call.respond(f"Writes for {call.owner} are allowed again", {"owner_id": call.owner})
            return
        result = engine.erase(call.owner)
    text = f"All data of {call.owner} was removed permanently"
    call.respond(text if result.compacted else f"{text}\n{REMOVAL_PENDING}", result)


# --- `memolith stats`


STATS_EXAMPLES = """
memolith stats
memolith stats --owner alice --json
"""

_USAGE_COLUMNS = ("model", ">calls this hour", ">tokens", ">cost", ">today", ">tokens", ">cost")


@command("stats", example=STATS_EXAMPLES)
def stats_command(call: CommandCall) -> None:
    """Show counts of stored records, and the owner's usage of language models.

    Hours and days are in UTC. Costs are shown if prices are configured.
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
                *([("pending in Chroma", stats.vectors_pending)] if stats.vectors_pending else []),
            )
        )
    )
    if day.by_purpose:
        console().print(
            build_table(_USAGE_COLUMNS, [*_iter_usage_rows(hour, day), _get_usage_total(hour, day)])
        )


def _iter_usage_rows(hour: UsageReport, day: UsageReport) -> Iterator[tuple[str, ...]]:
    for purpose, usage in day.by_purpose.items():
        yield (
            purpose,
            *_format_usage(hour.by_purpose.get(purpose, ModelUsage())),
            *_format_usage(usage),
        )


def _get_usage_total(hour: UsageReport, day: UsageReport) -> tuple[str, ...]:
    return "total", *_format_usage(hour.total, hour.cost), *_format_usage(day.total, day.cost)


def _format_usage(usage: ModelUsage, cost: float | None = None) -> tuple[str, str, str]:
    return f"{usage.calls:,}", f"{usage.tokens:,}", "" if cost is None else f"{cost:,.4f}"
