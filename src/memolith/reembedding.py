"""Wires what makes the vectors of a store anew."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from memolith import stores
from memolith.bootstrap import chosen_embedder, read_settings
from memolith.errors import InvalidInput
from memolith.ports.embedder import Asked
from memolith.services.reembed import Reembedding
from memolith.stores import IN_MEMORY, store_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from numpy.typing import ArrayLike

    from memolith.config import Loaded, Settings
    from memolith.ports.cipher import Ciphers
    from memolith.ports.embedder import Embedder
    from memolith.services.reembed import Reembedded

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
    """Make a store's vectors anew; see `Memolith.reembed`."""
    settings = read_settings(config, None).settings
    chosen = chosen_embedder(embedder, settings)
    try:
        with _reembedding(url, settings, ciphers) as reembedding:
            return reembedding.run(chosen, advance)
    finally:
        if embedder is None and isinstance(chosen, Asked):
            chosen.close()


def abandon(url: Url | None, *, config: Config, ciphers: Ciphers | None) -> bool:
    """Give up making a store's vectors anew; see `Memolith.abandon_reembed`."""
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
