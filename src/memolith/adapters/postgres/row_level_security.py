"""Roles, policies and what may be done by whom, in the words that migrations are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

APPLICATION, MAINTENANCE = "memolith_application", "memolith_maintenance"

_ROLE = """
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN
    CREATE ROLE {role} NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;  -- somebody else made it just now
END $$;
"""

# What runs as somebody must be given to them, for which one must be one of them, and they must
# be allowed to have something here.
_GRANT_MAINTENANCE = f"""
DO $$ BEGIN
  IF NOT pg_has_role('{MAINTENANCE}', 'SET') THEN
    GRANT {MAINTENANCE} TO CURRENT_USER WITH SET TRUE;
  END IF;
END $$;
"""

_IN_SCHEMA = """
DO $$ BEGIN
  EXECUTE format('{what} ON SCHEMA %I {whom}', current_schema());
END $$;
"""

_POLICY = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY of_one_owner ON {table}
  USING (owner_id = nullif(current_setting('memolith.api.owner', true), '')::bigint);
"""


def application_role_sql() -> str:
    """Return what makes the application's role where it is not there."""
    return _ROLE.format(role=APPLICATION)


def roles_sql() -> str:
    """Return what makes the two roles, where they are not there, and lets them into the schema."""
    parts = [_ROLE.format(role=role) for role in (APPLICATION, MAINTENANCE)]
    parts += [
        _schema_privilege_sql("GRANT USAGE", f"TO {role}") for role in (APPLICATION, MAINTENANCE)
    ]
    return "\n".join([*parts, _GRANT_MAINTENANCE])


def _schema_privilege_sql(what: str, whom: str) -> str:
    return _IN_SCHEMA.format(what=what, whom=whom)


def owner_policy_sql(table: str) -> str:
    """Return what shows a transaction the rows of the owner that it is of, and no others."""
    return _POLICY.format(table=table)


def owner_table_sql(table: str, partitions: int, visible_columns: str = "owner_id") -> str:
    """Return what is put around a table of owners' rows: its parts, its policies, its readers.

    Args:
        table: A new table, partitioned by the hash of `owner_id` if there are to be parts.
        partitions: How many parts; 0: none.
        seen: The columns that maintenance sees of all owners.
    """
    parts = [
        f"CREATE TABLE {table}_{n} PARTITION OF {table}"
        f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {n});"
        for n in range(partitions)
    ]
    return "\n".join(
        (
            *parts,
            owner_policy_sql(table),
            f"GRANT SELECT ({visible_columns}) ON {table} TO {MAINTENANCE};",
            f"CREATE POLICY of_all ON {table} FOR SELECT TO {MAINTENANCE} USING (true);",
            f"GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON {table} TO {APPLICATION};",
        )
    )


def shared_tables_sql(tables: Iterable[str]) -> str:
    """Return what lets the application use tables that are of no owner."""
    named = ", ".join(tables)
    return f"GRANT SELECT, INSERT, UPDATE, DELETE ON {named} TO {APPLICATION};"


def maintenance_functions_sql(definitions: Mapping[str, str]) -> str:
    """Return what makes functions that run as maintenance, which the application may call.

    Args:
        of: The statement that each consists of, by its head: `name(…) RETURNS …`. One that was
            there before is changed; what it returns must then stay.
    """
    return "\n".join(
        (
            _schema_privilege_sql("GRANT CREATE", f"TO {MAINTENANCE}"),
            *(_function_sql(*each) for each in definitions.items()),
            _schema_privilege_sql("REVOKE CREATE", f"FROM {MAINTENANCE}"),
        )
    )


def _function_sql(head: str, body: str) -> str:
    name = head.split(" RETURNS", maxsplit=1)[0]
    return (
        f"CREATE OR REPLACE FUNCTION {head} LANGUAGE sql STABLE SECURITY DEFINER"
        f" BEGIN ATOMIC {body}; END;"
        f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC;"
        f"GRANT EXECUTE ON FUNCTION {name} TO {APPLICATION};"
        f"ALTER FUNCTION {name} OWNER TO {MAINTENANCE};"
    )
