"""What is known of embedding models that services offer: lengths, prefixes, what may be cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_LATEST = ":latest"
"""The tag that Ollama adds where a name has none."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
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
    least: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    takes_dimension: bool = False


_SEARCHING = "Represent this sentence for searching relevant passages: "

_NOMIC = ModelFacts(768, 64, "search_query: ", "search_document: ")
_MXBAI = ModelFacts(1024, 128, _SEARCHING)
_BGE_M3 = ModelFacts(1024)
_MINILM = ModelFacts(384)
_E5 = {"small": 384, "base": 768, "large": 1024}

KNOWN: Final[Mapping[str, ModelFacts]] = {
    # https://huggingface.co/nomic-ai/nomic-embed-text-v1.5: 768 down to 64. Ollama's name stands
    # for that version. Version 1 wants the same prefixes, but must not be cut.
    "nomic-embed-text": _NOMIC,
    "nomic-embed-text:v1.5": _NOMIC,
    "nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1": ModelFacts(768, None, "search_query: ", "search_document: "),
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
    "text-embedding-3-small": ModelFacts(1536, 1, takes_dimension=True),
    "text-embedding-3-large": ModelFacts(3072, 1, takes_dimension=True),
    "text-embedding-ada-002": ModelFacts(1536),
    # https://huggingface.co/intfloat/e5-base-v2: a prefix before everything, in any language.
    **{
        f"intfloat/{name}": ModelFacts(length, None, "query: ", "passage: ")
        for size, length in _E5.items()
        for name in (f"e5-{size}-v2", f"multilingual-e5-{size}")
    },
}


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model, and how much of its vectors is kept.

    Attributes:
        asked: Its name, as the service knows it.
        facts: What is known of it.
        kept: How many leading numbers of a vector are kept, where that is less than all.
        told: How long its vectors are, as the settings say; None: they do not.
    """

    asked: str
    facts: ModelFacts
    kept: int | None = None
    told: int | None = None

    @property
    def name(self) -> str:
        """The model, as a store keeps it: the same vectors, the same name, whoever makes them."""
        bare = self.asked.removesuffix(_LATEST)
        return bare if self.kept is None else f"{bare}@{self.kept}"

    @property
    def dimension(self) -> int | None:
        """The length of the vectors; None where the service has to be asked."""
        return self.kept or self.facts.dimension or self.told

    def prefix(self, role: str) -> str:
        """Return what is put before a text that is embedded as a "query" or a "document"."""
        return self.facts.query_prefix if role == "query" else self.facts.document_prefix


def chosen(asked: str, dimension: int) -> ChosenModel:
    """Return a model by its name at a service, with vectors of a length.

    Args:
        asked: The name.
        dimension: 0: the model's own. Of a model that is not known it is taken for the model's own.

    Raises:
        ValueError: The model has no vectors of that length; the message says which it has.
    """
    facts = KNOWN.get(asked.removesuffix(_LATEST), ModelFacts())
    whole, least = facts.dimension, facts.least
    if whole is None:
        return ChosenModel(asked, facts, told=dimension or None)
    if dimension in (0, whole):
        return ChosenModel(asked, facts)
    if least is None:
        raise ValueError(
            f"{asked} has vectors of {whole} numbers, and was not trained so that fewer would do:"
            f" {whole}, or 0 for the model's own"
        )
    if not least <= dimension < whole:
        raise ValueError(f"{asked} has vectors of {least} to {whole} numbers, not {dimension}")
    return ChosenModel(asked, facts, kept=dimension)
