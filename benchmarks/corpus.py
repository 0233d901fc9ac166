"""A synthetic corpus, the same on every machine, and stores filled with it.

Word frequencies follow Zipf's law. Frequent words come from the conversation that ships with
Memolith, so that stop words are English. Rare words are made of syllables.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path

import numpy as np
from measuring import progress

import memolith
from memolith import Memolith
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.demo import load_conversation
from memolith.domain.memories import Action, Event, History, Memory, Version
from memolith.domain.messages import Message, Role
from memolith.import_export.records import MemoryRecord
from memolith.policies.arguments import ENTROPY_BYTES, uuid7
from memolith.ports.cipher import CipherProvider
from memolith.ports.models import Embedder
from memolith.testing.fakes import HashingEmbedder, WordCounter

FORMAT = 1
"""Increase when a change here affects the content of stores."""

SEED = 20
WORDS = 20_000
"""Vocabulary size, about that of one person."""
OFFSET = 2.7
"""Offset of the Zipf–Mandelbrot law for English."""
LEAST_WORDS, MOST_WORDS = 8, 25
START = datetime(2025, 1, 1, 8, tzinfo=UTC)
PER_SESSION = 40
EMBEDDED = 5_000
"""Messages with vectors of the local model: at most a minute to embed."""
OTHERS = 9
PER_OTHER = 1_000
BATCH = 1_000

_FRAMES = (
    "{}",
    "What did I say about {}?",
    "When did I mention {}?",
    "Do you remember {}?",
    "Which {} did I tell you about?",
)


def vocabulary() -> list[str]:
    """Return `WORDS` words, the most frequent first."""
    said = " ".join(m.content for session in load_conversation().sessions for m in session.messages)
    counted = Counter(re.findall(r"[a-z]+", said.lower()))
    spoken = [word for word, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))]
    onsets, rhymes = "bdfghjklmnprstvwz", ("a", "e", "i", "o", "u", "an", "el", "ir", "on", "us")
    made = ("".join(parts) for parts in product(onsets, rhymes, onsets, rhymes))
    rare = [word for word in made if word not in counted]
    np.random.default_rng(SEED).shuffle(rare)
    return [*spoken, *rare][:WORDS]


class Corpus:
    """Texts and queries, determined by their numbers."""

    def __init__(self) -> None:
        """Build the vocabulary."""
        self._words = np.array(vocabulary())
        weights = 1.0 / (np.arange(len(self._words)) + 1 + OFFSET)
        self._cumulative = np.cumsum(weights / weights.sum())

    def texts(self, count: int, *, stream: int = 0) -> list[str]:
        """Return texts; different streams have different texts."""
        random = np.random.default_rng((SEED, stream))
        sizes = random.integers(LEAST_WORDS, MOST_WORDS + 1, count)
        ranks = np.searchsorted(self._cumulative, random.random(int(sizes.sum())))
        words = self._words[np.minimum(ranks, len(self._words) - 1)]
        return [_sentence(part.tolist()) for part in np.split(words, np.cumsum(sizes)[:-1])]

    def queries(self, texts: Sequence[str], count: int) -> list[str]:
        """Return queries of two to five words that occur together in one of the texts."""
        random = np.random.default_rng((SEED, 1_000_000))
        return [_query(texts[int(random.integers(len(texts)))], random) for _ in range(count)]


def _sentence(words: Sequence[str]) -> str:
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def _query(text: str, random: np.random.Generator) -> str:
    words = text.rstrip(".").lower().split()
    size = int(random.integers(2, 6))
    start = int(random.integers(0, len(words) - size + 1))
    frame = _FRAMES[random.integers(len(_FRAMES))]
    return frame.format(" ".join(words[start : start + size]))


# --- Records


def chronicles(texts: Sequence[str], owner_id: str) -> Iterator[MemoryRecord]:
    """Yield a memory of each text, one minute apart."""
    for number, text in enumerate(texts):
        at = START + timedelta(minutes=number)
        id_ = uuid7(at, number.to_bytes(ENTROPY_BYTES, "big"))
        memory = Memory(
            id=id_, owner_id=owner_id, kind="fact", content=text, created_at=at, updated_at=at
        )
        history = History(
            (Version(memory, at, None),), (Event(id_, Action.REMEMBERED, at, "user", 1),)
        )
        yield MemoryRecord(memory, history)


def messages(texts: Sequence[str]) -> list[Message]:
    """Return a conversation of a user and an assistant, one minute apart."""
    roles = (Role.USER, Role.ASSISTANT)
    return [
        Message(None, text, roles[number % 2], START + timedelta(minutes=number))
        for number, text in enumerate(texts)
    ]


def log(memory: memolith.OwnerMemory, texts: Sequence[str]) -> None:
    """Log each text as a message, in sessions of `PER_SESSION`."""
    said = messages(texts)
    for start in range(0, len(said), PER_SESSION):
        memory.log(said[start : start + PER_SESSION], session=f"session {start // PER_SESSION}")


# --- Stores


@dataclass(frozen=True, slots=True)
class Filled:
    """A store with two owners of `size` records each, and nine other owners.

    Owner "memories" has memories, and owner "messages" has messages.

    Attributes:
        path: The store's file.
        texts: Texts of both owners, which are the same.
        ciphers: The encryption; None for a plain store.
    """

    path: Path
    texts: list[str]
    ciphers: CipherProvider | None = None

    def open(self, embedder: Embedder | None = None) -> Memolith:
        """Open the store, with hashed vectors by default."""
        chosen = embedder or HashingEmbedder()
        return Memolith.open(self.path, embedder=chosen, tokens=WordCounter(), cipher=self.ciphers)

    def copied(self, folder: Path) -> Filled:
        """Return a writable copy in a folder."""
        path = folder / self.path.name
        shutil.copyfile(self.path, path)
        return replace(self, path=path)


def filled(size: int, corpus: Corpus) -> Filled:
    """Return the store of a size; it is filled on first use."""
    return _cached(f"{size}.db", corpus.texts(size), lambda store: _fill(store, corpus))


def encrypted(size: int, corpus: Corpus) -> Filled:
    """Return the encrypted store of a size, with its keys beside it."""
    name = f"encrypted-{size}.db"
    keys = _folder() / f"{name}.keys"
    ciphers = KeyRingCiphers(KeyRing(keys / "key.ring", KeyFile(keys / "key")))
    return _cached(name, corpus.texts(size), lambda store: _fill(store, corpus), ciphers)


def embedded(size: int, corpus: Corpus) -> Filled:
    """Return a store of one owner, "messages", with vectors of the local model."""
    return _cached(f"embedded-{size}.db", corpus.texts(size), _fill_embedded)


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"memolith-speed-{_version()}"
    folder.mkdir(exist_ok=True)
    return folder


def _cached(
    name: str,
    texts: list[str],
    fill: Callable[[Filled], None],
    ciphers: CipherProvider | None = None,
) -> Filled:
    store = Filled(_folder() / name, texts, ciphers)
    fresh = replace(store, path=store.path.with_name(f"{name}.part"))
    if not store.path.exists():
        progress(f"filling a store with {len(texts):,} texts, once")
        fresh.path.unlink(missing_ok=True)
        fill(fresh)
        fresh.path.rename(store.path)
    return store


def _fill(store: Filled, corpus: Corpus) -> None:
    with store.open() as opened:
        remember(opened, "memories", store.texts)
        log(opened.owner("messages"), store.texts)
        for number, texts in others(store, corpus):
            remember(opened, f"other {number}", texts)


def others(store: Filled, corpus: Corpus) -> Iterator[tuple[int, list[str]]]:
    """Yield number and memories of each other owner, who has no more than the measured one."""
    for number in range(1, OTHERS + 1):
        yield number, corpus.texts(min(PER_OTHER, len(store.texts)), stream=number)


def _fill_embedded(store: Filled) -> None:
    with Memolith.open(store.path) as opened:
        log(opened.owner("messages"), store.texts)


def remember(opened: Memolith, owner_id: str, texts: Sequence[str]) -> None:
    """Store a memory of each text, in bulk."""
    records = chronicles(texts, owner_id)
    while batch := list(islice(records, BATCH)):
        opened.import_(batch, owner=owner_id)


def _version() -> str:
    """Return a string that changes with the layout of stores."""
    schema = Path(memolith.__file__).parent / "adapters/sqlite/schema.py"
    layout = f"{FORMAT} {SEED}".encode() + schema.read_bytes()
    return hashlib.blake2b(layout, digest_size=6).hexdigest()
