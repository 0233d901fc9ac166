"""The library's own doors, at a service. Imported when one is connected to."""

from __future__ import annotations

from memolith.aio import AsyncMemolith, AsyncOwnerMemory
from memolith.client import doors
from memolith.client.links import AsyncTransport, Transport
from memolith.engine import Memolith


def build_transport(url: str, key: str | None, timeout_s: float) -> Transport:
    """Return the way to a service; errors as in `Memolith.connect`."""
    return Transport(doors.build_service_connection(url, key, timeout_s))


def build_async_transport(url: str, key: str | None, timeout_s: float) -> AsyncTransport:
    """Return the way to a service for asynchronous code; errors as in `Memolith.connect`."""
    return AsyncTransport(doors.build_service_connection(url, key, timeout_s))


@doors.install_remote
class RemoteMemolith(doors.RemoteMethods, Memolith):
    """`Memolith`, at a service: see `Memolith.connect`."""


@doors.install_async_remote_owner
class AsyncRemoteOwnerMemory(doors.AsyncRemoteOwnerMethods, AsyncOwnerMemory):
    """`AsyncOwnerMemory`, at a service: see `AsyncMemolith.connect`."""


@doors.install_async_remote
class AsyncRemoteMemolith(doors.AsyncRemoteMethods, AsyncMemolith):
    """`AsyncMemolith`, at a service: see `AsyncMemolith.connect`."""

    def owner(self, owner_id: str) -> AsyncRemoteOwnerMemory:
        """Return the memory of one owner."""
        return AsyncRemoteOwnerMemory(owner_id, self._link)
