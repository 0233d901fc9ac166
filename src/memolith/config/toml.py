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
class Entry:
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


def read(file: Path) -> list[Entry]:
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
        raise _not_toml(file, text, str(error)) from None
    except RecursionError:
        raise InvalidConfiguration(file.name, "is nested too deeply", str(file)) from None
    except ValueError as error:
        # Python refuses to read whole numbers of thousands of digits.
        problem = "holds a number with too many digits"
        raise InvalidConfiguration(file.name, problem, str(file)) from error
    lines = _lines_of(text)
    return [Entry(path, value, _line(lines, path)) for path, value in _flat(tree)]


def _flat(
    tree: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, value in tree.items():
        yield (*above, name), value
        if isinstance(value, dict):
            yield from _flat(value, (*above, name))


_WHERE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def _not_toml(file: Path, text: str, message: str) -> InvalidConfiguration:
    """Say in which line the file stops being TOML: the parser says it only in words."""
    where = _WHERE.search(message)
    line = where["line"] if where else None
    problem = _WHERE.sub("", message)
    at = line or str(text.count("\n") + 1)
    return InvalidConfiguration(file.name, f"is not TOML: {problem}", f"{file}:{at}")


_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_KEY = re.compile(rf"\s*((?:{_PART.pattern})(?:\s*\.\s*(?:{_PART.pattern}))*)\s*=")


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each section and key, which the standard parser does not keep."""
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _parts(header[1])
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            lines.setdefault((*section, *_parts(key[1])), number)
    return lines


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


def _line(lines: Mapping[tuple[str, ...], int], path: tuple[str, ...]) -> int:
    """Return the line of an entry: its own, or that of what begins with it or holds it."""
    if path in lines:
        return lines[path]
    below = [line for name, line in lines.items() if name[: len(path)] == path]
    if below:
        return min(below)
    return _line(lines, path[:-1]) if path else 1
