"""Use your own embedder: any function that maps texts to vectors.

Run: python own_embedder.py
"""

import hashlib

from memolith import Memolith

DIMENSION = 256


def trigrams(texts: list[str]) -> list[list[float]]:
    """Return the trigram counts of each text, hashed to 256 dimensions."""
    vectors = []
    for text in texts:
        vector = [0.0] * DIMENSION
        for place in range(len(text) - 2):
            digest = hashlib.blake2b(text[place : place + 3].lower().encode(), digest_size=2)
            vector[int.from_bytes(digest.digest(), "big") % DIMENSION] += 1.0
        vectors.append(vector)
    return vectors


with Memolith.open(":memory:", embedder=trigrams) as memory:
    alice = memory.owner("alice")
    alice.remember("Allergic to hazelnuts")
    alice.remember("Plays the accordion on Sundays")
    for result in alice.recall("hazelnut allergies").memories:
        print(f"{result.score.similarity:.2f}  {result.content}")
