"""How fast Memolith is and how much room it takes, beside the bars that it is to keep.

    make bench-speed                                        # a few minutes
    make bench-speed ARGS="recall writes --sizes 1000"      # these parts alone
    make bench-speed ARGS="--write docs/benchmarks.md"      # into the docs

Stores are filled once and kept in the system's folder for temporary files: that of 100,000 takes
some minutes and half a gigabyte. `install` needs the network, and runs only if named.
"""

from __future__ import annotations

import os

# Before numpy is there, whose products are to be compared on one thread.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
# Fresh processes are to find compiled files, as those of an installed package do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The figures are of plain stores, where nothing else is said, and no run leaves a key in the user's
# own folder.
os.environ["MEMOLITH_ENABLE_ENCRYPTION"] = "false"

# ruff: noqa: E402 - what is imported reads these variables

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpus import Corpus
from encryption import encryption
from footprint import disk, install, memory, start
from measuring import Table, document_of_tables, show, written
from searching import recall, stages, vectors
from writing import imports, writes

SIZES = (1_000, 10_000, 100_000)
ON_REQUEST = ("install",)
WHEELS = Path("build/dist")
"""Where `make test` leaves them."""


def parts(
    sizes: Sequence[int], corpus: Corpus, wheels: Path = WHEELS
) -> Mapping[str, Callable[[], Table]]:
    """Return what can be measured."""
    return {
        "recall": partial(recall, sizes, corpus),
        "stages": partial(stages, sizes, corpus),
        "vectors": partial(vectors, sizes, corpus),
        "writes": partial(writes, sizes[:2], corpus),
        "imports": partial(imports, corpus),
        "start": partial(start, corpus),
        "disk": partial(disk, corpus),
        "memory": partial(memory, sizes, corpus),
        "encryption": partial(encryption, [n for n in sizes if n > SIZES[0]] or sizes, corpus),
        "install": partial(install, wheels),
    }


def main() -> None:
    """Measure what is asked for, show it, and write it where that is asked for."""
    known = parts(SIZES, Corpus())
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reading.add_argument("parts", nargs="*", help=f"any of {', '.join(known)}")
    reading.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    reading.add_argument("--json", action="store_true", help="print JSON instead of tables")
    reading.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="put the tables in their place"
    )
    reading.add_argument("--wheels", type=Path, default=WHEELS, help="for `install`")
    asked = reading.parse_args()
    for name in set(asked.parts) - set(known):
        reading.error(f"{name!r} is none of {', '.join(known)}")
    chosen = asked.parts or [name for name in known if name not in ON_REQUEST]
    measured = parts(asked.sizes, Corpus(), asked.wheels)
    for name in chosen:
        _report(measured[name](), asked.write, as_json=asked.json)


def _report(table: Table, document: Path | None, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"part": table.name, "rows": list(table.rows)}, ensure_ascii=False))
    else:
        show(table)
    if document is not None:
        document.write_text(written(document.read_text(), table))


if __name__ == "__main__":
    main()
