"""The commands `audit` and `eval`."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from memolith import error_codes
from memolith.cli.commands.transfer import open_source, read_conversations, select_conversations
from memolith.cli.context import CommandCall, command, get_temporary_settings
from memolith.cli.output import (
    build_table,
    console,
    format_count,
    plain_text,
    print_json,
    progress,
    to_one_line,
)
from memolith.domain.reports import Audit, AuditCategory, AuditExample
from memolith.errors import InvalidInput
from memolith.evals.datasets import Conversation
from memolith.import_export.memories import MEMORY_FORMATS, MemoryFormat, read_memories

if TYPE_CHECKING:
    from memolith.evals.runner import Figures, Outcome, System

AUDIT_EXAMPLES = """
memolith audit
memolith audit mem0.json --examples 3
memolith audit memories.jsonl --no-model --fail-above 5%
memolith audit backup.jsonl --format memolith --json
"""

_MAX_EXAMPLE_CHARS = 150


def _parse_share(_call: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """Return a share written as "5%" or "0.05", in 0..1.

    Raises:
        click.BadParameter: The text is not a share.
    """
    if value is None:
        return None
    text = value.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{text!r} is not a share, such as 5% or 0.05")
    return share


@command("audit", example=AUDIT_EXAMPLES)
@click.argument("file", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(MEMORY_FORMATS),
    help="Format of FILE.  [default: detected]",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0, max=1_000),
    default=5,
    show_default=True,
    help="Number of examples for each category.",
)
@click.option(
    "--fail-above",
    callback=_parse_share,
    metavar="SHARE",
    help="Exit with 16 if a larger share is junk: 5% or 0.05.",
)
@click.option("--no-model", is_flag=True, help="Do not search for near duplicates.")
def audit_command(
    call: CommandCall,
    file: str | None,
    format_: str | None,
    examples: int,
    fail_above: float | None,
    *,
    no_model: bool,
) -> None:
    """Report memories that are not worth keeping: the owner's, or those in FILE.

    Junk are duplicates (the same words), fragments (incomplete sentences), filler (greetings,
    thanks, offers of help, refusals) and echoes (recalled memories or prompts, stored as new). Near
    duplicates are listed separately: they may differ in meaning.

    Without FILE, the active memories of the owner are audited. FILE is an export of mem0 (JSON from
    get_all()), JSON Lines (strings, or objects with memory, content, text or data), an export of
    Memolith, or - for standard input. Nothing is changed or stored.
    """
    audit = (
        _audit_owner(call, examples, near=not no_model)
        if file is None
        else _audit_file(
            call, file, cast("MemoryFormat | None", format_), examples, near=not no_model
        )
    )
    if call.as_json:
        print_json(audit)
    else:
        _show_audit(audit, call.owner if file is None else file)
    if fail_above is not None and audit.rate > fail_above:
        click.echo(
            f"memolith: junk share {_format_percent(audit.rate)}"
            f" exceeds {_format_percent(fail_above)}",
            err=True,
        )
        sys.exit(error_codes.EXIT_FINDINGS)


def _audit_owner(call: CommandCall, examples: int, *, near: bool) -> Audit:
    with call.open_memory() as memory:
        return memory.audit(examples=examples, near=near)


def _audit_file(
    call: CommandCall, file: str, format_: MemoryFormat | None, examples: int, *, near: bool
) -> Audit:
    from memolith.services.audit import SemanticComparison, audit_memories

    comparison = (
        SemanticComparison.from_embedder(call.engine_factory.embedder(call.load_settings()))
        if near
        else None
    )
    with open_source(file) as (stream, name), progress(f"Auditing {file}") as advance:
        entries = read_memories(stream, name, format_)
        return audit_memories(entries, comparison, examples=examples, advance=advance)


def _show_audit(audit: Audit, source: str) -> None:
    click.echo(f"{format_count(audit.memories, 'memory', 'memories')} of {source}")
    if not audit.memories:
        return
    rows = [
        (name, f"{category.count:,}", _format_percent(category.rate), _format_reasons(category))
        for name, category in _iter_shares(audit)
    ]
    rows.append(("junk", f"{audit.junk:,}", _format_percent(audit.rate), ""))
    if audit.near is not None:
        note = f"of {audit.compared:,} compared; not counted as junk"
        rows.append(("near", f"{audit.near.count:,}", _format_percent(audit.near.rate), note))
    console().print(build_table(("", ">memories", ">share", "…"), rows))
    for name, category in _iter_shares(audit):
        _show_examples(name, category)
    if audit.near is not None:
        _show_examples("near", audit.near)


def _iter_shares(audit: Audit) -> Iterator[tuple[str, AuditCategory]]:
    yield "duplicates", audit.duplicates
    yield "fragments", audit.fragments
    yield "filler", audit.filler
    yield "echoes", audit.echoes


def _show_examples(name: str, category: AuditCategory) -> None:
    from rich.padding import Padding

    if not category.examples:
        return
    screen, remaining = console(), category.count - len(category.examples)
    screen.print(plain_text(f"{name}, and {remaining:,} more" if remaining else name, "bold"))
    for each in category.examples:
        screen.print(Padding(plain_text(_shorten(each.text)), (0, 0, 0, 2), expand=False))
        for line in _iter_example_details(each):
            screen.print(Padding(plain_text(line, "dim"), (0, 0, 0, 4), expand=False))
    screen.print()


def _iter_example_details(example: AuditExample) -> Iterator[str]:
    yield to_one_line(f"{example.reason}: {example.id}")
    if example.duplicate_of is not None:
        similarity = "" if example.similarity is None else f" ({example.similarity:.2f})"
        yield to_one_line(f"duplicate of {example.duplicate_of}{similarity}")


def _shorten(text: str) -> str:
    line = to_one_line(text)
    return line if len(line) <= _MAX_EXAMPLE_CHARS else f"{line[: _MAX_EXAMPLE_CHARS - 1]}…"


def _format_reasons(category: AuditCategory) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in category.reasons.items())


def _format_percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


# --- `memolith eval`


EVAL_EXAMPLES = """
memolith eval locomo locomo10.json --sample conv-26
memolith eval beam beam.json --no-baselines --json
memolith eval jsonl mine.jsonl
"""

DATA_SET_FORMATS = ("locomo", "beam", "jsonl")

_REPORT_WIDTH = 122
"""Width for all measures, in columns, without a terminal."""

# An arbitrary seed, which makes the bootstrap intervals reproducible.
_SEED = 20240508


@command("eval", example=EVAL_EXAMPLES)
@click.argument("format", type=click.Choice(DATA_SET_FORMATS), metavar="FORMAT")
@click.argument("file")
@click.option(
    "--sample", "sample_ids", multiple=True, help="Use only this conversation. Repeatable."
)
@click.option("--samples", type=click.IntRange(min=1), help="Use only the first N conversations.")
@click.option(
    "--baselines/--no-baselines",
    default=True,
    show_default=True,
    help="Also measure cosine, BM25 and their combinations.",
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
    """Measure retrieval quality on a data set.

    FORMAT is locomo, beam or jsonl. FILE is the data set; Memolith does not include any. Runs in a
    temporary store.

    jsonl is your own data, one object a line. A message has type (message), conversation, session,
    id, at and text. A question has type (question), conversation, text and evidence, a list of
    message ids. docs/reference/cli.md has an example and the optional fields.
    """
    from memolith.evals.report import Report, render_report, report_as_json

    conversations = select_conversations(read_conversations(format, file), sample_ids)[:samples]
    if not any(question.evidence for each in conversations for question in each.questions):
        raise InvalidInput(file, "has no question with evidence")
    report = Report(
        f"{format}, {format_count(len(conversations), 'conversation', 'conversations')}",
        _measure_systems(call, conversations, baselines=baselines),
        _describe_environment(Path(file)),
    )
    if call.as_json:
        print_json(report_as_json(report))
    else:
        screen = console(_REPORT_WIDTH)
        screen.print(render_report(report, columns=screen.width))


def _measure_systems(
    call: CommandCall, conversations: Sequence[Conversation], *, baselines: bool
) -> dict[str, Mapping[str, Figures]]:
    import numpy as np

    from memolith.evals.runner import QuestionClock, build_system, compute_figures

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
                    _run_system(system, conversations, name), np.random.default_rng(_SEED)
                )
                for name, system in systems.items()
            }


def _run_system(
    system: System, conversations: Sequence[Conversation], name: str
) -> tuple[Outcome, ...]:
    from memolith.evals.runner import count_steps
    from memolith.evals.runner import run_questions as ask

    with progress(f"Measuring {name}", count_steps(conversations)) as advance:
        return ask(system, conversations, on_progress=advance)


def _describe_environment(file: Path) -> dict[str, str]:
    from importlib.metadata import version

    return {
        "data": file.name,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "versions": f"memolith {version('memolith')}, Python {platform.python_version()}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",  # noqa: TID251 - the date of the report
    }
