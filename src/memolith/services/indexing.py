"""Builds index entries: passages, keywords, features, and vectors from the embedder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Message
from memolith.errors import ServiceFailed
from memolith.policies.indexing import (
    add_key_terms,
    add_window_terms,
    build_embedded_text,
    count_passage_terms,
    quantise,
    remove_key_terms,
)
from memolith.ports.index import IndexEntry, Passage
from memolith.ports.models import Embedder, TextRole, TokenCounter
from memolith.ports.store import Store
from memolith.profiles.model import Profile
from memolith.text.canonical_form import content_key
from memolith.text.features import extract_features
from memolith.text.passages import passages
from memolith.tracing import span


def embed_texts(embedder: Embedder, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
    """Return the vectors of texts, shape (len(texts), dimension), finite.

    Raises:
        ServiceFailed: The embedder failed or returned malformed vectors.
    """
    if not texts:  # `dimension` might load the model
        return np.empty((0, 0), dtype=np.float32)
    dimension = embedder.dimension
    with span("embed"):
        output = embedder.embed(texts, role=role)
    try:
        with np.errstate(over="ignore"):  # overflow to infinity is refused below
            vectors = np.asarray(output, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        problem = "returned no list of vectors"
        raise ServiceFailed(embedder.name, problem) from error
    if vectors.shape != (len(texts), dimension):
        raise ServiceFailed(
            embedder.name,
            f"returned vectors of shape {vectors.shape}, not {(len(texts), dimension)}",
        )
    if not np.isfinite(vectors).all():
        raise ServiceFailed(embedder.name, "returned a vector that is not finite")
    return vectors


# --- Index entries


_DIGEST_BYTES = 16
_PROBE_TEXT = "ready"


@dataclass(frozen=True, slots=True)
class IndexText:
    """A text to index.

    Attributes:
        content: The text, cleaned.
        speaker: The speaker's name, if any.
        should_embed: Whether it gets vectors.
        key: A key whose words also match the text.
    """

    content: str
    speaker: str | None = None
    should_embed: bool = True
    key: str | None = None


def memory_text(profile: Profile, content: str, kind: str, key: str | None) -> IndexText:
    """Return the indexed text of a memory, as the profile defines it.

    Args:
        profile: The owner's profile.
        content: The memory's content.
        kind: The memory's kind.
        key: The memory's key, indexed if the profile searches keys.
    """
    found_by = key if profile.searches_keys else None
    return IndexText(content, should_embed=profile.should_embed(kind), key=found_by)


def message_text(profile: Profile, message: Message) -> IndexText:
    """Return the indexed text of a message; without vectors if the profile recalls no messages."""
    return IndexText(message.content, message.speaker, profile.should_embed(None))


class UnembeddedEntries:
    """The index entries of texts before their vectors are attached.

    Attributes:
        texts_by_digest: The texts to embed, by digest.
    """

    def __init__(self, texts: Sequence[IndexText], entries: Sequence[IndexEntry]) -> None:
        self._pairs = list(zip(texts, entries, strict=True))
        self.texts_by_digest: dict[bytes, str] = {
            passage.digest: build_embedded_text(text.speaker, passage.span.extract(text.content))
            for text, entry in self._pairs
            for passage in entry.passages
            if passage.digest is not None and text.should_embed
        }

    def with_vectors(self, vectors: Mapping[bytes, NDArray[np.int8]]) -> list[IndexEntry]:
        """Return the entries with their vectors, as far as these are given."""
        return [
            _attach_vectors(entry, vectors) if text.should_embed else _drop_vectors(entry)
            for text, entry in self._pairs
        ]


class Indexer:
    """Builds index entries. Thread-safe."""

    def __init__(self, embedder: Embedder, token_counter: TokenCounter, store: Store) -> None:
        self._embedder = embedder
        # A re-embedded store keeps its original digests.
        self._digest_model = store.meta.digest_name or embedder.name
        self._token_counter = token_counter
        self._store = store
        self._adopted = False
        self._lock = threading.Lock()
        self._recent = _VectorCache()

    @property
    def model(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    def probe(self) -> None:
        """Embed a test word, which is not stored, and check that the store uses the same model.

        Raises:
            ServiceFailed: The embedder failed.
            WrongEmbeddingModel: The store has vectors of another model.
        """
        embed_texts(self._embedder, [_PROBE_TEXT], "query")
        self._store.check_embedder()

    def build_entries(self, texts: Sequence[IndexText], owner_id: str) -> list[IndexEntry]:
        """Return the index entry of each of an owner's texts.

        Texts with stored or recent vectors are not embedded again, and equal texts only once. May
        contact a service: no snapshot or transaction may be open.

        Raises:
            ServiceFailed: The embedder failed or returned malformed vectors.
            WrongEmbeddingModel: The store has vectors of another model.
        """
        unembedded = self.build_unembedded(texts)
        return unembedded.with_vectors(self.get_vectors(unembedded.texts_by_digest, owner_id))

    def get_vectors(
        self, texts_by_digest: Mapping[bytes, str], owner_id: str
    ) -> dict[bytes, NDArray[np.int8]]:
        """Return the vectors of texts by digest; stored or recent vectors are reused.

        Raises:
            ServiceFailed: The embedder failed or returned malformed vectors.
            WrongEmbeddingModel: The store has vectors of another model.
        """
        vectors = self._recent.get(owner_id, texts_by_digest)
        if unknown := [digest for digest in texts_by_digest if digest not in vectors]:
            with self._store.read(owner_id) as snapshot:
                vectors |= snapshot.vectors(unknown)
        missing = {
            digest: text for digest, text in texts_by_digest.items() if digest not in vectors
        }
        new_vectors = self._embed_documents(missing)
        self._recent.put(owner_id, new_vectors)
        return vectors | new_vectors

    def rebuild_entries(self, texts: Sequence[IndexText]) -> list[IndexEntry]:
        """Return the index entry of each text, with all vectors computed again."""
        unembedded = self.build_unembedded(texts)
        return unembedded.with_vectors(self._embed_documents(unembedded.texts_by_digest))

    def build_unembedded(self, texts: Sequence[IndexText]) -> UnembeddedEntries:
        """Return the index entries of texts without computing vectors."""
        return UnembeddedEntries(texts, [self._build_entry(text) for text in texts])

    def build_keyword_entry(self, text: IndexText) -> IndexEntry:
        """Return the index entry of a text without its vectors."""
        return self._build_entry(text)

    def vector_digest(self, text: str) -> bytes | None:
        """Return the digest of a text's vector; None: the text has several passages.

        The text has no speaker, as in memories.
        """
        spans = passages(text, self._token_counter)
        if len(spans) != 1:
            return None
        return self._compute_digest(build_embedded_text(None, spans[0][0].extract(text)))

    def clear_recent(self, owner_id: str) -> None:
        """Drop an owner's cached vectors after their texts were purged."""
        self._recent.clear(owner_id)

    def embed_query(self, text: str) -> NDArray[np.int8] | None:
        """Return the quantised vector of a query; None for an empty text."""
        if not text:
            return None
        vector: NDArray[np.int8] = quantise(self._embed([text], "query")[0])
        return vector

    @property
    def token_counter(self) -> TokenCounter:
        """The counter of word pieces."""
        return self._token_counter

    def count_word_pieces(self, texts: Sequence[str]) -> list[int]:
        """Return the number of word pieces of each text."""
        return self._token_counter.count(texts)

    def _build_entry(self, text: IndexText) -> IndexEntry:
        parts = self.build_passages(text)
        tokens = sum(part.tokens for part in parts)
        return IndexEntry(
            extract_features(text.content, tokens=tokens), parts, content_key(text.content)
        )

    def build_passages(self, text: IndexText) -> tuple[Passage, ...]:
        """Return the passages of a text without vectors."""
        spans = passages(text.content, self._token_counter)
        keys = [text.key, *[None] * (len(spans) - 1)]  # the first passage represents the whole text
        return tuple(
            Passage(
                span=span,
                tokens=tokens,
                terms=add_key_terms(
                    count_passage_terms(text.speaker, span.extract(text.content)), key
                ),
                vector=None,
                digest=self._compute_digest(
                    build_embedded_text(text.speaker, span.extract(text.content))
                ),
            )
            for (span, tokens), key in zip(spans, keys, strict=True)
        )

    def _compute_digest(self, text: str) -> bytes:
        name = f"{self._digest_model}\0{text}".encode()
        return blake2b(name, digest_size=_DIGEST_BYTES).digest()

    def _embed_documents(self, texts: Mapping[bytes, str]) -> dict[bytes, NDArray[np.int8]]:
        vectors = quantise(self._embed(list(texts.values()), "document"))
        return dict(zip(texts, vectors, strict=True))

    def _embed(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        vectors = embed_texts(self._embedder, texts, role)
        if texts:
            self._adopt_embedder()
        return vectors

    def _adopt_embedder(self) -> None:
        with self._lock:
            if not self._adopted:
                self._store.adopt_embedder(self._embedder.name, self._embedder.dimension)
                self._adopted = True


class _VectorCache:
    """The most recent vectors, so that the steps of one call embed a text only once.

    Cached by owner: otherwise, response times would reveal to an owner whether somebody else has
    used a text.
    """

    def __init__(self, size: int = 4_096) -> None:
        self._size = size
        self._vectors: OrderedDict[tuple[str, bytes], NDArray[np.int8]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, owner_id: str, digests: Iterable[bytes]) -> dict[bytes, NDArray[np.int8]]:
        cached = self._vectors
        with self._lock:
            return {each: cached[owner_id, each] for each in digests if (owner_id, each) in cached}

    def clear(self, owner_id: str) -> None:
        with self._lock:
            for each in [place for place in self._vectors if place[0] == owner_id]:
                del self._vectors[each]

    def put(self, owner_id: str, vectors: Mapping[bytes, NDArray[np.int8]]) -> None:
        with self._lock:
            self._vectors.update({(owner_id, each): vector for each, vector in vectors.items()})
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)


def _attach_vectors(entry: IndexEntry, vectors: Mapping[bytes, NDArray[np.int8]]) -> IndexEntry:
    parts = tuple(
        replace(part, vector=vectors.get(part.digest)) if part.digest is not None else part
        for part in entry.passages
    )
    return replace(entry, passages=parts)


def _drop_vectors(entry: IndexEntry) -> IndexEntry:
    return replace(entry, passages=tuple(replace(part, digest=None) for part in entry.passages))


def remove_key_from_entry(entry: IndexEntry, key: str) -> IndexEntry:
    """Return a text's entry without the words of a key that it no longer has."""
    first, *rest = entry.passages
    return replace(
        entry, passages=(replace(first, terms=remove_key_terms(first.terms, key)), *rest)
    )


def apply_window(entry: IndexEntry, previous: IndexEntry | None) -> IndexEntry:
    """Return a message's entry extended by the keywords of the previous message, if both are short.

    `previous` is the previous message's own entry, without a window.
    """
    return entry if previous is None else apply_window_passages(entry, previous.passages)


def apply_window_passages(entry: IndexEntry, previous: Sequence[Passage]) -> IndexEntry:
    """Return the same as `apply_window`, given the passages of the previous message."""
    if len(entry.passages) != 1 or len(previous) != 1:
        return entry
    first, context = entry.passages[0], previous[0]
    terms = add_window_terms(first.terms, first.tokens, context.terms, context.tokens)
    return replace(entry, passages=(replace(first, terms=terms),))
