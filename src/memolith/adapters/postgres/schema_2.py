"""From schema 1 to 2: a second column of vectors, which takes turns with the first.

See the fourth migration of SQLite's tables for what the columns mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.postgres.guarding import MAINTENANCE, maintenance_functions_sql

if TYPE_CHECKING:
    from memolith.adapters.postgres.schema import StoreLayout

_SCHEMA_2_FUNCTIONS = {
    "has_vectors() RETURNS boolean": (
        "SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NOT NULL OR vector2 IS NOT NULL)"
    ),
    "bare_owners() RETURNS SETOF text": "SELECT name FROM owners WHERE next_item > reembedded_to",
}


def schema_2_sql(layout: StoreLayout) -> str:
    """Return the script; both columns are added without a rewrite of the tables."""
    return "\n".join(
        (
            f"ALTER TABLE passages ADD COLUMN vector2 {layout.vector_format.type_name};",
            "ALTER TABLE owners ADD COLUMN reembedded_to bigint NOT NULL DEFAULT 1;",
            f"GRANT SELECT (vector2) ON passages TO {MAINTENANCE};",
            f"GRANT SELECT (next_item, reembedded_to) ON owners TO {MAINTENANCE};",
            maintenance_functions_sql(_SCHEMA_2_FUNCTIONS),
        )
    )
