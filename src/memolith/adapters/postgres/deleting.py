"""Deleting a store in a database, with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from memolith.adapters.postgres.opening import facts_of, is_there
from memolith.adapters.postgres.places import session
from memolith.errors import StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.postgres.places import Place

_KEPT = "SELECT nspname FROM pg_namespace WHERE nspname ~ %s ORDER BY nspname"


def delete_store(place: Place, forget: Callable[[bytes], None]) -> bool:
    """Remove a store's schema, and those that restoring has kept; return whether there was one.

    Args:
        place: Where.
        forget: Removes the keys of a store by its id; is called first.

    Raises:
        StoreReadOnly: Who is connected does not own the schema.
        StoreDamaged: What is there does not say that it is a store.
    """
    with session(place) as raw:
        if not is_there(raw, place):
            return False
        facts = facts_of(raw, place)
        if facts["store_id"]:
            forget(bytes.fromhex(facts["store_id"]))
        try:
            kept = raw.execute(_KEPT, (rf"^{place.schema}_before_restore(_\d+)?$",)).fetchall()
            for name in (place.schema, *(name for (name,) in kept)):
                raw.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            reason = error.diag.message_primary or "its role may not delete the tables"
            raise StoreReadOnly(place.name, reason) from error
        return True
