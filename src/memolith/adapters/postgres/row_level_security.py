"""Build SQL for roles, row-level security policies and privileges, for use in migrations."""

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

# A function that runs as maintenance must be owned by it. Transferring the ownership requires
# membership in the role, and the role's CREATE privilege on the schema.
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
  USING (owner_id = nullif(current_setting('memolith.owner', true), '')::bigint);
"""


def application_role_sql() -> str:
    """Return SQL that creates the application's role if it does not exist."""
    return _ROLE.format(role=APPLICATION)


def roles_sql() -> str:
    """Return SQL that creates both roles if missing and grants them usage of the schema."""
    statements = [_ROLE.format(role=role) for role in (APPLICATION, MAINTENANCE)]
    statements += [
        _schema_privilege_sql("GRANT USAGE", f"TO {role}") for role in (APPLICATION, MAINTENANCE)
    ]
    return "\n".join([*statements, _GRANT_MAINTENANCE])


def _schema_privilege_sql(privilege: str, role: str) -> str:
    return _IN_SCHEMA.format(what=privilege, whom=role)


def owner_policy_sql(table: str) -> str:
    """Return SQL for a policy that restricts a transaction to the rows of its owner."""
    return _POLICY.format(table=table)


def owner_table_sql(table: str, partitions: int, visible_columns: str = "owner_id") -> str:
    """Return SQL for the partitions, policies and privileges of a table with an owner.

    Args:
        table: A new table, partitioned by the hash of `owner_id` if there are partitions.
        partitions: The number of partitions; 0: none.
        visible_columns: The columns that the maintenance role can read for all owners.
    """
    statements = [
        f"CREATE TABLE {table}_{n} PARTITION OF {table}"
        f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {n});"
        for n in range(partitions)
    ]
    return "\n".join(
        (
            *statements,
            owner_policy_sql(table),
            f"GRANT SELECT ({visible_columns}) ON {table} TO {MAINTENANCE};",
            f"CREATE POLICY of_all ON {table} FOR SELECT TO {MAINTENANCE} USING (true);",
            f"GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON {table} TO {APPLICATION};",
        )
    )


def shared_tables_sql(tables: Iterable[str]) -> str:
    """Return SQL that grants the application access to tables without an owner."""
    names = ", ".join(tables)
    return f"GRANT SELECT, INSERT, UPDATE, DELETE ON {names} TO {APPLICATION};"


def maintenance_functions_sql(definitions: Mapping[str, str]) -> str:
    """Return SQL for functions that run as maintenance and that the application can call.

    Args:
        definitions: The statement of each function by its head, `name(…) RETURNS …`. An existing
            function is replaced; its return type must not change.
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
