"""Draw the measurements of `make bench-peers` and `make bench-recall` for the docs.

    make bench-plots                                    # benchmarks/results/*.json
    make bench-plots ARGS="--json peers.json --to /tmp"

Writes peers-search.png, peers-add.png and recall.svg. pip installs matplotlib once, into an
environment in the user's cache folder; the download size is printed first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from environments import FOLDER, describe_downloads, prepare
from measuring import output, progress

NAME = "plots"
RESULTS = Path("benchmarks/results/peers.json")
RECALL = Path("benchmarks/results/recall.json")
IMAGES = Path("docs/images")


def main() -> None:
    """Prepare the environment and draw in it."""
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reading.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    reading.add_argument("--recall", type=Path, default=RECALL, metavar="FILE")
    reading.add_argument("--to", type=Path, default=IMAGES, metavar="FOLDER")
    reading.add_argument("--environments", type=Path, default=FOLDER, metavar="FOLDER")
    options = reading.parse_args()
    for file in (options.json, options.recall):
        if not file.is_file():
            reading.error(
                f"{file} does not exist; `make bench-peers` writes peers.json with --json"
            )
    progress(describe_downloads([NAME], options.environments))
    python = prepare(NAME, options.environments).python
    program = Path(__file__).with_name("drawing.py")
    arguments = (str(program), str(options.json), str(options.recall), str(options.to))
    print(output(str(python), *arguments), end="")


if __name__ == "__main__":
    main()
