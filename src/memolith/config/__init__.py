"""Settings, and the origin of each value.

    memolith.toml  <  MEMOLITH_* variables  <  arguments

`load` reads them. Importing this package reads nothing.
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
