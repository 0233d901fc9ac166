"""Verifying a store: what can be compared with what it was derived from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memolith.ports.cipher import Cipher
from memolith.ports.store import IndexEntry, StoreMeta

ProgressCallback = Callable[[int], None]
Batches = Iterable[tuple[str, Sequence[tuple[Any, ...]]]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it must be.

    Attributes:
        kind: What it is about: "file", "sealed", "text", "versions", "item", "passages",
            "vector", "terms", "digest", "key", "tags", "sources", "link", "reference",
            "session", "sequence", "speaker", "counter", "orphan", "event",
            "profile", "work", "value".
        owner_id: Whose it is; None: the store's, or nobody's.
        record_id: The memory or message; None: none in particular.
        detail: What is wrong, never content.
        repaired: Whether it has been put right.
    """

    kind: str
    owner_id: str | None
    record_id: str | None
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class CheckedCounts:
    """How much was looked at."""

    owners: int = 0
    memories: int = 0
    messages: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class StoredText:
    """A version of a memory or a message, with the number of its item in the index.

    Attributes:
        item: The item.
        record_id: The memory or message.
        content: The text.
        speaker: Who said it, of a message; None where that has no name.
        kind: A memory's kind; None: a message.
        key: A memory's key, where it has one.
        place: Session and sequence of a message; None: a memory.
        is_open: Whether it is what is valid now.
        valid_from: When it became valid, in microseconds since 1970.
        follows_sealed: Whether the message before it does not open, so that what the index has of
            that can't be compared.
    """

    item: int
    record_id: str
    content: str
    speaker: str | None
    kind: str | None
    key: str | None
    position: tuple[int, int] | None
    is_open: bool
    valid_from: int
    follows_unreadable: bool = False


class OwnerVerification(Protocol):
    """One owner's records and index, as they stand at one instant."""

    def check_records(self) -> list[Finding]:
        """Return what is wrong with records, by themselves and with each other."""
        ...

    def stored_texts(self) -> list[StoredText]:
        """Return every version of messages, by session, place and version, then of memories.

        What does not open is left out: `records` names it.
        """
        ...

    def compare(
        self, text: StoredText, entries: Sequence[IndexEntry], *, needs_vectors: bool
    ) -> list[Finding]:
        """Return in what the stored index entry of a text differs from one made anew.

        Args:
            text: The text.
            entries: The entries it may have, without vectors: any of them will do.
            embedded: Whether it must have vectors; those that it has must be whole in any case.
        """
        ...

    def count_checked(self) -> CheckedCounts:
        """Return how much there is."""
        ...


@runtime_checkable
class SupportsVerification(Protocol):
    """A store whose insides can be compared, and repaired."""

    def check_file(self) -> list[Finding]:
        """Return what is wrong with the store itself, and rows that belong to nobody."""
        ...

    def repair_file(self) -> None:
        """Repair what can be of what `check_file` finds."""
        ...

    def verify_owner(self, owner_id: str) -> AbstractContextManager[OwnerVerification]:
        """Look at one owner, at one instant."""
        ...

    def repair_owner(
        self,
        owner_id: str,
        entries: Mapping[int, IndexEntry],
        expected_texts: Mapping[int, StoredText],
    ) -> None:
        """Put right what of an owner can be derived: all of it, or nothing.

        Args:
            owner_id: Whose records.
            entries: By item, the index entries that take the place of the stored ones.
            seen: The texts that these entries were made of; one that has changed since is left.
        """
        ...


# --- Copying a store while it is in use


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What a backup has brought back.

    Attributes:
        store: The store that it is now: a file or, in words, a place in a database.
        kept: Where the store that was there is now; None: there was none.
        owners: How many owners it holds.
        erased: How many owners of the backup were erased since and so are not in it.
        remembers_erased: Whether it is known who was erased: False where the store that was
            there is too damaged to tell.
    """

    store: Path | str
    previous_store: Path | str | None
    owners: int
    erased_owners: int
    erasures_known: bool = True


@runtime_checkable
class SupportsBackup(Protocol):
    """A store that can be copied to a file."""

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """Write a copy as of one instant, while others read and write; it holds no key.

        The file is there whole and durably, or not at all; only its owner may read it.

        Args:
            target: The file to write.
            overwrite: Whether it may take the place of another.
            advance: Called with a number of pages or rows as they are copied.

        Returns:
            Its size in bytes.

        Raises:
            Conflict: There is a file already, or it is the store itself.
            StoreUnavailable: The store can't be read, or the file not be written.
        """
        ...


# --- Moving what a store holds to a store of another kind, and telling whether it arrived


@dataclass(frozen=True, slots=True)
class OwnerFingerprint:
    """What names a state of an owner's rows, as far as can be told without reading them.

    Attributes:
        counter: How often the owner was written to.
        revision: The same, with touches.
        generation: How often something was removed for good.
        key_version: Of the key that all is sealed with.
    """

    counter: int
    revision: int
    generation: int
    key_version: int


@dataclass(frozen=True, slots=True)
class TableChecksum:
    """What tells the rows of a table, or of several, from others.

    Attributes:
        rows: How many.
        digest: 32 hexadecimal digits made of all their values.
    """

    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Migration:
    """What a store keeps of what was, or is being, moved into it.

    Attributes:
        source: The store that it comes from: its id or, without encryption, its place.
        place: Where that is, for people.
        states: A digest of all owners' states when it was finished; None: it is not.
    """

    source: str
    place: str
    states: str | None


@runtime_checkable
class SupportsMigration(Protocol):
    """A store whose rows can be given to another, and taken from another, as they are.

    Rows come in batches, each of one table, a table after the other and in the order of its key;
    the number by which a store knows the owner is not among their values. An owner of None means
    what is of no owner.
    """

    @property
    def location(self) -> str:
        """Where it is, for people; no password is in it."""
        ...

    @property
    def cipher(self) -> Cipher:
        """What it is sealed with."""
        ...

    @property
    def meta(self) -> StoreMeta:
        """See `Store`."""
        ...

    @property
    def migration(self) -> Migration | None:
        """What was moved into it; None: nothing ever was."""
        ...

    def owners(self) -> list[str]:
        """Return all owners' ids, sorted."""
        ...

    def fingerprint(self, owner_id: str) -> OwnerFingerprint | None:
        """Return the state of an owner's rows; None where there are none."""
        ...

    def read_rows(self, owner_id: str | None) -> AbstractContextManager[Batches]:
        """Give all rows of an owner as of one instant, while others read and write."""
        ...

    def write_rows(self, owner_id: str | None, batches: Batches) -> None:
        """Keep rows that another store gave, in the place of what was there: all, or nothing."""
        ...

    def remove_owner(self, owner_id: str) -> None:
        """Remove an owner's rows; that the owner was ever there is not kept."""
        ...

    def checksums(self, owner_id: str | None) -> Mapping[str, TableChecksum]:
        """Return what tells an owner's rows from others, by table, as of one instant."""
        ...

    def adopt_meta(self, meta: StoreMeta) -> None:
        """Keep what another store says of its embedder and its analyser."""
        ...

    def begin_migration(self, migration: Migration, cipher: Cipher | None) -> None:
        """Keep that something is being moved here.

        Args:
            migration: What.
            cipher: What the store is sealed with from now on, for which it must be empty; None:
                with what it was. It must be opened anew to be read with it.
        """
        ...

    def finish_migration(self, migration: Migration) -> None:
        """Keep that all is here."""
        ...

    def compact(self) -> bool:
        """See `Erasure`."""
        ...


# --- Changing the model that a store's vectors are of, while it is in use


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


# --- What a store can say whose vectors are searched by something that may be behind


@runtime_checkable
class SupportsExternalVectors(Protocol):
    """A store whose vectors are kept somewhere else too, to be searched there."""

    def vectors_pending(self, owner_id: str) -> int:
        """Return how many vectors of an owner are not there as they are in the store.

        Recall finds them all the same.
        """
        ...
