"""What a PostgreSQL database lacks, or does not allow, is said so that it can be mended."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.schema import APPLICATION
from memolith.config import load
from memolith.errors import InvalidConfiguration, StoreReadOnly
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.postgres import new_database, own

_ROLE = own("opening_login")


def opened(url: str) -> Memolith:
    return Memolith.open(
        url,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=PlainCipher(),
        config=load(env={}),
    )


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """A new database, in which nothing is."""
    with new_database(postgres_url) as made:
        yield made


@pytest.fixture
def role(url: str) -> Iterator[str]:
    """A role that may log in, and nothing else."""
    _run(url, f"DROP ROLE IF EXISTS {_ROLE}", f"CREATE ROLE {_ROLE} LOGIN")
    yield _ROLE
    _run(url, f"REASSIGN OWNED BY {_ROLE} TO CURRENT_USER", f"DROP OWNED BY {_ROLE}")
    _run(url, f"DROP ROLE {_ROLE}")


def _run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        for statement in statements:
            raw.execute(statement.encode())


def _named(url: str) -> sql.Identifier:
    return sql.Identifier(url.partition("?")[0].rpartition("/")[2])


def _as(url: str, role: str) -> str:
    head, _, tail = url.partition("@")
    return f"{head.partition('://')[0]}://{role}@{tail}"


def test_a_role_that_may_not_use_the_store_is_told_what_to_grant(url: str, role: str) -> None:
    with opened(url) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    with pytest.raises(InvalidConfiguration, match=f"GRANT {APPLICATION} TO {role}"):
        opened(_as(url, role))
    _run(url, f"GRANT {APPLICATION} TO {role}")
    with opened(_as(url, role)) as memory:
        assert memory.recall("Oslo", owner="alice").memories


def test_where_nothing_may_be_written_all_can_be_read(
    url: str, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(url) as memory:
        kept = memory.remember("Lives in Oslo", owner="alice")
    _run(url, f"GRANT {APPLICATION} TO {role}")
    _run(url, f"ALTER ROLE {role} SET default_transaction_read_only = on")
    with opened(_as(url, role)) as memory:
        assert memory.recall("Oslo", owner="alice").memories[0].id == kept.id
        assert list(memory.export(owner="alice"))
        assert memory.verify().is_clean
        for write in (
            lambda: memory.remember("Lives in Rome", owner="alice"),
            lambda: memory.forget(kept.id, owner="alice"),
            lambda: memory.remember("Is new here", owner="bob"),
        ):
            with pytest.raises(StoreReadOnly, match="is read-only"):
                write()
        assert memory.owners() == ["alice"]
    assert not caplog.records


def test_in_a_database_that_is_only_read_no_store_is_made(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(_named(url))
        )
    with pytest.raises(StoreReadOnly, match="is read-only"):
        opened(url)


def test_pgvector_may_be_in_a_schema_of_its_own(url: str, role: str) -> None:
    _run(url, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
    with opened(url) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    _run(url, f"GRANT {APPLICATION} TO {role}")
    with opened(_as(url, role)) as memory:
        assert memory.recall("Oslo", owner="alice", mode="vector").memories


def test_a_server_without_pgvector_is_refused(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        if raw.info.server_version < 180_000:
            pytest.skip("extensions can be hidden from PostgreSQL 18 on")
        raw.execute(
            sql.SQL("ALTER DATABASE {} SET extension_control_path = {}").format(
                _named(url), str(tmp_path)
            )
        )
    with pytest.raises(InvalidConfiguration, match="does not have pgvector"):
        opened(url)


def test_a_role_that_may_not_install_pgvector_is_told_so(url: str, role: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(
            sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(_named(url), sql.Identifier(role))
        )
    with pytest.raises(StoreReadOnly, match='permission denied to create extension "vector"'):
        opened(_as(url, role))


@contextmanager
def _older() -> Iterator[int]:
    """Give the port of a server that says that it is PostgreSQL 15, and no more."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            client, _ = listening.accept()
            with client, client.makefile("rb") as read:
                read.read(struct.unpack("!i", read.read(4))[0] - 4)
                said = b"server_version\x0015.18 (Debian)\0"
                client.sendall(b"R" + struct.pack("!ii", 8, 0))
                client.sendall(b"S" + struct.pack("!i", len(said) + 4) + said)
                client.sendall(b"Z" + struct.pack("!i", 5) + b"I")
                read.read(1)

        serving = threading.Thread(target=serve)
        serving.start()
        yield listening.getsockname()[1]
        serving.join()


def test_an_older_server_is_refused() -> None:
    refused = r"PostgreSQL 15\.18 \(Debian\); version 17 or newer is required"
    with _older() as port, pytest.raises(InvalidConfiguration, match=refused):
        opened(f"postgresql://me@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable")
