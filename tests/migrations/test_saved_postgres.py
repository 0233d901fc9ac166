"""What older versions wrote into PostgreSQL is brought up to date, with all it holds."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import psycopg
import pytest

from memolith.adapters.crypto.plain import PlainCipher
from memolith.adapters.postgres.places import place_of, session
from memolith.adapters.postgres.schema import BOUND, MIGRATIONS, SCHEMA, Making, Shape
from memolith.adapters.postgres.schema_1 import first
from memolith.adapters.postgres.upgrading import Upgraded, upgrade
from memolith.adapters.postgres.values import PLAIN
from memolith.errors import StoreReadOnly, StoreTooNew, StoreUnavailable
from memolith.ports.cipher import Ciphers
from migrations.saving import furnish
from migrations.saving_postgres import FORMS, ciphers_of, load_saved, opened, saved
from support.postgres import dropped, own

FOLDER = Path(__file__).parent
OLD, NEW = own("saved"), own("saved_new")


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    for schema in (OLD, NEW):
        dropped(postgres_url, schema)
    yield postgres_url
    for schema in (OLD, NEW):
        dropped(postgres_url, schema)


def upgraded(
    url: str, schema: str, ciphers: Ciphers | None = None, **given: object
) -> tuple[Upgraded, list[int]]:
    told: list[int] = []
    done = upgrade(
        place_of(url, schema, 5),
        ciphers=ciphers or PlainCipher(),
        making=Making(),
        told=told.append,
        **given,  # type: ignore[arg-type] # the migrations, where a test has its own
    )
    return done, told


def shape_of(url: str, schema: str) -> set[tuple[object, ...]]:
    """Return what a store's tables, indexes, policies, rights and functions are."""
    statements = (
        (
            "SELECT table_name, column_name, udt_name, is_nullable, column_default"
            " FROM information_schema.columns WHERE table_schema = %s"
        ),
        "SELECT tablename, replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = %s",
        (
            "SELECT tablename, policyname, roles::text, cmd, qual FROM pg_policies"
            " WHERE schemaname = %s"
        ),
        (
            "SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text FROM pg_class"
            " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'"
        ),
        (
            "SELECT proname, proowner::regrole::text, prosecdef, proacl::text FROM pg_proc"
            " WHERE pronamespace = to_regnamespace(%s)"
        ),
    )
    with psycopg.connect(url) as connection:
        return {
            (number, *row)
            for number, statement in enumerate(statements)
            for row in connection.execute(statement.encode(), (schema,))
        }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("version", range(1, SCHEMA + 1))
def test_a_saved_store_becomes_as_a_new_one_and_holds_what_it_held(
    url: str, version: int, form: str, tmp_path: Path
) -> None:
    ciphers = ciphers_of(FOLDER, version, form, tmp_path)
    load_saved(saved(FOLDER, version, form).read_text("utf-8"), url, OLD)
    assert upgraded(url, OLD)[0] == Upgraded(version, SCHEMA)
    with opened(url, NEW, ciphers) as new, opened(url, OLD, ciphers) as memory:
        furnish(new)
        assert shape_of(url, OLD) == shape_of(url, NEW)
        assert memory.verify().findings == ()
        assert memory.owners() == ["anna", "bob"]
        for owner in memory.owners():
            assert memory.stats(owner=owner) == new.stats(owner=owner)
        found = memory.recall("the gate's code", owner="anna").memories[0]
        assert found.content == "The gate's code is 4712"
        assert memory._parts.store.is_erased("carol")


def test_a_new_store_is_made_once(url: str) -> None:
    assert upgraded(url, NEW) == (Upgraded(0, SCHEMA), [SCHEMA])
    assert upgraded(url, NEW) == (Upgraded(SCHEMA, SCHEMA), [])
    with opened(url, NEW, PlainCipher()) as memory:
        memory.remember("There it is", owner="anna")


def second(shape: Shape) -> str:
    del shape
    return "ALTER TABLE memories ADD COLUMN mood text; CREATE TABLE moods (name text)"


def broken(shape: Shape) -> str:
    del shape
    return "CREATE TABLE half (name text); SELECT 1 / 0"


def third(shape: Shape) -> str:
    return (
        f"CREATE TABLE shapes AS SELECT '{shape.form.type_name}' AS name, {shape.partitions} AS n"
    )


def test_migrations_are_told_one_by_one_and_opening_asks_for_them(url: str) -> None:
    later = (*MIGRATIONS, second, third)
    upgraded(url, NEW)
    assert upgraded(url, NEW, migrations=later) == (
        Upgraded(SCHEMA, SCHEMA + 2),
        [SCHEMA + 1, SCHEMA + 2],
    )
    with session(place_of(url, NEW, 5)) as raw:
        assert raw.execute("SELECT name, n FROM shapes").fetchall() == [("halfvec", 0)]
    with pytest.raises(StoreTooNew):
        opened(url, NEW, PlainCipher())
    with pytest.raises(StoreTooNew):
        upgraded(url, NEW)


def test_a_migration_that_fails_leaves_the_one_before(url: str) -> None:
    upgraded(url, NEW)
    with pytest.raises(StoreUnavailable, match="division by zero"):
        upgraded(url, NEW, migrations=(*MIGRATIONS, second, broken))
    with session(place_of(url, NEW, 5)) as raw:
        assert raw.execute("SELECT to_regclass('half'), to_regclass('moods')::text").fetchone() == (
            None,
            "moods",
        )
    # What failed is mended, and the next call goes on from there.
    done, told = upgraded(url, NEW, migrations=(*MIGRATIONS, second, third))
    assert (done, told) == (Upgraded(SCHEMA + 1, SCHEMA + 2), [SCHEMA + 2])


def test_an_older_store_is_not_opened_but_named_the_command(url: str) -> None:
    upgraded(url, NEW)
    with session(place_of(url, NEW, 5)) as raw:
        raw.execute("UPDATE meta SET value = '0' WHERE name = 'schema'")
    with pytest.raises(StoreUnavailable, match="memolith db upgrade"):
        opened(url, NEW, PlainCipher())


def test_who_does_not_own_the_tables_is_told_so(url: str) -> None:
    upgraded(url, NEW)
    login = own("memolith_test_guest")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}".encode())
        connection.execute(f"CREATE ROLE {login} LOGIN IN ROLE memolith_application".encode())
    with pytest.raises(StoreReadOnly, match="as who made them"):
        upgrade(
            place_of(f"{url}&user={login}" if "?" in url else f"{url}?user={login}", NEW, 5),
            ciphers=PlainCipher(),
            making=Making(),
            told=print,
            migrations=(*MIGRATIONS, second),
        )


def test_the_first_schema_is_never_changed() -> None:
    """Stores have it: what is to be otherwise is a migration."""
    script = first(Shape(PLAIN, 2)).encode()
    assert blake2b(script, digest_size=8).hexdigest() == "bffd32426b97914a"


def test_every_table_of_the_schema_is_known(url: str) -> None:
    upgraded(url, NEW)
    with session(place_of(url, NEW, 5)) as raw:
        rows = raw.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
            " AND relkind = 'r' AND relrowsecurity AND relname <> 'probe'",
            (NEW,),
        )
        assert {name for (name,) in rows} == set(BOUND)
