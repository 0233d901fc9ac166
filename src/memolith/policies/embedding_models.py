"""Known embedding models: dimensions, prefixes, truncation, and similarity thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_LATEST_TAG = ":latest"
"""The tag that Ollama appends to a name without one."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Properties of an embedding model.

    Attributes:
        dimension: Number of dimensions; None: ask the service.
        min_dimension: Minimum dimension for truncation, for models trained for it (A. Kusupati et
            al., "Matryoshka Representation Learning", 2022); None: no truncation.
        query_prefix: Prefix of queries.
        document_prefix: Prefix of all other texts.
        accepts_dimension: Whether the service takes the dimension as a parameter.
    """

    dimension: int | None = None
    min_dimension: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    accepts_dimension: bool = False


_SEARCH_PREFIX = "Represent this sentence for searching relevant passages: "

_NOMIC = ModelInfo(768, 64, "search_query: ", "search_document: ")
_MXBAI = ModelInfo(1024, 128, _SEARCH_PREFIX)
_BGE_M3 = ModelInfo(1024)
_MINILM = ModelInfo(384)
_E5 = {"small": 384, "base": 768, "large": 1024}

KNOWN_MODELS: Final[Mapping[str, ModelInfo]] = {
    # https://huggingface.co/nomic-ai/nomic-embed-text-v1.5: 768 down to 64. Ollama's name means
    # that version. Version 1 has the same prefixes, but does not support truncation.
    "nomic-embed-text": _NOMIC,
    "nomic-embed-text:v1.5": _NOMIC,
    "nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1": ModelInfo(768, None, "search_query: ", "search_document: "),
    # https://www.mixedbread.com/docs/embeddings/mxbai-embed-large-v1: a prefix for queries only;
    # measured by its authors down to 128.
    "mxbai-embed-large": _MXBAI,
    "mxbai-embed-large-v1": _MXBAI,
    "mixedbread-ai/mxbai-embed-large-v1": _MXBAI,
    # https://huggingface.co/BAAI/bge-m3: no prefix, no truncation.
    "bge-m3": _BGE_M3,
    "BAAI/bge-m3": _BGE_M3,
    "all-minilm": _MINILM,
    "sentence-transformers/all-MiniLM-L6-v2": _MINILM,
    # https://platform.openai.com/docs/guides/embeddings: any dimension up to the model's own.
    "text-embedding-3-small": ModelInfo(1536, 1, accepts_dimension=True),
    "text-embedding-3-large": ModelInfo(3072, 1, accepts_dimension=True),
    "text-embedding-ada-002": ModelInfo(1536),
    # https://huggingface.co/intfloat/e5-base-v2: prefixes, for all languages.
    **{
        f"intfloat/{name}": ModelInfo(length, None, "query: ", "passage: ")
        for size, length in _E5.items()
        for name in (f"e5-{size}-v2", f"multilingual-e5-{size}")
    },
}


@dataclass(frozen=True, slots=True)
class SelectedModel:
    """A model and the dimension to use.

    Attributes:
        requested_name: Name of the model at the service.
        info: Its known properties.
        truncated_dimension: Number of leading dimensions to keep, if fewer than all.
        configured_dimension: Dimension from the settings, for an unknown model; None: not set.
    """

    requested_name: str
    info: ModelInfo
    truncated_dimension: int | None = None
    configured_dimension: int | None = None

    @property
    def name(self) -> str:
        """The name to store: the same for the same vectors, whatever the service."""
        base_name = self.requested_name.removesuffix(_LATEST_TAG)
        return (
            base_name
            if self.truncated_dimension is None
            else f"{base_name}@{self.truncated_dimension}"
        )

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors; None: ask the service."""
        return self.truncated_dimension or self.info.dimension or self.configured_dimension

    def prefix(self, role: str) -> str:
        """Return the prefix for a role, "query" or "document"."""
        return self.info.query_prefix if role == "query" else self.info.document_prefix


def select_model(requested_name: str, dimension: int) -> SelectedModel:
    """Return a model by its name at a service, with the given dimension.

    Args:
        requested_name: The name.
        dimension: 0: the model's own. For an unknown model it is taken as the model's own.

    Raises:
        ValueError: The model does not support the dimension; the message states the supported ones.
    """
    facts = KNOWN_MODELS.get(requested_name.removesuffix(_LATEST_TAG), ModelInfo())
    full_dimension, least = facts.dimension, facts.min_dimension
    if full_dimension is None:
        return SelectedModel(requested_name, facts, configured_dimension=dimension or None)
    if dimension in (0, full_dimension):
        return SelectedModel(requested_name, facts)
    if least is None:
        raise ValueError(
            f"{requested_name} does not support truncated vectors:"
            f" use {full_dimension}, or 0 for the model's own dimension"
        )
    if not least <= dimension < full_dimension:
        raise ValueError(
            f"{requested_name} supports {least} to {full_dimension} dimensions, not {dimension}"
        )
    return SelectedModel(requested_name, facts, truncated_dimension=dimension)


# --- Similarity thresholds


@dataclass(frozen=True, slots=True)
class SimilarityThresholds:
    """Thresholds of cosine similarity, −1..1.

    Attributes:
        floor: `companion` recalls nothing below it.
        least: `tiers` recalls nothing below it.
        merge: `companion` merges two memories above it.
        arbitration: `facts` asks an arbitrator from it on.
        auto_merge: `facts` replaces the old memory from it on.
        duplicate: `tiers` supersedes the old memory above it.
    """

    floor: float
    least: float
    merge: float
    arbitration: float
    auto_merge: float
    duplicate: float


ERROR_RATES: Mapping[str, float] = MappingProxyType(
    {
        "floor": 0.05,
        "least": 0.05,
        "merge": 0.10,
        "arbitration": 0.25,
        "auto_merge": 0.01,
        "duplicate": 0.01,
    }
)
"""Accepted error rate of each threshold: the share of wrong pairs above it.

For `floor` and `least`, a wrong pair is a memory that does not answer the question. One in twenty
passes, since a missed answer is worse than an extra line. For the others it is an unrelated fact,
often with similar wording. One in a hundred is accepted where a wrong match hides a memory, one in
ten where both texts are kept. A needless arbitration costs only the call. The rates are our choice,
since the source systems' own need their embedders.
"""

FITTED_THRESHOLDS: Mapping[str, SimilarityThresholds] = MappingProxyType(
    {
        "all-MiniLM-L6-v2": SimilarityThresholds(
            floor=0.22,
            least=0.22,
            merge=0.86,
            arbitration=0.73,
            auto_merge=0.93,
            duplicate=0.93,
        ),
    }
)
"""Fitted thresholds by embedder name; other embedders use the defaults of the settings."""


# --- Batches


def iter_batches(texts: Sequence[str], max_texts: int, max_chars: int) -> Iterator[Sequence[str]]:
    """Yield texts in order, in batches limited by number and by total length.

    A single text over the limit is a batch of its own.

    Args:
        texts: Texts to split into batches.
        max_texts: At least 1.
        max_chars: At least 1.
    """
    first, size = 0, 0
    for place, text in enumerate(texts):
        if place > first and (place - first == max_texts or size + len(text) > max_chars):
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]
