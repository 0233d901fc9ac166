"""Run the command line with `python -m memolith`."""

from __future__ import annotations

from memolith.cli.main import main

if __name__ == "__main__":
    main()
