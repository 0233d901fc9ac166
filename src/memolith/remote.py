"""The library's own doors, at a service. Imported when one is connected to."""

from __future__ import annotations

from memolith.aio import AsyncMemolith, AsyncOwnerMemory
from memolith.client import doors
from memolith.client.links import AsyncLink, Link
from memolith.engine import Memolith


def connection(url: str, key: str | None, timeout_s: float) -> Link:
    """Return the way to a service; errors as in `Memolith.connect`."""
    return Link(doors.service(url, key, timeout_s))


def async_connection(url: str, key: str | None, timeout_s: float) -> AsyncLink:
    """Return the way to a service for asynchronous code; errors as in `Memolith.connect`."""
    return AsyncLink(doors.service(url, key, timeout_s))


@doors.remote
class RemoteMemolith(doors.RemoteDoors, Memolith):
    """`Memolith`, at a service: see `Memolith.connect`."""


@doors.async_remote_owner
class AsyncRemoteOwnerMemory(doors.AsyncRemoteOwnerDoors, AsyncOwnerMemory):
    """`AsyncOwnerMemory`, at a service: see `AsyncMemolith.connect`."""


@doors.async_remote
class AsyncRemoteMemolith(doors.AsyncRemoteDoors, AsyncMemolith):
    """`AsyncMemolith`, at a service: see `AsyncMemolith.connect`."""

    def owner(self, owner_id: str) -> AsyncRemoteOwnerMemory:
        """Return the memory of one owner."""
        return AsyncRemoteOwnerMemory(owner_id, self._link)
