"""The library's own doors, at a service. Imported when one is connected to."""

from __future__ import annotations

from mnemon.aio import AsyncMnemon, AsyncOwnerMemory
from mnemon.client import doors
from mnemon.client.links import AsyncLink, Link
from mnemon.engine import Mnemon


def connection(url: str, key: str | None, timeout_s: float) -> Link:
    """Return the way to a service; errors as in `Mnemon.connect`."""
    return Link(doors.service(url, key, timeout_s))


def async_connection(url: str, key: str | None, timeout_s: float) -> AsyncLink:
    """Return the way to a service for asynchronous code; errors as in `Mnemon.connect`."""
    return AsyncLink(doors.service(url, key, timeout_s))


@doors.remote
class RemoteMnemon(doors.RemoteDoors, Mnemon):
    """`Mnemon`, at a service: see `Mnemon.connect`."""


@doors.async_remote_owner
class AsyncRemoteOwnerMemory(doors.AsyncRemoteOwnerDoors, AsyncOwnerMemory):
    """`AsyncOwnerMemory`, at a service: see `AsyncMnemon.connect`."""


@doors.async_remote
class AsyncRemoteMnemon(doors.AsyncRemoteDoors, AsyncMnemon):
    """`AsyncMnemon`, at a service: see `AsyncMnemon.connect`."""

    def owner(self, owner_id: str) -> AsyncRemoteOwnerMemory:
        """Return the memory of one owner."""
        return AsyncRemoteOwnerMemory(owner_id, self._link)
