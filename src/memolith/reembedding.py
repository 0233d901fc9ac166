"""Wires what makes the vectors of a store anew."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from memolith import stores
from memolith.bootstrap import load_settings, resolve_embedder
from memolith.errors import InvalidInput
from memolith.ports.embedder import RemoteEmbedder
from memolith.services.reembed import Reembedder
from memolith.stores import IN_MEMORY, store_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from numpy.typing import ArrayLike

    from memolith.config import LoadedSettings, Settings
    from memolith.ports.cipher import CipherProvider
    from memolith.ports.embedder import Embedder
    from memolith.services.reembed import ReembedResult

    Config = LoadedSettings | str | PathLike[str] | None
    Url = str | PathLike[str]


def reembed(
    url: Url | None,
    *,
    embedder: Embedder | Callable[[list[str]], ArrayLike] | None,
    config: Config,
    ciphers: CipherProvider | None,
    advance: Callable[[int, int], None] | None,
) -> ReembedResult:
    """Make a store's vectors anew; see `Memolith.reembed`."""
    settings = load_settings(config, None).settings
    chosen = resolve_embedder(embedder, settings)
    try:
        with _open_reembedder(url, settings, ciphers) as reembedding:
            return reembedding.run(chosen, advance)
    finally:
        if embedder is None and isinstance(chosen, RemoteEmbedder):
            chosen.close()


def abandon(url: Url | None, *, config: Config, ciphers: CipherProvider | None) -> bool:
    """Give up making a store's vectors anew; see `Memolith.abandon_reembed`."""
    with _open_reembedder(url, load_settings(config, None).settings, ciphers) as reembedding:
        return reembedding.abandon()


@contextmanager
def _open_reembedder(
    url: Url | None, settings: Settings, ciphers: CipherProvider | None
) -> Iterator[Reembedder]:
    """Open a store, whatever model its vectors are of."""
    named = settings.store if url is None else store_url(url)
    if named == IN_MEMORY:
        raise InvalidInput("store", "is kept in memory only: open another with the new model")
    with closing(stores.open_store(named, settings, ciphers)) as store:
        yield Reembedder(store)
