"""Run part of a test in a process with its own mounts, subject to file modes.

For conditions that a test can't create in its own process: a read-only folder, a small disk and, if
the tests run as root, unwritable files.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000  # linux/sched.h
_CAPABILITIES_VERSION = 0x20080522  # linux/capability.h
_OVERRIDE = 1 << 1 | 1 << 2
"""Capabilities to ignore the modes of files."""

_PATIENCE_S = 60


def run_apart(body: Callable[..., None], *args: Any) -> None:
    """Run a module-level function in such a process; its failures fail the test.

    Skips the test if mounts are not possible.
    """
    problem = _obstacle()
    if problem:
        pytest.skip(f"no mount namespace: {problem}")
    context = get_context("forkserver")  # forks from a process with all imports
    context.set_forkserver_preload(["support.tenant_isolation", "memolith.cli.main", "pytest"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, body, args))
    process.start()
    sender.close()
    try:
        failure = receiver.recv() if receiver.poll(_PATIENCE_S) else "timed out"
    except EOFError:
        failure = "ended without a report"
    if failure:
        process.kill()
    process.join()
    assert not failure, failure


@cache
def _obstacle() -> str:
    """Return why mounts are not possible, or ""."""
    if sys.platform != "linux":
        return "not Linux"
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r});"
        " import support.mount_namespace as apart;"
    )
    tried = subprocess.run(
        [sys.executable, "-c", f"{program} apart._enter(); apart.mount_tmpfs('/mnt', 64)"],
        capture_output=True,
        text=True,
        check=False,
    )
    return tried.stderr.strip().rpartition("\n")[2]


def _run(sender: Connection, body: Callable[..., None], args: tuple[Any, ...]) -> None:
    try:
        _enter()
        body(*args)
    except BaseException:  # noqa: BLE001 - reported by the test
        sender.send(traceback.format_exc())
    else:
        sender.send("")


def _enter() -> None:
    """Enter a mount namespace; a user who is not root becomes root in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_MOUNTS | (_NEW_USER if user else 0)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user:
        Path("/proc/self/setgroups").write_text("deny", "ascii")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", "ascii")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1", "ascii")
    _mount("--make-rprivate", "/")


def mount_tmpfs(folder: Path | str, kilobytes: int) -> None:
    """Mount a disk of the given size on a folder."""
    _mount("-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "none", str(folder))


def resize(folder: Path, kilobytes: int) -> None:
    """Resize such a disk."""
    _mount("-o", f"remount,size={kilobytes}k", str(folder))


def make_read_only(folder: Path) -> None:
    """Make a mounted folder read-only."""
    _mount("-o", "remount,ro", str(folder))


def make_writable(folder: Path) -> None:
    """Make a mounted folder writable again."""
    _mount("-o", "remount,rw", str(folder))


def mirror_read_only(folder: Path, at: Path) -> None:
    """Mount a folder at another path, read-only."""
    _mount("--bind", str(folder), str(at))
    _mount("-o", "remount,ro,bind", str(at))


def _mount(*args: str) -> None:
    subprocess.run(["mount", *args], check=True)  # noqa: S607 - a system program


@contextmanager
def filled(folder: Path, *, but_for_kilobytes: int = 0) -> Iterator[None]:
    """Fill a disk except for a given size, and empty it afterwards."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for piece in (b"x" * 65_536, b"x" * 1024):
            with suppress(OSError):
                while True:
                    file.write(piece)
        file.truncate(max(0, file.tell() - 1024 * but_for_kilobytes))
    try:
        yield
    finally:
        filler.unlink()


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable"))


def heed_modes() -> None:
    """Drop the capabilities that let root ignore file modes."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(_CAPABILITIES_VERSION, 0), (_Data * 2)()
    assert libc.capget(ctypes.byref(header), data) == 0
    data[0].effective &= ~_OVERRIDE
    data[0].permitted &= ~_OVERRIDE
    assert libc.capset(ctypes.byref(header), data) == 0
