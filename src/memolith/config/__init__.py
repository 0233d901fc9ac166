"""Settings: what can be set, and where each value came from.

    memolith.toml  <  MEMOLITH_* variables  <  arguments

`load` reads them; nothing is read when this package is imported.
"""

from __future__ import annotations

from memolith.config.loading import FILE_NAME, LoadedSettings, default_store, find_file, load
from memolith.config.settings import Chat, Embedding, Settings

__all__ = [
    "FILE_NAME",
    "Chat",
    "Embedding",
    "LoadedSettings",
    "Settings",
    "default_store",
    "find_file",
    "load",
]
