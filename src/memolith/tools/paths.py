"""Paths of files under /memories, as a model writes them."""

from __future__ import annotations

import re
import unicodedata

ROOT = "/memories"

_PERCENT_ESCAPE = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_FORBIDDEN_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


class FileCommandError(Exception):
    """What was asked of the files can't be done; the message is for the model."""


def normalise_path(path: str) -> str:
    """Return a path in its one form: without a slash at its end, or two in a row.

    Raises:
        Refused: It is not under /memories, or tries to leave it, in whatever writing.
    """
    plain = unicodedata.normalize("NFC", path)
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise FileCommandError(f"Path must start with {ROOT}, got: {path}")
    if (
        _FORBIDDEN_CHARACTER.search(plain)
        or _PERCENT_ESCAPE.search(plain)
        or ".." in _fold_lookalikes(plain)
    ):
        raise FileCommandError(f"Path {path} would escape {ROOT} directory")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    return "/" + "/".join(parts)


def _fold_lookalikes(path: str) -> str:
    """Return a path with look-alikes of dots and slashes as those: `‥`, `．`, `／`."""
    return unicodedata.normalize("NFKC", path)


def list_parents(path: str) -> list[str]:
    """Return the directories above a path, from /memories down."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: end + 1]) for end in range(len(parts))]


def is_under(path: str, directory: str) -> bool:
    """Tell whether a path is in a directory, at any depth."""
    return path.startswith(f"{directory}/")


def list_directory(sizes: dict[str, int], directory: str) -> list[tuple[str, int]]:
    """Return what is up to two levels deep in a directory, in order, with sizes in bytes.

    What begins with a dot is left out; a directory ends with a slash, and is as large as its
    files.
    """
    found: dict[tuple[str, ...], int] = {}
    for path, size in sizes.items():
        parts = path[len(directory) + 1 :].split("/")
        for depth in (1, 2):
            if len(parts) < depth or any(part.startswith(".") for part in parts[:depth]):
                break
            is_directory = len(parts) > depth
            name = (*parts[:depth], *([""] if is_directory else []))
            found[name] = found.get(name, 0) + size
    return [("/".join(name), found[name]) for name in sorted(found, key=_get_sort_key)]


def _get_sort_key(name: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in name if part)


def format_size(count: int) -> str:
    """Return a number of bytes for people: 0B, 812B, 1.5K, 8K."""
    units = ("B", "K", "M", "G")
    unit = min(max(count.bit_length() - 1, 0) // 10, len(units) - 1)
    amount = count / 1024**unit
    return f"{amount:.0f}{units[unit]}" if amount == int(amount) else f"{amount:.1f}{units[unit]}"
