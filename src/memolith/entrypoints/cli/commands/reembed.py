"""`memolith reembed`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import counted
from memolith.entrypoints.cli.progress import growing_progress

if TYPE_CHECKING:
    from memolith.config import Loaded
    from memolith.config.settings import Embedding
    from memolith.services.reembed import Reembedded

EXAMPLE = """
memolith reembed --provider ollama --model nomic-embed-text
memolith reembed --provider openai --model text-embedding-3-small --dimension 512
memolith reembed --abandon
"""


@command("reembed", example=EXAMPLE)
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
def run(
    call: Call, model: str | None, provider: str | None, dimension: int | None, *, abandon: bool
) -> None:
    """Make all vectors of the store anew by another embedding model, while it is in use.

    The new vectors are made beside those in use, and taken into use in one step. Until then
    programs that have the store open go on as before; after it they are refused and must be
    started again with the new model, for which the configuration must name it: at the end the
    lines for that are printed. Interrupted, even killed, the same command goes on where it was.
    """
    loaded = call.settings()
    if abandon:
        if (model, provider, dimension) != (None, None, None):
            raise click.UsageError("--abandon takes no model.")
        _abandon(call, loaded)
        return
    chosen = replace(loaded.settings, embedding=_chosen(loaded, model, provider, dimension))
    _reembed(call, loaded, replace(loaded, settings=chosen))


def _abandon(call: Call, loaded: Loaded) -> None:
    from memolith.engine import Memolith

    was = Memolith.abandon_reembed(config=loaded)
    said = "What was made of new vectors is removed" if was else "Nothing was under way"
    call.say(said, {"abandoned": was})


def _reembed(call: Call, loaded: Loaded, chosen: Loaded) -> None:
    from memolith.engine import Memolith

    embedder = call.wiring.embedder(chosen)
    with growing_progress("Embedding passages") as advance:
        done = Memolith.reembed(embedder=embedder, config=chosen, advance=advance)
    own = chosen.settings.embedding
    setting = {"provider": own.provider, "model": own.model, "dimension": own.dimension}
    lines = [_told(done)]
    if own != loaded.settings.embedding:
        lines += ["Let the configuration say so, or the store will not open:", "", *_toml(own)]
    call.say("\n".join(lines), {**asdict(done), "settings": setting})


def _chosen(
    loaded: Loaded, model: str | None, provider: str | None, dimension: int | None
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


def _told(done: Reembedded) -> str:
    made = counted(done.made, "vector was", "vectors were")
    return f"The store's vectors are of {done.model} ({done.dimension} dimensions): {made} made"


def _toml(own: Embedding) -> list[str]:
    lines = ["[memory.embedding]", f'provider = "{own.provider}"', f'model = "{own.model}"']
    return [*lines, f"dimension = {own.dimension}"] if own.dimension else lines
