"""Fit the thresholds of an embedder and show their error rates.

    make bench-thresholds                           # the local model
    make bench-thresholds ARGS="--model FOLDER"     # another local model

`memolith/policies/embedding_models.py` contains the values for known embedders. Set those of others
in `memolith.toml`.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from corpora.thresholds.cases import cases
from corpora.thresholds.fitting import Measured, fitted, measured
from memolith.adapters.models.local import LocalEmbedder
from memolith.config.profiles import get_source_thresholds
from memolith.policies.embedding_models import ERROR_RATES, SimilarityThresholds

HEAD = ("threshold", "may be wrong", "fitted", "right", "wrong", "the source's", "right", "wrong")


def main() -> None:
    """Print the rates of each threshold, and the values as source code."""
    parser = argparse.ArgumentParser(description="Fit the thresholds of an embedder.")
    parser.add_argument("--model", type=Path, default=None, help="folder of a local model")
    embedder = LocalEmbedder(parser.parse_args().model)
    found = measured(embedder, cases())
    own = fitted(found)
    print(f"{embedder.name}, {len(cases())} cases; accepted shares of right and wrong pairs:\n")
    for cells in (HEAD, ["---"] * len(HEAD), *(_cells(name, own, found) for name in asdict(own))):
        print(f"| {' | '.join(cells)} |")
    print(f'\n"{embedder.name}": {own!r},')


def _cells(name: str, own: SimilarityThresholds, found: Measured) -> list[str]:
    cells = [name, f"{ERROR_RATES[name]:.0%}"]
    for threshold in (getattr(own, name), getattr(get_source_thresholds(), name)):
        right, wrong = found.accepted(name, threshold)
        cells += [f"{threshold:.2f}", f"{right:.1%}", f"{wrong:.1%}"]
    return cells


if __name__ == "__main__":
    main()
