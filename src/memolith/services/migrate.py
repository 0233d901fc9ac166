"""Moving a store to another database, owner by owner, and seeing that all of it arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from memolith.errors import Conflict
from memolith.ports.admin import (
    Batches,
    Migration,
    SupportsMigration,
    SupportsReembedding,
    TableChecksum,
)
from memolith.ports.cipher import Cipher, SupportsKeyCopy, SupportsKeyRotation

Advance = Callable[[int], None]

_MAX_ROUNDS = 3
"""How often what differs is copied again: it was written to meanwhile, or marked only (a guess)."""


@dataclass(frozen=True, slots=True)
class OwnerComparison:
    """What is on both sides of one owner.

    Attributes:
        owner_id: Whose; None: what is of no owner.
        source: What tells the rows there from others, by table.
        target: The same of the rows here.
    """

    owner_id: str | None
    source: Mapping[str, TableChecksum]
    target: Mapping[str, TableChecksum]

    @property
    def is_same(self) -> bool:
        """Whether both sides hold the same."""
        return self.source == self.target

    @property
    def sums(self) -> tuple[TableChecksum, TableChecksum]:
        """What tells all rows of either side from others."""
        return _combine_sums(self.source), _combine_sums(self.target)

    @property
    def differing(self) -> tuple[str, ...]:
        """The tables whose rows are not the same."""
        names = sorted({*self.source, *self.target})
        return tuple(n for n in names if self.source.get(n) != self.target.get(n))

    def to_dict(self) -> dict[str, object]:
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
class MigrationResult:
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
    compared: tuple[OwnerComparison, ...]
    is_finished: bool

    @property
    def is_same(self) -> bool:
        """Whether both sides hold the same."""
        return all(each.is_same for each in self.compared)

    def to_dict(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "source": self.source,
            "target": self.target,
            "copied": self.copied,
            "removed": self.removed,
            "is_same": self.is_same,
            "is_finished": self.is_finished,
            "compared": [each.to_dict() for each in self.compared],
        }


class StoreMigrator:
    """Moves one store into another. Nobody may have the target open.

    Each owner is copied in one transaction, so that killed anywhere, what is at the target is
    whole, and doing it again goes on. An owner whose state is the same on both sides is not copied
    again; whether all is the same is compared at the end, row by row, and what is not is copied
    again.
    """

    def __init__(
        self, source: SupportsMigration, target: SupportsMigration, advance: Advance | None
    ) -> None:
        """Take both.

        Args:
            source: The store to move; others may read and write it.
            target: Where to; what it is sealed with has the source's keys, or can take them.
            advance: Called with a number of rows as they are copied and compared.
        """
        self._source = source
        self._target = target
        self._advance = advance or _ignore_progress
        self._migration = Migration(source_name(source), source.location, None)
        self._counts: Counter[str] = Counter()

    def check_target(self) -> bool:
        """Tell whether something of this source is at the target already; if not, it is empty.

        Raises:
            Conflict: It holds something else, or was used since.
        """
        found = self._target.migration
        if found is None:
            if not is_empty(self._target):
                raise Conflict(f"{self._target.location} holds a store already")
            return False
        if found.source != self._migration.source:
            raise Conflict(f"{self._target.location} holds what was moved from {found.place}")
        if found.states not in (None, self._digest_states()):
            raise Conflict(
                f"{self._target.location} was written to since all of {found.place} was moved into it"
            )
        return True

    def begin(self, cipher: Cipher | None) -> None:
        """Keep at the target that it is not to be used yet.

        Args:
            cipher: What the target, which is empty, is sealed with from now on; None: as it is.
        """
        self._target.begin_migration(self._migration, cipher)

    def run(self) -> MigrationResult:
        """Copy what is not there yet, and compare all; `begin` was called before."""
        source, target = self._source, self._target
        if isinstance(source, SupportsReembedding) and (
            source.reembedding_model or source.has_unused_vectors
        ):
            raise Conflict("its vectors are being made anew: finish that, by `memolith reembed`")
        for owner_id in source.owners():
            if source.fingerprint(owner_id) != target.fingerprint(owner_id):
                self._copy(owner_id)
        for _ in range(_MAX_ROUNDS):
            self._remove_erased_owners()
            target.adopt_meta(source.meta)
            self._copy(None)
            done = self.compare()
            if done.is_same:
                break
            for each in done.compared:
                if not each.is_same and each.owner_id is not None:
                    self._copy(each.owner_id)
        if self._counts["replaced"] or self._counts["removed"]:
            target.compact()
        if not done.is_same:
            return done
        target.finish_migration(replace(self._migration, states=self._digest_states()))
        return replace(done, is_finished=True)

    def compare(self) -> MigrationResult:
        """Compare all rows on both sides; nothing is changed."""
        source, target = self._source, self._target
        names = sorted({*source.owners(), *target.owners()})
        compared = tuple(self._compare_owner(each) for each in (*names, None))
        counts = self._counts
        return MigrationResult(
            source.location, target.location, counts["copied"], counts["removed"], compared, False
        )

    def _compare_owner(self, owner_id: str | None) -> OwnerComparison:
        source, target = self._source.checksums(owner_id), self._target.checksums(owner_id)
        made = OwnerComparison(owner_id, source, target)
        self._advance(made.sums[0].rows)
        return made

    def _copy(self, owner_id: str | None) -> None:
        target = self._target
        with self._source.read_rows(owner_id) as batches:
            if owner_id is not None:
                self._counts["replaced"] += target.fingerprint(owner_id) is not None
                self._counts["copied"] += 1
                # As of an instant after that of the rows: a key that was changed in between is
                # then missing here, and rows of another version are copied again. The other way
                # round it would be the key of rows that look as they should.
                if isinstance(target.cipher, SupportsKeyCopy):
                    target.cipher.copy_keys(owner_id, self._source.cipher)
            target.write_rows(owner_id, self._count_rows(batches))
        if owner_id is not None:
            self._drop_old_keys(owner_id)

    def _count_rows(self, batches: Batches) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
        for name, rows in batches:
            yield name, list(rows)
            self._advance(len(rows))

    def _drop_old_keys(self, owner_id: str) -> None:
        keys, source = self._target.cipher, self._source.cipher
        if isinstance(keys, SupportsKeyRotation) and isinstance(source, SupportsKeyRotation):
            there, own = source.key_versions(owner_id), keys.key_versions(owner_id)
            if there and own and own[0] < there[0]:
                keys.delete_keys_before(owner_id, there[0])

    def _remove_erased_owners(self) -> None:
        """Remove the owners at the target who were erased at the source."""
        target = self._target
        for owner_id in sorted({*target.owners()} - {*self._source.owners()}):
            target.remove_owner(owner_id)
            if isinstance(target.cipher, SupportsKeyRotation):
                target.cipher.erase(owner_id)
            self._counts["removed"] += 1

    def _digest_states(self) -> str:
        digest = blake2b(digest_size=16)
        for owner_id in self._target.owners():
            digest.update(f"{owner_id} {self._target.fingerprint(owner_id)}\n".encode())
        return digest.hexdigest()


def source_name(store: SupportsMigration) -> str:
    """Return by what a store is known as the source of a migration."""
    return store.cipher.store_id.hex() or store.location


def is_empty(store: SupportsMigration) -> bool:
    """Tell whether a store holds nothing that anybody could miss."""
    return not store.owners() and not {"api_keys", "tombstones"} & store.checksums(None).keys()


def _ignore_progress(_rows: int) -> None:
    pass


def _combine_sums(sums: Mapping[str, TableChecksum]) -> TableChecksum:
    """Return what tells the rows of several tables from others."""
    digest = blake2b(digest_size=16)
    for name in sorted(sums):
        digest.update(f"{name} {sums[name].rows} {sums[name].digest}\n".encode())
    return TableChecksum(sum(each.rows for each in sums.values()), digest.hexdigest())
