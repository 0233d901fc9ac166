"""Moving what a store holds to a store of another kind, and telling whether it arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memolith.ports.cipher import Cipher
    from memolith.ports.store import StoreMeta

    Batches = Iterable[tuple[str, Sequence[tuple[Any, ...]]]]


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
