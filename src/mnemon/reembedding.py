"""Wires what makes the vectors of a store anew."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from mnemon import stores
from mnemon.bootstrap import chosen_embedder, read_settings
from mnemon.errors import InvalidInput
from mnemon.ports.embedder import Asked
from mnemon.services.reembed import Reembedding
from mnemon.stores import IN_MEMORY, store_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from numpy.typing import ArrayLike

    from mnemon.config import Loaded, Settings
    from mnemon.ports.cipher import Ciphers
    from mnemon.ports.embedder import Embedder
    from mnemon.services.reembed import Reembedded

    Config = Loaded | str | PathLike[str] | None
    Url = str | PathLike[str]


def reembed(
    url: Url | None,
    *,
    embedder: Embedder | Callable[[list[str]], ArrayLike] | None,
    config: Config,
    ciphers: Ciphers | None,
    advance: Callable[[int, int], None] | None,
) -> Reembedded:
    """Make a store's vectors anew; see `Mnemon.reembed`."""
    settings = read_settings(config, None).settings
    chosen = chosen_embedder(embedder, settings)
    try:
        with _reembedding(url, settings, ciphers) as reembedding:
            return reembedding.run(chosen, advance)
    finally:
        if embedder is None and isinstance(chosen, Asked):
            chosen.close()


def abandon(url: Url | None, *, config: Config, ciphers: Ciphers | None) -> bool:
    """Give up making a store's vectors anew; see `Mnemon.abandon_reembed`."""
    with _reembedding(url, read_settings(config, None).settings, ciphers) as reembedding:
        return reembedding.abandon()


@contextmanager
def _reembedding(
    url: Url | None, settings: Settings, ciphers: Ciphers | None
) -> Iterator[Reembedding]:
    """Open a store, whatever model its vectors are of."""
    named = settings.store if url is None else store_url(url)
    if named == IN_MEMORY:
        raise InvalidInput("store", "is kept in memory only: open another with the new model")
    with closing(stores.open_store(named, settings, ciphers)) as store:
        yield Reembedding(store)
