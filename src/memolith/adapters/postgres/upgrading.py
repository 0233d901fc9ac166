"""Bringing a store up to date, as `memolith db upgrade` does: a migration at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.postgres.opening import facts_of, form_in, is_there, lock_schema, make
from memolith.adapters.postgres.places import owning, session
from memolith.adapters.postgres.schema import MIGRATIONS, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.adapters.postgres.places import Place
    from memolith.adapters.postgres.pool import Raw
    from memolith.adapters.postgres.schema import Making
    from memolith.ports.cipher import Ciphers

    Migrations = Sequence[Callable[[Shape], str]]

_PARTS = "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('owners')"


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What became of a store.

    Attributes:
        found: The schema it had; 0 where there was no store.
        reached: The schema it has.
    """

    found: int
    reached: int


def upgrade(
    place: Place,
    *,
    ciphers: Ciphers,
    analyser: int = 1,
    making: Making,
    told: Callable[[int], None],
    migrations: Migrations = MIGRATIONS,
) -> Upgraded:
    """Make a store where there is none, or bring one up to date.

    Each migration is a transaction of its own, with nobody else migrating: interrupted anywhere,
    the store has the schema that was reached, and the next call goes on from there.

    Args:
        place: Where.
        ciphers: What a new store is encrypted with.
        analyser: By which version of the analyser a new one is indexed.
        making: How a new one is to be.
        told: Is called with each schema that is reached.
        migrations: What there is.

    Raises:
        StoreUnavailable: The database can't be reached, or somebody holds a table for too long.
        StoreReadOnly: Who is connected may not make or change the tables.
        StoreDamaged: It does not say what it is.
        StoreTooNew: A newer Memolith has written it; nothing was changed.
    """
    with session(place) as raw:
        if not is_there(raw, place) and make(raw, place, ciphers, analyser, making, migrations):
            told(len(migrations))
            return Upgraded(0, len(migrations))
        found = reached = int(facts_of(raw, place, len(migrations))["schema"])
        with owning(place):
            while _advanced(raw, place, migrations):
                reached = int(facts_of(raw, place, len(migrations))["schema"])
                told(reached)
        return Upgraded(found, reached)


def _advanced(raw: Raw, place: Place, migrations: Migrations) -> bool:
    """Run the next migration; return whether there was one."""
    with raw.transaction():
        lock_schema(raw)
        facts = facts_of(raw, place, len(migrations))
        found = int(facts["schema"])
        if found == len(migrations):
            return False
        shape = Shape(form_in(facts), parts_of(raw))
        raw.execute(migrations[found](shape).encode())
        raw.execute("UPDATE meta SET value = %s WHERE name = 'schema'", (str(found + 1),))
    return True


def parts_of(raw: Raw) -> int:
    """Return into how many parts the tables of a store are parted; 0: none."""
    (parts,) = raw.execute(_PARTS).fetchone() or (0,)
    return int(parts)
