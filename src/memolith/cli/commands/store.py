"""`memolith db`."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memolith import error_codes
from memolith.cli.context import CommandCall, command
from memolith.cli.options import confirm_or_abort, yes_option
from memolith.cli.output import (
    build_field_table,
    build_table,
    console,
    format_count,
    growing_progress,
    print_json,
    progress,
)
from memolith.config import LoadedSettings, Settings
from memolith.config.loading import mask_password
from memolith.config.settings import Embedding
from memolith.services.migrate import MigrationResult, OwnerComparison
from memolith.stores import reset_store

if TYPE_CHECKING:
    from memolith.admin.database import DatabaseStatus, VectorIndex
    from memolith.admin.reembed import ReembedResult
    from memolith.services.verify import VerificationReport

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
    from memolith.admin.database import get_status

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
    from memolith.admin.database import upgrade

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
    from memolith.admin.database import build_index, drop_index

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
    from memolith.admin.database import distribute

    is_done = distribute(settings, _print_statement)
    said = "is spread by owner now" if is_done else "is spread by owner already"
    call.respond(f"The store {said}", {"changed": is_done})


# --- `memolith backup`


BACKUP_EXAMPLES = """
memolith backup /media/stick/memory.db
memolith backup memory-backup.db --force
"""


@command("backup", example=BACKUP_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Take the place of a file that is there.")
def backup_command(call: CommandCall, file: Path, *, force: bool) -> None:
    """Copy the whole store, all owners, to FILE as of now, while it is in use.

    FILE is written whole or not at all. It is a store in a file, also where the store is in a
    database, and can be restored into either. It is encrypted as the store is, and holds no key:
    `memolith key backup` copies the keys, to be kept elsewhere.
    """
    with (
        call.engine_factory.engine(call.load_existing_settings()) as engine,
        progress("Copying") as advance,
    ):
        size = engine.backup(file, overwrite=force, on_progress=advance)
    call.respond(f"Copied {size:,} bytes to {file}", {"file": str(file), "bytes": size})


# --- `memolith restore-backup`


RESTORE_BACKUP_EXAMPLES = """
memolith restore-backup /media/stick/memory.db
memolith restore-backup memory-backup.db --force
memolith restore-backup b.db --store postgresql://memolith@db.example/memory --keys-of memory.db
"""

ERASURES_UNKNOWN = (
    "The store that was there can't say who was erased: erase them again where needed."
)


@command("restore-backup", example=RESTORE_BACKUP_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Take the place of a store that is there.")
@click.option(
    "--keys-of", metavar="PATH|URL", help="The store it was made of, if its keys are elsewhere."
)
def restore_backup_command(
    call: CommandCall, file: Path, *, force: bool, keys_of: str | None
) -> None:
    """Put the backup FILE in the store's place; no program may have a store's file open.

    FILE may be of a store in a file or in a database, and the store in either. It is checked
    before anything is replaced. The store that was there is kept beside it, as
    `….before-restore` or, in a database, as the schema `…_before_restore`. Owners who were erased
    since the backup stay erased.
    """
    from memolith.api.engine import Memolith

    done = Memolith.restore_backup(file, force=force, keys_of=keys_of, config=call.load_settings())
    lines = [f"Restored {format_count(done.owners, 'owner', 'owners')} to {done.store}"]
    if done.erased_owners:
        lines.append(
            f"Left out: {format_count(done.erased_owners, 'owner', 'owners')} erased since"
        )
    if done.previous_store is not None:
        lines.append(f"The store that was there is now {done.previous_store}")
    if not done.erasures_known:
        lines.append(ERASURES_UNKNOWN)
    said = {name: getattr(done, name) for name in ("owners", "erased_owners", "erasures_known")}
    kept = None if done.previous_store is None else str(done.previous_store)
    call.respond("\n".join(lines), {"store": str(done.store), "previous_store": kept, **said})


# --- `memolith migrate`


MIGRATE_EXAMPLES = """
memolith migrate --to postgresql://memolith@db.example/memory
memolith migrate --to postgresql://memolith@db.example/memory --verify
memolith migrate --from postgresql://memolith@db.example/memory --to memory.db
"""

_MAX_SHOWN_OWNERS = 20
"""Owners listed where nothing is wrong with them: a screenful. `--json` has all."""


@command("migrate", example=MIGRATE_EXAMPLES)
@click.option("--to", required=True, metavar="PATH|URL", help="Where to move the store.")
@click.option("--from", "source", metavar="PATH|URL", help="The store; default: the configured.")
@click.option("--verify", is_flag=True, help="Only compare both; nothing is changed.")
def migrate_command(call: CommandCall, to: str, source: str | None, *, verify: bool) -> None:
    """Move the store, all owners, into another database: SQLite or PostgreSQL.

    Everything is copied as it is: contents, history, ids, times, versions, vectors. The source
    is only read, and stays; other programs may use it meanwhile. The target must be new, or
    empty, or what this command has begun; nobody can open it until all is there. Interrupted or
    killed, the command goes on where it was when run again.

    At the end both sides are compared, row by row. Exits with 0 where they are the same, else
    with 16: somebody wrote to the source, so stop its writers and run the command again, which
    copies only the owners who changed. Then set `store` to the target, and write to it only.

    An encrypted store's keys are copied along. The source's keys stay as well: who is erased later
    must be erased from both, or the source be deleted with its keys by `memolith reset`.
    """
    from memolith.api.engine import Memolith

    settings = call.load_settings()
    with progress("Comparing rows" if verify else "Copying and comparing rows") as advance:
        done = Memolith.migrate(to, source, verify=verify, config=settings, on_progress=advance)
    if call.as_json:
        print_json(done.to_dict())
    else:
        _show_migration(done, verify=verify)
    if not done.is_same:
        sys.exit(error_codes.EXIT_FINDINGS)


def _show_migration(done: MigrationResult, *, verify: bool) -> None:
    click.echo(f"From {done.source}\nTo   {done.target}")
    if not verify:
        removed = f", {done.removed:,} removed as they were erased" if done.removed else ""
        click.echo(f"Copied {format_count(done.copied, 'owner', 'owners')}{removed}")
    owned = [each for each in done.compared if not each.is_same]
    shown = owned + [each for each in done.compared if each.is_same][:_MAX_SHOWN_OWNERS]
    rows = [_build_comparison_row(each) for each in shown]
    console().print(build_table(("…owner", ">rows", ">there", "hash", "hash there", ""), rows))
    if len(shown) < len(done.compared):
        click.echo(f"… and {len(done.compared) - len(shown):,} more that are the same")
    if done.is_same:
        click.echo("Both hold the same.")
    elif verify:
        click.echo("They differ: `memolith migrate` without --verify copies what does again.")
    else:
        click.echo("They differ: stop what writes to the source, and run this again.")


def _build_comparison_row(each: OwnerComparison) -> tuple[object, ...]:
    source, target = each.sums
    return (
        "(of no owner)" if each.owner_id is None else each.owner_id,
        f"{source.rows:,}",
        f"{target.rows:,}",
        source.digest[:16],
        target.digest[:16],
        "" if each.is_same else ", ".join(each.differing),
    )


# --- `memolith verify`


VERIFY_EXAMPLES = """
memolith verify
memolith verify --repair --json
"""


@command("verify", example=VERIFY_EXAMPLES)
@click.option("--repair", is_flag=True, help="Put right what can be derived again.")
def verify_command(call: CommandCall, *, repair: bool) -> None:
    """Look for damage in the whole store: every owner, record, sealed value and index entry.

    Exits with 0 where nothing is wrong, or all was repaired, else with 16. What --repair can't
    derive again is named and left: a backup may have it.
    """
    with (
        call.engine_factory.engine(call.load_existing_settings()) as engine,
        progress("Comparing texts") as advance,
    ):
        report = engine.verify(repair=repair, on_progress=advance)
    if call.as_json:
        print_json(report)
    else:
        _show_report(report)
    if not report.is_clean:
        sys.exit(error_codes.EXIT_FINDINGS)


def _show_report(report: VerificationReport) -> None:
    checked = report.checked
    click.echo(
        f"Looked at {format_count(checked.owners, 'owner', 'owners')},"
        f" {format_count(checked.memories, 'memory', 'memories')},"
        f" {format_count(checked.messages, 'message', 'messages')}"
    )
    if not report.findings:
        click.echo("Nothing is wrong.")
        return
    rows = [
        (
            each.kind,
            each.owner_id or "",
            each.record_id or "",
            each.detail,
            _describe_repair(each.repaired),
        )
        for each in report.findings
    ]
    console().print(build_table(("about", "owner", "record", "…what is wrong", ""), rows))


def _describe_repair(repaired: bool) -> str:  # noqa: FBT001 - a column's value
    return "repaired" if repaired else ""


# --- `memolith reembed`


REEMBED_EXAMPLES = """
memolith reembed --provider ollama --model nomic-embed-text
memolith reembed --provider openai --model text-embedding-3-small --dimension 512
memolith reembed --abandon
"""


@command("reembed", example=REEMBED_EXAMPLES)
@click.option("--model", help="The new model's name at the provider; without, as configured.")
@click.option(
    "--provider",
    type=click.Choice(["local", "ollama", "openai", "sentence-transformers"]),
    help="Who computes the vectors; without, as configured.",
)
@click.option(
    "--dimension",
    type=click.IntRange(min=0),
    help="The length of the vectors; without, the model's own.",
)
@click.option("--abandon", is_flag=True, help="Give up what is under way, and remove it.")
def reembed_command(
    call: CommandCall,
    model: str | None,
    provider: str | None,
    dimension: int | None,
    *,
    abandon: bool,
) -> None:
    """Make all vectors of the store anew by another embedding model, while it is in use.

    The new vectors are made beside those in use, and taken into use in one step. Until then
    programs that have the store open go on as before; after it they are refused and must be
    started again with the new model, for which the configuration must name it: at the end the
    lines for that are printed. Interrupted, even killed, the same command goes on where it was.
    """
    loaded = call.load_settings()
    if abandon:
        if (model, provider, dimension) != (None, None, None):
            raise click.UsageError("--abandon takes no model.")
        _abandon_reembed(call, loaded)
        return
    chosen = replace(
        loaded.settings, embedding=_select_embedding(loaded, model, provider, dimension)
    )
    _run_reembed(call, loaded, replace(loaded, settings=chosen))


def _abandon_reembed(call: CommandCall, loaded: LoadedSettings) -> None:
    from memolith.api.engine import Memolith

    was = Memolith.abandon_reembed(config=loaded)
    said = "What was made of new vectors is removed" if was else "Nothing was under way"
    call.respond(said, {"abandoned": was})


def _run_reembed(call: CommandCall, loaded: LoadedSettings, chosen: LoadedSettings) -> None:
    from memolith.api.engine import Memolith

    embedder = call.engine_factory.embedder(chosen)
    with growing_progress("Embedding passages") as advance:
        done = Memolith.reembed(embedder=embedder, config=chosen, on_progress=advance)
    own = chosen.settings.embedding
    setting = {"provider": own.provider, "model": own.model, "dimension": own.dimension}
    lines = [_describe_reembed(done)]
    if own != loaded.settings.embedding:
        lines += [
            "Let the configuration say so, or the store will not open:",
            "",
            *_format_toml(own),
        ]
    call.respond("\n".join(lines), {**asdict(done), "settings": setting})


def _select_embedding(
    loaded: LoadedSettings, model: str | None, provider: Any, dimension: int | None
) -> Embedding:
    """Return the settings with a model; a length that is configured belongs to the one there."""
    own = loaded.settings.embedding
    kept = own.dimension if model is None and provider is None else 0
    return replace(
        own,
        provider=provider or own.provider,
        model=model or own.model,
        dimension=kept if dimension is None else dimension,
    )


def _describe_reembed(done: ReembedResult) -> str:
    made = format_count(done.vectors_created, "vector was", "vectors were")
    return f"The store's vectors are of {done.model} ({done.dimension} dimensions): {made} made"


def _format_toml(own: Embedding) -> list[str]:
    lines = ["[memory.embedding]", f'provider = "{own.provider}"', f'model = "{own.model}"']
    return [*lines, f"dimension = {own.dimension}"] if own.dimension else lines


# --- `memolith reset`


RESET_EXAMPLES = """
memolith reset
memolith reset --store old.db --yes
"""


@command("reset", example=RESET_EXAMPLES)
@yes_option
def reset_command(call: CommandCall, *, yes: bool) -> None:
    """Delete the store and its keys, and start afresh.

    Its keys go first, so that no copy of the store can be read either, unless the keys were
    backed up. Works without the key: this is the way out where it is lost. Keys of other stores
    stay.
    """
    settings = call.load_settings().settings
    confirm_or_abort(
        f"Delete {mask_password(settings.store)} and all that is remembered in it?",
        is_confirmed=yes,
    )
    gone = reset_store(settings)
    call.respond(f"Deleted: {', '.join(gone) or 'nothing was there'}", {"deleted": gone})
