"""`memolith db`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, facts, print_json
from memolith.entrypoints.cli.progress import progress

if TYPE_CHECKING:
    from memolith.config import Settings
    from memolith.databases import Index, Status

EXAMPLE = """
memolith db status
memolith db upgrade --store postgresql://deploy@db.example/memory
memolith db index
memolith db index --drop
"""


@command("db", example=EXAMPLE)
@click.argument("what", type=click.Choice(["status", "upgrade", "index", "distribute"]))
@click.option("--drop", is_flag=True, help="index: remove it.")
def run(call: Call, what: str, *, drop: bool) -> None:
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
    settings = call.settings().settings
    if what == "status":
        _status(call, settings)
    elif what == "upgrade":
        _upgrade(call, settings)
    elif what == "index":
        _index(call, settings, drop=drop)
    else:
        _distribute(call, settings)


def _status(call: Call, settings: Settings) -> None:
    from memolith.databases import status

    found = status(settings)
    if call.as_json:
        print_json(asdict(found))
        return
    console().print(facts(_shown(found)))


def _shown(found: Status) -> tuple[tuple[str, object], ...]:
    rows: tuple[tuple[str, object], ...] = (
        ("store", found.store),
        ("database", found.database),
        ("schema", _schema(found)),
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
        ("index of vectors", "\n".join(map(_index_shown, found.vector_indexes))),
        ("parts", found.partitions or None),
        ("machines", "several, by Citus" if found.is_distributed else None),
        ("role", found.role and f"{found.role} (tables of {found.made_by})"),
        ("owners kept apart", found.role and (found.unbound or "yes")),
        ("owners", None if found.owners is None else f"{found.owners:,}"),
        ("size", _size(found.size_bytes)),
    )


def _schema(found: Status) -> str:
    if not found.schema_found:
        return f"there is no store yet; {found.schema_needed} is needed"
    if found.schema_found > found.schema_needed:
        return f"{found.schema_found}, of a newer Memolith; this one knows {found.schema_needed}"
    if found.schema_found == found.schema_needed:
        return f"{found.schema_found}, as needed"
    how = "`memolith db upgrade` brings it there" if found.role else "opening it brings it there"
    return f"{found.schema_found}; {found.schema_needed} is needed: {how}"


def _index_shown(index: Index) -> str:
    state = "" if index.is_valid else ", unfinished"
    return f"{index.name}: {index.kind}, {_size(index.size_bytes)}{state}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"


def _upgrade(call: Call, settings: Settings) -> None:
    from memolith.databases import upgrade

    done = upgrade(settings, lambda schema: click.echo(f"Schema {schema} is reached", err=True))
    if done is None:
        said = "A file is brought up to date when it is opened: there is nothing to do"
        call.say(said, None)
        return
    if not done.found:
        said = f"A store of schema {done.reached} was made"
    elif done.found == done.reached:
        said = f"The store has schema {done.reached} already"
    else:
        said = f"The store was brought from schema {done.found} to {done.reached}"
    call.say(said, asdict(done))


def _say_statement(statement: str) -> None:
    click.echo(statement, err=True)


def _index(call: Call, settings: Settings, *, drop: bool) -> None:
    from memolith.databases import build_index, drop_index

    if drop:
        was_there = drop_index(settings, _say_statement)
        said = "The index of vectors is gone" if was_there else "There was no index of vectors"
        call.say(said, {"dropped": was_there})
        return
    with progress("Building the index") as advance:
        is_done = build_index(settings, _say_statement, advance)
    kind = settings.postgres.vector_index
    said = "is as it should be now" if is_done else "is as it should be: nothing was to be done"
    call.say(f"The index of vectors ({kind}) {said}", {"kind": kind, "changed": is_done})


def _distribute(call: Call, settings: Settings) -> None:
    from memolith.databases import distribute

    is_done = distribute(settings, _say_statement)
    said = "is spread by owner now" if is_done else "is spread by owner already"
    call.say(f"The store {said}", {"changed": is_done})
