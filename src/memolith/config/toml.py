"""A TOML file as a flat list of entries that know their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TomlEntry:
    """A value or a section of the file.

    Attributes:
        path: Its name in parts: ("memory", "embedding", "model").
        value: The value; a mapping for a section.
        line: Where it stands, from 1.
    """

    path: tuple[str, ...]
    value: object
    line: int

    @property
    def name(self) -> str:
        """Its name with dots."""
        return ".".join(self.path)

    @property
    def is_section(self) -> bool:
        """Whether it holds other entries."""
        return isinstance(self.value, dict)


def read_toml(file: Path) -> list[TomlEntry]:
    """Read a file: all its entries, a section before what it holds.

    Raises:
        InvalidConfiguration: It can't be read, or is not TOML; the source names the line.
    """
    import tomllib

    try:
        text = file.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        problem = (error.strerror or "can't be read").lower()
        raise InvalidConfiguration(file.name, problem, str(file)) from error
    except UnicodeDecodeError as error:
        raise InvalidConfiguration(file.name, "is not UTF-8 text", str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(file, text, str(error)) from None
    except RecursionError:
        raise InvalidConfiguration(file.name, "is nested too deeply", str(file)) from None
    except ValueError as error:
        # Python refuses to read whole numbers of thousands of digits.
        problem = "holds a number with too many digits"
        raise InvalidConfiguration(file.name, problem, str(file)) from error
    lines = _find_lines(text)
    return [TomlEntry(path, value, _find_line(lines, path)) for path, value in _flatten(tree)]


def _flatten(
    tree: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, value in tree.items():
        yield (*above, name), value
        if isinstance(value, dict):
            yield from _flatten(value, (*above, name))


_ERROR_POSITION = re.compile(r"\s*\(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def _toml_error(file: Path, text: str, message: str) -> InvalidConfiguration:
    """Say in which line the file stops being TOML: the parser says it only in words."""
    where = _ERROR_POSITION.search(message)
    line = where["line"] if where else None
    problem = _ERROR_POSITION.sub("", message)
    at = line or str(text.count("\n") + 1)
    return InvalidConfiguration(file.name, f"is not TOML: {problem}", f"{file}:{at}")


_TOML_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]")
_TOML_KEY_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_TOML_KEY = re.compile(
    rf"\s*((?:{_TOML_KEY_PART.pattern})(?:\s*\.\s*(?:{_TOML_KEY_PART.pattern}))*)\s*="
)


def _find_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each section and key, which the standard parser does not keep."""
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TOML_HEADER.match(line):
            section = _split_key(header[1])
            lines.setdefault(section, number)
        elif key := _TOML_KEY.match(line):
            lines.setdefault((*section, *_split_key(key[1])), number)
    return lines


def _split_key(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _TOML_KEY_PART.findall(name))


def _find_line(lines: Mapping[tuple[str, ...], int], path: tuple[str, ...]) -> int:
    """Return the line of an entry: its own, or that of what begins with it or holds it."""
    if path in lines:
        return lines[path]
    below = [line for name, line in lines.items() if name[: len(path)] == path]
    if below:
        return min(below)
    return _find_line(lines, path[:-1]) if path else 1
