"""Open a SQLite store with the configured vector search."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memolith.adapters.chroma.client import Chroma, ChromaServer, EmbeddedChroma
from memolith.adapters.chroma.store import ChromaStore, remove_collections
from memolith.adapters.models.http import require_package
from memolith.adapters.sqlite.store import SqliteStore, SqliteVecStore
from memolith.config.settings import Settings, Vectors
from memolith.errors import InvalidConfiguration
from memolith.ports.cipher import CipherProvider

_BYTES_PER_MB = 1 << 20
_MS_PER_S = 1000
_CHROMA_SUFFIX = "-chroma"
"""Suffix of the default Chroma folder, after the name of the store's file."""


def open_sqlite(path: Path, settings: Settings, ciphers: CipherProvider) -> SqliteStore:
    """Open the store in a file; errors as in `SqliteStore.open`.

    Raises:
        InvalidConfiguration: The vector search is not installed or not configured correctly.
    """
    options = settings.vectors
    cache_bytes = settings.index_cache_mb * _BYTES_PER_MB
    timeout_s = settings.busy_timeout_s
    if options.backend == "sqlite-vec":
        require_package("sqlite_vec", "vectors.backend", extra="sqlite-vec")
        return SqliteVecStore.open(
            path,
            cipher=ciphers,
            busy_timeout_s=timeout_s,
            index_cache_bytes=cache_bytes,
            in_memory=options.in_memory,
        )
    if options.backend == "chroma":
        return ChromaStore.open(
            path,
            cipher=ciphers,
            busy_timeout_s=timeout_s,
            index_cache_bytes=cache_bytes,
            chroma=open_chroma(path, options),
            in_memory=options.in_memory,
        )
    return SqliteStore.open(
        path, cipher=ciphers, busy_timeout_s=timeout_s, index_cache_bytes=cache_bytes
    )


def open_chroma(path: Path, settings: Vectors) -> Chroma:
    """Return the Chroma client for a store's vectors, without connecting yet.

    Raises:
        InvalidConfiguration: Chroma is not installed, or both a server and a folder are set.
    """
    if settings.chroma_url:
        if settings.chroma_path:
            raise InvalidConfiguration("vectors.chroma_path", "set either this or chroma_url")
        return ChromaServer(
            settings.chroma_url,
            settings.chroma_timeout_ms / _MS_PER_S,
            tenant=settings.chroma_tenant,
            database=settings.chroma_database,
        )
    return EmbeddedChroma(_chroma_folder(path, settings))


def remove_vectors(path: Path, settings: Settings) -> list[Path]:
    """Remove a store's vectors from Chroma before the store is deleted; return deleted folders.

    Raises:
        ServiceFailed: Chroma cannot be reached. Nothing was removed.
    """
    options = settings.vectors
    if options.backend != "chroma" or not path.is_file():
        return []
    import shutil

    chroma = open_chroma(path, options)
    with closing(chroma):
        remove_collections(path, settings.busy_timeout_s, chroma)
    folder = _chroma_folder(path, options)
    if options.chroma_url or options.chroma_path or not folder.is_dir():
        return []
    shutil.rmtree(folder)
    return [folder]


def _chroma_folder(path: Path, settings: Vectors) -> Path:
    if settings.chroma_path:
        return Path(settings.chroma_path)
    return path.with_name(f"{path.name}{_CHROMA_SUFFIX}").absolute()
