"""Moving a store to another database, owner by owner, and seeing that all of it arrived."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from memolith.errors import Conflict
from memolith.ports.cipher import KeyChanging, KeyCopying
from memolith.ports.moving import Migration, Sum
from memolith.ports.reembedding import Reembeddable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memolith.ports.cipher import Cipher
    from memolith.ports.moving import Batches, Movable

    Advance = Callable[[int], None]

_ROUNDS = 3
"""How often what differs is copied again: it was written to meanwhile, or marked only (a guess)."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What is on both sides of one owner.

    Attributes:
        owner_id: Whose; None: what is of no owner.
        source: What tells the rows there from others, by table.
        target: The same of the rows here.
    """

    owner_id: str | None
    source: Mapping[str, Sum]
    target: Mapping[str, Sum]

    @property
    def is_same(self) -> bool:
        """Whether both sides hold the same."""
        return self.source == self.target

    @property
    def sums(self) -> tuple[Sum, Sum]:
        """What tells all rows of either side from others."""
        return _together(self.source), _together(self.target)

    @property
    def differing(self) -> tuple[str, ...]:
        """The tables whose rows are not the same."""
        names = sorted({*self.source, *self.target})
        return tuple(n for n in names if self.source.get(n) != self.target.get(n))

    def told(self) -> dict[str, object]:
        """Return it for programs."""
        source, target = self.sums
        return {
            "owner": self.owner_id,
            "is_same": self.is_same,
            "source": source,
            "target": target,
            "differing": self.differing,
        }


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration has done, or found.

    Attributes:
        source: Where it comes from.
        target: Where it goes to.
        copied: How many owners were copied, some of them more than once.
        removed: How many owners were removed at the target, as they were erased meanwhile.
        compared: Both sides of each owner, and last of what is of no owner.
        is_finished: Whether the target can be used now.
    """

    source: str
    target: str
    copied: int
    removed: int
    compared: tuple[Compared, ...]
    is_finished: bool

    @property
    def is_same(self) -> bool:
        """Whether both sides hold the same."""
        return all(each.is_same for each in self.compared)

    def told(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "source": self.source,
            "target": self.target,
            "copied": self.copied,
            "removed": self.removed,
            "is_same": self.is_same,
            "is_finished": self.is_finished,
            "compared": [each.told() for each in self.compared],
        }


class Migrating:
    """Moves one store into another. Nobody may have the target open.

    Each owner is copied in one transaction, so that killed anywhere, what is at the target is
    whole, and doing it again goes on. An owner whose state is the same on both sides is not copied
    again; whether all is the same is compared at the end, row by row, and what is not is copied
    again.
    """

    def __init__(self, source: Movable, target: Movable, advance: Advance | None) -> None:
        """Take both.

        Args:
            source: The store to move; others may read and write it.
            target: Where to; what it is sealed with has the source's keys, or can take them.
            advance: Called with a number of rows as they are copied and compared.
        """
        self._source = source
        self._target = target
        self._advance = advance or _ignored
        self._from = Migration(named(source), source.place, None)
        self._counts: Counter[str] = Counter()

    def admit(self) -> bool:
        """Tell whether something of this source is at the target already; if not, it is empty.

        Raises:
            Conflict: It holds something else, or was used since.
        """
        found = self._target.migration
        if found is None:
            if not is_empty(self._target):
                raise Conflict(f"{self._target.place} holds a store already")
            return False
        if found.source != self._from.source:
            raise Conflict(f"{self._target.place} holds what was moved from {found.place}")
        if found.states not in (None, self._states()):
            raise Conflict(
                f"{self._target.place} was written to since all of {found.place} was moved into it"
            )
        return True

    def begin(self, cipher: Cipher | None) -> None:
        """Keep at the target that it is not to be used yet.

        Args:
            cipher: What the target, which is empty, is sealed with from now on; None: as it is.
        """
        self._target.begin_migration(self._from, cipher)

    def run(self) -> Migrated:
        """Copy what is not there yet, and compare all; `begin` was called before."""
        source, target = self._source, self._target
        if isinstance(source, Reembeddable) and (source.reembedding or source.has_unused_vectors):
            raise Conflict("its vectors are being made anew: finish that, by `memolith reembed`")
        for owner_id in source.owners():
            if source.state(owner_id) != target.state(owner_id):
                self._copy(owner_id)
        for _ in range(_ROUNDS):
            self._remove_gone()
            target.describe(source.meta)
            self._copy(None)
            done = self.compare()
            if done.is_same:
                break
            for each in done.compared:
                if not each.is_same and each.owner_id is not None:
                    self._copy(each.owner_id)
        if self._counts["replaced"] or self._counts["removed"]:
            target.settle()
        if not done.is_same:
            return done
        target.end_migration(replace(self._from, states=self._states()))
        return replace(done, is_finished=True)

    def compare(self) -> Migrated:
        """Compare all rows on both sides; nothing is changed."""
        source, target = self._source, self._target
        names = sorted({*source.owners(), *target.owners()})
        compared = tuple(self._compared(each) for each in (*names, None))
        counts = self._counts
        return Migrated(
            source.place, target.place, counts["copied"], counts["removed"], compared, False
        )

    def _compared(self, owner_id: str | None) -> Compared:
        source, target = self._source.sums(owner_id), self._target.sums(owner_id)
        made = Compared(owner_id, source, target)
        self._advance(made.sums[0].rows)
        return made

    def _copy(self, owner_id: str | None) -> None:
        target = self._target
        with self._source.rows_of(owner_id) as batches:
            if owner_id is not None:
                self._counts["replaced"] += target.state(owner_id) is not None
                self._counts["copied"] += 1
                # As of an instant after that of the rows: a key that was changed in between is
                # then missing here, and rows of another version are copied again. The other way
                # round it would be the key of rows that look as they should.
                if isinstance(target.cipher, KeyCopying):
                    target.cipher.take_keys(owner_id, self._source.cipher)
            target.take_rows(owner_id, self._counted(batches))
        if owner_id is not None:
            self._drop_old_keys(owner_id)

    def _counted(self, batches: Batches) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
        for name, rows in batches:
            yield name, list(rows)
            self._advance(len(rows))

    def _drop_old_keys(self, owner_id: str) -> None:
        keys, source = self._target.cipher, self._source.cipher
        if isinstance(keys, KeyChanging) and isinstance(source, KeyChanging):
            there, own = source.versions(owner_id), keys.versions(owner_id)
            if there and own and own[0] < there[0]:
                keys.drop_before(owner_id, there[0])

    def _remove_gone(self) -> None:
        """Remove the owners at the target who were erased at the source."""
        target = self._target
        for owner_id in sorted({*target.owners()} - {*self._source.owners()}):
            target.remove(owner_id)
            if isinstance(target.cipher, KeyChanging):
                target.cipher.erase(owner_id)
            self._counts["removed"] += 1

    def _states(self) -> str:
        digest = blake2b(digest_size=16)
        for owner_id in self._target.owners():
            digest.update(f"{owner_id} {self._target.state(owner_id)}\n".encode())
        return digest.hexdigest()


def named(store: Movable) -> str:
    """Return by what a store is known as the source of a migration."""
    return store.cipher.store_id.hex() or store.place


def is_empty(store: Movable) -> bool:
    """Tell whether a store holds nothing that anybody could miss."""
    return not store.owners() and not {"api_keys", "tombstones"} & store.sums(None).keys()


def _ignored(_rows: int) -> None:
    pass


def _together(sums: Mapping[str, Sum]) -> Sum:
    """Return what tells the rows of several tables from others."""
    digest = blake2b(digest_size=16)
    for name in sorted(sums):
        digest.update(f"{name} {sums[name].rows} {sums[name].digest}\n".encode())
    return Sum(sum(each.rows for each in sums.values()), digest.hexdigest())
