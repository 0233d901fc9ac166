"""Measure recall on public datasets, and fit the weights of the standard ranking.

    make bench-recall ARGS="--locomo locomo10.json --beam beam.json --cache /tmp/vectors"
    make bench-recall ARGS="… --ablation"       # effect of each part of the standard ranking
    make bench-recall ARGS="… --fit"            # write the weights
    make bench-recall ARGS="… --context"        # evidence in prompts of a token budget
    make bench-recall ARGS="… --nothing"        # quality of `likely_unanswerable`
    make bench-recall ARGS="… --nothing --fit"  # write the weights of relevance

No dataset ships with Memolith: pass files, or set MEMOLITH_LOCOMO, MEMOLITH_BEAM or MEMOLITH_JSONL.
Except for `--context`, the policies run without a store. `memolith eval` measures the whole engine,
with quantised vectors and a token budget. Cross-validated figures use weights fitted on all other
conversations of all datasets.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from conversing import CachedEmbedder
from nothing import Memories, calibration, cross_validate, harm, tables, weights
from nothing import render_module as written_relevance
from packing import contexts
from ranked import PARTS, CandidateSearch, DataSet, Training, render_module, system_of
from rich.console import Console
from rich.table import Table

from memolith.adapters.models.local import LocalEmbedder, WordPieceCounter
from memolith.errors import InvalidInput
from memolith.evals.baselines import Baselines
from memolith.evals.datasets import Conversation, read_beam, read_jsonl, read_locomo
from memolith.evals.report import Report, render_report
from memolith.evals.runner import (
    Interval,
    Outcome,
    System,
    bootstrap_interval,
    compute_figures,
    run_questions,
)
from memolith.policies.ranking import fitted, relevance_fitted
from memolith.policies.ranking.standard import StandardRanking
from memolith.profiles.companion import CompanionSettings, companion
from memolith.profiles.facts import facts

READERS: Mapping[str, Callable[[str], tuple[Conversation, ...]]] = {
    "locomo": read_locomo,
    "beam": read_beam,
    "jsonl": read_jsonl,
}
VALIDATED = "standard, cross-validated"
SEED = 1
BUDGETS = (500, 1_000, 2_000)
_ABLATED = {"recall@10": "R@10", "mrr": "MRR"}
_COLUMNS = 145
_LEAST_CONVERSATIONS = 2


def systems(
    searched: CandidateSearch, training: Training, baselines: Baselines
) -> dict[str, System]:
    """Return the compared systems: plain searches, formulas of other profiles, standard ranking."""
    validated = training.rankings()
    formulas = {
        "companion's formula": system_of(
            lambda _: companion(CompanionSettings(rag_threshold=-1.0)).ranking, searched
        ),
        "facts' formula": system_of(lambda _: facts().ranking, searched),
        "standard": system_of(lambda _: StandardRanking(), searched),
        VALIDATED: system_of(validated.__getitem__, searched),
    }
    return baselines.systems() | formulas


def compare(data: DataSet, measured: Mapping[str, System]) -> Report:
    """Measure every system on a dataset."""
    figures = {
        name: compute_figures(
            run_questions(system, data.conversations), np.random.default_rng(SEED)
        )
        for name, system in measured.items()
    }
    return Report(f"{data.name}, {len(data.conversations)} conversations", figures)


def ablation(
    data: Sequence[DataSet], searched: CandidateSearch, training: Training
) -> Iterator[Table]:
    """Yield for each dataset the loss without each part, with all weights refitted."""
    outcomes = {
        part: {each.name: _cross_validate(each, searched, training, part) for each in data}
        for part in ("", *PARTS)
    }
    for each in data:
        table = Table(title=f"{each.name}: contribution of each part, cross-validated, in points")
        table.add_column("part")
        for heading in _ABLATED.values():
            table.add_column(heading, justify="right")
        complete = outcomes[""][each.name]
        table.add_row("(all)", *(_mean(complete, name) for name in _ABLATED))
        for part in PARTS:
            remaining = outcomes[part][each.name]
            table.add_row(part, *(_gain(complete, remaining, name) for name in _ABLATED))
        yield table


def _cross_validate(
    data: DataSet, searched: CandidateSearch, training: Training, without: str
) -> tuple[Outcome, ...]:
    rankings = training.rankings(without or None)
    return run_questions(system_of(rankings.__getitem__, searched), data.conversations)


def _mean(outcomes: Sequence[Outcome], name: str) -> str:
    return f"{100 * np.mean([one.measures[name] for one in outcomes]):.1f}"


def _gain(complete: Sequence[Outcome], reduced: Sequence[Outcome], name: str) -> str:
    """Return the mean difference per question, with its interval."""
    pairs = zip(complete, reduced, strict=True)
    interval = bootstrap_interval(
        [a.measures[name] - b.measures[name] for a, b in pairs], np.random.default_rng(SEED)
    )
    return _with_interval(interval, "+.1f")


def _with_interval(interval: Interval, form: str) -> str:
    mean, low, high = (
        f"{100 * value:{form}}" for value in (interval.mean, interval.low, interval.high)
    )
    return f"{mean} ({low} to {high})"


def measure_contexts(data: DataSet, embedder: CachedEmbedder) -> Table:
    """Measure the evidence in prompts."""
    table = Table(title=f"{data.name}: share of the evidence in prompts, percent")
    for heading in ("token budget", "evidence", "results", "tokens", "ms"):
        table.add_column(heading, justify="right")
    for budget, summary in contexts(data.conversations, embedder, BUDGETS).items():
        table.add_row(
            f"{budget:,}",
            _with_interval(summary.share, ".1f"),
            f"{summary.results:.1f}",
            f"{summary.tokens:,.0f}",
            f"{summary.ms:.1f}",
        )
    return table


def show_relevance(
    data: Sequence[DataSet], embedder: CachedEmbedder, console: Console, *, fits: str
) -> None:
    """Show the quality of `likely_unanswerable`; or write its weights, dated by `fits`."""
    results = Memories(data, embedder, WordPieceCounter()).cases()
    if fits:
        source = written_relevance(weights(results), embedder.name, fits)
        Path(str(relevance_fitted.__file__)).write_text(source)
        console.print(f"Written: {relevance_fitted.__file__}")
    else:
        estimates = cross_validate(results)
        tables_ = (
            *tables(results, estimates),
            calibration(results, estimates),
            harm(results, estimates),
        )
        console.print(*tables_, machine(), sep="\n")


def machine() -> str:
    """Return the versions, the machine and the date."""
    return (
        f"memolith {version('memolith')}, numpy {np.__version__}, "
        f"Python {platform.python_version()}, {platform.machine()} {platform.system()}, "
        f"{datetime.now(UTC):%Y-%m-%d}"
    )


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser."""
    reading = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in READERS:
        variable = f"MEMOLITH_{name.upper()}"
        reading.add_argument(
            f"--{name}",
            metavar="FILE",
            default=os.environ.get(variable),
            help=f"dataset in {name} format; default: ${variable}",
        )
    reading.add_argument("--cache", type=Path, metavar="FOLDER", help="cache vectors in FOLDER")
    reading.add_argument(
        "--ablation", action="store_true", help="show the contribution of each part"
    )
    reading.add_argument("--context", action="store_true", help="show the evidence in prompts")
    reading.add_argument(
        "--nothing", action="store_true", help="show the quality of nothing_relevant"
    )
    reading.add_argument("--fit", action="store_true", help="write the fitted weights")
    return reading


def missing(data: Sequence[DataSet], *, fits: bool) -> str | None:
    """Return why the data can't be measured, or None."""
    for each in data:
        if not any(question.evidence for one in each.conversations for question in one.questions):
            return f"{each.name} has no question with evidence"
    if fits and sum(len(each.conversations) for each in data) < _LEAST_CONVERSATIONS:
        return "cross-validation needs several conversations; use `memolith eval` for one"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    reading = parser()
    options = reading.parse_args(arguments)
    files = {name: path for name in READERS if (path := getattr(options, name))}
    if not files:
        reading.error("pass a dataset, for example --locomo locomo10.json")
    console = Console(width=_COLUMNS)
    try:
        data = [DataSet(name, READERS[name](path)) for name, path in files.items()]
    except InvalidInput as error:
        console.print(f"[red]{error}")
        return 2
    if (problem := missing(data, fits=not options.context and not options.nothing)) is not None:
        reading.error(problem)
    embedder = CachedEmbedder(LocalEmbedder(), options.cache)
    if options.context:
        console.print(*(measure_contexts(each, embedder) for each in data), machine(), sep="\n")
        return 0
    names = " and ".join(Path(path).name for path in files.values())
    provenance = f"{datetime.now(UTC):%Y-%m-%d}, on {names}"
    if options.nothing:
        show_relevance(data, embedder, console, fits=provenance if options.fit else "")
        return 0
    searched = CandidateSearch(embedder, WordPieceCounter())
    training = Training.build(data, searched)
    if options.fit:
        Path(str(fitted.__file__)).write_text(render_module(training.weights(), provenance))
        console.print(f"Written: {fitted.__file__}")
    elif options.ablation:
        console.print(*ablation(data, searched, training), machine(), sep="\n")
    else:
        measured = systems(searched, training, Baselines(embedder, WordPieceCounter()))
        reports = (render_report(compare(each, measured), [VALIDATED]) for each in data)
        console.print(*reports, machine(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
