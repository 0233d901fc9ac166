"""The commands `serve`, `mcp` and `api-key`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memolith.adapters.files import make_folder
from memolith.adapters.models.http import require_package
from memolith.cli.context import CommandCall, command, get_login_name
from memolith.cli.output import build_table, console, format_time, print_json
from memolith.config import LoadedSettings
from memolith.errors import InvalidInput
from memolith.server.mcp.clients import CLIENTS, ClientEnvironment

if TYPE_CHECKING:
    from memolith.api.engine import Memolith

SERVE_EXAMPLES = """
memolith serve
memolith serve --port 9000
memolith serve --host 0.0.0.0 --processes 4
"""


@command("serve", example=SERVE_EXAMPLES)
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on.  [default: 8377]")
@click.option(
    "--processes", type=click.IntRange(1, 256), help="Number of server processes.  [default: 1]"
)
@click.option("--no-worker", is_flag=True, help="Leave background work to `memolith worker`.")
def serve_command(
    call: CommandCall, host: str | None, port: int | None, processes: int | None, *, no_worker: bool
) -> None:
    """Serve the store over HTTP until Ctrl-C or SIGTERM.

    Without API keys, the service accepts only requests from this machine, for one owner. Listening
    on other addresses requires API keys: see `memolith api-key`. GET /openapi.json describes the
    API.
    """
    require_package("uvicorn", "serve", extra="serve")
    require_package("fastapi", "serve", extra="serve")
    from memolith.server import serve
    from memolith.server import workers as several

    loaded = call.load_settings()
    if no_worker:
        loaded = replace(loaded, settings=replace(loaded.settings, worker=False))
    options = loaded.settings.serve
    options = replace(
        options,
        host=host or options.host,
        port=options.port if port is None else port,
        processes=processes or options.processes,
    )
    plan = serve.ServerPlan(loaded, options, options.owner or _get_login_name_or_empty(call))
    if options.processes > 1:
        click.get_current_context().exit(several.serve_with_workers(plan))
    with call.engine_factory.engine(loaded) as engine:
        open_for = serve.build_server_options(options, engine, plan.owner).anonymous_owner
        with several.open_listener(plan) as listener:
            note = f", without authentication for owner {open_for!r}" if open_for else ""
            address = several.get_address(listener)
            click.echo(f"memolith: serving at {address}{note}", err=True)
            serve.run_server(engine, plan, listener, lambda: serve.log_address(address))


def _get_login_name_or_empty(call: CommandCall) -> str:
    """Return the login name. Empty if there is none: it is only used without API keys."""
    try:
        return call.owner
    except InvalidInput:
        return ""


# --- `memolith mcp`


MCP_EXAMPLES = """
memolith mcp
memolith mcp --owner alice --store alice.db
memolith mcp install --client claude-desktop
memolith mcp install --client vscode --write
"""

_MODULE_ARGUMENTS = ["-c", "from memolith.cli.main import main; main()"]


@command("mcp", example=MCP_EXAMPLES)
@click.argument("action", type=click.Choice(["run", "install"]), default="run")
@click.option("--client", type=click.Choice(list(CLIENTS)), help="With install: select one client.")
@click.option("--write", is_flag=True, help="With install: write the client's configuration file.")
def mcp_command(call: CommandCall, action: str, client: str | None, *, write: bool) -> None:
    """Serve the memory of one owner to an agent, as MCP tools.

    Communicates over standard input and output with the client that starts this command. `memolith
    serve` serves the same tools over HTTP at /mcp.

    "install" prints the configuration of MCP clients that starts this command with the current
    store and owner. --write inserts it into the client's configuration file.
    """
    if action == "install":
        _install_client(call, client, write=write)
        return
    if client is not None or write:
        raise click.UsageError("--client and --write are only for install.")
    require_package("mcp", "mcp")
    from memolith.server.mcp import server

    loaded = call.load_settings()
    with call.engine_factory.engine(loaded) as engine:
        server.run_stdio(engine.owner(_get_mcp_owner(call, loaded)))


def _get_mcp_owner(call: CommandCall, loaded: LoadedSettings) -> str:
    """Return the owner id: from the option, the settings or the login name."""
    if "owner" in call.options:
        return call.owner
    return loaded.settings.serve.owner or get_login_name()


def _install_client(call: CommandCall, client: str | None, *, write: bool) -> None:
    if write and client is None:
        raise click.UsageError("--write needs --client.")
    loaded = call.load_settings()
    started = [*_find_program(), *_build_arguments(call, loaded), "mcp"]
    clients = {client: CLIENTS[client]} if client else CLIENTS
    installations = [
        {
            "client": name,
            "file": str(each.locate_config(_get_client_environment())),
            "config": each.build_config(started),
            "written": write,
        }
        for name, each in clients.items()
    ]
    if write and client is not None:
        _write_client_config(client, started)
    if call.as_json:
        print_json(installations)
    else:
        click.echo("\n".join(_describe_installation(each) for each in installations).rstrip())


def _describe_installation(installation: dict[str, Any]) -> str:
    title = CLIENTS[installation["client"]].title
    if installation["written"]:
        return f"{title}: written to {installation['file']}; restart the client."
    lines = json.dumps(installation["config"], indent=2, ensure_ascii=False)
    return f"{title}, in {installation['file']}:\n{lines}\n"


def _write_client_config(client: str, started: list[str]) -> None:
    path = CLIENTS[client].locate_config(_get_client_environment()).resolve()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = CLIENTS[client].merge_config(before, started)
    make_folder(path.parent, 0o755)
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(after, encoding="utf-8")
    if path.exists():
        shutil.copymode(path, temporary)
    temporary.replace(path)


def _get_client_environment() -> ClientEnvironment:
    appdata = os.environ.get("APPDATA")
    return ClientEnvironment(
        Path.home(), Path.cwd(), sys.platform, Path(appdata) if appdata else None
    )


def _find_program() -> list[str]:
    """Return the absolute command that starts this program: clients may have another PATH."""
    sibling = shutil.which("memolith", path=str(Path(sys.executable).parent))
    program = sibling or shutil.which("memolith")
    return [str(Path(program).absolute())] if program else [sys.executable, *_MODULE_ARGUMENTS]


def _build_arguments(call: CommandCall, loaded: LoadedSettings) -> list[str]:
    """Return the options that select the current store and owner.

    A database URL can contain a password, which must not appear in process lists. It has to be in
    the configuration or in the client's environment.
    """
    args = ["--owner", _get_mcp_owner(call, loaded)]
    if loaded.file is not None:
        args += ["--config", str(loaded.file.absolute())]
    store = loaded.settings.store
    if "://" not in store:
        args += ["--store", str(Path(store).absolute())]
    elif loaded.origins.get("store", "").startswith(("argument", "environment")):
        click.echo(
            "memolith: the store is a database: set its URL in the configuration, or as"
            " MEMOLITH_STORE in the environment of the client",
            err=True,
        )
    if "profile" in call.options:
        args += ["--profile", str(call.options["profile"])]
    return args


# --- `memolith api-key`


API_KEY_EXAMPLES = """
memolith api-key create phone --owner alice
memolith api-key create proxy --role service
memolith api-key list
memolith api-key revoke phone
"""

_API_KEY_COLUMNS = ("name", "role", "…owner", "created", "revoked")


@command("api-key", example=API_KEY_EXAMPLES)
@click.argument("action", type=click.Choice(["create", "list", "revoke"]))
@click.argument("name", required=False)
@click.option(
    "--role",
    type=click.Choice(["owner", "service", "admin"]),
    default="owner",
    help="owner: one owner. service: any owner. admin: also the whole store.",
)
def api_key_command(call: CommandCall, action: str, name: str | None, role: str) -> None:
    """Create, list and revoke the API keys of `memolith serve`.

    create prints the new key once: the store contains only its digest. revoke takes effect
    immediately on all servers.
    """
    if (name is None) != (action == "list"):
        raise click.UsageError("NAME is required for create and revoke, and not allowed for list.")
    if action == "create" and role != "owner" and "owner" in call.options:
        raise click.UsageError(
            f"--owner is only for --role owner: a key of role {role} has no owner."
        )
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        if name is None:
            _list_api_keys(call, engine)
        elif action == "create":
            _create_api_key(call, engine, name, role)
        else:
            engine.revoke_api_key(name)
            call.respond(f"Revoked {name}", {"revoked": name})


def _create_api_key(call: CommandCall, engine: Memolith, name: str, role: str) -> None:
    created = engine.create_api_key(name, role=role, owner=call.owner if role == "owner" else None)
    if call.as_json:
        print_json(created)
        return
    click.echo(created.secret)
    click.echo("memolith: store the key safely; it cannot be shown again", err=True)


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
