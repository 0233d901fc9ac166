"""Keys wrapped by the master key, each bound to what it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.crypto.joining import joined
from memolith.adapters.crypto.master import GivenKey, KeyFile, Passphrase, Stretching
from memolith.adapters.crypto.sealed import NotOpened, new_key, open_sealed, seal, subkey

if TYPE_CHECKING:
    from memolith.adapters.crypto.master import Source
    from memolith.adapters.crypto.ring_places import RingRows

_PURPOSE = "memolith-wrap"
_CHECK = b"memolith key ring"


def wrapped(master: bytes, key: bytes, place: bytes) -> bytes:
    """Return a key wrapped by the master key."""
    return seal(subkey(master, _PURPOSE), key, place)


def unwrapped(master: bytes, sealed: bytes, place: bytes) -> bytes:
    """Return the key that was wrapped.

    Raises:
        NotOpened: By another master key, or for something else.
    """
    return open_sealed(subkey(master, _PURPOSE), sealed, place)


def new_check(master: bytes) -> bytes:
    """Return a value by which the master key can be known."""
    return wrapped(master, _CHECK, _CHECK)


def opens(master: bytes, check: bytes) -> bool:
    """Return whether a value was made by this master key."""
    try:
        return unwrapped(master, check, _CHECK) == _CHECK
    except NotOpened:
        return False


def new_master(source: Source, stretching: Stretching) -> bytes:
    """Return the master key of a source: for a file, a new one."""
    if isinstance(source, KeyFile):
        return new_key()
    return source.key if isinstance(source, GivenKey) else source.key(stretching)


def store_place(store_id: bytes) -> bytes:
    """Return what a store's wrapped key is bound to."""
    return joined(b"store", store_id)


def owner_place(store_id: bytes, owner: bytes, version: int) -> bytes:
    """Return what an owner's wrapped key is bound to."""
    return joined(b"owner", store_id, owner, version.to_bytes(8, "big"))


def begin(ring: RingRows, source: Source, master: bytes, stretching: Stretching) -> None:
    """Store by what the master key is known, and how a passphrase becomes it."""
    rows = [("check", new_check(master))]
    if isinstance(source, Passphrase):
        rows += [
            ("salt", stretching.salt),
            ("operations", b"%d" % stretching.operations),
            ("memory", b"%d" % stretching.memory),
        ]
    ring.run("DELETE FROM ring")
    ring.run_many("INSERT INTO ring VALUES (?, ?)", rows)


def rewrap(ring: RingRows, old: bytes, new: bytes) -> None:
    """Wrap every key of the ring anew."""
    stores = ring.rows("SELECT store, wrapped FROM stores")
    ring.run_many(
        "UPDATE stores SET wrapped = ? WHERE store = ?",
        (
            (wrapped(new, unwrapped(old, sealed, place), place), store)
            for store, sealed in stores
            for place in [store_place(store)]
        ),
    )
    owners = ring.rows(
        "SELECT store, owner, version, wrapped FROM owners WHERE wrapped IS NOT NULL"
    )
    ring.run_many(
        "UPDATE owners SET wrapped = ? WHERE store = ? AND owner = ? AND version = ?",
        (
            (wrapped(new, unwrapped(old, sealed, place), place), store, owner, version)
            for store, owner, version, sealed in owners
            for place in [owner_place(store, owner, version)]
        ),
    )
