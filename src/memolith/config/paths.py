"""Paths as people write them."""

from __future__ import annotations

import os
from pathlib import Path

from memolith.errors import InvalidConfiguration


def parse_file_path(value: object, name: str, source: str | None = None) -> Path:
    """Return a path, the home folder spelled out.

    Args:
        given: What was written: a text or a path.
        name: The setting.
        source: Where it was written.

    Raises:
        InvalidConfiguration: It is no path that SQLite can be given: empty, of bytes, with a
            NUL, not UTF-8, or in the home folder of somebody unknown.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(text, str):
        problem = f"must be a file's path, not {type(text).__name__}"
        raise InvalidConfiguration(name, problem, source)
    if not text.strip():
        raise InvalidConfiguration(name, "is empty: give a file's path", source)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidConfiguration(name, "a path must be UTF-8 text without NUL", source)
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidConfiguration(name, "there is no such home folder", source) from error
