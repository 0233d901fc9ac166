"""Roles and row-level security isolate owners in PostgreSQL, even for incomplete statements."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.connections import Connection
from memolith.adapters.postgres.dsn import parse_dsn, session
from memolith.adapters.postgres.schema import APPLICATION, MAINTENANCE, OWNER_TABLES, owner_number
from memolith.adapters.postgres.store import PostgresStore
from memolith.domain.owners import WorkKind
from memolith.errors import InvalidConfiguration, StoreReadOnly, StoreTooNew, StoreUnavailable
from memolith.testing.builders import DIMENSION, at, memory, record_id, short_entry
from support.all_operations import do_everything
from support.postgres import fresh, own

SCHEMA = own("owners_apart")
ALICE, BOB = owner_number("alice"), owner_number("bob")
_LOGIN = own("memolith_test_login")


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    with fresh(postgres_url, SCHEMA, PlainCipher()) as opened:
        opened.adopt_embedder("builders", DIMENSION)
        do_everything(opened)
        assert opened.leases.acquire("alice", WorkKind.LEARN, now=at(0), lease_s=60)
        with opened.write("bob") as tx:
            tx.insert([(memory(1, "water", owner_id="bob"), short_entry("water"))])
        yield opened


@contextmanager
def as_superuser(url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with session(parse_dsn(url, SCHEMA, 5)) as raw:
        yield raw


def select_owner_ids(connection: Connection, table: str) -> set[int]:
    rows = connection.rows(f"SELECT owner_id FROM {table}")  # noqa: S608 - one of ours
    return {number for (number,) in rows}


def test_store_connections_are_not_superuser(store: PostgresStore) -> None:
    for lend in (store._connections.read, store._connections.write):
        with lend("alice") as connection:
            who = connection.row(
                "SELECT current_user, rolsuper, rolbypassrls FROM pg_roles"
                " WHERE rolname = current_user"
            )
            assert who == (APPLICATION, False, False)


@pytest.mark.parametrize("table", OWNER_TABLES)
def test_statement_without_a_condition_sees_one_owner(store: PostgresStore, table: str) -> None:
    with store._connections.read("alice") as connection:
        seen = select_owner_ids(connection, table)
    assert seen == {ALICE}


@pytest.mark.parametrize("table", OWNER_TABLES)
def test_connection_without_an_owner_sees_nothing(store: PostgresStore, table: str) -> None:
    with store._connections.read("alice") as connection:
        select_owner_ids(connection, table)
    with store._connections.read() as connection:
        assert select_owner_ids(connection, table) == set()


def test_owner_setting_ends_with_its_transaction(store: PostgresStore) -> None:
    with store._connections.read("alice"):
        pass
    with store._connections.autocommit() as connection:
        assert select_owner_ids(connection, "memories") == set()


def test_rows_of_another_owner_are_not_updated_or_deleted(store: PostgresStore) -> None:
    with store._connections.write("alice") as connection:
        assert connection.run("UPDATE memories SET strength = 0 WHERE owner_id = ?", (BOB,)) == 0
        assert connection.run("DELETE FROM memories WHERE owner_id = ?", (BOB,)) == 0
        assert connection.run("DELETE FROM memories WHERE owner_id <> ?", (ALICE,)) == 0


@pytest.mark.parametrize("table", OWNER_TABLES)
def test_rows_cannot_be_moved_to_another_owner(store: PostgresStore, table: str) -> None:
    with store._connections.write("alice") as connection, pytest.raises(StoreReadOnly):
        connection.run(f"UPDATE {table} SET owner_id = ?", (BOB,))  # noqa: S608 - one of ours


def test_every_table_with_owner_rows_is_listed(store: PostgresStore, postgres_url: str) -> None:
    assert store.owners()
    asked = (
        "SELECT c.relname, EXISTS (SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.oid AND"
        " a.attname = 'owner_id') FROM pg_class AS c WHERE c.relkind IN ('r', 'p', 'm', 'v')"
        " AND c.relnamespace = %s::regnamespace"
    )
    with as_superuser(postgres_url) as raw:
        found: dict[str, bool] = dict(raw.execute(asked, (SCHEMA,)).fetchall())  # type: ignore[arg-type]
    assert {table for table, is_owners in found.items() if is_owners} == {*OWNER_TABLES, "probe"}
    others = {table for table, is_owners in found.items() if not is_owners}
    assert others == {"meta", "idempotency", "jobs", "api_keys", "tombstones"}


def test_rows_cannot_be_written_for_another_owner(store: PostgresStore) -> None:
    with store._connections.write("alice") as connection, pytest.raises(StoreReadOnly):
        connection.run("INSERT INTO tags VALUES (?, ?, ?)", (BOB, b"t", 1))
    with store._connections.write("alice") as connection, pytest.raises(StoreReadOnly):
        connection.run("UPDATE tags SET owner_id = ?", (BOB,))


def test_owners_are_listed_only_by_functions(store: PostgresStore) -> None:
    assert store.owners() == ["alice", "bob"]
    with store._connections.read() as connection:
        assert select_owner_ids(connection, "owners") == set()


def test_maintenance_role_cannot_read_content(store: PostgresStore, postgres_url: str) -> None:
    assert store.owners()
    with as_superuser(postgres_url) as raw:
        raw.execute(f"SET ROLE {MAINTENANCE}".encode())
        assert len(raw.execute("SELECT name FROM owners").fetchall()) == 2
        for forbidden in ("SELECT content FROM memories", "DELETE FROM owners"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                raw.execute(forbidden.encode())


SEEN_ACROSS = {
    *("owner_id", "name"),
    *("work", "until"),  # which leases are free
    *("number", "marks", "retry_at", "valid_to"),  # which messages are pending
    *("vector", "vector2"),  # only its presence: no function returns it
    *("next_item", "reembedded_to"),  # the progress of owners
}


def test_maintenance_functions_return_only_names_and_numbers(
    store: PostgresStore, postgres_url: str
) -> None:
    assert store.owners()
    columns = (
        "SELECT DISTINCT column_name FROM information_schema.column_privileges"
        " WHERE grantee = %s AND table_schema = %s"
    )
    functions = (
        "SELECT p.proname, p.prosecdef, pg_get_function_result(p.oid) FROM pg_proc AS p"
        " WHERE p.pronamespace = %s::regnamespace"
    )
    with as_superuser(postgres_url) as raw:
        seen = {column for (column,) in raw.execute(columns, (MAINTENANCE, SCHEMA)).fetchall()}
        given = {str(result) for _, _, result in raw.execute(functions, (SCHEMA,)).fetchall()}
    assert seen <= SEEN_ACROSS
    assert given <= {
        *("SETOF text", "boolean", "bigint"),
        "TABLE(table_name text, number bigint, row_count bigint)",
    }


def test_keyword_search_uses_the_index_under_the_policy(
    store: PostgresStore, postgres_url: str
) -> None:
    many = [(memory(n), short_entry(f"word{n % 50} tea")) for n in range(100, 2_100)]
    with store.write("alice") as tx:
        tx.insert(many)
    with as_superuser(postgres_url) as raw:
        raw.execute("ANALYZE terms")
    statement = (
        "EXPLAIN SELECT w.rowid - 1, t.item, t.part, t.tf FROM carray(?1) AS w CROSS JOIN terms"
        " AS t ON t.owner_id = ?2 AND t.term = w.value AND t.item >= ?3"
    )
    with store._connections.read("alice") as connection:
        terms = connection.bind_values([b"word7", b"word8"])
        plan = "\n".join(line for (line,) in connection.rows(statement, (terms, ALICE, 1)))
    assert "Seq Scan" not in plan
    (condition,) = [line for line in plan.splitlines() if "Index Cond" in line]
    assert "term = w.value" in condition


def test_role_that_bypasses_row_level_security_is_refused(
    store: PostgresStore, postgres_url: str
) -> None:
    assert store.owners()
    with as_superuser(postgres_url) as raw:
        raw.execute(f"DROP ROLE IF EXISTS {_LOGIN}".encode())
        raw.execute(f"CREATE ROLE {_LOGIN} LOGIN BYPASSRLS".encode())
        raw.execute(f"GRANT {APPLICATION} TO {_LOGIN} WITH SET FALSE".encode())
    with pytest.raises(InvalidConfiguration, match="bypasses row-level security"):
        _open_store(postgres_url, user=_LOGIN)


def test_member_of_the_application_role_can_open_the_store(
    store: PostgresStore, postgres_url: str
) -> None:
    assert store.owners()
    with as_superuser(postgres_url) as raw:
        raw.execute(f"DROP ROLE IF EXISTS {_LOGIN}".encode())
        raw.execute(f"CREATE ROLE {_LOGIN} LOGIN IN ROLE {APPLICATION}".encode())
    again = _open_store(postgres_url, user=_LOGIN)
    try:
        with again.read("bob") as snapshot:
            assert snapshot.memories([record_id(1)])
        with again._connections.write() as connection, pytest.raises(StoreReadOnly):
            connection.run(f"SET LOCAL ROLE {MAINTENANCE}")
    finally:
        again.close()


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ("ALTER TABLE {} DISABLE ROW LEVEL SECURITY", "ALTER TABLE {} ENABLE ROW LEVEL SECURITY"),
        ("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY", "ALTER TABLE {} FORCE ROW LEVEL SECURITY"),
    ],
)
def test_store_without_row_level_security_is_refused(
    store: PostgresStore, postgres_url: str, off: str, on: str
) -> None:
    assert store.owners()
    with as_superuser(postgres_url) as raw:
        raw.execute(off.format("terms").encode())
        try:
            with pytest.raises(InvalidConfiguration, match="not forced on terms"):
                _open_store(postgres_url)
        finally:
            raw.execute(on.format("terms").encode())


@pytest.mark.parametrize("hidden", ["-1", "-2"])
def test_store_with_an_ineffective_policy_is_refused(
    store: PostgresStore, postgres_url: str, hidden: str
) -> None:
    assert store.owners()
    policy = "ALTER POLICY of_one_owner ON probe USING ({})"
    kept = "owner_id = nullif(current_setting('memolith.owner', true), '')::bigint"
    with as_superuser(postgres_url) as raw:
        raw.execute(policy.format(f"owner_id = {hidden}").encode())
        try:
            with pytest.raises(InvalidConfiguration, match="shows the wrong rows"):
                _open_store(postgres_url)
        finally:
            raw.execute(policy.format(kept).encode())


@pytest.mark.parametrize(
    ("schema", "error", "said"),
    [("99", StoreTooNew, "upgrade Memolith"), ("0", StoreUnavailable, "run `memolith db upgrade`")],
)
def test_store_of_another_schema_version_is_refused(
    store: PostgresStore, postgres_url: str, schema: str, error: type[Exception], said: str
) -> None:
    kept = str(store.meta.schema)
    change = "UPDATE meta SET value = %s WHERE name = 'schema'"
    with as_superuser(postgres_url) as raw:
        raw.execute(change, (schema,))
        try:
            with pytest.raises(error, match=said):
                _open_store(postgres_url)
        finally:
            raw.execute(change, (kept,))


def test_role_without_permission_cannot_create_a_store(postgres_url: str) -> None:
    with as_superuser(postgres_url) as raw:
        raw.execute(f"DROP ROLE IF EXISTS {_LOGIN}".encode())
        raw.execute(f"CREATE ROLE {_LOGIN} LOGIN".encode())
    with pytest.raises(StoreReadOnly, match="not allowed to create one"):
        _open_store(postgres_url, schema="not_there", user=_LOGIN)


def test_invalid_url_is_refused_without_being_repeated() -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        PostgresStore.open("postgresql://me:secret@host/x?nonsense=1", cipher=PlainCipher())
    assert "secret" not in str(refused.value)


def _open_store(url: str, *, schema: str = SCHEMA, user: str | None = None) -> PostgresStore:
    named = url if user is None else psycopg.conninfo.make_conninfo(url, user=user)
    return PostgresStore.open(named, cipher=PlainCipher(), schema=schema)
