"""`memolith db`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_field_table, console, print_json
from memolith.entrypoints.cli.progress import progress

if TYPE_CHECKING:
    from memolith.config import Settings
    from memolith.databases import DatabaseStatus, VectorIndex

DB_EXAMPLES = """
memolith db status
memolith db upgrade --store postgresql://deploy@db.example/memory
memolith db index
memolith db index --drop
"""


@command("db", example=DB_EXAMPLES)
@click.argument("what", type=click.Choice(["status", "upgrade", "index", "distribute"]))
@click.option("--drop", is_flag=True, help="index: remove it.")
def db_command(call: CommandCall, what: str, *, drop: bool) -> None:
    """Look after the store's database.

    status shows what is there: the schema of the tables and the one that is needed, encryption,
    the model of the vectors, their index, the role, the size. It needs no key.

    upgrade makes the tables of a PostgreSQL store where there are none, and else brings them up to
    date, a migration at a time; interrupted, run it again. A file is brought up to date when
    it is opened.

    index builds the index of vectors that `[memory.postgres] vector_index` names, for owners who
    have more memories than are searched in memory; the store stays in use meanwhile.

    distribute spreads a PostgreSQL store over the machines of a Citus cluster, by owner.

    Whoever calls upgrade, index or distribute must own the tables.
    """
    if drop and what != "index":
        raise click.UsageError("--drop is for index.")
    settings = call.load_settings().settings
    if what == "status":
        _show_database_status(call, settings)
    elif what == "upgrade":
        _upgrade_database(call, settings)
    elif what == "index":
        _change_index(call, settings, drop=drop)
    else:
        _distribute_database(call, settings)


def _show_database_status(call: CommandCall, settings: Settings) -> None:
    from memolith.databases import get_status

    found = get_status(settings)
    if call.as_json:
        print_json(asdict(found))
        return
    console().print(build_field_table(_build_status_rows(found)))


def _build_status_rows(found: DatabaseStatus) -> tuple[tuple[str, object], ...]:
    rows: tuple[tuple[str, object], ...] = (
        ("store", found.store),
        ("database", found.database),
        ("schema", _describe_schema(found)),
    )
    if not found.schema_found:
        return rows
    length = f", {found.dimension} numbers" if found.dimension else ""
    return (
        *rows,
        ("encryption", found.encryption or "none"),
        ("key ring", found.key_ring),
        ("embedder", f"{found.embedder}{length}" if found.embedder else "none yet"),
        ("vectors", found.vectors),
        ("index of vectors", "\n".join(map(_describe_index, found.vector_indexes))),
        ("parts", found.partitions or None),
        ("machines", "several, by Citus" if found.is_distributed else None),
        ("role", found.role and f"{found.role} (tables of {found.table_owner})"),
        ("owners kept apart", found.role and (found.row_level_security_problem or "yes")),
        ("owners", None if found.owners is None else f"{found.owners:,}"),
        ("size", _format_size(found.size_bytes)),
    )


def _describe_schema(found: DatabaseStatus) -> str:
    if not found.schema_found:
        return f"there is no store yet; {found.schema_needed} is needed"
    if found.schema_found > found.schema_needed:
        return f"{found.schema_found}, of a newer Memolith; this one knows {found.schema_needed}"
    if found.schema_found == found.schema_needed:
        return f"{found.schema_found}, as needed"
    how = "`memolith db upgrade` brings it there" if found.role else "opening it brings it there"
    return f"{found.schema_found}; {found.schema_needed} is needed: {how}"


def _describe_index(index: VectorIndex) -> str:
    state = "" if index.is_valid else ", unfinished"
    return f"{index.name}: {index.kind}, {_format_size(index.size_bytes)}{state}"


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"


def _upgrade_database(call: CommandCall, settings: Settings) -> None:
    from memolith.databases import upgrade

    done = upgrade(settings, lambda schema: click.echo(f"Schema {schema} is reached", err=True))
    if done is None:
        said = "A file is brought up to date when it is opened: there is nothing to do"
        call.respond(said, None)
        return
    if not done.from_schema:
        said = f"A store of schema {done.to_schema} was made"
    elif done.from_schema == done.to_schema:
        said = f"The store has schema {done.to_schema} already"
    else:
        said = f"The store was brought from schema {done.from_schema} to {done.to_schema}"
    call.respond(said, asdict(done))


def _print_statement(statement: str) -> None:
    click.echo(statement, err=True)


def _change_index(call: CommandCall, settings: Settings, *, drop: bool) -> None:
    from memolith.databases import build_index, drop_index

    if drop:
        was_there = drop_index(settings, _print_statement)
        said = "The index of vectors is gone" if was_there else "There was no index of vectors"
        call.respond(said, {"dropped": was_there})
        return
    with progress("Building the index") as advance:
        is_done = build_index(settings, _print_statement, advance)
    kind = settings.postgres.vector_index
    said = "is as it should be now" if is_done else "is as it should be: nothing was to be done"
    call.respond(f"The index of vectors ({kind}) {said}", {"kind": kind, "changed": is_done})


def _distribute_database(call: CommandCall, settings: Settings) -> None:
    from memolith.databases import distribute

    is_done = distribute(settings, _print_statement)
    said = "is spread by owner now" if is_done else "is spread by owner already"
    call.respond(f"The store {said}", {"changed": is_done})
