"""Encryption: XChaCha20-Poly1305 under a key of each owner's own."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.crypto.joining import joined
from memolith.adapters.crypto.ring import origin
from memolith.adapters.crypto.sealed import (
    NotOpened,
    keyed,
    new_key,
    open_sealed,
    seal,
    subkey,
)
from memolith.adapters.crypto.transform import Transform
from memolith.errors import KeyUnavailable, StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memolith.adapters.crypto.ring import KeyRing
    from memolith.ports.cipher import Cipher, Place

NAME = "xchacha20-poly1305"

_DIGEST_BYTES = 16
_TERM_BYTES = 8
"""Two of an owner's n keywords share a digest with a chance of n²/2⁶⁵: 10⁻⁹ for 200,000."""

_OWNERS_KEPT = 1_024
"""Owners whose keys are kept in memory, about 25 KB each: a guess."""

_VERSION_BYTES = 8

_log = logging.getLogger(__name__)


class XChaChaOwner:
    """The cipher of one owner and key version."""

    __slots__ = ("_content", "_digests", "_store_id", "_terms", "_transforms", "_vectors")

    def __init__(self, store_id: bytes, data_key: bytes) -> None:
        """Derive the owner's keys from the data key."""
        self._store_id = origin(store_id)
        self._content = subkey(data_key, "memolith-content")
        self._digests = subkey(data_key, "memolith-digest")
        self._terms = subkey(data_key, "memolith-terms")
        self._vectors = subkey(data_key, "memolith-vectors")
        self._transforms: dict[int, Transform] = {}

    def __repr__(self) -> str:
        """Say nothing of the keys."""
        return "XChaChaOwner(…)"

    def seal(self, plain: bytes, place: Place) -> bytes:
        """See the port."""
        return seal(self._content, plain, self._bound(place))

    def open(self, sealed: bytes, place: Place) -> bytes:
        """See the port."""
        try:
            return open_sealed(self._content, sealed, self._bound(place))
        except NotOpened:
            raise StoreDamaged(
                f"the {place.field} of {place.record} does not open: it was changed or moved,"
                " or sealed with another key"
            ) from None

    def digest(self, purpose: str, data: bytes) -> bytes:
        """See the port."""
        return keyed(self._digests, joined(purpose.encode()) + data, _DIGEST_BYTES)

    def term(self, term: str) -> bytes:
        """Return 8 bytes."""
        return blake2b(term.encode(), key=self._terms, digest_size=_TERM_BYTES).digest()

    def hide(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return the transformed vectors; see `transform`."""
        hidden = self._transform(vectors.shape[1]).hide(vectors)
        return [row.tobytes() for row in hidden]

    def show(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """See the port."""
        transform = self._transform(dimension)
        if not stored:
            return np.empty((0, dimension), dtype=np.int8)
        if any(len(each) != transform.stored_bytes for each in stored):
            raise StoreDamaged("a stored vector is of another length")
        hidden = np.frombuffer(b"".join(stored), dtype="<i2")
        try:
            return transform.show(hidden.reshape(len(stored), -1))
        except ValueError:
            raise StoreDamaged("a stored vector was changed, or is another owner's") from None

    def _transform(self, dimension: int) -> Transform:
        if dimension not in self._transforms:
            self._transforms[dimension] = Transform(self._vectors, dimension)
        return self._transforms[dimension]

    def _bound(self, place: Place) -> bytes:
        return joined(
            self._store_id,
            place.owner_id.encode(),
            place.record.encode(),
            place.field.encode(),
            place.version.to_bytes(_VERSION_BYTES, "big"),
        )


class XChaChaCipher:
    """The cipher of one store, with the keys in a ring."""

    name = NAME

    def __init__(self, ring: KeyRing, store_id: bytes, store_key: bytes) -> None:
        """Take the store's key."""
        self.store_id = store_id
        self.check = check_of(store_id, store_key)
        self._store_key = store_key
        self._ring = ring
        self._names = subkey(store_key, "memolith-owners")
        self._tombstones = subkey(store_key, "memolith-erased")
        self._owners: OrderedDict[tuple[str, int], XChaChaOwner] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Say which store's it is."""
        return f"XChaChaCipher(store {self.store_id.hex()})"

    def version(self, owner_id: str) -> int:
        """See the port."""
        return self._ring.ensure(self.store_id, self._named(owner_id))

    def of(self, owner_id: str, version: int) -> XChaChaOwner:
        """See the port."""
        wanted = (owner_id, version)
        with self._lock:
            if wanted in self._owners:
                self._owners.move_to_end(wanted)
                return self._owners[wanted]
        if version == 0:
            return XChaChaOwner(self.store_id, new_key())
        owner = XChaChaOwner(self.store_id, self.key(owner_id, version))
        with self._lock:
            self._owners[wanted] = owner
            while len(self._owners) > _OWNERS_KEPT:
                self._owners.popitem(last=False)
        return owner

    def tombstone(self, owner_id: str) -> bytes:
        """See the port."""
        return keyed(self._tombstones, owner_id.encode(), _DIGEST_BYTES)

    def versions(self, owner_id: str) -> list[int]:
        """See `KeyChanging`."""
        return self._ring.versions(self.store_id, self._named(owner_id))

    def add_version(self, owner_id: str) -> int:
        """See `KeyChanging`."""
        return self._ring.add(self.store_id, self._named(owner_id))

    def drop_before(self, owner_id: str, version: int) -> None:
        """See `KeyChanging`."""
        self._ring.drop_before(self.store_id, self._named(owner_id), version)
        self._forget(owner_id, before=version)

    def erase(self, owner_id: str) -> None:
        """See `KeyChanging`. Another process may have the key in memory until it ends."""
        self._ring.erase(self.store_id, self._named(owner_id))
        self._forget(owner_id)

    def is_erased(self, owner_id: str, version: int) -> bool:
        """See `KeyChanging`."""
        return self._ring.is_erased(self.store_id, self._named(owner_id), version)

    def take_keys(self, owner_id: str, source: Cipher) -> None:
        """See `KeyCopying`."""
        if not isinstance(source, XChaChaCipher):
            raise KeyUnavailable(f"keys of the cipher {source.name!r} can't be taken")
        there, own = source.versions(owner_id), self.versions(owner_id)
        keys = {version: source.key(owner_id, version) for version in there if version not in own}
        if keys:
            self._ring.put(self.store_id, self._named(owner_id), keys)

    def key(self, owner_id: str, version: int) -> bytes:
        """Return an owner's key.

        Raises:
            KeyUnavailable: There is none of this version.
        """
        key = self._ring.data_key(self.store_id, self._named(owner_id), version)
        if key is None:
            raise KeyUnavailable(
                f"the key ring {self._ring.place} has no key of this owner: the owner was erased,"
                " or the ring is older than the store (`memolith key restore` brings a backup back)"
            )
        return key

    def twin(self, ring: KeyRing) -> XChaChaCipher:
        """Return the cipher of a copy of the store, which has no keys of owners yet."""
        return XChaChaCipher(ring, ring.add_twin(self.store_id, self._store_key), self._store_key)

    def close(self) -> None:
        """Let go of what the ring holds open; the next use opens it again."""
        self._ring.close()

    def forget_store(self) -> None:
        """See `KeyChanging`."""
        self._ring.remove_store(self.store_id)
        with self._lock:
            self._owners.clear()

    def _forget(self, owner_id: str, before: int | None = None) -> None:
        with self._lock:
            for owner, version in list(self._owners):
                if owner == owner_id and (before is None or version < before):
                    del self._owners[owner, version]

    def _named(self, owner_id: str) -> bytes:
        return keyed(self._names, owner_id.encode(), _DIGEST_BYTES)


class KeyRingCiphers:
    """Ciphers whose keys are in a ring."""

    def __init__(self, ring: KeyRing) -> None:
        """Take the ring; it need not be there yet."""
        self.ring = ring

    def new(self) -> XChaChaCipher:
        """See the port; makes the ring and the master key where there are none."""
        is_first = not self.ring.place.exists()
        cipher = XChaChaCipher(self.ring, *self.ring.add_store())
        if is_first:
            _log.info(
                "this store is encrypted; its keys are in %s: back them up apart from it"
                " (`memolith key backup FILE`), without them nothing can be read",
                self.ring.places,
            )
        return cipher

    def twin(self, source: Cipher) -> XChaChaCipher:
        """See `Twinning`."""
        if not isinstance(source, XChaChaCipher):
            raise KeyUnavailable(f"keys of the cipher {source.name!r} can't be taken")
        return source.twin(self.ring)

    def known(self, name: str, store_id: bytes, check: bytes) -> XChaChaCipher:
        """See the port."""
        if name != NAME:
            raise KeyUnavailable(f"the store was made with the cipher {name!r}, not {NAME!r}")
        key = self.ring.store_key(store_id)
        if key is None or check_of(store_id, key) != check:
            raise KeyUnavailable(
                f"the key ring {self.ring.place} has no key of this store: open it with the ring"
                " it was made with (`memolith key restore FILE` takes a backup of it),"
                " or start afresh with `memolith reset`"
            )
        return XChaChaCipher(self.ring, store_id, key)


def check_of(store_id: bytes, store_key: bytes) -> bytes:
    """Return the value by which a store knows its key again."""
    return keyed(subkey(store_key, "memolith-check"), store_id, _DIGEST_BYTES)
