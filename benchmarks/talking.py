"""A peer's process, and what it is asked: a line of JSON each way."""

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
"""Where in a peer's folder its store is."""
PATIENCE_S = 300.0
"""How long one request may take, where nothing else is said."""

QUIET = {
    # One thread each for products: eight on two processors wait for one another.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # Nothing is reported, and no model is fetched.
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}


class PeerFailed(Exception):
    """A peer raised, died or took too long; the message says which."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request came to.

    Attributes:
        seconds: How long it took in the peer's process, without the talking.
        processor: Processor time of that process, of all its threads, in seconds.
        result: What was asked for.
    """

    seconds: float
    processor: float
    result: Any


@dataclass(frozen=True, slots=True)
class Program:
    """How a peer is run.

    Attributes:
        python: The interpreter of its environment.
        file: Its program in the folder of peers.
        arguments: What the program is told besides its folder.
    """

    python: Path
    file: str
    arguments: tuple[str, ...] = ()


class Process:
    """A running peer."""

    def __init__(self, program: Program, folder: Path) -> None:
        """Start a peer; its store is in that folder, as is its home."""
        self._name = program.file
        self._log = folder / "stderr.txt"
        home, store = folder / "home", folder / STORE
        for each in (home, store):
            each.mkdir(parents=True, exist_ok=True)
        command = (program.python, PROGRAMS / program.file, store, *program.arguments)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - programs of ours
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
        """Have something done.

        Raises:
            PeerFailed: It was not.
        """
        try:
            asked = self._process.stdin
            if asked is not None:
                asked.write(json.dumps({"do": what, **about}).encode() + b"\n")
                asked.flush()
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty as error:
            self._process.kill()
            raise PeerFailed(f"{self._name}, {what}: no answer in {timeout_s:,.0f} s") from error
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
        last = said[-1] if said else "it said nothing"
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
    """Return what a peer is told of this process's environment: where programs are, and sources.

    Memolith is the one that is checked out here.
    """
    own = {"PYTHONPATH": str(SOURCES)} if str(program.python) == sys.executable else {}
    return {"PATH": os.environ["PATH"], **own}


def in_base64(vectors: NDArray[np.float32]) -> str:
    """Return vectors as they are handed in."""
    return base64.b64encode(np.ascontiguousarray(vectors, np.float32).tobytes()).decode()


def batches(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    """Return texts in parts of at most that size."""
    return [texts[start : start + size] for start in range(0, len(texts), size)]
