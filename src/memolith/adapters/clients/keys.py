"""Where a service is, and the key that it wants, as a section of the settings has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from memolith.config.paths import parse_file_path
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_VARIABLE: Final = re.compile(r"(?:[A-Z][A-Z0-9_]*)?")


def check_url(url: str, section: str) -> None:
    """Check that an address is one, or empty.

    Raises:
        InvalidConfiguration: It is none.
    """
    if not url:
        return
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        problem = "must be an address as http://127.0.0.1:8000/v1"
        raise InvalidConfiguration(f"{section}.base_url", problem)


def check_variable(variable: str, section: str) -> None:
    """Check that the name of an environment variable is one, or empty.

    Raises:
        InvalidConfiguration: It is none; nor is it repeated, as it may be the key itself.
    """
    if not _VARIABLE.fullmatch(variable):
        problem = "must be the name of an environment variable, in capital letters"
        raise InvalidConfiguration(f"{section}.api_key_env", problem)


def read_key_variable(
    variable: str, section: str, env: Mapping[str, str], *, is_required: bool
) -> str:
    """Return the key that a variable of the environment holds, "" for none.

    Raises:
        InvalidConfiguration: There is none, and it is wanted.
    """
    key = env.get(variable, "").strip() if variable else ""
    if not key and is_required:
        problem = f"the environment variable {variable} holds no key" if variable else "is empty"
        raise InvalidConfiguration(f"{section}.api_key_env", problem)
    return key


def read_key_file(file: str, section: str) -> str:
    """Return the key that a file holds.

    Raises:
        InvalidConfiguration: It can't be read, or holds none.
    """
    setting = f"{section}.api_key_file"
    path = parse_file_path(file, setting)
    key = _read_key_text(path, setting).strip()
    if not key or len(key.split()) != 1:
        raise InvalidConfiguration(setting, f"{path} holds no key")
    return key


def _read_key_text(path: Path, setting: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidConfiguration(setting, f"{path} can't be read: {reason}") from None
