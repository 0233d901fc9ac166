"""Plots of what was measured of Memolith and its peers; run by `make bench-plots`, with matplotlib.

Colours are Okabe and Ito's, which the colour-blind can tell apart, and every line has a mark and
its name besides; on white, so that a dark page shows them as a light one does.
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
INCHES, DOTS = (7.6, 4.8), 100
BARS_MS = {1_000: 1.0, 10_000: 2.0, 100_000: 10.0, 1_000_000: 60.0}
"""What a search of Memolith may take, by how many memories the owner has."""
COLOURS = 64
"""Of the files, which makes them small."""
APART = 1.16
"""By which factor names at the right edge are kept apart, at least."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """How a peer is drawn."""

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
    """Where a line ends, and how it is marked."""

    x: float
    y: float
    colour: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn over the number of memories."""

    file: str
    title: str
    axis: str
    value: str
    bars: Mapping[int, float]


PLOTS = (
    Plot(
        "peers-search.png",
        "A search of 5 results, filtered to one owner",
        "median, ms",
        "p50_ms",
        BARS_MS,
    ),
    Plot("peers-add.png", "One more memory, stored durably", "median, ms", "add_ms", {}),
)


def draw(plot: Plot, found: Sequence[Row], machine: str) -> Figure:
    """Return a plot."""
    figure = Figure(figsize=INCHES, dpi=DOTS, layout="constrained")
    axes = figure.add_subplot()
    ends = dict(_lines(axes, plot, found))
    if plot.bars:
        axes.plot(*zip(*plot.bars.items(), strict=True), color=DARK, dashes=(1, 1.5), linewidth=1)
        ends["the bars of Memolith"] = End(*list(plot.bars.items())[-1], DARK)
    axes.set(xscale="log", yscale="log", title=plot.title, ylabel=plot.axis)
    axes.set_xlabel("memories of the owner, among nine others with 1,000 each")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _named(axes, ends)
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


def _named(axes: Axes, ends: Mapping[str, End]) -> None:
    """Write the names at the right edge, from below, none over another, with a hair to its line."""
    left, right = axes.get_xlim()
    step = (right / left) ** (1 / 40)
    lowest, highest = axes.get_ylim()
    apart = max(APART, (highest / lowest) ** (1 / 24))
    place = 0.0
    for name, end in sorted(ends.items(), key=lambda each: each[1].y):
        place = max(end.y, place * apart)
        thin = {"color": end.colour, "clip_on": False}
        axes.plot([end.x, right * step], [end.y, place], linewidth=0.5, alpha=0.6, **thin)
        axes.plot(right * step, place, end.mark, markersize=5, **thin)
        axes.text(right * step**1.8, place, name, fontsize=8, va="center")
    axes.set(xlim=(left, right), ylim=(lowest, highest))


def main() -> None:
    """Draw the plots that the named file has figures for, into the named folder."""
    results, folder = Path(sys.argv[1]), Path(sys.argv[2])
    mpl.rcParams.update({"font.size": 9, "text.color": DARK, "axes.labelcolor": DARK})
    read = json.loads(results.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    for plot in PLOTS:
        file = folder / plot.file
        figure = draw(plot, read["results"], read["machine"])
        drawn = io.BytesIO()
        figure.savefig(drawn, facecolor="white")
        Image.open(drawn).convert("RGB").quantize(COLOURS).save(file, optimize=True)
        print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
