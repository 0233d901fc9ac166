"""Sixty exchanges learned with a scripted model, and the resulting memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corpora.exchanges import Scripted, load_script
from memolith import Memolith
from memolith.adapters.models.openai import OpenAIChat
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.config import load
from memolith.demo.model_server import ModelServer, Rule
from memolith.policies.retries import BreakerPolicy, RetryPolicy
from memolith.ports.cipher import CipherProvider
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

OWNER = "johanna"

START = datetime(2026, 1, 10, 9, tzinfo=UTC)

PROFILES = ("facts", "tiers", "standard")

TIMEOUT_S = 60.0
"""Timeout that no scripted reply exceeds, even on a busy machine."""

SHORT_TIMEOUT_S = 0.25
"""Timeout for tests in which calls time out."""

SMALL_CASCADES = {
    "MEMOLITH_TIERS__SHORT_TERM_THRESHOLD": "12",
    "MEMOLITH_TIERS__SHORT_TERM_KEEP": "4",
    "MEMOLITH_TIERS__LONG_TERM_THRESHOLD": "6",
    "MEMOLITH_TIERS__LONG_TERM_KEEP": "2",
    "MEMOLITH_CHAT__CALLS_AT_ONCE": "4",
}
"""Settings with which sixty exchanges start both cascades."""

_SESSION = 20
_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class End:
    """Final memories, independent of the time of learning.

    Attributes:
        memories: Kind, state, origin and content of each memory, sorted.
        summaries: Contents of the summaries, sorted.
        base_memory: Content of the base memory.
    """

    memories: tuple[tuple[str, str, str, str], ...]
    summaries: tuple[str, ...]
    base_memory: str


def client(url: str, *, timeout_s: float = TIMEOUT_S, name: str = "key") -> ResilientChat:
    """Return an OpenAI client for a scripted model, with short pauses and unlimited retries.

    The server identifies the caller by `name`, which is sent as the API key.
    """
    model = OpenAIChat("scripted", api_key=name, base_url=url, timeout_s=timeout_s)
    care = ServiceGuard(
        retry_policy=RetryPolicy(
            max_retries=2, first_pause_s=0.01, max_pause_s=0.05, max_total_s=30.0
        ),
        breaker_policy=BreakerPolicy(failures=1_000_000),
    )
    return ResilientChat(model, care)


@contextmanager
def remembering(
    profile: str,
    rule: Rule,
    clock: SettableClock,
    store: str | Path = ":memory:",
    *,
    timeout_s: float = TIMEOUT_S,
    worker: bool = False,
) -> Iterator[tuple[Memolith, ModelServer]]:
    """Open an engine with a scripted model."""
    with (
        ModelServer(rule) as server,
        opened(
            store,
            client(server.openai_url, timeout_s=timeout_s),
            clock=clock,
            profile=profile,
            worker=worker,
        ) as memory,
    ):
        yield memory, server


def opened(
    store: str | Path,
    chat: ResilientChat,
    *,
    clock: SettableClock,
    profile: str,
    cipher: CipherProvider | None = None,
    worker: bool = False,
) -> Memolith:
    """Open an engine that learns with a model."""
    return Memolith.open(
        store,
        profile=profile,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        clock=clock,
        cipher=cipher,
        config=load(None, SMALL_CASCADES, {}),
        chat=chat,
        worker=worker,
    )


def say(memory: Memolith, clock: SettableClock, script: Sequence[Scripted] | None = None) -> None:
    """Log the sixty exchanges, two minutes apart, in sessions of twenty that are ended."""
    for number, exchange in enumerate(load_script() if script is None else script):
        say_one(memory, clock, number, exchange)


def say_one(memory: Memolith, clock: SettableClock, number: int, exchange: Scripted) -> None:
    """Log one of the sixty exchanges; the last of a session ends the session."""
    session = f"day {number // _SESSION}"
    memory.learn(exchange.user, exchange.assistant, owner=OWNER, session=session)
    clock.advance(timedelta(minutes=2))
    end_session_after(memory, number + 1)


def end_session_after(memory: Memolith, said: int) -> None:
    """End the session that ends after a number of exchanges, if any. Idempotent."""
    if said and said % _SESSION == 0:
        memory.end_session(f"day {said // _SESSION - 1}", owner=OWNER)


def work_off(memory: Memolith, clock: SettableClock) -> int:
    """Run learning until nothing is pending or due; return the number of failures."""
    failed = 0
    for _ in range(_MOST_ROUNDS):
        worked = memory.work()
        failed += sum(each.failed for each in worked)
        backlog = memory.backlog(owner=OWNER)
        if not (worked or backlog.pending_messages):
            assert not backlog.dead_letters, backlog
            assert not backlog.failed_kinds, backlog
            return failed
        clock.advance(timedelta(hours=1))
    raise AssertionError(f"learning does not finish: {memory.backlog(owner=OWNER)}")


def end(memory: Memolith) -> End:
    """Return the final memories."""
    own = memory.owner(OWNER)
    summaries = own.summaries()
    made = {each.id for each in summaries}
    page = own.list(state="all", limit=1_000)
    document = own.base_memory()
    return End(
        tuple(
            sorted(
                (each.kind, each.state.value, each.origin.value, each.content)
                for each in page.memories
                if each.id not in made
            )
        ),
        tuple(sorted(each.content for each in summaries)),
        document.content if document else "",
    )
