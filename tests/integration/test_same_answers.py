"""The same memories give the same answers, whichever database they are in and however they came.

Memories and messages made up by rules, and questions, with the local model: each store gives the
ten that the reference gives, in its order, with its scores. 500 of them and 50 questions in each
run of the tests; 2,000 and 200 in the long one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memolith import Memolith, Message
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.models.local import LocalEmbedder
from memolith.config import load
from memolith.domain.messages import Role
from memolith.import_export.records import Record
from memolith.ports.cipher import CipherProvider
from memolith.ports.models import TextRole
from memolith.testing.fakes import SettableClock
from support.postgres import dropped, on_server, own


@dataclass(frozen=True, slots=True)
class Amount:
    """How many memories and messages there are, and questions about them."""

    memories: int
    said: int
    asked: int


SOME, ALL = Amount(350, 150, 50), Amount(1_400, 600, 200)
FIRST = datetime(2026, 3, 1, 8, tzinfo=UTC)
BATCH = 50

PEOPLE = (
    *("I", "My sister Anna", "My brother Tom", "Grandmother", "Doctor Weber", "Our neighbour Ali"),
    *("My colleague Priya", "Uncle Jorge", "The landlord", "Marta from work", "My son Leo"),
)
DEEDS = (
    *("bought", "lost", "found", "repaired", "sold", "painted", "ordered", "returned", "borrowed"),
    *("forgot", "praised", "broke", "cleaned", "photographed", "carried", "wanted"),
)
THINGS = (
    *("a red bicycle", "the blue kettle", "an old violin", "three tickets", "the garden bench"),
    *("a chess set", "the winter coat", "two hiking boots", "a silver ring", "the coffee grinder"),
    *("a tax form", "the rye bread", "a birthday card", "the boat keys", "an oak table"),
    *("a laptop charger", "the medicine", "a map of Norway", "the piano notes", "a yoga mat"),
)
PLACES = (
    *("in Lisbon", "at the station", "in the attic", "near the harbour", "at the dentist's"),
    *("in the office kitchen", "on the ferry", "at the market in Bergen", "in the library"),
    *("by the lake", "at grandmother's house", "in the car", "at the hotel in Prague"),
)
TIMES = (
    *("yesterday", "last Monday", "in May", "on 12 June", "before breakfast", "after the concert"),
    *("two weeks ago", "at noon", "during the storm", "on my birthday", "in the summer of 2019"),
)
REASONS = (
    *("", "because it was cheap", "by mistake", "for the party", "and was glad about it"),
    *("although it rained", "together with the children", "without telling anybody"),
)
QUESTIONS = (
    "Who {1} {2}?",
    "Where was {2}?",
    "What did {0} do {4}?",
    "When was it that {0} {1} {2}?",
    "{2} {3}",
    "What happened {3} {4}?",
)


@cache
def sentences(amount: Amount) -> tuple[str, ...]:
    """Return different sentences, the same ones on every machine."""
    chance = random.Random(6)  # noqa: S311
    made: dict[str, None] = {}
    while len(made) < amount.memories + amount.said:
        parts = (chance.choice(of) for of in (PEOPLE, DEEDS, THINGS, PLACES, TIMES, REASONS))
        made[f"{' '.join(filter(None, parts))}."] = None
    return tuple(made)


def questions(amount: Amount) -> list[str]:
    """Return what is asked about them."""
    chance = random.Random(7)  # noqa: S311
    parts = [PEOPLE, DEEDS, THINGS, PLACES, TIMES]
    return [
        chance.choice(QUESTIONS).format(*(chance.choice(each) for each in parts))
        for _ in range(amount.asked)
    ]


class EachOnce:
    """The local model, asked once for each text."""

    def __init__(self) -> None:
        self._local = LocalEmbedder()
        self._known: dict[tuple[str, TextRole], NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        return self._local.name

    @property
    def dimension(self) -> int:
        return self._local.dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        left = [text for text in dict.fromkeys(texts) if (text, role) not in self._known]
        if left:
            found = self._local.embed(left, role=role)
            self._known.update(((text, role), row) for text, row in zip(left, found, strict=True))
        return np.stack([self._known[text, role] for text in texts])


@pytest.fixture(scope="module")
def embedder() -> EachOnce:
    return EachOnce()


def opened(
    url: str | Path, embedder: EachOnce, cipher: CipherProvider, in_memory: int = 20_000
) -> tuple[Memolith, SettableClock]:
    """Open a store anew; on the server in a schema that is new."""
    clock = SettableClock(FIRST)
    own_schema = {"postgres.schema": own("same"), "postgres.vectors_in_memory": in_memory}
    config = load(env={}, overrides=own_schema)
    return Memolith.open(url, embedder=embedder, clock=clock, cipher=cipher, config=config), clock


def fill_one_by_one(memory: Memolith, clock: SettableClock, amount: Amount) -> None:
    """Tell all of it, in the order in which an export has it: of equals the first come first."""
    alice, told = memory.owner("alice"), sentences(amount)
    for number, text in enumerate(told[: amount.said]):
        clock.advance(timedelta(minutes=15))
        alice.log([Message(None, text, Role.USER)], session=f"s{number // 20}")
    for text in told[amount.said :]:
        clock.advance(timedelta(minutes=7))
        alice.remember(text)


def fill_at_once(memory: Memolith, records: Sequence[Record]) -> None:
    for start in range(0, len(records), BATCH):
        memory.import_(records[start : start + BATCH], owner="alice")


Answers = list[tuple[float | None, list[tuple[str, float]]]]
"""Of each question: how likely it is that it is answered, and the answers."""


def answers(memory: Memolith, clock: SettableClock, amount: Amount) -> Answers:
    """Return ten answers to each question, by text and score, and how likely one is at all."""
    clock.advance(FIRST + timedelta(days=30) - clock.now())
    asked = questions(amount)
    found = (memory.recall(each, owner="alice", top_k=10, touch=False) for each in asked)
    return [
        (one.relevance, [(each.content, each.score.total) for each in one.memories])
        for one in found
    ]


@pytest.fixture(
    scope="module",
    params=[pytest.param(SOME, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.soak)],
)
def amount(request: pytest.FixtureRequest) -> Amount:
    taken: Amount = request.param
    return taken


@pytest.fixture(scope="module")
def reference(
    embedder: EachOnce, amount: Amount, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Record], Answers]:
    """What a store was told, one by one, and what it answers."""
    embedder.embed(sentences(amount), role="document")  # at once, which is faster
    path = tmp_path_factory.mktemp("reference") / "memory.db"
    memory, clock = opened(path, embedder, PlainCipher())
    with memory:
        fill_one_by_one(memory, clock, amount)
        records = list(memory.export(owner="alice"))
        return records, answers(memory, clock, amount)


STORES = ("sqlite", "postgres", "pgvector")


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    if request.param == "sqlite":
        return tmp_path / "memory.db"
    dropped(on_server(), own("same"))
    return on_server()


@pytest.fixture
def in_memory(request: pytest.FixtureRequest) -> int:
    return 0 if request.node.callspec.params["url"] == "pgvector" else 20_000


@pytest.fixture(params=["plain", "encrypted"])
def cipher(request: pytest.FixtureRequest, tmp_path: Path) -> CipherProvider:
    if request.param == "plain":
        return PlainCipher()
    return KeyRingCiphers(KeyRing(tmp_path / "key.ring", KeyFile(tmp_path / "key")))


def test_each_database_gives_the_same_answers(
    reference: tuple[list[Record], Answers],
    amount: Amount,
    embedder: EachOnce,
    url: str | Path,
    in_memory: int,
    cipher: CipherProvider,
) -> None:
    records, expected = reference
    memory, clock = opened(url, embedder, cipher, in_memory)
    with memory:
        fill_at_once(memory, records)
        assert answers(memory, clock, amount) == expected
    assert sum(len(each) for _, each in expected) > 9 * amount.asked
    assert all(relevance for relevance, _ in expected)


@pytest.mark.soak
def test_one_by_one_or_at_once_is_the_same(
    reference: tuple[list[Record], Answers],
    amount: Amount,
    embedder: EachOnce,
    url: str | Path,
    in_memory: int,
    cipher: CipherProvider,
) -> None:
    memory, clock = opened(url, embedder, cipher, in_memory)
    with memory:
        fill_one_by_one(memory, clock, amount)
        assert _ties_aside(answers(memory, clock, amount)) == _ties_aside(reference[1])


def _ties_aside(given: Answers) -> Answers:
    """Return the first five, those of the same score in the order of their texts."""
    return [
        (relevance, sorted(each, key=lambda one: (-one[1], one[0]))[:5])
        for relevance, each in given
    ]
