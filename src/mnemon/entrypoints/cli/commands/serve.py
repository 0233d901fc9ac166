"""`mnemon serve`."""

from __future__ import annotations

import os
from dataclasses import replace

import click

from mnemon.entrypoints.cli.calls import Call, command

EXAMPLE = """
mnemon serve
mnemon serve --port 9000
mnemon serve --host 0.0.0.0
"""


@command("serve", example=EXAMPLE)
@click.option("--host", metavar="ADDRESS", help="Where to listen (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port (8377).")
def run(call: Call, host: str | None, port: int | None) -> None:
    """Serve the store over HTTP until told to stop (Ctrl-C, SIGTERM).

    On this machine, and while there are no keys, everybody here may call, for one owner. Listening
    anywhere else needs keys: see `mnemon api-key`. GET /openapi.json says what can be called.
    """
    from mnemon.adapters.clients.wire import need

    need("uvicorn", "serve", extra="serve")
    need("fastapi", "serve", extra="serve")
    from mnemon.entrypoints.http import answering, serving
    from mnemon.entrypoints.http.proxying.configured import configured, proxying

    loaded = call.settings()
    upstream = configured(loaded.settings.chat, os.environ)
    own = loaded.settings.serve
    own = replace(own, host=host or own.host, port=own.port if port is None else port)
    with call.wiring.engine(loaded) as engine:
        how = serving.serving(own, engine, lambda: call.owner)
        how = replace(how, upstream=upstream, proxying=proxying(loaded.settings))
        open_for = f", open to this machine for {how.open_for!r}" if how.open_for else ""
        click.echo(f"mnemon: serving at http://{own.host}:{own.port}{open_for}", err=True)
        serving.run(engine, own, how, answering.devices(engine, loaded.settings, os.environ))
