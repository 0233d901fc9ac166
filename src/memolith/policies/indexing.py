"""Vectors as they are stored and compared: int8, so that a cosine is exact arithmetic.

A vector is scaled so that its largest component is ±127, and rounded. The scale is not kept: a
cosine does not depend on it. The products of two such vectors add up to less than 2**24 for up
to 1,040 dimensions, so that a float32 matrix product is exact in whatever order it adds, and
every store, on every machine, in a batch or alone, computes the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Role, get_role
from memolith.text.analysis import terms

_MAX_COMPONENT = 127

_NORMALISE_BLOCK_ROWS = 4_096
"""Vectors brought to length 1 at once: this many of 384 dimensions take some 12 MB."""


def quantise(vectors: NDArray[np.floating]) -> NDArray[np.int8]:
    """Return vectors as they are stored, shape (n, d) or (d,); all-zero ones stay so."""
    values = np.asarray(vectors, dtype=np.float64)
    top = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    scaled = np.divide(values * _MAX_COMPONENT, top, out=np.zeros_like(values), where=top > 0)
    stored: NDArray[np.int8] = np.rint(scaled).astype(np.int8)
    return stored


def norms(stored: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the lengths of stored vectors, shape (n,)."""
    values = stored.astype(np.float32)
    lengths: NDArray[np.float64] = np.sqrt(np.vecdot(values, values).astype(np.float64))
    return lengths


def row_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the product of each row (n, d) with a query (d,), shape (n,), on this thread alone.

    A matrix product is as fast where it has the machine to itself; but from a hundred rows on it
    has a thread of the BLAS on each processor take part, for whom a service's own threads must
    wait. And the rows would have to be float32 in memory, not some at a time.
    """
    products: NDArray[np.float32] = np.vecdot(rows, query.astype(np.float32))
    return products


def cosines(stored: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the cosine of each stored vector (n, d) to a query (d,); 0.0 where one is zero."""
    products = row_products(stored, query).astype(np.float64)
    lengths = norms(stored) * norms(query[None, :])[0]
    found: NDArray[np.float64] = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 0
    )
    return found


def centroid(stored: NDArray[np.int8]) -> NDArray[np.float64] | None:
    """Return the mean of the directions of stored vectors (n, d), shape (d,).

    Each counts alike, brought to length 1; zero ones have no direction. None where none has. The
    same vectors in the same order give the same bits.
    """
    total, count = np.zeros(stored.shape[1]), 0
    for start in range(0, len(stored), _NORMALISE_BLOCK_ROWS):
        block = stored[start : start + _NORMALISE_BLOCK_ROWS]
        lengths = norms(block)
        pointing = lengths > 0
        total += (block[pointing] / lengths[pointing, None]).sum(axis=0)
        count += int(pointing.sum())
    return total / count if count else None


# --- Which of many vectors is nearest among those before it


NEAREST_BLOCK_ROWS = 256
"""Vectors compared at once: with 20,000 before them their cosines take 20 MB."""


def find_nearest_before(stored: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each vector the row of the nearest of those before it, and their cosine.

    Of those that are as near the first. Takes time with the square of their number.

    Args:
        stored: As they are stored, shape (n, d); one that is zero is near to nothing.

    Returns:
        Rows, −1 for the first vector, and cosines −1..1, −1.0 for the first; each of shape (n,).
    """
    count = len(stored)
    rows, best = np.full(count, -1, dtype=np.int64), np.full(count, -1.0)
    lengths = norms(stored).astype(np.float32)
    lengths[lengths == 0] = np.inf
    units = stored.astype(np.float32) / lengths[:, None]
    for start in range(0, count, NEAREST_BLOCK_ROWS):
        end = min(start + NEAREST_BLOCK_ROWS, count)
        found = units[start:end] @ units[:end].T
        found[:, start:][np.triu_indices(end - start)] = -1.0  # itself, and those after it
        rows[start:end] = found.argmax(axis=1)
        best[start:end] = found.max(axis=1)
    rows[:1], best[:1] = -1, -1.0
    return rows, best


# --- Novelty: how far a text is from all that an owner has already (the profile `chunks`)


def compute_novelty(
    vectors: NDArray[np.generic], centre: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return each vector's cosine distance from the centre, 0..1; 1.0 where there is no centre.

    Args:
        vectors: Shape (n, d), a row a text. A row of zeros is at distance 1.0.
        centre: Of the owner's active memories (`memolith.policies.indexing.centroid`), as it stood
            before any of these was stored.
    """
    if centre is None:
        return np.ones(len(vectors))
    length = float(np.linalg.norm(centre))
    cosines = _normalise_rows(vectors) @ (centre / length if length else centre)
    return clamp_novelty(1.0 - cosines)


def clamp_novelty(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cosine distances, 0..2, as novelty: what points away is no newer than new."""
    clamped: NDArray[np.float64] = np.clip(distances, 0.0, 1.0)
    return clamped


def _normalise_rows(vectors: NDArray[np.generic]) -> NDArray[np.float64]:
    values = vectors.astype(np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units: NDArray[np.float64] = np.divide(
        values, lengths, out=np.zeros_like(values), where=lengths > 0
    )
    return units


# --- How a text goes into the index: what is embedded of it, and by which keywords it is found


WINDOW_TOKENS = 128
"""A message shares its keywords' window with the one before it where both fit in this. Measured:
a turn alone is often meaningless ("Yes, last week!"), and an unbounded window halves recall on
long answers."""


def proper_name(speaker: str | None) -> str | None:
    """Return a speaker's name; None where there is none, or only a role ("user", "assistant")."""
    if not speaker or get_role(speaker, owner_id="") is not Role.PARTICIPANT:
        return None
    return speaker


def build_embedded_text(speaker: str | None, passage: str) -> str:
    """Return what is embedded of a passage: with its speaker's name in front, if there is one."""
    name = proper_name(speaker)
    return f"{name}: {passage}" if name else passage


def count_passage_terms(speaker: str | None, passage: str) -> Mapping[str, int]:
    """Return the keywords of a passage and how often each stands in it.

    The speaker's name is among them, so that a name finds what was said under it.
    """
    return Counter([*terms(passage), *terms(proper_name(speaker) or "")])


def add_key_terms(text_terms: Mapping[str, int], key: str | None) -> Mapping[str, int]:
    """Return the keywords of a passage with those of a key that finds it too."""
    return Counter(text_terms) + Counter(terms(key)) if key else text_terms


def remove_key_terms(text_terms: Mapping[str, int], key: str) -> Mapping[str, int]:
    """Return what `keyed_terms` made more of."""
    return Counter(text_terms) - Counter(terms(key))


def add_window_terms(
    text_terms: Mapping[str, int],
    text_tokens: int,
    previous: Mapping[str, int],
    previous_tokens: int,
) -> Mapping[str, int]:
    """Return a message's keywords with those of the message before it, where both fit.

    Only for two messages of a single passage each.
    """
    if text_tokens + previous_tokens > WINDOW_TOKENS:
        return text_terms
    return Counter(text_terms) + Counter(previous)
