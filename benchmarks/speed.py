"""Measure speed and size of Memolith against the project's targets.

    make bench-speed                                        # a few minutes
    make bench-speed ARGS="recall writes --sizes 1000"      # these parts only
    make bench-speed ARGS="--write docs/benchmarks.md"      # update the docs

Stores are filled once and kept in the system's temporary folder. The store of 100,000 takes some
minutes and half a gigabyte. `install` needs the network and runs only if named.
"""

from __future__ import annotations

import os

# Set before numpy is imported: products are compared on one thread.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
# Fresh processes find compiled files, as in an installation.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Stores are plain unless stated otherwise; no key is created in the user's folder.
os.environ["MEMOLITH_ENABLE_ENCRYPTION"] = "false"

# ruff: noqa: E402 - the imports read these variables

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
"""Folder of the wheels that `make test` builds."""


def parts(
    sizes: Sequence[int], corpus: Corpus, wheels: Path = WHEELS
) -> Mapping[str, Callable[[], Table]]:
    """Return all measurements by name."""
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
    """Run the requested measurements, and show or write their tables."""
    known = parts(SIZES, Corpus())
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reading.add_argument("parts", nargs="*", help=f"parts to measure: {', '.join(known)}")
    reading.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    reading.add_argument("--json", action="store_true", help="print JSON instead of tables")
    reading.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="update the tables in FILE"
    )
    reading.add_argument("--wheels", type=Path, default=WHEELS, help="for `install`")
    asked = reading.parse_args()
    for name in set(asked.parts) - set(known):
        reading.error(f"unknown part {name!r}; choose from {', '.join(known)}")
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
