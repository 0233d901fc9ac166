"""What is known of embedding models that services offer: lengths, prefixes, what may be cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_LATEST_TAG = ":latest"
"""The tag that Ollama adds where a name has none."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model.

    Attributes:
        dimension: The length of its vectors; None: it has to be asked.
        least: The fewest leading numbers of a vector that are a vector of their own, as the model
            was trained to it (A. Kusupati et al., "Matryoshka Representation Learning", 2022);
            None: they are none.
        query_prefix: What the model wants before a text that is a query.
        document_prefix: What it wants before any other.
        takes_dimension: Whether services of it are to be asked for shorter vectors.
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
    # https://huggingface.co/nomic-ai/nomic-embed-text-v1.5: 768 down to 64. Ollama's name stands
    # for that version. Version 1 wants the same prefixes, but must not be cut.
    "nomic-embed-text": _NOMIC,
    "nomic-embed-text:v1.5": _NOMIC,
    "nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1": ModelInfo(768, None, "search_query: ", "search_document: "),
    # https://www.mixedbread.com/docs/embeddings/mxbai-embed-large-v1: a prompt before queries
    # alone; its makers have measured it down to 128.
    "mxbai-embed-large": _MXBAI,
    "mxbai-embed-large-v1": _MXBAI,
    "mixedbread-ai/mxbai-embed-large-v1": _MXBAI,
    # https://huggingface.co/BAAI/bge-m3: no prefix, and not trained to be cut.
    "bge-m3": _BGE_M3,
    "BAAI/bge-m3": _BGE_M3,
    "all-minilm": _MINILM,
    "sentence-transformers/all-MiniLM-L6-v2": _MINILM,
    # https://platform.openai.com/docs/guides/embeddings: any length up to its own, by `dimensions`.
    "text-embedding-3-small": ModelInfo(1536, 1, accepts_dimension=True),
    "text-embedding-3-large": ModelInfo(3072, 1, accepts_dimension=True),
    "text-embedding-ada-002": ModelInfo(1536),
    # https://huggingface.co/intfloat/e5-base-v2: a prefix before everything, in any language.
    **{
        f"intfloat/{name}": ModelInfo(length, None, "query: ", "passage: ")
        for size, length in _E5.items()
        for name in (f"e5-{size}-v2", f"multilingual-e5-{size}")
    },
}


@dataclass(frozen=True, slots=True)
class SelectedModel:
    """A model, and how much of its vectors is kept.

    Attributes:
        asked: Its name, as the service knows it.
        facts: What is known of it.
        kept: How many leading numbers of a vector are kept, where that is less than all.
        told: How long its vectors are, as the settings say; None: they do not.
    """

    requested_name: str
    info: ModelInfo
    truncated_dimension: int | None = None
    configured_dimension: int | None = None

    @property
    def name(self) -> str:
        """The model, as a store keeps it: the same vectors, the same name, whoever makes them."""
        bare = self.requested_name.removesuffix(_LATEST_TAG)
        return bare if self.truncated_dimension is None else f"{bare}@{self.truncated_dimension}"

    @property
    def dimension(self) -> int | None:
        """The length of the vectors; None where the service has to be asked."""
        return self.truncated_dimension or self.info.dimension or self.configured_dimension

    def prefix(self, role: str) -> str:
        """Return what is put before a text that is embedded as a "query" or a "document"."""
        return self.info.query_prefix if role == "query" else self.info.document_prefix


def select_model(requested_name: str, dimension: int) -> SelectedModel:
    """Return a model by its name at a service, with vectors of a length.

    Args:
        asked: The name.
        dimension: 0: the model's own. Of a model that is not known it is taken for the model's own.

    Raises:
        ValueError: The model has no vectors of that length; the message says which it has.
    """
    facts = KNOWN_MODELS.get(requested_name.removesuffix(_LATEST_TAG), ModelInfo())
    whole, least = facts.dimension, facts.min_dimension
    if whole is None:
        return SelectedModel(requested_name, facts, configured_dimension=dimension or None)
    if dimension in (0, whole):
        return SelectedModel(requested_name, facts)
    if least is None:
        raise ValueError(
            f"{requested_name} has vectors of {whole} numbers, and was not trained so that fewer would do:"
            f" {whole}, or 0 for the model's own"
        )
    if not least <= dimension < whole:
        raise ValueError(
            f"{requested_name} has vectors of {least} to {whole} numbers, not {dimension}"
        )
    return SelectedModel(requested_name, facts, truncated_dimension=dimension)


# --- From which similarity on texts count as near: for each embedder its own numbers


@dataclass(frozen=True, slots=True)
class SimilarityThresholds:
    """Similarities, cosines of −1..1.

    Attributes:
        floor: Under which `companion` recalls nothing.
        least: Under which `tiers` recalls nothing.
        merge: Over which `companion` merges two memories.
        arbitration: From which `facts` asks an arbitrator.
        auto_merge: From which `facts` lets the new one take the old one's place.
        duplicate: Over which `tiers` does so.
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
"""How often each may be wrong: the share that it lets through of what it should not.

For `floor` and `least` that is a memory that does not answer the question: one in twenty gets
past, since a missed answer is worse than a line too many. For the others it is a fact about
something else, often worded alike. Where a memory that is taken for another one is recalled no
more, one in a hundred is enough; where both texts are kept, one in ten; a call of an arbitrator
that keeps both costs no more than itself. The rates are our choice: the sources' own can't be
measured without their embedders.
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
"""What the fit comes to, by the embedder's name; any other one gets the sources' numbers."""


# --- Cutting a list of texts into batches that a service takes at once


def iter_batches(texts: Sequence[str], max_texts: int, max_chars: int) -> Iterator[Sequence[str]]:
    """Yield texts in their order, in batches of at most `most` texts and `chars` characters.

    A text that is longer than that by itself is a batch of its own.

    Args:
        texts: What is to be batched.
        most: From 1.
        chars: From 1.
    """
    first, size = 0, 0
    for place, text in enumerate(texts):
        if place > first and (place - first == max_texts or size + len(text) > max_chars):
            yield texts[first:place]
            first, size = place, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]
