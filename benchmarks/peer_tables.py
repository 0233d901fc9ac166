"""Tables of the comparison with peers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from comparing import (
    ADDS,
    COMPARED,
    FOUND,
    NEAREST,
    PHASE_S,
    SEARCHES,
    SEEDED_BUT,
    STARTS,
    Measured,
    Ratio,
)
from corpus import OTHERS, PER_OTHER
from measuring import Table

NAMES = {
    "memolith": "**Memolith**",
    "memolith-encrypted": "**Memolith**, encrypted",
    "memolith-postgresql": "**Memolith**, PostgreSQL",
    "mem0-faiss": "mem0, FAISS",
    "mem0-qdrant": "mem0, Qdrant on disk",
    "chroma": "Chroma",
    "langgraph": "LangGraph SqliteStore",
    "mcp-memory-service": "mcp-memory-service",
    "mempalace": "MemPalace",
    "txtai": "txtai, hybrid",
    "sqlite-vec": "bare sqlite-vec",
    "numpy": "bare numpy product",
    "usearch": "bare usearch (HNSW)",
}
NONE = "–"


DETAIL = 100_000
"""Number of memories for single figures, if the peer was measured at that size."""


def tables(found: Sequence[Measured], measured_on: str = "") -> Iterator[Table]:
    """Yield the tables, each with one row for each peer."""
    note = f"{_SEARCH_NOTE} {_when(found)}"
    peers = _by_peer(found)
    sizes = sorted({each.size for each in found})
    yield Table("peers-search", [_searching(each, sizes) for each in peers], note, measured_on)
    yield Table(
        "peers-writes", [_writing(each, sizes) for each in peers], _WRITES_NOTE, measured_on
    )
    yield Table("peers-owners", [_owning(_last(each)) for each in peers], _OWNERS_NOTE, measured_on)
    left = [
        {"size": each.size, "product": NAMES[each.peer], "reason": each.left_out}
        for each in found
        if each.left_out
    ]
    yield Table("peers-left-out", left or [{"excluded": "none"}], "", measured_on)


def _by_peer(found: Sequence[Measured]) -> list[list[Measured]]:
    """Return the measurements of each peer, smallest store first."""
    by_peer = {name: [each for each in found if each.peer == name] for name in NAMES}
    return [sorted(rows, key=lambda each: each.size) for rows in by_peer.values() if rows]


def _when(found: Sequence[Measured]) -> str:
    """Return when all this was measured, and how busy the machine was then."""
    days = sorted(each.at.split()[0] for each in found)
    loads = sorted(each.load for each in found)
    return f"Measured from {days[0]} to {days[-1]}, at loads of {loads[0]} to {loads[-1]}."


def _searching(rows: Sequence[Measured], sizes: Sequence[int]) -> dict[str, object]:
    detail = _detail(rows)
    return {
        "product": NAMES[detail.peer],
        **_at_sizes(rows, sizes, "p50_ms"),
        "÷ Memolith": _ratio(detail.search_ratio),
        f"recall@{NEAREST}": _or_none(detail.recall),
        "start, s": _or_none(detail.start_s),
    }


def _writing(rows: Sequence[Measured], sizes: Sequence[int]) -> dict[str, object]:
    detail = _detail(rows)
    return {
        "product": NAMES[detail.peer],
        **_at_sizes(rows, sizes, "add_ms"),
        "÷ Memolith": _ratio(detail.add_ratio),
        "bulk, per s": _or_none(detail.adds_a_second),
        "bytes each": _or_none(detail.bytes_each),
    }


def _at_sizes(rows: Sequence[Measured], sizes: Sequence[int], name: str) -> dict[str, object]:
    """Return a figure by the number of memories."""
    values = {each.size: getattr(each, name) for each in rows}
    return {f"{size:,}": _or_none(values.get(size)) for size in sizes}


def _detail(rows: Sequence[Measured]) -> Measured:
    """Return the measurement of `DETAIL` memories, else the largest finished one below."""
    smaller = [each for each in rows if each.size <= DETAIL and not each.left_out]
    return (smaller or list(rows))[-1]


def _last(rows: Sequence[Measured]) -> Measured:
    """Return the measurement with most memories, preferring one that tried the isolation."""
    tried = [each for each in rows if each.nobodys_results is not None]
    return (tried or list(rows))[-1]


def _owning(each: Measured) -> dict[str, object]:
    nobodys = each.nobodys_results
    return {
        "product": NAMES[each.peer],
        "version": each.version or NONE,
        "install, MB": _or_none(each.install_mb),
        "reads by id": _yes(each.reads_others),
        "deletes by id": _yes(each.deletes_others),
        "foreign results": _of(each.others_results, each.results),
        "owner `*` finds": NONE if nobodys is None else nobodys,
    }


def _or_none(value: float | None) -> float | str:
    return NONE if value is None else value


def _yes(value: bool | None) -> str:  # noqa: FBT001 - a cell
    return NONE if value is None else "yes" if value else "no"


def _of(part: int | None, whole: int) -> str:
    return NONE if part is None else f"{part:,} of {whole:,}"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return NONE
    middle, low, high = ratio
    return f"{middle:.3g} ({low:.3g}–{high:.3g})"


_SEARCH_NOTE = (
    f"Median search time in ms by number of memories: {FOUND} results, filtered to one owner "
    f"among {OTHERS} others with {PER_OTHER:,} memories each; {SEARCHES} new queries, or as many "
    f"as {PHASE_S:g} s allow. Rounds alternate with Memolith on the same texts; embeddings come "
    f"from a lookup table. The other columns are for {DETAIL:,} memories: median ratio of rounds, "
    f"with quartiles; recall@{NEAREST} of vector search against an exact scan ({COMPARED} "
    f"queries); time from process start to first result, median of {STARTS}."
    " Memolith and txtai: the vector part of their hybrid search; MemPalace: results after its "
    "keyword reranking."
)
_WRITES_NOTE = (
    f"Median time in ms of one durable write by number of memories: {ADDS} writes, alternating "
    f"with Memolith's `remember`. The other columns are for {DETAIL:,} memories. Bulk: batches of "
    f"up to 1,000. mem0 stores one memory a call, so all but {SEEDED_BUT} were inserted directly "
    f"into its vector store; its bulk rate is of those {SEEDED_BUT}. usearch saves only at exit. "
    "mcp-memory-service searches for near duplicates at each write. Bytes: files of the closed "
    "store, text included, divided by all memories."
)
_OWNERS_NOTE = (
    "Whether one owner can read or delete a memory of another owner by its id; results of other "
    "owners among all results; results for the nonexistent owner `*`. The bare libraries have no "
    "such operations, or use one file for each owner. Size: without compiled files; mem0 without "
    "keyword search, txtai with CPU-only torch, the bare libraries together."
)
