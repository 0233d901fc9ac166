"""`memolith serve`."""

from __future__ import annotations

from dataclasses import replace

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.errors import InvalidInput

SERVE_EXAMPLES = """
memolith serve
memolith serve --port 9000
memolith serve --host 0.0.0.0 --processes 4
"""


@command("serve", example=SERVE_EXAMPLES)
@click.option("--host", metavar="ADDRESS", help="Where to listen (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port (8377).")
@click.option("--processes", type=click.IntRange(1, 256), help="How many serve together (1).")
@click.option(
    "--no-worker", is_flag=True, help="Leave what waits, and what is due, to `memolith worker`."
)
def serve_command(
    call: CommandCall, host: str | None, port: int | None, processes: int | None, *, no_worker: bool
) -> None:
    """Serve the store over HTTP until told to stop (Ctrl-C, SIGTERM).

    On this machine, and while there are no keys, everybody here may call, for one owner. Listening
    anywhere else needs keys: see `memolith api-key`. GET /openapi.json says what can be called.
    """
    from memolith.adapters.clients.wire import require_package

    require_package("uvicorn", "serve", extra="serve")
    require_package("fastapi", "serve", extra="serve")
    from memolith.entrypoints.http import processes as several
    from memolith.entrypoints.http import serving

    loaded = call.load_settings()
    if no_worker:
        loaded = replace(loaded, settings=replace(loaded.settings, worker=False))
    own = loaded.settings.serve
    own = replace(
        own,
        host=host or own.host,
        port=own.port if port is None else port,
        processes=processes or own.processes,
    )
    plan = serving.ServerPlan(loaded, own, own.owner or _get_login_name_or_empty(call))
    if own.processes > 1:
        click.get_current_context().exit(several.serve_with_workers(plan))
    with call.engine_factory.engine(loaded) as engine:
        open_for = serving.build_server_options(own, engine, plan.owner).anonymous_owner
        with several.open_listener(plan) as listener:
            told = f", open to this machine for {open_for!r}" if open_for else ""
            address = several.get_address(listener)
            click.echo(f"memolith: serving at {address}{told}", err=True)
            serving.run_server(engine, plan, listener, lambda: serving.log_address(address))


def _get_login_name_or_empty(call: CommandCall) -> str:
    """Return the login name; empty where the user has none: it counts only without keys."""
    try:
        return call.owner
    except InvalidInput:
        return ""
