"""What the chat proxy adds to a reply, without the model's own time.

    make bench-proxy                              # an owner with 1,000 messages, 200 requests each
    make bench-proxy ARGS="--messages 10000 --rounds 500"
    make bench-proxy ARGS="--write docs/how-to/proxy.md"

The model answers at once, by script, in a process of its own; so does the service, with the local
embedder. The same request goes straight to the model, through the service with the memory off,
and with the memory on; streamed, the time is that to the first byte of the reply.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import sleep
from typing import Any

import httpx
from corpus import Corpus, log
from measuring import Step, Table, in_turns, progress, report

from mnemon import Mnemon
from mnemon.testing.model_server import ModelServer

WARM_UP = 20
OWNER = "alice"
REPLY = "Thank you for telling me, I will keep it in mind."
PROGRAM = Path(sys.executable).with_name("mnemon")
_RUNNING = re.compile(r"running on http://[\d.]+:(\d+)")


def answer(models: Any) -> None:
    """Be the model: tell where it listens, and answer until told to end."""
    with ModelServer(lambda _: REPLY) as server:
        models.send(server.openai_url)
        models.recv()


@contextmanager
def model() -> Iterator[str]:
    """Run the model; give its address."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=answer, args=(there,), daemon=True)
    process.start()
    yield here.recv()
    here.send(None)
    process.join()


@contextmanager
def service(env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Run the service; give its address, and its process."""
    process = subprocess.Popen(  # noqa: S603 - ours
        [PROGRAM, "serve", "--port", "0"], env=dict(env), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None  # noqa: S101 - it was asked for
    port = next(found[1] for line in process.stderr if (found := _RUNNING.search(line)))
    threading.Thread(target=process.stderr.read, daemon=True).start()
    yield f"http://127.0.0.1:{port}/v1", process.pid
    process.send_signal(signal.SIGTERM)
    process.wait()


def settings(folder: Path, model_url: str) -> dict[str, str]:
    """Return an environment in which nothing is configured but this."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")}
    return {
        **own,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "MNEMON_STORE": str(folder / "memory.db"),
        "MNEMON_SERVE__OWNER": OWNER,
        "MNEMON_CHAT__PROVIDER": "openai",
        "MNEMON_CHAT__MODEL": "scripted",
        "MNEMON_CHAT__BASE_URL": model_url,
        "MNEMON_WORKER": "false",  # what a model learns is no part of the reply
        "MNEMON_PROXY__MEMORY_TIMEOUT_MS": "60000",
    }


def fill(env: Mapping[str, str], texts: list[str]) -> None:
    """Log texts as the owner's conversations."""
    os.environ.update({name: value for name, value in env.items() if name.startswith("MNEMON_")})
    os.environ.update({name: env[name] for name in ("HOME", "XDG_CONFIG_HOME")})
    with Mnemon.open() as memory:
        log(memory.owner(OWNER), texts)


def asking(
    client: httpx.Client, url: str, queries: list[str], *, memory: str, is_stream: bool
) -> Step:
    """Return a step that asks for a reply; of a stream it reads the first piece."""

    def ask(number: int) -> None:
        body = {
            "model": "scripted",
            "messages": [{"role": "user", "content": queries[number]}],
            "stream": is_stream,
        }
        headers = {"X-Mnemon-Memory": memory}
        with client.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as reply:
            if reply.headers.get("X-Mnemon-Memory", memory) != memory:
                raise RuntimeError("the memory failed")
            next(reply.iter_bytes()) if is_stream else reply.read()

    return ask


def processor_ms(process: int, step: Step, numbers: range) -> float:
    """Return the processor time of a process for each time that a step is done, in ms.

    What it still does a second later is not counted: nothing, unless the machine is very busy.
    """
    before = _used_ns(process)
    for number in numbers:
        step(number)
    sleep(1)
    return (_used_ns(process) - before) / len(numbers) / 1e6


def _used_ns(process: int) -> int:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def measured(rounds: int, messages: int) -> Table:
    """Return what each way takes."""
    corpus = Corpus()
    texts = corpus.texts(messages)
    queries = corpus.queries(texts, rounds + WARM_UP)
    with tempfile.TemporaryDirectory() as folder, model() as model_url:
        env = settings(Path(folder), model_url)
        progress(f"logging {messages:,} messages")
        fill(env, texts)
        with service(env) as (url, process), httpx.Client(timeout=60) as client:
            ways = {"straight": (model_url, "off"), "off": (url, "off"), "on": (url, "on")}
            steps = {
                f"{name}{' streamed' * is_stream}": asking(
                    client, to, queries, memory=memory, is_stream=is_stream
                )
                for is_stream in (False, True)
                for name, (to, memory) in ways.items()
            }
            progress("asking")
            taken = in_turns(rounds + WARM_UP, steps, unmeasured=WARM_UP)
            again = range(WARM_UP, rounds + WARM_UP)
            used = {name: processor_ms(process, step, again) for name, step in steps.items()}
    rows = []
    for kind, suffix in (("whole", ""), ("first byte of a stream", " streamed")):
        bare = taken[f"straight{suffix}"].wall.median
        for name, told in (
            ("straight", "straight to the model"),
            ("off", "through Mnemon, memory off"),
            ("on", "through Mnemon, memory on"),
        ):
            times = taken[f"{name}{suffix}"].wall
            rows.append(
                {
                    "reply": kind,
                    "way": told,
                    "p50, ms": 1000 * times.median,
                    "p95, ms": 1000 * times.quantile(0.95),
                    "added, p50, ms": 1000 * (times.median - bare),
                    "processor, ms": used[f"{name}{suffix}"],
                }
            )
    note = (
        f"An owner with {messages:,} messages in an encrypted SQLite store, {rounds} requests each"
        " way, taken in turns; the model answers at once. Every request with the memory on is a new"
        " conversation, that is recalled for, and learned while the next requests are under way."
        " Processor: of the service, for each request, with what it learns of it."
    )
    return Table("proxy", rows, note)


def main() -> None:
    """Measure, and show or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--write", type=Path, metavar="DOCUMENT")
    given = parser.parse_args()
    report(measured(given.rounds, given.messages), given.write)


if __name__ == "__main__":
    main()
