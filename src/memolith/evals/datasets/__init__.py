"""Readers of the data sets that finding is measured on. The data does not come with Memolith.

Each takes a path and raises `InvalidInput`, its `field` naming the file and the place in it,
where the file is missing or is not what it should be.
"""

from memolith.evals.datasets.beam import read_beam
from memolith.evals.datasets.jsonl import read_jsonl
from memolith.evals.datasets.locomo import read_locomo

__all__ = ["read_beam", "read_jsonl", "read_locomo"]
