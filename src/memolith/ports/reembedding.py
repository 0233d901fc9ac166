"""Changing the model that a store's vectors are of, while it is in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

MAX_WRITE_PAUSE_S = 2.0
"""For how long writers wait at most for one who asks them to: well below the five seconds that
they wait for each other (a guess)."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model that makes vectors.

    Attributes:
        name: As `Embedder.name` has it.
        dimension: The length of its vectors; 0 where that is not known.
    """

    name: str
    dimension: int

    def __str__(self) -> str:
        """Return it as messages name it."""
        return f"{self.name} ({self.dimension} dimensions)" if self.dimension else self.name


@dataclass(frozen=True, slots=True)
class UnembeddedPassage:
    """A passage that has no vector of the new model yet.

    Attributes:
        place: Its item's number, and its part.
        text: The stretch of text, as it stands in the record.
        speaker: Who said it, of a message; None where that has no name.
        vector: The new vector of the same text elsewhere, where there is one.
    """

    position: tuple[int, int]
    text: str
    speaker: str | None
    vector: NDArray[np.int8] | None


@dataclass(frozen=True, slots=True)
class UnembeddedPassages:
    """Some of an owner's passages without a new vector, in the order of their places.

    Attributes:
        stamp: What they depend on: new vectors are refused where that has changed since.
        passages: The passages.
        up_to: Below which item there will be no others, once these have theirs.
        is_last: Whether there are no more.
    """

    state: tuple[object, ...]
    passages: tuple[UnembeddedPassage, ...]
    next_item: int
    is_last: bool


@runtime_checkable
class SupportsReembedding(Protocol):
    """A store whose vectors can be made anew, by another model, beside those in use.

    Whoever reads or writes meanwhile goes on with those in use, and what they store has none of
    the new ones until it is given them. Killed anywhere, it is gone on with by whoever begins it
    again with the same model; several may do so at once.
    """

    def begin_reembedding(self, model: EmbeddingModel) -> None:
        """Let vectors of a model be made. Again with the same model changes nothing.

        Raises:
            Conflict: Those of another model are being made, or what was made before is not yet
                removed (`remove_unused`).
        """
        ...

    @property
    def reembedding_model(self) -> EmbeddingModel | None:
        """The model whose vectors are being made; None: none are."""
        ...

    def owners_missing_vectors(self) -> list[str]:
        """Return the owners who may have passages without a new vector."""
        ...

    def passages_missing_vectors(self, owner_id: str, limit: int) -> UnembeddedPassages:
        """Return the first of an owner's passages that have a vector in use, but no new one.

        Raises:
            Conflict: No vectors are being made.
            StoreDamaged: A passage belongs to no text, or that does not open.
        """
        ...

    def count_missing_vectors(self, owner_id: str) -> int:
        """Return how many such passages an owner has; 0 where no vectors are being made."""
        ...

    def add_vectors(
        self,
        owner_id: str,
        passages: UnembeddedPassages,
        vectors: Mapping[tuple[int, int], NDArray[np.int8]],
    ) -> bool:
        """Give passages their new vectors, by place: all of them, or none.

        Returns:
            False where the owner's passages have changed since, and nothing was done.

        Raises:
            InvalidInput: A vector is not of the new model's length.
        """
        ...

    def switch_vectors(self) -> bool:
        """Use the new vectors from now on, in one step; `digests` of the store's meta stay.

        From then on who has opened the store for the model of before (`expect_embedder`) is
        refused with `WrongEmbeddingModel`: searching, and storing vectors.

        Returns:
            False where a passage has none yet; nothing was changed.

        Raises:
            Conflict: No vectors are being made.
            StoreUnavailable: Somebody writes for too long.
        """
        ...

    def pause_writers(self) -> None:
        """Let those who are about to write wait, for `HOLD_S` at most each, or until a switch.

        What is written already stays; reading goes on. Asking again begins anew.
        """
        ...

    def resume_writers(self) -> None:
        """Let nobody wait any longer."""
        ...

    def abandon_reembedding(self) -> bool:
        """Make no new vectors any more; return whether there were to be any.

        Those that were made are unused, and to be removed.
        """
        ...

    @property
    def has_unused_vectors(self) -> bool:
        """Whether vectors may be left that are not in use, nor being made."""
        ...

    def remove_unused_vectors(self, owner_id: str, after: int, limit: int) -> int | None:
        """Remove vectors of an owner that are neither in use nor being made, some at a time.

        Args:
            owner_id: Whose.
            after: The item behind which to begin; 0: with the first.
            limit: Of how many passages at most.

        Returns:
            The last item that lost its vectors; None: there was none left.
        """
        ...

    def mark_unused_removed(self) -> None:
        """Keep that all owners' unused vectors are removed."""
        ...
