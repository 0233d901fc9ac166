"""`memolith mcp`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memolith.entrypoints.cli.calls import CommandCall, command, get_login_name
from memolith.entrypoints.cli.output import print_json
from memolith.entrypoints.mcp.clients import CLIENTS, ClientEnvironment

if TYPE_CHECKING:
    from memolith.config import LoadedSettings

MCP_EXAMPLES = """
memolith mcp
memolith mcp --owner alice --store alice.db
memolith mcp install --client claude-desktop
memolith mcp install --client vscode --write
"""

_MODULE_ARGUMENTS = ["-c", "from memolith.entrypoints.cli.main import main; main()"]


@command("mcp", example=MCP_EXAMPLES)
@click.argument("action", type=click.Choice(["run", "install"]), default="run")
@click.option(
    "--client", type=click.Choice(list(CLIENTS)), help="Only for this client; with install."
)
@click.option("--write", is_flag=True, help="Write it into the client's file; with install.")
def mcp_command(call: CommandCall, action: str, client: str | None, *, write: bool) -> None:
    """Give the memory to an agent as tools, by the Model Context Protocol.

    Serves one owner over standard input and output, for a client that starts this command.
    "memolith serve" serves the same at /mcp, for clients that call over HTTP.

    "install" prints what a client's configuration must say to start it so, with the store and the
    owner that this command was given. With --write it is put into the client's file; all else that
    stands there is kept.
    """
    if action == "install":
        _install_client(call, client, write=write)
        return
    if client is not None or write:
        raise click.UsageError("--client and --write go with install.")
    from memolith.adapters.clients.wire import require_package

    require_package("mcp", "mcp")
    from memolith.entrypoints.mcp import stdio

    loaded = call.load_settings()
    with call.engine_factory.engine(loaded) as engine:
        stdio.run_stdio(engine.owner(_get_mcp_owner(call, loaded)))


def _get_mcp_owner(call: CommandCall, loaded: LoadedSettings) -> str:
    """Return whose memory it is: as given, as configured, or of who is logged in."""
    if "owner" in call.options:
        return call.owner
    return loaded.settings.serve.owner or get_login_name()


def _install_client(call: CommandCall, client: str | None, *, write: bool) -> None:
    if write and client is None:
        raise click.UsageError("Name the client whose file is to be written: --client.")
    loaded = call.load_settings()
    started = [*_find_program(), *_build_arguments(call, loaded), "mcp"]
    chosen = {client: CLIENTS[client]} if client else CLIENTS
    found = [
        {
            "client": name,
            "file": str(each.locate_config(_get_surroundings())),
            "config": each.build_config(started),
            "written": write,
        }
        for name, each in chosen.items()
    ]
    if write and client is not None:
        _write_client_config(client, started)
    if call.as_json:
        print_json(found)
    else:
        click.echo("\n".join(_describe_installation(each) for each in found).rstrip())


def _describe_installation(found: dict[str, Any]) -> str:
    title = CLIENTS[found["client"]].title
    if found["written"]:
        return f"{title}: written to {found['file']}; start it anew."
    lines = json.dumps(found["config"], indent=2, ensure_ascii=False)
    return f"{title}, in {found['file']}:\n{lines}\n"


def _write_client_config(client: str, started: list[str]) -> None:
    from memolith.adapters.folders import make_folder

    path = CLIENTS[client].locate_config(_get_surroundings()).resolve()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = CLIENTS[client].merge_config(before, started)
    make_folder(path.parent, 0o755)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(after, encoding="utf-8")
    if path.exists():
        shutil.copymode(path, beside)
    beside.replace(path)


def _get_surroundings() -> ClientEnvironment:
    appdata = os.environ.get("APPDATA")
    return ClientEnvironment(
        Path.home(), Path.cwd(), sys.platform, Path(appdata) if appdata else None
    )


def _find_program() -> list[str]:
    """Return how this program is started from anywhere: clients know no search path."""
    beside = shutil.which("memolith", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("memolith")
    return [str(Path(found).absolute())] if found else [sys.executable, *_MODULE_ARGUMENTS]


def _build_arguments(call: CommandCall, loaded: LoadedSettings) -> list[str]:
    """Return the options that name the store and the owner in force.

    An address of a database may hold a password, which has no place in a list of processes: it
    must stand in the configuration, or in the client's environment.
    """
    found = ["--owner", _get_mcp_owner(call, loaded)]
    if loaded.file is not None:
        found += ["--config", str(loaded.file.absolute())]
    store = loaded.settings.store
    if "://" not in store:
        found += ["--store", str(Path(store).absolute())]
    elif loaded.origins.get("store", "").startswith(("argument", "environment")):
        click.echo(
            "memolith: the store is a database: name it in the configuration, or as MEMOLITH_STORE"
            " in the environment of the client",
            err=True,
        )
    if "profile" in call.options:
        found += ["--profile", str(call.options["profile"])]
    return found
