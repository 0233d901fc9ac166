"""Measure the latency that the chat proxy adds to a reply.

    make bench-proxy                              # an owner with 1,000 messages, 200 requests each
    make bench-proxy ARGS="--messages 10000 --rounds 500"
    make bench-proxy ARGS="--write docs/how-to/proxy.md"

A scripted model replies at once, in its own process. The service also has its own process and uses
the local embedder. The same request goes straight to the model, through the service without memory,
and with memory. For streams, the time ends with the first byte of the reply.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import sleep

import httpx
from corpus import Corpus, log
from measuring import Step, Table, Taken, document_of_tables, in_turns, progress, report
from served import adopt, environment, model, processor_s, service

from memolith import Memolith

WARM_UP = 20
OWNER = "alice"
WAYS = {
    "straight": "straight to the model",
    "off": "through Memolith, memory off",
    "on": "through Memolith, memory on",
}


def fill(env: Mapping[str, str], texts: list[str]) -> None:
    """Log texts as the owner's conversations."""
    adopt(env)
    with Memolith.open() as memory:
        log(memory.owner(OWNER), texts)


def asking(
    client: httpx.Client, url: str, queries: list[str], *, memory: str, is_stream: bool
) -> Step:
    """Return a step that requests a reply; of a stream, it reads the first part."""

    def ask(number: int) -> None:
        body = {
            "model": "scripted",
            "messages": [{"role": "user", "content": queries[number]}],
            "stream": is_stream,
        }
        headers = {"X-Memolith-Memory": memory}
        with client.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as reply:
            if reply.headers.get("X-Memolith-Memory", memory) != memory:
                raise RuntimeError("the memory failed")
            next(reply.iter_bytes()) if is_stream else reply.read()

    return ask


def processor_ms(process: int, step: Step, numbers: range) -> float:
    """Return the mean CPU time of a process per run of a step, in ms.

    Includes work of one second after the runs, by when all work is normally done.
    """
    before = processor_s(process)
    for number in numbers:
        step(number)
    sleep(1)
    return (processor_s(process) - before) / len(numbers) * 1000


def asked(rounds: int, messages: int) -> tuple[dict[str, Taken], dict[str, float]]:
    """Return the time of each path, and the service's CPU time per request in ms."""
    corpus = Corpus()
    texts = corpus.texts(messages)
    queries = corpus.queries(texts, rounds + WARM_UP)
    with tempfile.TemporaryDirectory() as folder, model() as model_url:
        env = environment(
            Path(folder),
            model_url,
            MEMOLITH_SERVE__OWNER=OWNER,
            MEMOLITH_WORKER="false",  # learning is not part of the reply
            MEMOLITH_PROXY__MEMORY_TIMEOUT_MS="60000",
        )
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
            return taken, {name: processor_ms(process, step, again) for name, step in steps.items()}


def rows(taken: Mapping[str, Taken], used: Mapping[str, float]) -> Iterator[dict[str, object]]:
    """Yield the time of each path, for whole replies and for streams."""
    for kind, suffix in (("whole", ""), ("first byte of a stream", " streamed")):
        bare = taken[f"straight{suffix}"].wall.median
        for name, told in WAYS.items():
            times = taken[f"{name}{suffix}"].wall
            yield {
                "reply": kind,
                "path": told,
                "p50, ms": 1000 * times.median,
                "p95, ms": 1000 * times.quantile(0.95),
                "added, p50, ms": 1000 * (times.median - bare),
                "processor, ms": used[f"{name}{suffix}"],
            }


def measured(rounds: int, messages: int) -> Table:
    """Return the table of all paths."""
    note = (
        f"One owner with {messages:,} messages in an encrypted SQLite store; {rounds} interleaved"
        " requests for each path; the model answers at once. Every request with memory on is a new"
        " conversation, with recall before it and learning after it. Processor: time of the"
        " service for each request, learning included."
    )
    return Table("proxy", list(rows(*asked(rounds, messages))), note)


def main() -> None:
    """Measure, and show or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--write", type=document_of_tables, metavar="DOCUMENT")
    given = parser.parse_args()
    report(measured(given.rounds, given.messages), given.write)


if __name__ == "__main__":
    main()
