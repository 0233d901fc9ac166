"""What a store says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """What a store says of itself.

    Attributes:
        schema: Version of its tables.
        embedder: Name of the model its vectors are of; None until the first vector.
        dimension: Their length; None until the first vector.
        cipher: Name of the cipher it was made with.
        analyser: Version of the text analysis that its keywords were made with.
        digests: The name that digests of embedded texts are made with: that of the store's first
            model; None until then.
        space: How often its vectors were made anew by another model.
    """

    schema: int
    embedder: str | None
    dimension: int | None
    cipher: str
    analyser: int
    digest_name: str | None = None
    embedding_generation: int = 0
