"""Commands for the whole store: db, backup, restore-backup, migrate, verify, reembed and reset."""

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
@click.argument("action", type=click.Choice(["status", "upgrade", "index", "distribute"]))
@click.option("--drop", is_flag=True, help="With index: drop the vector index.")
def db_command(call: CommandCall, action: str, *, drop: bool) -> None:
    """Show or maintain the store's database.

    status shows the schema, encryption, embedding model, vector indexes, database role and size. It
    needs no key.

    upgrade creates or migrates the tables of a PostgreSQL store, one migration at a time. Repeat an
    interrupted upgrade. A SQLite file is migrated when it is opened.

    index builds the vector index that `[memory.postgres] vector_index` names. It serves owners with
    too many memories to search in RAM. The store stays in use meanwhile.

    distribute shards a PostgreSQL store by owner over the nodes of a Citus cluster.

    upgrade, index and distribute need the role that owns the tables.
    """
    if drop and action != "index":
        raise click.UsageError("--drop is only for index.")
    settings = call.load_settings().settings
    if action == "status":
        _show_database_status(call, settings)
    elif action == "upgrade":
        _upgrade_database(call, settings)
    elif action == "index":
        _change_index(call, settings, drop=drop)
    else:
        _distribute_database(call, settings)


def _show_database_status(call: CommandCall, settings: Settings) -> None:
    from memolith.admin.database import get_status

    status = get_status(settings)
    if call.as_json:
        print_json(asdict(status))
        return
    console().print(build_field_table(_build_status_rows(status)))


def _build_status_rows(status: DatabaseStatus) -> tuple[tuple[str, object], ...]:
    rows: tuple[tuple[str, object], ...] = (
        ("store", status.store),
        ("database", status.database),
        ("schema", _describe_schema(status)),
    )
    if not status.schema_found:
        return rows
    length = f", {status.dimension} dimensions" if status.dimension else ""
    return (
        *rows,
        ("encryption", status.encryption or "none"),
        ("key ring", status.key_ring),
        ("embedder", f"{status.embedder}{length}" if status.embedder else "none yet"),
        ("vectors", status.vectors),
        ("vector index", "\n".join(map(_describe_index, status.vector_indexes))),
        ("partitions", status.partitions or None),
        ("distribution", "by owner, with Citus" if status.is_distributed else None),
        ("role", status.role and f"{status.role} (tables owned by {status.table_owner})"),
        ("row-level security", status.role and (status.row_level_security_problem or "yes")),
        ("owners", None if status.owners is None else f"{status.owners:,}"),
        ("size", _format_size(status.size_bytes)),
    )


def _describe_schema(status: DatabaseStatus) -> str:
    if not status.schema_found:
        return f"no store yet; version {status.schema_needed} is required"
    if status.schema_found > status.schema_needed:
        return (
            f"{status.schema_found}, of a newer Memolith; this one supports {status.schema_needed}"
        )
    if status.schema_found == status.schema_needed:
        return f"{status.schema_found}, current"
    advice = "run `memolith db upgrade`" if status.role else "opening it migrates it"
    return f"{status.schema_found}; version {status.schema_needed} is required: {advice}"


def _describe_index(index: VectorIndex) -> str:
    state = "" if index.is_valid else ", incomplete"
    return f"{index.name}: {index.kind}, {_format_size(index.size_bytes)}{state}"


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"


def _upgrade_database(call: CommandCall, settings: Settings) -> None:
    from memolith.admin.database import upgrade

    result = upgrade(settings, lambda schema: click.echo(f"Migrated to schema {schema}", err=True))
    if result is None:
        text = "Nothing to do: a SQLite file is migrated when it is opened"
        call.respond(text, None)
        return
    if not result.from_schema:
        text = f"Created a store with schema {result.to_schema}"
    elif result.from_schema == result.to_schema:
        text = f"The store already has schema {result.to_schema}"
    else:
        text = f"Migrated the store from schema {result.from_schema} to {result.to_schema}"
    call.respond(text, asdict(result))


def _print_statement(statement: str) -> None:
    click.echo(statement, err=True)


def _change_index(call: CommandCall, settings: Settings, *, drop: bool) -> None:
    from memolith.admin.database import build_index, drop_index

    if drop:
        was_there = drop_index(settings, _print_statement)
        text = "Dropped the vector index" if was_there else "There was no vector index"
        call.respond(text, {"dropped": was_there})
        return
    with progress("Building the index") as advance:
        is_done = build_index(settings, _print_statement, advance)
    kind = settings.postgres.vector_index
    text = "was built" if is_done else "is up to date"
    call.respond(f"The vector index ({kind}) {text}", {"kind": kind, "changed": is_done})


def _distribute_database(call: CommandCall, settings: Settings) -> None:
    from memolith.admin.database import distribute

    is_done = distribute(settings, _print_statement)
    text = "is now distributed by owner" if is_done else "is already distributed by owner"
    call.respond(f"The store {text}", {"changed": is_done})


# --- `memolith backup`


BACKUP_EXAMPLES = """
memolith backup /media/stick/memory.db
memolith backup memory-backup.db --force
"""


@command("backup", example=BACKUP_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace an existing file.")
def backup_command(call: CommandCall, file: Path, *, force: bool) -> None:
    """Back up the store with all owners to FILE while it is in use.

    FILE is a SQLite store that can be restored into a file or into PostgreSQL. It is written
    completely or not at all. It is encrypted like the store, but contains no keys: back them up
    separately with `memolith key backup`.
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
    "The previous store is unreadable, so its erased owners are unknown:"
    " erase them again if needed."
)


@command("restore-backup", example=RESTORE_BACKUP_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace an existing store.")
@click.option(
    "--keys-of",
    metavar="PATH|URL",
    help="Store whose keys encrypt the backup, if it is another one.",
)
def restore_backup_command(
    call: CommandCall, file: Path, *, force: bool, keys_of: str | None
) -> None:
    """Replace the store by the backup FILE. No program may have a store's file open.

    The backup is checked first. Backup and store may each be in a file or in PostgreSQL. The
    previous store is kept as `….before-restore` or, in PostgreSQL, as the schema
    `…_before_restore`. Owners that were erased since the backup stay erased.
    """
    from memolith.api.engine import Memolith

    result = Memolith.restore_backup(
        file, force=force, keys_of=keys_of, config=call.load_settings()
    )
    lines = [f"Restored {format_count(result.owners, 'owner', 'owners')} to {result.store}"]
    if result.erased_owners:
        lines.append(
            f"Omitted: {format_count(result.erased_owners, 'owner', 'owners')} erased meanwhile"
        )
    if result.previous_store is not None:
        lines.append(f"The previous store is now {result.previous_store}")
    if not result.erasures_known:
        lines.append(ERASURES_UNKNOWN)
    counts = {name: getattr(result, name) for name in ("owners", "erased_owners", "erasures_known")}
    previous = None if result.previous_store is None else str(result.previous_store)
    call.respond(
        "\n".join(lines), {"store": str(result.store), "previous_store": previous, **counts}
    )


# --- `memolith migrate`


MIGRATE_EXAMPLES = """
memolith migrate --to postgresql://memolith@db.example/memory
memolith migrate --to postgresql://memolith@db.example/memory --verify
memolith migrate --from postgresql://memolith@db.example/memory --to memory.db
"""

_MAX_SHOWN_OWNERS = 20
"""Maximum number of listed owners without differences: a screenful. `--json` has all."""


@command("migrate", example=MIGRATE_EXAMPLES)
@click.option("--to", required=True, metavar="PATH|URL", help="Target store.")
@click.option(
    "--from", "source", metavar="PATH|URL", help="Source store.  [default: as configured]"
)
@click.option("--verify", is_flag=True, help="Compare both stores without copying.")
def migrate_command(call: CommandCall, to: str, source: str | None, *, verify: bool) -> None:
    """Copy the store with all owners to another database: SQLite or PostgreSQL.

    Contents, history, ids, times, versions and vectors are copied unchanged. The source is only
    read and may stay in use. The target must be new, empty, or an earlier migration of this source.
    It cannot be opened until the migration is complete. Repeat an interrupted command to continue.

    At the end, both stores are compared row by row. The exit code is 0 if they are equal, else 16:
    stop the writers of the source and repeat the command, which copies only changed owners. Then
    set `store` to the target and write only to it.

    Keys of an encrypted store are copied too, and the source keeps its keys. Erase owners from both
    stores, or delete the source with `memolith reset`.
    """
    from memolith.api.engine import Memolith

    settings = call.load_settings()
    with progress("Comparing rows" if verify else "Copying and comparing rows") as advance:
        result = Memolith.migrate(to, source, verify=verify, config=settings, on_progress=advance)
    if call.as_json:
        print_json(result.to_dict())
    else:
        _show_migration(result, verify=verify)
    if not result.is_same:
        sys.exit(error_codes.EXIT_FINDINGS)


def _show_migration(result: MigrationResult, *, verify: bool) -> None:
    click.echo(f"From {result.source}\nTo   {result.target}")
    if not verify:
        removed = f", removed {result.removed:,} erased ones" if result.removed else ""
        click.echo(f"Copied {format_count(result.copied, 'owner', 'owners')}{removed}")
    differing = [each for each in result.compared if not each.is_same]
    shown = differing + [each for each in result.compared if each.is_same][:_MAX_SHOWN_OWNERS]
    rows = [_build_comparison_row(each) for each in shown]
    console().print(
        build_table(("…owner", ">rows", ">target rows", "hash", "target hash", ""), rows)
    )
    if len(shown) < len(result.compared):
        click.echo(f"… and {len(result.compared) - len(shown):,} more without differences")
    if result.is_same:
        click.echo("Both stores are equal.")
    elif verify:
        click.echo(
            "The stores differ: run `memolith migrate` without --verify to copy the changed owners."
        )
    else:
        click.echo("The stores differ: stop the writers of the source and run this command again.")


def _build_comparison_row(each: OwnerComparison) -> tuple[object, ...]:
    source, target = each.sums
    return (
        "(no owner)" if each.owner_id is None else each.owner_id,
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
@click.option("--repair", is_flag=True, help="Rebuild damaged derived data.")
def verify_command(call: CommandCall, *, repair: bool) -> None:
    """Check the integrity of the store: owners, records, encryption and indexes.

    --repair rebuilds derived data. Other damage is only reported: restore a backup. The exit code
    is 0 if nothing is damaged or all damage was repaired, else 16.
    """
    with (
        call.engine_factory.engine(call.load_existing_settings()) as engine,
        progress("Checking texts") as advance,
    ):
        report = engine.verify(repair=repair, on_progress=advance)
    if call.as_json:
        print_json(report)
    else:
        _show_report(report)
    if not report.is_clean:
        sys.exit(error_codes.EXIT_FINDINGS)


def _show_report(report: VerificationReport) -> None:
    counts = report.checked
    click.echo(
        f"Checked {format_count(counts.owners, 'owner', 'owners')},"
        f" {format_count(counts.memories, 'memory', 'memories')},"
        f" {format_count(counts.messages, 'message', 'messages')}"
    )
    if not report.findings:
        click.echo("No damage found.")
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
    console().print(build_table(("subject", "owner", "record", "…problem", ""), rows))


def _describe_repair(repaired: bool) -> str:  # noqa: FBT001 - the value of a column
    return "repaired" if repaired else ""


# --- `memolith reembed`


REEMBED_EXAMPLES = """
memolith reembed --provider ollama --model nomic-embed-text
memolith reembed --provider openai --model text-embedding-3-small --dimension 512
memolith reembed --abandon
"""


@command("reembed", example=REEMBED_EXAMPLES)
@click.option("--model", help="Name of the model at the provider.  [default: as configured]")
@click.option(
    "--provider",
    type=click.Choice(["local", "ollama", "openai", "sentence-transformers"]),
    help="Provider of the model.  [default: as configured]",
)
@click.option(
    "--dimension",
    type=click.IntRange(min=0),
    help="Dimension of the vectors.  [default: the model's]",
)
@click.option("--abandon", is_flag=True, help="Cancel an unfinished run and remove its vectors.")
def reembed_command(
    call: CommandCall,
    model: str | None,
    provider: str | None,
    dimension: int | None,
    *,
    abandon: bool,
) -> None:
    """Recompute all vectors with another embedding model while the store is in use.

    The new vectors replace the old ones in one step at the end. Programs that have the store open
    then fail until they are restarted with the new model. The command prints the settings for the
    new model. Repeat an interrupted command to continue.
    """
    loaded = call.load_settings()
    if abandon:
        if (model, provider, dimension) != (None, None, None):
            raise click.UsageError("--abandon cannot be combined with a model.")
        _abandon_reembed(call, loaded)
        return
    settings = replace(
        loaded.settings, embedding=_select_embedding(loaded, model, provider, dimension)
    )
    _run_reembed(call, loaded, replace(loaded, settings=settings))


def _abandon_reembed(call: CommandCall, loaded: LoadedSettings) -> None:
    from memolith.api.engine import Memolith

    is_cancelled = Memolith.abandon_reembed(config=loaded)
    text = (
        "Cancelled; the new vectors were removed" if is_cancelled else "There is no unfinished run"
    )
    call.respond(text, {"abandoned": is_cancelled})


def _run_reembed(call: CommandCall, loaded: LoadedSettings, target: LoadedSettings) -> None:
    from memolith.api.engine import Memolith

    embedder = call.engine_factory.embedder(target)
    with growing_progress("Embedding passages") as advance:
        result = Memolith.reembed(embedder=embedder, config=target, on_progress=advance)
    embedding = target.settings.embedding
    setting = {
        "provider": embedding.provider,
        "model": embedding.model,
        "dimension": embedding.dimension,
    }
    lines = [_describe_reembed(result)]
    if embedding != loaded.settings.embedding:
        lines += [
            "Add this to the configuration, or the store will not open:",
            "",
            *_format_toml(embedding),
        ]
    call.respond("\n".join(lines), {**asdict(result), "settings": setting})


def _select_embedding(
    loaded: LoadedSettings, model: str | None, provider: Any, dimension: int | None
) -> Embedding:
    """Return the settings of a model. A configured dimension applies to that model only."""
    embedding = loaded.settings.embedding
    default_dimension = embedding.dimension if model is None and provider is None else 0
    return replace(
        embedding,
        provider=provider or embedding.provider,
        model=model or embedding.model,
        dimension=default_dimension if dimension is None else dimension,
    )


def _describe_reembed(result: ReembedResult) -> str:
    vectors = format_count(result.vectors_created, "vector", "vectors")
    return f"The store uses {result.model} ({result.dimension} dimensions); {vectors} created"


def _format_toml(embedding: Embedding) -> list[str]:
    lines = [
        "[memory.embedding]",
        f'provider = "{embedding.provider}"',
        f'model = "{embedding.model}"',
    ]
    return [*lines, f"dimension = {embedding.dimension}"] if embedding.dimension else lines


# --- `memolith reset`


RESET_EXAMPLES = """
memolith reset
memolith reset --store old.db --yes
"""


@command("reset", example=RESET_EXAMPLES)
@yes_option
def reset_command(call: CommandCall, *, yes: bool) -> None:
    """Delete the store and its keys.

    The keys are deleted first: copies of the store become unreadable unless the keys were backed
    up. Works without the key, also if it was lost. Keys of other stores are kept.
    """
    settings = call.load_settings().settings
    confirm_or_abort(
        f"Delete {mask_password(settings.store)} and all memories in it?",
        is_confirmed=yes,
    )
    deleted = reset_store(settings)
    call.respond(f"Deleted: {', '.join(deleted) or 'nothing existed'}", {"deleted": deleted})
