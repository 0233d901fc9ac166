"""Texts to vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

TextRole = Literal["query", "document"]
"""What a text is embedded as; some models want a different prefix for each."""


class Embedder(Protocol):
    """Maps texts to vectors whose cosine says how near they are in meaning. Thread-safe.

    Attributes:
        name: The model, as the store keeps it: another name is another model.
        dimension: The length of its vectors.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return one vector a text, in order.

        A text's vector does not depend on what else is in the call.

        Returns:
            Shape (len(texts), dimension), finite, each row of length 1 or, where a text has
            nothing to embed, of length 0.

        Raises:
            ServiceFailed: A service did not answer as it should.
        """
        ...


@runtime_checkable
class RemoteEmbedder(Protocol):
    """Of an embedder that asks a service, whose vectors may be of a length that only that knows.

    Attributes:
        known_dimension: The length of its vectors; None where the service would have to be asked.
    """

    @property
    def known_dimension(self) -> int | None:
        """The length of a vector, where it is known without asking."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
