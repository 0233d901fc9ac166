"""`memolith api-key`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, moment, print_json, table

if TYPE_CHECKING:
    from memolith.engine import Memolith

EXAMPLE = """
memolith api-key create phone --owner alice
memolith api-key create proxy --role service
memolith api-key list
memolith api-key revoke phone
"""

_COLUMNS = ("name", "role", "…owner", "created", "revoked")


@command("api-key", example=EXAMPLE)
@click.argument("what", type=click.Choice(["create", "list", "revoke"]))
@click.argument("name", required=False)
@click.option(
    "--role",
    type=click.Choice(["owner", "service", "admin"]),
    default="owner",
    help="Of one owner; of any, named in each call; or that and the whole store's.",
)
def run(call: Call, what: str, name: str | None, role: str) -> None:
    """Make, list and revoke the keys by which callers of `memolith serve` are known.

    create makes a key and prints it, this once: the store has only its digest. revoke lets it open
    nothing any more, at once, on all servers.
    """
    if (name is None) != (what == "list"):
        raise click.UsageError("create and revoke need a name, list takes none.")
    if what == "create" and role != "owner" and "owner" in call.given:
        raise click.UsageError(f"--owner goes with --role owner: a key of role {role} is of none.")
    with call.wiring.engine(call.settings(), worker=False) as engine:
        if name is None:
            _list(call, engine)
        elif what == "create":
            _create(call, engine, name, role)
        else:
            engine.revoke_api_key(name)
            call.say(f"{name} opens nothing any more", {"revoked": name})


def _create(call: Call, engine: Memolith, name: str, role: str) -> None:
    made = engine.create_api_key(name, role=role, owner=call.owner if role == "owner" else None)
    if call.as_json:
        print_json(made)
        return
    click.echo(made.secret)
    click.echo("memolith: keep it safe; it can't be shown again", err=True)


def _list(call: Call, engine: Memolith) -> None:
    keys = engine.api_keys()
    if call.as_json:
        print_json(keys)
        return
    rows = [
        (key.name, key.role.value, key.owner or "", moment(key.created_at), moment(key.revoked_at))
        for key in keys
    ]
    console().print(table(_COLUMNS, rows) if rows else "There are no keys.")
