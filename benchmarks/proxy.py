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
    """Return a step that asks for a reply; of a stream it reads the first piece."""

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
    """Return the processor time of a process for each time that a step is done, in ms.

    What it still does a second later is not counted: nothing, unless the machine is very busy.
    """
    before = processor_s(process)
    for number in numbers:
        step(number)
    sleep(1)
    return (processor_s(process) - before) / len(numbers) * 1000


def asked(rounds: int, messages: int) -> tuple[dict[str, Taken], dict[str, float]]:
    """Return what each way takes, and what the service's processor does for each request, in ms."""
    corpus = Corpus()
    texts = corpus.texts(messages)
    queries = corpus.queries(texts, rounds + WARM_UP)
    with tempfile.TemporaryDirectory() as folder, model() as model_url:
        env = environment(
            Path(folder),
            model_url,
            MEMOLITH_SERVE__OWNER=OWNER,
            MEMOLITH_WORKER="false",  # what a model learns is no part of the reply
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
    """Yield what each way takes, of whole replies and of streams."""
    for kind, suffix in (("whole", ""), ("first byte of a stream", " streamed")):
        bare = taken[f"straight{suffix}"].wall.median
        for name, told in WAYS.items():
            times = taken[f"{name}{suffix}"].wall
            yield {
                "reply": kind,
                "way": told,
                "p50, ms": 1000 * times.median,
                "p95, ms": 1000 * times.quantile(0.95),
                "added, p50, ms": 1000 * (times.median - bare),
                "processor, ms": used[f"{name}{suffix}"],
            }


def measured(rounds: int, messages: int) -> Table:
    """Return what each way takes."""
    note = (
        f"An owner with {messages:,} messages in an encrypted SQLite store, {rounds} requests each"
        " way, taken in turns; the model answers at once. Every request with the memory on is a new"
        " conversation, that is recalled for, and learned while the next requests are under way."
        " Processor: of the service, for each request, with what it learns of it."
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
