"""`memolith key`."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command

if TYPE_CHECKING:
    from memolith.adapters.crypto.ring import KeyRing

KEY_EXAMPLES = """
memolith key backup /media/stick/memolith-keys.json --passphrase
memolith key restore /media/stick/memolith-keys.json
memolith key rotate
memolith key rotate --owner alice
"""

NEW_KEY_VARIABLE = "MEMOLITH_KEY_NEW"


@command("key", example=KEY_EXAMPLES)
@click.argument("what", type=click.Choice(["backup", "restore", "rotate"]))
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--passphrase", is_flag=True, help="Ask for a passphrase that protects the backup.")
def key_command(call: CommandCall, what: str, file: Path | None, *, passphrase: bool) -> None:
    """Back the encryption keys up, bring them back, or change them.

    backup writes the master key and the key ring into FILE, which opens every encrypted store
    there is until then: every new owner gets a key of its own, so back up again from time to
    time, and keep it apart from backups of the data. restore writes them where they belong,
    unless there are keys already.

    rotate makes a new master key; where MEMOLITH_KEY gives it, MEMOLITH_KEY_NEW gives the new one.
    With --owner it makes a new key for that owner, encrypts everything of theirs anew and
    destroys the old key. Interrupted, run it again.
    """
    if (file is None) != (what == "rotate"):
        raise click.UsageError("backup and restore need a file, rotate takes none.")
    if what == "rotate":
        _rotate_key(call)
    elif file is not None and what == "backup":
        _back_up_keys(call, file, passphrase=passphrase)
    elif file is not None:
        _restore_keys(call, file)


def _open_ring(call: CommandCall) -> KeyRing:
    from memolith.stores import open_key_ring

    return open_key_ring(call.load_settings().settings)


def _back_up_keys(call: CommandCall, file: Path, *, passphrase: bool) -> None:
    from memolith.adapters.crypto.backup import back_up_keys

    chosen = _ask_passphrase(confirm=True) if passphrase else None
    with closing(_open_ring(call)) as ring:
        back_up_keys(ring, file, chosen)
    kept = "keep it apart from backups of the data"
    call.respond(f"The keys are in {file}: {kept}", {"file": str(file)})


def _restore_keys(call: CommandCall, file: Path) -> None:
    from memolith.adapters.crypto.backup import needs_passphrase, restore_keys
    from memolith.stores import key_file

    to = key_file(call.load_settings().settings)
    passphrase = _ask_passphrase(confirm=False) if needs_passphrase(file) else None
    with closing(_open_ring(call)) as ring:
        restore_keys(file, passphrase, ring, to)
    said = {"file": str(to.path), "ring": str(ring.storage)}
    call.respond(f"The keys are in {to.path} and {ring.storage}", said)


def _rotate_key(call: CommandCall) -> None:
    if "owner" in call.options:
        with call.engine_factory.engine(call.load_settings()) as engine:
            version = engine.rotate_key(call.owner)
        call.respond(f"{call.owner} has a new key", {"owner_id": call.owner, "version": version})
        return
    from memolith.adapters.crypto.master import KeyFile, parse_master_key

    given = os.environ.get(NEW_KEY_VARIABLE, "").strip()
    with closing(_open_ring(call)) as ring:
        if not given and not isinstance(ring.source, KeyFile):
            problem = f"The key comes from the environment: give the new one in {NEW_KEY_VARIABLE}"
            raise click.UsageError(problem)
        ring.rotate(parse_master_key(given, NEW_KEY_VARIABLE) if given else None)
    file = ring.source.path if isinstance(ring.source, KeyFile) else None
    where = f"it is in {file}" if file else f"set MEMOLITH_KEY to what {NEW_KEY_VARIABLE} is"
    call.respond(f"There is a new master key: {where}", {"ring": str(ring.storage)})


def _ask_passphrase(*, confirm: bool) -> str:
    text: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return text
