"""Settings: what can be set, and where each value came from.

    mnemon.toml  <  MNEMON_* variables  <  arguments

`load` reads them; nothing is read when this package is imported.
"""

from mnemon.config.loading import FILE_NAME, Loaded, default_store, find_file, load
from mnemon.config.settings import Chat, Embedding, Settings, Standard

__all__ = [
    "FILE_NAME",
    "Chat",
    "Embedding",
    "Loaded",
    "Settings",
    "Standard",
    "default_store",
    "find_file",
    "load",
]
