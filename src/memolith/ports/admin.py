"""Optional store operations: verification, backup, migration and re-embedding.

A store supports an operation if it implements the protocol of that name (`Supports…`).
"""

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
    """A defect that verification detected.

    Attributes:
        kind: The category: "file", "sealed", "text", "versions", "item", "passages", "vector",
            "terms", "digest", "key", "tags", "sources", "link", "reference", "session", "sequence",
            "speaker", "counter", "orphan", "event", "profile", "work", "value".
        owner_id: The owner; None for defects of the store itself or of rows without an owner.
        record_id: The memory or message; None if the defect concerns no single record.
        detail: Description of the defect, without any content.
        repaired: Whether the defect was repaired.
    """

    kind: str
    owner_id: str | None
    record_id: str | None
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class CheckedCounts:
    """Number of owners and rows that verification checked."""

    owners: int = 0
    memories: int = 0
    messages: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class StoredText:
    """A stored version of a memory or message, with its item number in the index.

    Attributes:
        item: The item number.
        record_id: The memory or message.
        content: The text.
        speaker: The speaker's name, for a message; None if the speaker has no name.
        kind: The memory's kind; None for a message.
        key: The memory's key, if it has one.
        position: Session number and sequence of a message; None for a memory.
        is_open: Whether this version is currently valid.
        valid_from: Start of validity, in microseconds since 1970.
        follows_unreadable: Whether the preceding message can't be decrypted. The index entry may
            contain its keywords, which then can't be compared.
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
    """One owner's records and index as of one instant."""

    def check_records(self) -> list[Finding]:
        """Return defects of individual records and inconsistencies between records."""
        ...

    def stored_texts(self) -> list[StoredText]:
        """Return all versions: messages by session, sequence and version, then memories.

        Texts that can't be decrypted are left out; `check_records` reports them.
        """
        ...

    def compare(
        self, text: StoredText, entries: Sequence[IndexEntry], *, needs_vectors: bool
    ) -> list[Finding]:
        """Return the differences between the stored index entry and a newly built one.

        Args:
            text: The text.
            entries: The acceptable entries, without vectors; the stored one must match any of them.
            needs_vectors: Whether the text must have vectors. Existing vectors must be intact in
                any case.
        """
        ...

    def count_checked(self) -> CheckedCounts:
        """Return the number of rows of this owner."""
        ...


@runtime_checkable
class SupportsVerification(Protocol):
    """A store that can check its data for defects and repair them."""

    def check_file(self) -> list[Finding]:
        """Return defects of the store itself, and rows that belong to no owner."""
        ...

    def repair_file(self) -> None:
        """Repair what can be repaired of the defects that `check_file` returns."""
        ...

    def verify_owner(self, owner_id: str) -> AbstractContextManager[OwnerVerification]:
        """Open one owner for verification, as of one instant."""
        ...

    def repair_owner(
        self,
        owner_id: str,
        entries: Mapping[int, IndexEntry],
        expected_texts: Mapping[int, StoredText],
    ) -> None:
        """Rebuild an owner's derived data, atomically.

        Args:
            owner_id: The owner.
            entries: By item number, the index entries that replace the stored ones.
            expected_texts: The texts that the entries were built from. A text that has changed
                since keeps its stored entry.
        """
        ...


# --- Backup


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Result of restoring a backup.

    Attributes:
        store: The restored store: a file, or the description of a place in a database.
        previous_store: The new location of the store that was replaced; None if there was none.
        owners: Number of owners in the restored store.
        erased_owners: Number of owners that were left out because they were erased after the
            backup.
        erasures_known: False if the replaced store is too damaged to determine who was erased.
    """

    store: Path | str
    previous_store: Path | str | None
    owners: int
    erased_owners: int
    erasures_known: bool = True


@runtime_checkable
class SupportsBackup(Protocol):
    """A store that can be copied to a file while it is in use."""

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: ProgressCallback | None = None
    ) -> int:
        """Write a copy as of one instant while others read and write; it contains no keys.

        The file is created completely and durably, or not at all. Only its owner may read it.

        Args:
            target: The file to write.
            overwrite: Whether an existing file may be replaced.
            advance: Called with the number of pages or rows copied since the last call.

        Returns:
            The size of the file in bytes.

        Raises:
            Conflict: The file exists already, or it is the store itself.
            StoreUnavailable: The store can't be read, or the file can't be written.
        """
        ...


# --- Migration to another database


@dataclass(frozen=True, slots=True)
class OwnerFingerprint:
    """Identifies a state of an owner's rows without reading them.

    Attributes:
        counter: Number of transactions that changed the owner.
        revision: Number of changes, including recorded accesses.
        generation: Number of permanent deletions.
        key_version: Version of the key that encrypts the owner's data.
    """

    counter: int
    revision: int
    generation: int
    key_version: int


@dataclass(frozen=True, slots=True)
class TableChecksum:
    """Checksum of the rows of one or more tables.

    Attributes:
        rows: Number of rows.
        digest: A hash of all values, as 32 hexadecimal digits.
    """

    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration into a store, complete or in progress.

    Attributes:
        source: The source store: its id or, without encryption, its location.
        place: The source's location, for display.
        states: A digest of all owners' states at completion; None while in progress.
    """

    source: str
    place: str
    states: str | None


@runtime_checkable
class SupportsMigration(Protocol):
    """A store whose rows can be exported to, and imported from, another database unchanged.

    Rows come in batches. Each batch belongs to one table; tables follow one another, each in the
    order of its key. The owner's number in this store is not part of the values. An owner of None
    means the rows that belong to no owner.
    """

    @property
    def location(self) -> str:
        """The location of the store for display, without a password."""
        ...

    @property
    def cipher(self) -> Cipher:
        """The cipher that encrypts the store."""
        ...

    @property
    def meta(self) -> StoreMeta:
        """See `Store.meta`."""
        ...

    @property
    def migration(self) -> Migration | None:
        """The migration into this store; None if there never was one."""
        ...

    def owners(self) -> list[str]:
        """Return all owners' ids, sorted."""
        ...

    def fingerprint(self, owner_id: str) -> OwnerFingerprint | None:
        """Return the fingerprint of an owner's rows; None if there are none."""
        ...

    def read_rows(self, owner_id: str | None) -> AbstractContextManager[Batches]:
        """Read all rows of an owner as of one instant, while others read and write."""
        ...

    def write_rows(self, owner_id: str | None, batches: Batches) -> None:
        """Replace all rows of an owner with rows from another store, atomically."""
        ...

    def remove_owner(self, owner_id: str) -> None:
        """Remove an owner's rows without recording an erasure."""
        ...

    def checksums(self, owner_id: str | None) -> Mapping[str, TableChecksum]:
        """Return the checksums of an owner's rows, by table, as of one instant."""
        ...

    def adopt_meta(self, meta: StoreMeta) -> None:
        """Store the embedder and text analyser of another store's metadata."""
        ...

    def begin_migration(self, migration: Migration, cipher: Cipher | None) -> None:
        """Record that a migration into this store is in progress.

        Args:
            migration: The migration.
            cipher: The cipher that encrypts the store from now on; the store must be empty and must
                be reopened to be read with it. None: the current cipher.
        """
        ...

    def finish_migration(self, migration: Migration) -> None:
        """Record that the migration is complete."""
        ...

    def compact(self) -> bool:
        """See `OwnerEraser.compact`."""
        ...


# --- Re-embedding with another model


MAX_WRITE_PAUSE_S = 2.0
"""Maximum time in seconds that writers wait during a pause. A guess, well below the five seconds
that writers wait for each other."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model that computes vectors.

    Attributes:
        name: The name, as in `Embedder.name`.
        dimension: The length of its vectors; 0 if unknown.
    """

    name: str
    dimension: int

    def __str__(self) -> str:
        """Return the model as shown in messages."""
        return f"{self.name} ({self.dimension} dimensions)" if self.dimension else self.name


@dataclass(frozen=True, slots=True)
class UnembeddedPassage:
    """A passage without a vector of the new model.

    Attributes:
        position: Item number and part.
        text: The passage's text, unchanged from the record.
        speaker: The speaker's name, for a message; None if the speaker has no name.
        vector: The new vector of an identical text elsewhere, if there is one.
    """

    position: tuple[int, int]
    text: str
    speaker: str | None
    vector: NDArray[np.int8] | None


@dataclass(frozen=True, slots=True)
class UnembeddedPassages:
    """A batch of an owner's passages without a new vector, ordered by position.

    Attributes:
        state: The owner's state; `add_vectors` refuses new vectors if it has changed.
        passages: The passages.
        next_item: Items below this number are complete once these passages have their vectors.
        is_last: Whether this is the last batch.
    """

    state: tuple[object, ...]
    passages: tuple[UnembeddedPassage, ...]
    next_item: int
    is_last: bool


@runtime_checkable
class SupportsReembedding(Protocol):
    """A store that can be re-embedded with another model while it is in use.

    Readers and writers continue to use the current vectors. Passages that they store have no new
    vectors until `add_vectors` adds them. After a crash, calling `begin_reembedding` with the same
    model continues the work. Several processes may re-embed at once.
    """

    def begin_reembedding(self, model: EmbeddingModel) -> None:
        """Begin re-embedding with a model. Repeating this with the same model changes nothing.

        Raises:
            Conflict: Re-embedding with another model is in progress, or unused vectors were not
                removed yet (`remove_unused_vectors`).
        """
        ...

    @property
    def reembedding_model(self) -> EmbeddingModel | None:
        """The new model; None unless re-embedding is in progress."""
        ...

    def owners_missing_vectors(self) -> list[str]:
        """Return the owners who may have passages without a new vector."""
        ...

    def passages_missing_vectors(self, owner_id: str, limit: int) -> UnembeddedPassages:
        """Return an owner's first passages that have a current vector but no new one.

        Raises:
            Conflict: No re-embedding is in progress.
            StoreDamaged: A passage belongs to no text, or its text can't be decrypted.
        """
        ...

    def count_missing_vectors(self, owner_id: str) -> int:
        """Return the number of such passages; 0 if no re-embedding is in progress."""
        ...

    def add_vectors(
        self,
        owner_id: str,
        passages: UnembeddedPassages,
        vectors: Mapping[tuple[int, int], NDArray[np.int8]],
    ) -> bool:
        """Store new vectors of passages, by position, atomically.

        Returns:
            False if the owner's passages have changed since; nothing was stored then.

        Raises:
            InvalidInput: A vector does not have the new model's dimension.
        """
        ...

    def switch_vectors(self) -> bool:
        """Switch to the new vectors, atomically; the metadata's `digest_name` does not change.

        Afterwards, a process that opened the store for the previous model (`expect_embedder`) gets
        `WrongEmbeddingModel` when it searches or stores vectors.

        Returns:
            False if a passage has no new vector yet; nothing was changed then.

        Raises:
            Conflict: No re-embedding is in progress.
            StoreUnavailable: Another writer holds the lock for too long.
        """
        ...

    def pause_writers(self) -> None:
        """Make new writers wait until the switch, each for at most `MAX_WRITE_PAUSE_S`.

        Committed data stays, and reading continues. A repeated call starts a new pause.
        """
        ...

    def resume_writers(self) -> None:
        """End the pause for all writers."""
        ...

    def abandon_reembedding(self) -> bool:
        """Abandon re-embedding; return whether it was in progress.

        The vectors computed so far become unused and have to be removed.
        """
        ...

    @property
    def has_unused_vectors(self) -> bool:
        """Whether vectors may exist that are neither current nor new."""
        ...

    def remove_unused_vectors(self, owner_id: str, after: int, limit: int) -> int | None:
        """Remove a batch of an owner's unused vectors.

        Args:
            owner_id: The owner.
            after: The item after which to begin; 0 begins with the first.
            limit: Maximum number of passages.

        Returns:
            The last item whose vectors were removed; None if there were none left.
        """
        ...

    def mark_unused_removed(self) -> None:
        """Record that the unused vectors of all owners are removed."""
        ...


# --- External vector search


@runtime_checkable
class SupportsExternalVectors(Protocol):
    """A store whose vectors are also kept in an external vector index."""

    def vectors_pending(self, owner_id: str) -> int:
        """Return how many of an owner's vectors are not up to date in the external index.

        Recall returns these memories regardless.
        """
        ...
