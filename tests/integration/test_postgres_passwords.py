"""Passwords reach the server in every way libpq supports, and appear in no message."""

from __future__ import annotations

import logging
import socket
import struct
import threading
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.dsn import parse_dsn
from memolith.adapters.postgres.store import PostgresStore
from memolith.config import Settings, load
from memolith.errors import InvalidConfiguration, MemolithError, StoreUnavailable
from support.rows import check_each

SECRET = "tulip-4711"  # noqa: S105 - nobody's
_ASK = b"R" + struct.pack("!ii", 8, 3)
_REFUSE = b"SFATAL\0C28P01\0Mpassword authentication failed\0\0"


class PasswordServer:
    """A server that requests a clear-text password from each client, and rejects it."""

    def __init__(self) -> None:
        self.passwords: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            client, _ = self._socket.accept()
            with closing(client), client.makefile("rb") as read:
                (length,) = struct.unpack("!i", read.read(4) or b"\0\0\0\4")
                if length == 4:  # the end of the test
                    return
                read.read(length - 4)
                client.sendall(_ASK)
                head = read.read(5)
                if head:
                    password = read.read(struct.unpack("!i", head[1:])[0] - 4)
                    self.passwords.append(password.rstrip(b"\0").decode())
                    client.sendall(b"E" + struct.pack("!i", len(_REFUSE) + 4) + _REFUSE)

    def close(self) -> None:
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def server() -> Iterator[PasswordServer]:
    with closing(PasswordServer()) as started:
        yield started


def connection_error(url: str) -> MemolithError:
    with pytest.raises(MemolithError) as error:
        PostgresStore.open(url, cipher=PlainCipher(), busy_timeout_s=1)
    return error.value


def format_error(error: MemolithError) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:{}@127.0.0.1:{}/db?sslmode=disable&gssencmode=disable",
        "postgresql://127.0.0.1:{1}/db?user=me&sslmode=disable&gssencmode=disable&password={0}",
        "host=127.0.0.1 port={1} user=me sslmode=disable gssencmode=disable password='{0}'",
    ],
)
def test_password_is_sent_but_not_logged(
    server: PasswordServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = connection_error(url.format(SECRET, server.port))
    assert server.passwords == [SECRET]
    assert isinstance(error, StoreUnavailable)
    assert f"PostgreSQL at 127.0.0.1:{server.port}/" in str(error)
    assert SECRET not in format_error(error) + caplog.text


def test_password_can_come_from_libpq_variables_and_files(
    server: PasswordServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"postgresql://me@127.0.0.1:{server.port}/db?sslmode=disable&gssencmode=disable"
    monkeypatch.setenv("PGPASSWORD", "by-variable")
    connection_error(url)
    monkeypatch.delenv("PGPASSWORD")
    passwords, services = tmp_path / "pgpass", tmp_path / "services"
    passwords.write_text(f"127.0.0.1:{server.port}:*:me:by-file\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    connection_error(url)
    services.write_text(
        f"[memolith]\nhost=127.0.0.1\nport={server.port}\nuser=me\npassword=by-service\n"
        "sslmode=disable\ngssencmode=disable\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    error = connection_error("postgresql:///?service=memolith")
    assert "PostgreSQL by the service memolith" in str(error)
    assert server.passwords == ["by-variable", "by-file", "by-service"]


@check_each(
    "url",
    [
        f"postgresql://me:{SECRET}/x@host/db",
        f"postgresql://me:a@{SECRET}@host/db",
        f"postgresql://me:12/{SECRET}@host/db",
        f"postgresql://me:{SECRET}%zz@host/db",
        f"postgresql://host/db?password={SECRET}%zz",
        f"postgresql://me:1/2?{SECRET}@host/db",
        f"host=x password='{SECRET}",
    ],
)
def test_malformed_url_is_refused_without_revealing_the_password(url: str) -> None:
    error = connection_error(url)
    assert isinstance(error, InvalidConfiguration)
    assert SECRET not in format_error(error)


def test_repr_of_settings_contains_no_password() -> None:
    url = f"postgresql://me:{SECRET}@host/db"
    shown = [repr(parse_dsn(url, "memolith", 1)), repr(load(overrides={"store": url}))]
    assert SECRET not in "".join([*shown, repr(Settings(store=url))])


def test_display_name_follows_libpq_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGPORT", "6000")
    assert (
        parse_dsn("postgresql:///notes", "memolith", 1).display_name
        == "PostgreSQL at db.example:6000/notes"
    )
    assert parse_dsn("postgresql://h/n", "memolith", 1).display_name == "PostgreSQL at h:6000/n"


def test_libpq_keyword_string_is_refused_as_a_file_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memolith.toml").write_text(f'[memory]\nstore = "host=x password={SECRET}"\n')
    for given in (None, f"host=x password={SECRET}"):
        with pytest.raises(InvalidConfiguration, match="postgresql://") as error:
            Memolith.open(given)
        assert SECRET not in format_error(error.value)


@check_each("schema", ["", "pg_mine", "Mine", "a b", "a" * 56, "1st"])
def test_schema_name_that_needs_quotes_is_refused(schema: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"postgres\.schema"):
        parse_dsn("postgresql:///db", schema, 1)
