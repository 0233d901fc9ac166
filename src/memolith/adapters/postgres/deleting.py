"""Deleting a store in a database, with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from memolith.adapters.postgres.opening import read_facts, store_exists
from memolith.adapters.postgres.places import session
from memolith.errors import StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.postgres.places import DatabaseLocation

_REPLACED_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ %s ORDER BY nspname"


def delete_store(location: DatabaseLocation, delete_keys: Callable[[bytes], None]) -> bool:
    """Remove a store's schema, and those that restoring has kept; return whether there was one.

    Args:
        place: Where.
        forget: Removes the keys of a store by its id; is called first.

    Raises:
        StoreReadOnly: Who is connected does not own the schema.
        StoreDamaged: What is there does not say that it is a store.
    """
    with session(location) as raw:
        if not store_exists(raw, location):
            return False
        facts = read_facts(raw, location)
        if facts["store_id"]:
            delete_keys(bytes.fromhex(facts["store_id"]))
        try:
            kept = raw.execute(
                _REPLACED_SCHEMAS, (rf"^{location.schema}_before_restore(_\d+)?$",)
            ).fetchall()
            for name in (location.schema, *(name for (name,) in kept)):
                raw.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            reason = error.diag.message_primary or "its role may not delete the tables"
            raise StoreReadOnly(location.display_name, reason) from error
        return True
