"""Rendering of evaluation results as tables and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from memolith.evals.runner import ALL_CATEGORIES, Figures, Interval

_COLUMN_TITLES = {
    "recall@5": "R@5",
    "recall@10": "R@10",
    "recall@20": "R@20",
    "any@10": "any@10",
    "all@10": "all@10",
    "mrr": "MRR",
    "ndcg@10": "NDCG@10",
    "session_recall@10": "session R@10",
}


@dataclass(frozen=True, slots=True)
class Report:
    """The results of an evaluation.

    Attributes:
        title: The name of the evaluation.
        systems: For each system, the result of `runner.compute_figures`.
        about: Metadata: data set, machine, versions and date.
    """

    title: str
    systems: Mapping[str, Mapping[str, Figures]]
    about: Mapping[str, str] = field(default_factory=dict)


FULL_WIDTH = 122
"""Width of a table with all measures, in columns."""

_MAIN_MEASURES = ("recall@5", "recall@10", "recall@20", "mrr")
_NARROW_NOTE = f"For more measures, use a terminal of {FULL_WIDTH} columns or --json."


def render_report(
    report: Report, detailed: Collection[str] | None = None, *, columns: int = FULL_WIDTH
) -> RenderableType:
    """Return tables: an overview of the systems, then each system by category.

    Args:
        report: The results.
        detailed: The systems to show by category. None: all.
        columns: The available width. If it is less than `FULL_WIDTH`, only the main measures are
            shown.
    """
    systems = report.systems if detailed is None else detailed
    measures = tuple(_COLUMN_TITLES) if columns >= FULL_WIDTH else _MAIN_MEASURES
    return Group(
        _build_overview(report, measures),
        *(_build_category_table(name, report.systems[name], measures) for name in systems),
        *(f"{name}: {fact}" for name, fact in report.about.items()),
        *(() if columns >= FULL_WIDTH else (_NARROW_NOTE,)),
    )


def report_as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values. Shares are in 0..1."""
    return {
        "title": report.title,
        "about": dict(report.about),
        "systems": {
            system: {category: _figures_as_json(figures) for category, figures in groups.items()}
            for system, groups in report.systems.items()
        },
    }


def _build_overview(report: Report, measures: Sequence[str]) -> Table:
    table = Table(title=f"{report.title}: percent, with 95 % intervals for recall at 10 and MRR")
    table.add_column("system", no_wrap=True)
    _add_figure_columns(table, measures)
    for name, groups in report.systems.items():
        if ALL_CATEGORIES in groups:
            table.add_row(
                name, *_format_cells(groups[ALL_CATEGORIES], measures, with_intervals=True)
            )
    return table


def _build_category_table(
    system: str, groups: Mapping[str, Figures], measures: Sequence[str]
) -> Table:
    table = Table(title=f"{system}, by category")
    table.add_column("category")
    table.add_column("questions", justify="right", no_wrap=True)
    _add_figure_columns(table, measures)
    for name, figures in groups.items():
        cells = _format_cells(figures, measures, with_intervals=False)
        table.add_row(name, str(figures.questions), *cells)
    return table


def _add_figure_columns(table: Table, measures: Sequence[str]) -> None:
    for heading in (*(_COLUMN_TITLES[name] for name in measures), "tokens", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)


def _format_cells(figures: Figures, measures: Sequence[str], *, with_intervals: bool) -> list[str]:
    cells = []
    for name in measures:
        interval = figures.measures[name]
        margin = (
            f" ({_format_range(interval)})" if with_intervals and name in _WITH_INTERVAL else ""
        )
        cells.append(f"{100 * interval.mean:.1f}{margin}")
    return [*cells, f"{figures.tokens:,.0f}", f"{figures.ms:.1f}"]


_WITH_INTERVAL = frozenset({"recall@10", "mrr"})


def _format_range(interval: Interval) -> str:
    return f"{100 * interval.low:.0f}–{100 * interval.high:.0f}"


def _figures_as_json(figures: Figures) -> dict[str, Any]:
    return {
        "questions": figures.questions,
        "tokens": figures.tokens,
        "ms": figures.ms,
        "measures": {
            name: {"mean": interval.mean, "low": interval.low, "high": interval.high}
            for name, interval in figures.measures.items()
        },
    }
