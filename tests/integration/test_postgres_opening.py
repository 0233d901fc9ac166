"""Errors for a missing PostgreSQL feature or permission name the fix."""

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


def open_memory(url: str) -> Memolith:
    return Memolith.open(
        url,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=PlainCipher(),
        config=load(env={}),
    )


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """A new, empty database."""
    with new_database(postgres_url) as made:
        yield made


@pytest.fixture
def role(url: str) -> Iterator[str]:
    """A role with no permission except to log in."""
    _run(url, f"DROP ROLE IF EXISTS {_ROLE}", f"CREATE ROLE {_ROLE} LOGIN")
    yield _ROLE
    _run(url, f"REASSIGN OWNED BY {_ROLE} TO CURRENT_USER", f"DROP OWNED BY {_ROLE}")
    _run(url, f"DROP ROLE {_ROLE}")


def _run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        for statement in statements:
            raw.execute(statement.encode())


def _database_identifier(url: str) -> sql.Identifier:
    return sql.Identifier(url.partition("?")[0].rpartition("/")[2])


def _with_role(url: str, role: str) -> str:
    head, _, tail = url.partition("@")
    return f"{head.partition('://')[0]}://{role}@{tail}"


def test_error_for_an_unauthorized_role_names_the_grant(url: str, role: str) -> None:
    with open_memory(url) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    with pytest.raises(InvalidConfiguration, match=f"GRANT {APPLICATION} TO {role}"):
        open_memory(_with_role(url, role))
    _run(url, f"GRANT {APPLICATION} TO {role}")
    with open_memory(_with_role(url, role)) as memory:
        assert memory.recall("Oslo", owner="alice").memories


def test_read_only_role_can_read_everything(
    url: str, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_memory(url) as memory:
        kept = memory.remember("Lives in Oslo", owner="alice")
    _run(url, f"GRANT {APPLICATION} TO {role}")
    _run(url, f"ALTER ROLE {role} SET default_transaction_read_only = on")
    with open_memory(_with_role(url, role)) as memory:
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


def test_read_only_database_refuses_to_create_a_store(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(
                _database_identifier(url)
            )
        )
    with pytest.raises(StoreReadOnly, match="is read-only"):
        open_memory(url)


def test_pgvector_can_be_in_its_own_schema(url: str, role: str) -> None:
    _run(url, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
    with open_memory(url) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    _run(url, f"GRANT {APPLICATION} TO {role}")
    with open_memory(_with_role(url, role)) as memory:
        assert memory.recall("Oslo", owner="alice", mode="vector").memories


def test_server_without_pgvector_is_refused(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        if raw.info.server_version < 180_000:
            pytest.skip("extensions can be hidden from PostgreSQL 18 on")
        raw.execute(
            sql.SQL("ALTER DATABASE {} SET extension_control_path = {}").format(
                _database_identifier(url), str(tmp_path)
            )
        )
    with pytest.raises(InvalidConfiguration, match="does not have pgvector"):
        open_memory(url)


def test_role_that_may_not_install_pgvector_is_refused(url: str, role: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(
            sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(
                _database_identifier(url), sql.Identifier(role)
            )
        )
    with pytest.raises(StoreReadOnly, match='permission denied to create extension "vector"'):
        open_memory(_with_role(url, role))


@contextmanager
def older_server() -> Iterator[int]:
    """Yield the port of a server that reports version 15 and answers nothing else."""
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


def test_older_server_is_refused() -> None:
    refused = r"PostgreSQL 15\.18 \(Debian\); version 17 or newer is required"
    with older_server() as port, pytest.raises(InvalidConfiguration, match=refused):
        open_memory(f"postgresql://me@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable")
