"""Migrates a store to another database, owner by owner, and verifies the copy."""

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
"""Attempts to copy owners that changed during the migration, or differ otherwise. A guess."""


@dataclass(frozen=True, slots=True)
class OwnerComparison:
    """The checksums of one owner's rows on both sides.

    Attributes:
        owner_id: The owner; None: the rows that belong to no owner.
        source: The checksums in the source, by table.
        target: The checksums in the target, by table.
    """

    owner_id: str | None
    source: Mapping[str, TableChecksum]
    target: Mapping[str, TableChecksum]

    @property
    def is_same(self) -> bool:
        """Whether both sides are the same."""
        return self.source == self.target

    @property
    def sums(self) -> tuple[TableChecksum, TableChecksum]:
        """The combined checksums of the source and the target."""
        return _combine_sums(self.source), _combine_sums(self.target)

    @property
    def differing(self) -> tuple[str, ...]:
        """The tables that differ."""
        names = sorted({*self.source, *self.target})
        return tuple(n for n in names if self.source.get(n) != self.target.get(n))

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as JSON-compatible values."""
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
    """The result of a migration or comparison.

    Attributes:
        source: The source's location.
        target: The target's location.
        copied: The number of copies made of owners' rows; an owner may be copied repeatedly.
        removed: The number of owners removed from the target because they were erased in the
            source.
        compared: The comparison of each owner, and last of the rows without an owner.
        is_finished: Whether the target is ready for use.
    """

    source: str
    target: str
    copied: int
    removed: int
    compared: tuple[OwnerComparison, ...]
    is_finished: bool

    @property
    def is_same(self) -> bool:
        """Whether both sides are the same."""
        return all(each.is_same for each in self.compared)

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON-compatible values."""
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
    """Copies one store into another, which must not be open elsewhere.

    Each owner is copied in one transaction, so that an interrupted migration can be resumed. Owners
    with equal fingerprints are not copied again. At the end, all rows are compared, and differing
    owners are copied again.
    """

    def __init__(
        self, source: SupportsMigration, target: SupportsMigration, advance: Advance | None
    ) -> None:
        """Configure the migration.

        Args:
            source: The store to copy; it may stay in use.
            target: The new store; its cipher has the source's keys, or can copy them.
            advance: Called with the number of rows copied or compared since the last call.
        """
        self._source = source
        self._target = target
        self._advance = advance or _ignore_progress
        self._migration = Migration(source_name(source), source.location, None)
        self._counts: Counter[str] = Counter()

    def check_target(self) -> bool:
        """Return whether the target holds an earlier copy of this source; False: it is empty.

        Raises:
            Conflict: The target holds other data, or was written to after the migration.
        """
        migration = self._target.migration
        if migration is None:
            if not is_empty(self._target):
                raise Conflict(f"{self._target.location} already holds a store")
            return False
        if migration.source != self._migration.source:
            raise Conflict(
                f"{self._target.location} holds a copy of another store, {migration.place}"
            )
        if migration.states not in (None, self._digest_states()):
            raise Conflict(
                f"{self._target.location} was written to after the migration of {migration.place}"
            )
        return True

    def begin(self, cipher: Cipher | None) -> None:
        """Mark the target as incomplete, so that it can't be used yet.

        Args:
            cipher: The cipher of the target, which must be empty; None: keep its cipher.
        """
        self._target.begin_migration(self._migration, cipher)

    def run(self) -> MigrationResult:
        """Copy what is missing in the target, and compare all; call `begin` first."""
        source, target = self._source, self._target
        if isinstance(source, SupportsReembedding) and (
            source.reembedding_model or source.has_unused_vectors
        ):
            raise Conflict("a re-embedding is in progress: finish it with `memolith reembed` first")
        for owner_id in source.owners():
            if source.fingerprint(owner_id) != target.fingerprint(owner_id):
                self._copy(owner_id)
        for _ in range(_MAX_ROUNDS):
            self._remove_erased_owners()
            target.adopt_meta(source.meta)
            self._copy(None)
            result = self.compare()
            if result.is_same:
                break
            for each in result.compared:
                if not each.is_same and each.owner_id is not None:
                    self._copy(each.owner_id)
        if self._counts["replaced"] or self._counts["removed"]:
            target.compact()
        if not result.is_same:
            return result
        target.finish_migration(replace(self._migration, states=self._digest_states()))
        return replace(result, is_finished=True)

    def compare(self) -> MigrationResult:
        """Compare all rows on both sides; change nothing."""
        source, target = self._source, self._target
        names = sorted({*source.owners(), *target.owners()})
        compared = tuple(self._compare_owner(each) for each in (*names, None))
        counts = self._counts
        return MigrationResult(
            source.location, target.location, counts["copied"], counts["removed"], compared, False
        )

    def _compare_owner(self, owner_id: str | None) -> OwnerComparison:
        source, target = self._source.checksums(owner_id), self._target.checksums(owner_id)
        comparison = OwnerComparison(owner_id, source, target)
        self._advance(comparison.sums[0].rows)
        return comparison

    def _copy(self, owner_id: str | None) -> None:
        target = self._target
        with self._source.read_rows(owner_id) as batches:
            if owner_id is not None:
                self._counts["replaced"] += target.fingerprint(owner_id) is not None
                self._counts["copied"] += 1
                # Copy keys after opening the rows' snapshot: if a key is rotated in between, it is
                # missing here, and the rows are copied again. In the other order, rows that look
                # correct would lack their key.
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
            source_versions, target_versions = (
                source.key_versions(owner_id),
                keys.key_versions(owner_id),
            )
            if source_versions and target_versions and target_versions[0] < source_versions[0]:
                keys.delete_keys_before(owner_id, source_versions[0])

    def _remove_erased_owners(self) -> None:
        """Remove owners from the target who were erased in the source."""
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
    """Return the name that identifies a store as the source of a migration."""
    return store.cipher.store_id.hex() or store.location


def is_empty(store: SupportsMigration) -> bool:
    """Return whether a store has no owners, API keys or tombstones."""
    return not store.owners() and not {"api_keys", "tombstones"} & store.checksums(None).keys()


def _ignore_progress(_rows: int) -> None:
    pass


def _combine_sums(sums: Mapping[str, TableChecksum]) -> TableChecksum:
    """Return one checksum for several tables."""
    digest = blake2b(digest_size=16)
    for name in sorted(sums):
        digest.update(f"{name} {sums[name].rows} {sums[name].digest}\n".encode())
    return TableChecksum(sum(each.rows for each in sums.values()), digest.hexdigest())
