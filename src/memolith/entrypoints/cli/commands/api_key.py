"""`memolith api-key`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_time, print_json

if TYPE_CHECKING:
    from memolith.engine import Memolith

API_KEY_EXAMPLES = """
memolith api-key create phone --owner alice
memolith api-key create proxy --role service
memolith api-key list
memolith api-key revoke phone
"""

_API_KEY_COLUMNS = ("name", "role", "…owner", "created", "revoked")


@command("api-key", example=API_KEY_EXAMPLES)
@click.argument("what", type=click.Choice(["create", "list", "revoke"]))
@click.argument("name", required=False)
@click.option(
    "--role",
    type=click.Choice(["owner", "service", "admin"]),
    default="owner",
    help="Of one owner; of any, named in each call; or that and the whole store's.",
)
def api_key_command(call: CommandCall, what: str, name: str | None, role: str) -> None:
    """Make, list and revoke the keys by which callers of `memolith serve` are known.

    create makes a key and prints it, this once: the store has only its digest. revoke lets it open
    nothing any more, at once, on all servers.
    """
    if (name is None) != (what == "list"):
        raise click.UsageError("create and revoke need a name, list takes none.")
    if what == "create" and role != "owner" and "owner" in call.options:
        raise click.UsageError(f"--owner goes with --role owner: a key of role {role} is of none.")
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        if name is None:
            _list_api_keys(call, engine)
        elif what == "create":
            _create_api_key(call, engine, name, role)
        else:
            engine.revoke_api_key(name)
            call.respond(f"{name} opens nothing any more", {"revoked": name})


def _create_api_key(call: CommandCall, engine: Memolith, name: str, role: str) -> None:
    made = engine.create_api_key(name, role=role, owner=call.owner if role == "owner" else None)
    if call.as_json:
        print_json(made)
        return
    click.echo(made.secret)
    click.echo("memolith: keep it safe; it can't be shown again", err=True)


def _list_api_keys(call: CommandCall, engine: Memolith) -> None:
    keys = engine.api_keys()
    if call.as_json:
        print_json(keys)
        return
    rows = [
        (
            key.name,
            key.role.value,
            key.owner or "",
            format_time(key.created_at),
            format_time(key.revoked_at),
        )
        for key in keys
    ]
    console().print(build_table(_API_KEY_COLUMNS, rows) if rows else "There are no keys.")
