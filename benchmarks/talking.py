"""Processes of peers, with one line of JSON per request and response."""

from __future__ import annotations

import base64
import json
import os
import queue
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

PROGRAMS = Path(__file__).with_name("peers")
SOURCES = Path(__file__).parents[1] / "src"
STORE = "store"
"""Name of the store in a peer's folder."""
PATIENCE_S = 300.0
"""Default timeout of a request, in seconds."""

QUIET = {
    # One thread per product: eight threads on two processors wait for each other.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # Disable telemetry and model downloads.
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}


class PeerFailed(Exception):
    """A peer raised an error, died or timed out; the message contains details."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Response to a request.

    Attributes:
        seconds: Time in the peer's process, without communication.
        processor: CPU time of all threads of that process, in seconds.
        result: The requested result.
    """

    seconds: float
    processor: float
    result: Any


@dataclass(frozen=True, slots=True)
class Program:
    """Program of a peer.

    Attributes:
        python: Interpreter of its environment.
        file: Program in the folder of peers.
        arguments: Arguments after its folder.
    """

    python: Path
    file: str
    arguments: tuple[str, ...] = ()


class Process:
    """A running peer."""

    def __init__(self, program: Program, folder: Path) -> None:
        """Start a peer; the folder contains its store and serves as its home."""
        self._name = program.file
        self._log = folder / "stderr.txt"
        home, store = folder / "home", folder / STORE
        for each in (home, store):
            each.mkdir(parents=True, exist_ok=True)
        command = (program.python, PROGRAMS / program.file, store, *program.arguments)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own programs
                [str(each) for each in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**QUIET, "HOME": str(home), **_passed_on(program)},
            )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    def _listen(self, answers: IO[bytes]) -> None:
        for line in answers:
            self._lines.put(line)
        self._lines.put(b"")

    def ask(self, what: str, *, timeout_s: float = PATIENCE_S, **about: object) -> Answer:
        """Send a request and return its response.

        Raises:
            PeerFailed: The request failed.
        """
        try:
            asked = self._process.stdin
            if asked is not None:
                asked.write(json.dumps({"do": what, **about}).encode() + b"\n")
                asked.flush()
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty as error:
            self._process.kill()
            raise PeerFailed(
                f"{self._name}, {what}: no response within {timeout_s:,.0f} s"
            ) from error
        except BrokenPipeError as error:
            raise PeerFailed(self._died(what)) from error
        if not line:
            raise PeerFailed(self._died(what))
        answer = json.loads(line)
        if "error" in answer:
            raise PeerFailed(f"{self._name}, {what}: {answer['error']}")
        return Answer(answer["seconds"], answer["processor"], answer["result"])

    def _died(self, what: str) -> str:
        code = self._process.wait()
        said = self._log.read_text(errors="replace").strip().splitlines()
        last = said[-1] if said else "no output"
        return f"{self._name}, {what}: the process ended ({code}): {last}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _passed_on(program: Program) -> Mapping[str, str]:
    """Return the environment variables passed to a peer: program and source paths.

    Memolith runs from this checkout.
    """
    own = {"PYTHONPATH": str(SOURCES)} if str(program.python) == sys.executable else {}
    return {"PATH": os.environ["PATH"], **own}


def in_base64(vectors: NDArray[np.float32]) -> str:
    """Return vectors encoded for a request."""
    return base64.b64encode(np.ascontiguousarray(vectors, np.float32).tobytes()).decode()


def batches(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    """Return texts in batches of at most a size."""
    return [texts[start : start + size] for start in range(0, len(texts), size)]
