"""The commands `config`, `profile` and `key`."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.cli.context import CommandCall, command
from memolith.cli.output import build_table, console, format_count, print_json, progress
from memolith.config import LoadedSettings
from memolith.config.reference import iter_effective_settings
from memolith.errors import InvalidConfiguration
from memolith.stores import key_file, open_key_ring

if TYPE_CHECKING:
    from memolith.adapters.crypto.key_ring import KeyRing
    from memolith.services.switch_profile import ProfileSwitch

CONFIG_EXAMPLES = """
memolith config show
MEMOLITH_RAG_LIMIT=10 memolith config show --json
"""


@command("config", example=CONFIG_EXAMPLES)
@click.argument("action", type=click.Choice(["show"]), default="show")
def config_command(call: CommandCall, action: str) -> None:
    """Show all settings with their values and origins. Passwords are masked."""
    del action  # the only action so far
    rows = list(iter_effective_settings(_load_fitted_settings(call)))
    if call.as_json:
        print_json(rows)
        return
    cells = ((row.name, _format_value(row.value), row.origin, row.note) for row in rows)
    console().print(build_table(("setting", "…value", "…origin", "note"), cells))


def _load_fitted_settings(call: CommandCall) -> LoadedSettings:
    """Return the settings with the thresholds of the configured embedder."""
    from memolith.config.profiles import apply_embedder_thresholds

    loaded = call.load_settings()
    try:
        embedder = call.engine_factory.embedder(loaded)
    except InvalidConfiguration:
        return loaded  # show the settings anyway; commands that need the model report the error
    return apply_embedder_thresholds(loaded, embedder.name)


def _format_value(value: object) -> str:
    """Return a value in the notation of the configuration file."""
    import json

    return json.dumps(value, ensure_ascii=False)


# --- `memolith profile`


PROFILE_EXAMPLES = """
memolith profile list
memolith profile show
memolith profile switch facts --dry-run
memolith profile switch facts --owner alice
"""


@command("profile", example=PROFILE_EXAMPLES)
@click.argument("action", type=click.Choice(["list", "show", "switch"]))
@click.argument("name", required=False)
@click.option("--dry-run", is_flag=True, help="Show the changes of a switch without making them.")
def profile_command(call: CommandCall, action: str, name: str | None, *, dry_run: bool) -> None:
    """List the profiles, show the owner's, or switch the owner to the profile NAME.

    A switch converts the kinds of memories by a fixed map, and embeds records if the new profile
    needs it. Previous kinds are stored, so switching back loses nothing.
    """
    if (name is None) == (action == "switch"):
        raise click.UsageError("NAME is required for switch, and not allowed for list and show.")
    if name is not None:
        _switch_profile(call, name, dry_run=dry_run)
    elif action == "list":
        _list_profiles(call)
    else:
        with call.open_memory() as memory:
            profile = memory.profile()
        call.respond(profile, {"owner_id": call.owner, "profile": profile})


def _list_profiles(call: CommandCall) -> None:
    with call.engine_factory.engine(call.load_settings()) as engine:
        profiles = engine.profiles()
    if call.as_json:
        print_json(profiles)
        return
    rows = [(each.name, each.description, ", ".join(each.kinds)) for each in profiles]
    console().print(build_table(("profile", "use case", "…kinds"), rows))


def _switch_profile(call: CommandCall, name: str, *, dry_run: bool) -> None:
    with call.open_memory() as memory, progress("Creating vectors") as advance:
        switch = memory.switch_profile(name, dry_run=dry_run, on_progress=advance)
    if call.as_json:
        print_json(switch)
        return
    rows = [(old, new, str(count)) for old, new, count in switch.kinds]
    if rows:
        console().print(build_table(("kind", "new kind", "memories"), rows))
    click.echo(_describe_switch(call.owner, switch))


def _describe_switch(owner: str, switch: ProfileSwitch) -> str:
    if switch.before == switch.after:
        return f"{owner} already has the profile {switch.after}"
    embedding = f"; {format_count(switch.messages, 'message', 'messages')} to embed" * bool(
        switch.messages
    )
    verb = "would switch" if switch.dry_run else "switched"
    return f"{owner} {verb} from {switch.before} to {switch.after}{embedding}"


# --- `memolith key`


KEY_EXAMPLES = """
memolith key backup /media/stick/memolith-keys.json --passphrase
memolith key restore /media/stick/memolith-keys.json
memolith key rotate
memolith key rotate --owner alice
"""

NEW_KEY_VARIABLE = "MEMOLITH_KEY_NEW"


@command("key", example=KEY_EXAMPLES)
@click.argument("action", type=click.Choice(["backup", "restore", "rotate"]))
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--passphrase", is_flag=True, help="Encrypt the backup with a passphrase (prompted).")
def key_command(call: CommandCall, action: str, file: Path | None, *, passphrase: bool) -> None:
    """Back up, restore or rotate the encryption keys.

    backup writes the master key and the key ring to FILE, which can then decrypt every existing
    store. Each new owner gets a new key: repeat the backup regularly, and keep it apart from
    backups of the data. restore installs the keys, unless keys exist already.

    rotate creates a new master key. If MEMOLITH_KEY provides the key, MEMOLITH_KEY_NEW must provide
    the new one. With --owner, it creates a new key for that owner, reencrypts all records and
    destroys the old key. Repeat an interrupted rotation.
    """
    if (file is None) != (action == "rotate"):
        raise click.UsageError(
            "FILE is required for backup and restore, and not allowed for rotate."
        )
    if action == "rotate":
        _rotate_key(call)
    elif file is not None and action == "backup":
        _back_up_keys(call, file, passphrase=passphrase)
    elif file is not None:
        _restore_keys(call, file)


def _open_ring(call: CommandCall) -> KeyRing:
    return open_key_ring(call.load_settings().settings)


def _back_up_keys(call: CommandCall, file: Path, *, passphrase: bool) -> None:
    from memolith.adapters.crypto.key_backup import back_up_keys

    secret = _ask_passphrase(confirm=True) if passphrase else None
    with closing(_open_ring(call)) as ring:
        back_up_keys(ring, file, secret)
    advice = "keep the file apart from backups of the data"
    call.respond(f"Wrote the keys to {file}; {advice}", {"file": str(file)})


def _restore_keys(call: CommandCall, file: Path) -> None:
    from memolith.adapters.crypto.key_backup import needs_passphrase, restore_keys

    target = key_file(call.load_settings().settings)
    passphrase = _ask_passphrase(confirm=False) if needs_passphrase(file) else None
    with closing(_open_ring(call)) as ring:
        restore_keys(file, passphrase, ring, target)
    data = {"file": str(target.path), "ring": str(ring.storage)}
    call.respond(f"Restored the keys to {target.path} and {ring.storage}", data)


def _rotate_key(call: CommandCall) -> None:
    if "owner" in call.options:
        with call.engine_factory.engine(call.load_settings()) as engine:
            version = engine.rotate_key(call.owner)
        call.respond(
            f"Rotated the key of {call.owner}", {"owner_id": call.owner, "version": version}
        )
        return
    from memolith.adapters.crypto.master_key import KeyFile, parse_master_key

    new_key = os.environ.get(NEW_KEY_VARIABLE, "").strip()
    with closing(_open_ring(call)) as ring:
        if not new_key and not isinstance(ring.source, KeyFile):
            problem = f"MEMOLITH_KEY provides the key: set the new one in {NEW_KEY_VARIABLE}"
            raise click.UsageError(problem)
        ring.rotate(parse_master_key(new_key, NEW_KEY_VARIABLE) if new_key else None)
    file = ring.source.path if isinstance(ring.source, KeyFile) else None
    where = f"stored in {file}" if file else f"set MEMOLITH_KEY to the value of {NEW_KEY_VARIABLE}"
    call.respond(f"Rotated the master key; {where}", {"ring": str(ring.storage)})


def _ask_passphrase(*, confirm: bool) -> str:
    text: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return text
