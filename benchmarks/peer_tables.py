"""The tables of what was measured of peers."""

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


def tables(found: Sequence[Measured]) -> Iterator[Table]:
    """Yield the tables."""
    note = f"{_SEARCH_NOTE} {_when(found)}"
    yield Table("peers-search", [_searching(each) for each in found], note)
    yield Table("peers-writes", [_writing(each) for each in found], _WRITES_NOTE)
    yield Table("peers-owners", [_owning(each) for each in _largest(found)], _OWNERS_NOTE)
    if left := [each for each in found if each.left_out]:
        rows = [{**_who(each), "left out, or not finished": each.left_out} for each in left]
        yield Table("peers-left-out", rows)
    else:
        yield Table("peers-left-out", [{"left out": "nothing"}])


def _when(found: Sequence[Measured]) -> str:
    """Return when all this was measured, and how busy the machine was then."""
    days = sorted(each.at.split()[0] for each in found)
    loads = sorted(each.load for each in found)
    return f"Measured from {days[0]} to {days[-1]}, at loads of {loads[0]} to {loads[-1]}."


def _who(each: Measured) -> dict[str, object]:
    return {"owner has": each.size, "": NAMES[each.peer]}


def _searching(each: Measured) -> dict[str, object]:
    return {
        **_who(each),
        "p50, ms": _or_none(each.p50_ms),
        "p95, ms": _or_none(each.p95_ms),
        "processor, ms": _or_none(each.processor_ms),
        "÷ Memolith": _ratio(each.search_ratio),
        f"recall@{NEAREST}": _or_none(each.recall),
        "start to first, s": _or_none(each.start_s),
        "start ÷ Memolith": _ratio(each.start_ratio),
    }


def _writing(each: Measured) -> dict[str, object]:
    return {
        **_who(each),
        "bulk, a second": _or_none(each.adds_a_second),
        "bulk, a processor second": _or_none(each.adds_a_processor_second),
        "one more: p50, ms": _or_none(each.add_ms),
        "÷ Memolith": _ratio(each.add_ratio),
        "bytes each on disk": _or_none(each.bytes_each),
    }


def _owning(each: Measured) -> dict[str, object]:
    nobodys = each.nobodys_results
    return {
        "": NAMES[each.peer],
        "version": each.version or NONE,
        "install, MB": _or_none(each.install_mb),
        "get by another's id": _yes(each.reads_others),
        "delete by another's id": _yes(each.deletes_others),
        "another's among the results": _of(each.others_results, each.results),
        "search as `*` finds": NONE if nobodys is None else nobodys,
    }


def _largest(found: Sequence[Measured]) -> list[Measured]:
    """Return for each peer what was measured of most memories, and if nothing was, the last."""
    best: dict[str, Measured] = {}
    for each in found:
        if each.peer not in best or each.nobodys_results is not None:
            best[each.peer] = each
    return [best[name] for name in NAMES if name in best]


def _or_none(value: float | None) -> float | str:
    return NONE if value is None else value


def _yes(value: bool | None) -> str:  # noqa: FBT001 - a cell
    return NONE if value is None else "succeeds" if value else "no"


def _of(part: int | None, whole: int) -> str:
    return NONE if part is None else f"{part:,} of {whole:,}"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return NONE
    middle, low, high = ratio
    return f"{middle:.3g} ({low:.3g}–{high:.3g})"


_SEARCH_NOTE = (
    f"A search of {FOUND} results, filtered to the owner who has so many memories, among "
    f"{OTHERS} others with {PER_OTHER:,} each; {SEARCHES} queries none of which was asked before, "
    f"or as many as {PHASE_S:g} s allow. Times are taken in the peer's own process, in turns "
    "with Memolith on the same texts; ÷ Memolith: of each round, in brackets the quartiles. The "
    "embedder's place is taken by a look-up in all. Processor: of that process alone, without "
    "PostgreSQL's. Start to first: from the start of a process "
    f"to the first answer, the median of {STARTS}. Recall: the share of the {NEAREST} nearest by "
    f"vectors of an exact scan, over {COMPARED} queries; of Memolith's and txtai's, whose searches "
    "go by words as well, the part by vectors alone, Memolith's below its doors; MemPalace's "
    "orders what it finds anew by words, which counts as missed."
)
_WRITES_NOTE = (
    "Bulk: as many at a time as the peer takes, up to 1,000, with what is written at the end. "
    f"mem0 stores one by one, whatever it is given, which would take hours: all but {SEEDED_BUT} "
    "memories are put into its vector store below its doors, and the rate is of these. One "
    f"more: a single write that is on disk when the call returns, as far as the peer does that by "
    f"its own settings; {ADDS} in turns with Memolith's `remember`. usearch writes at the end of "
    "the program. mcp-memory-service searches for near duplicates with each. Bytes: files of the "
    "closed store by memories of all owners, the text included."
)
_OWNERS_NOTE = (
    "Whether a memory of one owner is read or deleted by its id as another, as far as the peer "
    "can be told who asks; how many results of searches as one owner were another's; what a "
    "search as an owner named `*`, who is not there, finds. The bare ones have no such doors, or "
    "one file an owner. Installed: everything that came, without compiled files; of mem0 without "
    "its optional keyword search; of txtai with torch for the processor alone; of the bare ones "
    "all three."
)
