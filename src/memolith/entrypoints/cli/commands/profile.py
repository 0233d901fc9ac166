"""`memolith profile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_count, print_json
from memolith.entrypoints.cli.progress import progress

if TYPE_CHECKING:
    from memolith.services.switching import ProfileSwitch

PROFILE_EXAMPLES = """
memolith profile list
memolith profile show
memolith profile switch facts --dry-run
memolith profile switch facts --owner alice
"""


@command("profile", example=PROFILE_EXAMPLES)
@click.argument("what", type=click.Choice(["list", "show", "switch"]))
@click.argument("name", required=False)
@click.option("--dry-run", is_flag=True, help="Only show what a switch would change.")
def profile_command(call: CommandCall, what: str, name: str | None, *, dry_run: bool) -> None:
    """List the profiles, show the owner's, or switch the owner to the profile NAME.

    A switch renames the kinds of memories by a fixed map, and makes vectors where the new
    profile needs them. Nothing is lost: what each memory was is kept, for the way back.
    """
    if (name is None) == (what == "switch"):
        raise click.UsageError("switch needs a profile's name, list and show take none.")
    if name is not None:
        _switch_profile(call, name, dry_run=dry_run)
    elif what == "list":
        _list_profiles(call)
    else:
        with call.open_memory() as memory:
            own = memory.profile()
        call.respond(own, {"owner_id": call.owner, "profile": own})


def _list_profiles(call: CommandCall) -> None:
    with call.engine_factory.engine(call.load_settings()) as engine:
        found = engine.profiles()
    if call.as_json:
        print_json(found)
        return
    rows = [(each.name, each.description, ", ".join(each.kinds)) for each in found]
    console().print(build_table(("profile", "choose it for", "…kinds"), rows))


def _switch_profile(call: CommandCall, name: str, *, dry_run: bool) -> None:
    with call.open_memory() as memory, progress("Making vectors") as advance:
        done = memory.switch_profile(name, dry_run=dry_run, on_progress=advance)
    if call.as_json:
        print_json(done)
        return
    rows = [(old, new, str(count)) for old, new, count in done.kinds]
    if rows:
        console().print(build_table(("kind", "becomes", "memories"), rows))
    click.echo(_describe_switch(call.owner, done))


def _describe_switch(owner: str, done: ProfileSwitch) -> str:
    if done.before == done.after:
        return f"{owner} has the profile {done.after} already"
    made = f"; {format_count(done.messages, 'message', 'messages')} to embed" * bool(done.messages)
    how = "would go" if done.dry_run else "went"
    return f"{owner} {how} from {done.before} to {done.after}{made}"
