"""Draw what `make bench-peers` measured, for the docs.

    make bench-plots                                    # benchmarks/results/peers.json
    make bench-plots ARGS="--json peers.json --to /tmp"

Matplotlib is installed by pip into an environment of its own, which is made once, in the user's
cache folder: what is to be downloaded is said first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from environments import FOLDER, announced, prepared
from measuring import output, progress

NAME = "plots"
RESULTS = Path("benchmarks/results/peers.json")
IMAGES = Path("docs/images")


def main() -> None:
    """Prepare the environment, and draw in it."""
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reading.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    reading.add_argument("--to", type=Path, default=IMAGES, metavar="FOLDER")
    reading.add_argument("--environments", type=Path, default=FOLDER, metavar="FOLDER")
    asked = reading.parse_args()
    if not asked.json.is_file():
        reading.error(f"there is no {asked.json}: `make bench-peers` writes it with --json")
    progress(announced([NAME], asked.environments))
    python = prepared(NAME, asked.environments).python
    program = Path(__file__).with_name("drawing.py")
    print(output(str(python), str(program), str(asked.json), str(asked.to)), end="")


if __name__ == "__main__":
    main()
