"""`memolith reembed`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import format_count
from memolith.entrypoints.cli.progress import growing_progress

if TYPE_CHECKING:
    from memolith.config import LoadedSettings
    from memolith.config.settings import Embedding
    from memolith.services.reembed import ReembedResult

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
    from memolith.engine import Memolith

    was = Memolith.abandon_reembed(config=loaded)
    said = "What was made of new vectors is removed" if was else "Nothing was under way"
    call.respond(said, {"abandoned": was})


def _run_reembed(call: CommandCall, loaded: LoadedSettings, chosen: LoadedSettings) -> None:
    from memolith.engine import Memolith

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
    loaded: LoadedSettings, model: str | None, provider: str | None, dimension: int | None
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
