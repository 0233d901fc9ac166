"""`memolith serve` as a process, and a way to ask it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

PROGRAM = Path(sys.executable).with_name("memolith")
_RUNNING = re.compile(r"running on http://[\d.]+:(\d+)")
_WAIT_S = 30


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment in which nothing is configured but this."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("MEMOLITH_")}
    folders = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
    return {
        **own,
        **{name: str(folder / "home") for name in folders},
        "MEMOLITH_STORE": str(folder / "memory.db"),
        "MEMOLITH_ENABLE_ENCRYPTION": "false",
        **more,
    }


@contextmanager
def served(env: Mapping[str, str], *arguments: str) -> Iterator[httpx.Client]:
    """Run the service at a free port until the block ends, which tells it to stop."""
    process = subprocess.Popen(
        [str(PROGRAM), "serve", "--port", "0", *arguments],
        env=dict(env),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        port = next(
            found[1] for line in process.stderr if (found := _RUNNING.search(line)) is not None
        )
        reading = threading.Thread(target=process.stderr.read)  # else it would wait for a reader
        reading.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=_WAIT_S) as client:
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(_WAIT_S) == 0
        reading.join()
        process.stderr.close()
