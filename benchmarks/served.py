"""Run the service and a scripted model in separate processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from memolith.demo.model_server import Asked, ModelServer, late

REPLY = "Thank you for telling me, I will keep it in mind."
FACTS: dict[str, list[str]] = {"facts": []}
PROGRAM = Path(sys.executable).with_name("memolith")
_RUNNING = re.compile(r"running on http://[\d.]+:(\d+)")


def _answer(models: Any, delay_s: float) -> None:
    """Run the model: send its URL, and reply until stopped."""

    def said(asked: Asked) -> Any:
        return late(FACTS if asked.schema else REPLY, delay_s)

    with ModelServer(said) as server:
        models.send(server.openai_url)
        models.recv()


@contextmanager
def model(delay_s: float = 0.0) -> Iterator[str]:
    """Run a model with a delay per reply; yield its URL."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_answer, args=(there, delay_s), daemon=True)
    process.start()
    yield here.recv()
    here.send(None)
    process.join()


@contextmanager
def service(env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Run the service; yield its URL and process id."""
    process = subprocess.Popen(  # noqa: S603 - our own program
        [PROGRAM, "serve", "--port", "0"], env=dict(env), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    port = _port(process.stderr)
    threading.Thread(target=_drained, args=(process.stderr,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{port}/v1", process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _port(lines: Iterable[str]) -> str:
    """Read the service's output up to its port.

    Raises:
        RuntimeError: The service ended without printing it.
    """
    said: list[str] = []
    for line in lines:
        said.append(line)
        if found := _RUNNING.search(line):
            return found[1]
    raise RuntimeError(f"the service did not start: {''.join(said)}")


def _drained(lines: Any) -> None:
    """Discard the service's log, so that its pipe never fills."""
    for _ in lines:
        pass


def environment(folder: Path, model_url: str, **more: str) -> dict[str, str]:
    """Return an environment that configures only a model, and additional variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MEMOLITH_")}
    return {
        **own,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "MEMOLITH_STORE": str(folder / "memory.db"),
        "MEMOLITH_CHAT__PROVIDER": "openai",
        "MEMOLITH_CHAT__MODEL": "scripted",
        "MEMOLITH_CHAT__BASE_URL": model_url,
        **more,
    }


def adopt(env: Mapping[str, str]) -> None:
    """Configure this process with an environment."""
    os.environ.update({name: value for name, value in env.items() if name.startswith("MEMOLITH_")})
    os.environ.update({name: env[name] for name in ("HOME", "XDG_CONFIG_HOME")})


def processor_s(process: int) -> float:
    """Return the CPU time of a process and all its threads, in seconds, to 0.01 s."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("VmRSS"))
    return int(found.split()[1]) * 1024
