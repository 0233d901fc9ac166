"""The store in a SQLite file, with what is set to search its vectors."""

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
"""What follows the store's name in the name of Chroma's folder, where that is not set."""


def open_sqlite(path: Path, settings: Settings, ciphers: CipherProvider) -> SqliteStore:
    """Open the store in a file; errors as of `SqliteStore.open`.

    Raises:
        InvalidConfiguration: What is to search the vectors is not installed, or can't be told.
    """
    own = settings.vectors
    cache_bytes = settings.index_cache_mb * _BYTES_PER_MB
    timeout_s = settings.busy_timeout_s
    if own.backend == "sqlite-vec":
        require_package("sqlite_vec", "vectors.backend", extra="sqlite-vec")
        return SqliteVecStore.open(
            path,
            cipher=ciphers,
            busy_timeout_s=timeout_s,
            index_cache_bytes=cache_bytes,
            in_memory=own.in_memory,
        )
    if own.backend == "chroma":
        return ChromaStore.open(
            path,
            cipher=ciphers,
            busy_timeout_s=timeout_s,
            index_cache_bytes=cache_bytes,
            chroma=open_chroma(path, own),
            in_memory=own.in_memory,
        )
    return SqliteStore.open(
        path, cipher=ciphers, busy_timeout_s=timeout_s, index_cache_bytes=cache_bytes
    )


def open_chroma(path: Path, settings: Vectors) -> Chroma:
    """Return the Chroma that searches a store's vectors; it is not asked anything yet.

    Raises:
        InvalidConfiguration: It is not installed, or both a server and a folder are given.
    """
    if settings.chroma_url:
        if settings.chroma_path:
            raise InvalidConfiguration("vectors.chroma_path", "give it or chroma_url, not both")
        return ChromaServer(
            settings.chroma_url,
            settings.chroma_timeout_ms / _MS_PER_S,
            tenant=settings.chroma_tenant,
            database=settings.chroma_database,
        )
    return EmbeddedChroma(_chroma_folder(path, settings))


def remove_vectors(path: Path, settings: Settings) -> list[Path]:
    """Remove what Chroma has of a store that is to be deleted, and return a folder that is gone.

    Raises:
        ServiceFailed: Chroma can't be reached; nothing was removed.
    """
    own = settings.vectors
    if own.backend != "chroma" or not path.is_file():
        return []
    import shutil

    chroma = open_chroma(path, own)
    with closing(chroma):
        remove_collections(path, settings.busy_timeout_s, chroma)
    folder = _chroma_folder(path, own)
    if own.chroma_url or own.chroma_path or not folder.is_dir():
        return []
    shutil.rmtree(folder)
    return [folder]


def _chroma_folder(path: Path, settings: Vectors) -> Path:
    if settings.chroma_path:
        return Path(settings.chroma_path)
    return path.with_name(f"{path.name}{_CHROMA_SUFFIX}").absolute()
