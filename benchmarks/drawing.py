"""Plots of measurements of Memolith and its peers; `make bench-plots` runs this with matplotlib.

Colours are Okabe and Ito's, which are safe for colour-blind readers. Every line also has a marker
and its name. The background is white, so plots look the same on dark pages.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

BLUE, SKY, GREEN, ORANGE, RED, PINK = (
    "#0072B2",
    "#56B4E9",
    "#009E73",
    "#E69F00",
    "#D55E00",
    "#CC79A7",
)
DARK, GREY = "#222222", "#767676"
LIGHT = "#c4c9cf"
INCHES, DOTS = (7.6, 4.8), 100
RECALL_INCHES = (7.6, 2.1)
OWN = "Memolith"
TARGETS_MS = {1_000: 3.0, 10_000: 5.0, 100_000: 15.0, 1_000_000: 60.0}
"""Targets of Memolith's search time, by the owner's number of memories."""
COLOURS = 64
"""Colours in each PNG file, to keep it small."""
APART = 1.16
"""Minimum factor between the positions of two names at the right edge."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """Style of a peer's line."""

    name: str
    colour: str
    mark: str
    dashes: str = "-"
    width: float = 1.4


LINES = {
    "memolith": Line("Memolith", BLUE, "o", width=3.0),
    "memolith-encrypted": Line("Memolith, encrypted", BLUE, "s", "--", 2.0),
    "memolith-postgresql": Line("Memolith, PostgreSQL", SKY, "D", width=3.0),
    "mem0-faiss": Line("mem0, FAISS", ORANGE, "v"),
    "mem0-qdrant": Line("mem0, Qdrant on disk", ORANGE, "^", "--"),
    "chroma": Line("Chroma", RED, "s"),
    "langgraph": Line("LangGraph SqliteStore", GREEN, "P"),
    "mcp-memory-service": Line("mcp-memory-service", GREEN, "X", "--"),
    "mempalace": Line("MemPalace", PINK, "*"),
    "txtai": Line("txtai", PINK, "p", "--"),
    "sqlite-vec": Line("bare sqlite-vec", GREY, "1", ":"),
    "numpy": Line("bare numpy product", GREY, "2", "--"),
    "usearch": Line("bare usearch", GREY, "3", "-."),
}


@dataclass(frozen=True, slots=True)
class End:
    """End point and marker of a line."""

    x: float
    y: float
    colour: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot over the number of memories."""

    file: str
    title: str
    axis: str
    value: str
    targets: Mapping[int, float]


PLOTS = (
    Plot(
        "peers-search.png",
        "Search for 5 results, filtered to one owner",
        "median, ms",
        "p50_ms",
        TARGETS_MS,
    ),
    Plot("peers-add.png", "Store one memory durably", "median, ms", "add_ms", {}),
)


def draw(plot: Plot, found: Sequence[Row], machine: str) -> Figure:
    """Return a plot."""
    figure = Figure(figsize=INCHES, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    ends = dict(_lines(axes, plot, found))
    if plot.targets:
        points = list(plot.targets.items())
        axes.plot(*zip(*points, strict=True), color=DARK, dashes=(1, 1.5), linewidth=1)
        ends["Memolith's targets"] = End(*points[-1], DARK)
    axes.set(xscale="log", yscale="log", title=plot.title, ylabel=plot.axis)
    axes.set_xlabel("memories of the owner (nine other owners have 1,000 each)")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _write_names(axes, ends)
    figure.supxlabel(machine, fontsize=6.5, color=GREY)
    return figure


def _lines(axes: Axes, plot: Plot, found: Sequence[Row]) -> Iterator[tuple[str, End]]:
    """Draw the lines, and yield the name and end of each."""
    for peer, line in LINES.items():
        points = sorted(
            (row["size"], row[plot.value])
            for row in found
            if row["peer"] == peer and row[plot.value] is not None
        )
        if points:
            axes.plot(
                *zip(*points, strict=True),
                color=line.colour,
                marker=line.mark,
                linestyle=line.dashes,
                linewidth=line.width,
                markersize=6,
            )
            yield line.name, End(*points[-1], line.colour, line.mark)


def _write_names(axes: Axes, ends: Mapping[str, End]) -> None:
    """Write the names at the right edge without overlaps, each connected to its line."""
    x_min, x_max = axes.get_xlim()
    step = (x_max / x_min) ** (1 / 40)
    lowest, highest = axes.get_ylim()
    min_ratio = max(APART, (highest / lowest) ** (1 / 24))
    position = 0.0
    for name, end in sorted(ends.items(), key=lambda each: each[1].y):
        position = max(end.y, position * min_ratio)
        thin = {"color": end.colour, "clip_on": False}
        axes.plot([end.x, x_max * step], [end.y, position], linewidth=0.5, alpha=0.6, **thin)
        axes.plot(x_max * step, position, end.mark, markersize=5, **thin)
        axes.text(x_max * step**1.8, position, name, fontsize=8, va="center")
    axes.set(xlim=(x_min, x_max), ylim=(lowest, highest))


def draw_recall(measured: Mapping[str, Any]) -> Figure:
    """Return a chart with one panel of bars for each dataset."""
    datasets: Mapping[str, str] = measured["datasets"]
    systems: Sequence[Row] = measured["results"][::-1]
    figure = Figure(figsize=RECALL_INCHES, layout="constrained")
    panels = figure.subplots(1, len(datasets), sharey=True)
    names = [row["system"] for row in systems]
    colours = [BLUE if name == OWN else LIGHT for name in names]
    for axes, (key, title) in zip(panels, datasets.items(), strict=True):
        bars = axes.barh(names, [row[key] for row in systems], color=colours, height=0.66)
        labels = axes.bar_label(bars, fmt="%.1f", padding=3)
        labels[names.index(OWN)].set_fontweight("bold")
        axes.set_title(title, fontsize=9.5, loc="left")
        axes.set(xlim=(0, 100), xticks=[])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    panels[0].get_yticklabels()[names.index(OWN)].set_fontweight("bold")
    figure.suptitle(measured["measure"], x=0.01, ha="left", fontsize=11)
    return figure


def main() -> None:
    """Draw the plots of the named result files into the named folder."""
    peers, recall, folder = (Path(argument) for argument in sys.argv[1:])
    mpl.rcParams.update(
        {
            "font.size": 9,
            "text.color": DARK,
            "axes.labelcolor": DARK,
            "ytick.color": DARK,
            "svg.hashsalt": "memolith",
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    read = json.loads(peers.read_text())
    for plot in PLOTS:
        file = folder / plot.file
        figure = draw(plot, read["results"], read["machine"])
        drawn = io.BytesIO()
        figure.savefig(drawn, facecolor="white")
        Image.open(drawn).convert("RGB").quantize(COLOURS).save(file, optimize=True)
        print(f"{file}: {file.stat().st_size:,} bytes")
    file = folder / "recall.svg"
    figure = draw_recall(json.loads(recall.read_text()))
    figure.savefig(file, facecolor="white", metadata={"Date": None})
    print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
