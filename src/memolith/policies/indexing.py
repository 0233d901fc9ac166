"""Quantise and compare vectors, compute novelty, and build the indexed text of passages.

Vectors are stored as int8: scaled so that the largest component is ±127, and rounded. The scale is
not stored, since cosines do not depend on it. Up to 1,040 dimensions, dot products stay below
2**24. A float32 product is therefore exact in any order of summation, and every store on every
machine computes the same bits.
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
"""Vectors normalised at once: about 12 MB for 384 dimensions."""


def quantise(vectors: NDArray[np.floating]) -> NDArray[np.int8]:
    """Return vectors as stored, shape (n, d) or (d,); zero vectors stay zero."""
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
    """Return the dot product of each row (n, d) with a query (d,), shape (n,), on this thread.

    A matrix product is as fast only on an idle machine: from about a hundred rows on, BLAS uses all
    processors and delays a service's own threads. It would also need all rows as float32 in memory
    at once.
    """
    products: NDArray[np.float32] = np.vecdot(rows, query.astype(np.float32))
    return products


def cosines(stored: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the cosine of each stored vector (n, d) to a query (d,); 0.0 for zero vectors."""
    products = row_products(stored, query).astype(np.float64)
    lengths = norms(stored) * norms(query[None, :])[0]
    found: NDArray[np.float64] = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 0
    )
    return found


def centroid(stored: NDArray[np.int8]) -> NDArray[np.float64] | None:
    """Return the mean direction of stored vectors (n, d), shape (d,).

    Each vector is normalised first; zero vectors are ignored. None if all are zero. The same
    vectors in the same order give the same bits.
    """
    total, count = np.zeros(stored.shape[1]), 0
    for start in range(0, len(stored), _NORMALISE_BLOCK_ROWS):
        block = stored[start : start + _NORMALISE_BLOCK_ROWS]
        lengths = norms(block)
        is_nonzero = lengths > 0
        total += (block[is_nonzero] / lengths[is_nonzero, None]).sum(axis=0)
        count += int(is_nonzero.sum())
    return total / count if count else None


# --- Nearest predecessors


NEAREST_BLOCK_ROWS = 256
"""Vectors compared at once: against 20,000 earlier ones their cosines take 20 MB."""


def find_nearest_before(stored: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each vector the row of its nearest predecessor, and their cosine.

    Ties go to the first. Runs in quadratic time.

    Args:
        stored: Stored vectors, shape (n, d); a zero vector is near to none.

    Returns:
        Rows, −1 for the first vector, and cosines −1..1, −1.0 for the first; shape (n,) each.
    """
    count = len(stored)
    rows, best = np.full(count, -1, dtype=np.int64), np.full(count, -1.0)
    lengths = norms(stored).astype(np.float32)
    lengths[lengths == 0] = np.inf
    units = stored.astype(np.float32) / lengths[:, None]
    for start in range(0, count, NEAREST_BLOCK_ROWS):
        end = min(start + NEAREST_BLOCK_ROWS, count)
        block_cosines = units[start:end] @ units[:end].T
        block_cosines[:, start:][np.triu_indices(end - start)] = -1.0  # itself and its successors
        rows[start:end] = block_cosines.argmax(axis=1)
        best[start:end] = block_cosines.max(axis=1)
    rows[:1], best[:1] = -1, -1.0
    return rows, best


# --- Novelty (`chunks`)


def compute_novelty(
    vectors: NDArray[np.generic], centre: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return each vector's cosine distance from the centre, 0..1; 1.0 without a centre.

    Args:
        vectors: Shape (n, d), one row per text; a zero row has distance 1.0.
        centre: Centroid of the owner's active memories before any of these was stored (see
            `centroid`).
    """
    if centre is None:
        return np.ones(len(vectors))
    length = float(np.linalg.norm(centre))
    cosines = _normalise_rows(vectors) @ (centre / length if length else centre)
    return clamp_novelty(1.0 - cosines)


def clamp_novelty(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clip cosine distances, 0..2, to novelty, 0..1."""
    clamped: NDArray[np.float64] = np.clip(distances, 0.0, 1.0)
    return clamped


def _normalise_rows(vectors: NDArray[np.generic]) -> NDArray[np.float64]:
    values = vectors.astype(np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units: NDArray[np.float64] = np.divide(
        values, lengths, out=np.zeros_like(values), where=lengths > 0
    )
    return units


# --- Embedded text and keywords of passages


WINDOW_TOKENS = 128
"""A message shares keywords with the previous one if both together have at most this many tokens.
Measured: a single turn is often meaningless ("Yes, last week!"), and without a limit recall on long
answers drops by half.
"""


def proper_name(speaker: str | None) -> str | None:
    """Return the speaker's name; None if there is none, or only a role such as "user"."""
    if not speaker or get_role(speaker, owner_id="") is not Role.PARTICIPANT:
        return None
    return speaker


def build_embedded_text(speaker: str | None, passage: str) -> str:
    """Return the text to embed for a passage: with the speaker's name in front, if any."""
    name = proper_name(speaker)
    return f"{name}: {passage}" if name else passage


def count_passage_terms(speaker: str | None, passage: str) -> Mapping[str, int]:
    """Return the keyword counts of a passage, including the speaker's name."""
    return Counter([*terms(passage), *terms(proper_name(speaker) or "")])


def add_key_terms(text_terms: Mapping[str, int], key: str | None) -> Mapping[str, int]:
    """Return the keyword counts of a passage, plus those of its key."""
    return Counter(text_terms) + Counter(terms(key)) if key else text_terms


def remove_key_terms(text_terms: Mapping[str, int], key: str) -> Mapping[str, int]:
    """Undo `add_key_terms`."""
    return Counter(text_terms) - Counter(terms(key))


def add_window_terms(
    text_terms: Mapping[str, int],
    text_tokens: int,
    previous: Mapping[str, int],
    previous_tokens: int,
) -> Mapping[str, int]:
    """Return a message's keyword counts, plus those of the previous message if both fit.

    Both messages must consist of a single passage.
    """
    if text_tokens + previous_tokens > WINDOW_TOKENS:
        return text_terms
    return Counter(text_terms) + Counter(previous)
