"""`memolith eval`."""

from __future__ import annotations

import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.imports import read_conversations, select_conversations
from memolith.entrypoints.cli.output import console, format_count, print_json
from memolith.entrypoints.cli.progress import progress
from memolith.entrypoints.cli.wiring import get_temporary_settings
from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memolith.evals.conversations import Conversation
    from memolith.evals.runner import Figures, Outcome, System

EVAL_EXAMPLES = """
memolith eval locomo locomo10.json --sample conv-26
memolith eval beam beam.json --no-baselines --json
memolith eval jsonl mine.jsonl
"""

DATA_SET_FORMATS = ("locomo", "beam", "jsonl")

_REPORT_WIDTH = 122
"""Wide enough for all measures, where there is no terminal to ask."""

# Any number: it only makes the intervals of two runs over the same outcomes the same.
_SEED = 20240508


@command("eval", example=EVAL_EXAMPLES)
@click.argument("format", type=click.Choice(DATA_SET_FORMATS), metavar="FORMAT")
@click.argument("file")
@click.option("--sample", "sample_ids", multiple=True, help="Only this conversation. Repeatable.")
@click.option("--samples", type=click.IntRange(min=1), help="Only so many conversations.")
@click.option(
    "--baselines/--no-baselines",
    default=True,
    show_default=True,
    help="Measure cosine, BM25 and their sum beside it.",
)
def eval_command(
    call: CommandCall,
    format: str,
    file: str,
    sample_ids: tuple[str, ...],
    samples: int | None,
    *,
    baselines: bool,
) -> None:
    """Measure how well the right messages are found in a data set.

    FORMAT is locomo, beam or jsonl; FILE is the data set, which does not come with Memolith. Works
    in a store of its own and leaves yours alone.

    jsonl is data of your own, an object a line: messages with type (message), conversation,
    session, id, at and text, and questions with type (question), conversation, text and evidence,
    a list of ids of messages. docs/reference/cli.md has an example and the other fields.
    """
    from memolith.evals.report import Report, render_report, report_as_json

    found = select_conversations(read_conversations(format, file), sample_ids)[:samples]
    if not any(question.evidence for each in found for question in each.questions):
        raise InvalidInput(file, "has no question whose evidence is known")
    report = Report(
        f"{format}, {format_count(len(found), 'conversation', 'conversations')}",
        _measure_systems(call, found, baselines=baselines),
        _describe_environment(Path(file)),
    )
    if call.as_json:
        print_json(report_as_json(report))
    else:
        out = console(_REPORT_WIDTH)
        out.print(render_report(report, columns=out.width))


def _measure_systems(
    call: CommandCall, found: Sequence[Conversation], *, baselines: bool
) -> dict[str, Mapping[str, Figures]]:
    import numpy as np

    from memolith.evals.engine import QuestionClock, build_system
    from memolith.evals.runner import compute_figures

    loaded, clock = get_temporary_settings(call.load_settings()), QuestionClock()
    embedder = call.engine_factory.embedder(loaded)
    with tempfile.TemporaryDirectory(prefix="memolith-") as folder:
        store = Path(folder, "eval.db")
        with call.engine_factory.engine(
            loaded, store=store, embedder=embedder, clock=clock
        ) as engine:
            systems: dict[str, System] = {"memolith": build_system(engine, clock)}
            if baselines:
                from memolith.evals.baselines import Baselines

                systems |= Baselines(embedder, call.engine_factory.counter(loaded)).systems()
            return {
                name: compute_figures(
                    _run_system(system, found, name), np.random.default_rng(_SEED)
                )
                for name, system in systems.items()
            }


def _run_system(system: System, found: Sequence[Conversation], name: str) -> tuple[Outcome, ...]:
    from memolith.evals.runner import count_steps
    from memolith.evals.runner import run_questions as ask

    with progress(f"Measuring {name}", count_steps(found)) as advance:
        return ask(system, found, on_progress=advance)


def _describe_environment(file: Path) -> dict[str, str]:
    from importlib.metadata import version

    return {
        "data": file.name,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "versions": f"memolith {version('memolith')}, Python {platform.python_version()}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",  # noqa: TID251 - when it was measured
    }
