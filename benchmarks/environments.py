"""Virtual environments of other products, created once outside the project."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from measuring import output, progress
from packaging.requirements import Requirement
from platformdirs import user_cache_path

PINNED = Path(__file__).with_name("pinned")
"""One requirements file per environment, with exact versions."""
FOLDER = user_cache_path("memolith") / "benchmarks"
_NOT_COUNTED = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence")
"""Packages of every new environment, not counted."""
_STAMP = "installed.json"
_MEGABYTE = 1_000_000


class NotInstalled(Exception):
    """An environment could not be created; the message contains the reason."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment.

    Attributes:
        python: Its interpreter.
        megabytes: Size of the installed packages, without compiled files.
    """

    python: Path
    megabytes: float


def prepared(name: str, folder: Path = FOLDER) -> Environment:
    """Return an environment; it is created if it is missing or outdated.

    Raises:
        NotInstalled: It could not be created.
    """
    place = folder / name
    known = _made(name, folder)
    if not known:
        _make(place, PINNED / f"{name}.txt")
        known = {"for": _wanted(name), "megabytes": _weight(place) / _MEGABYTE}
        (place / _STAMP).write_text(json.dumps(known))
    return Environment(place / "bin" / "python", known["megabytes"])


def _made(name: str, folder: Path) -> dict[str, Any]:
    """Return the recorded state of an environment, with its current requirements."""
    stamp = folder / name / _STAMP
    known: dict[str, Any] = json.loads(stamp.read_text()) if stamp.exists() else {}
    return known if known.get("for") == _wanted(name) else {}


def _wanted(name: str) -> str:
    pinned = (PINNED / f"{name}.txt").read_bytes()
    return hashlib.sha256(pinned + sys.version.encode()).hexdigest()


def announced(names: list[str], folder: Path = FOLDER) -> str:
    """Return a message about the downloads for these environments, and their folder."""
    lines = [f"  {name}: {_summary(name)}" for name in names if not _made(name, folder)]
    if not lines:
        return f"using the environments in {folder}; nothing is downloaded"
    return "\n".join([f"pip downloads and installs into {folder}:", *lines])


def _summary(name: str) -> str:
    first, *lines = (PINNED / f"{name}.txt").read_text().splitlines()
    return f"{len(lines)} packages, {first.lstrip('# ')}"


def _make(place: Path, pinned: Path) -> None:
    progress(f"creating an environment for {place.name}")
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    pip = (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile")
    try:
        output(sys.executable, "-m", "venv", str(place))
        output(*pip, "--requirement", str(pinned))
    except subprocess.CalledProcessError as error:
        shutil.rmtree(place, ignore_errors=True)
        said = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalled(" ".join(said) or str(error)) from error


def _weight(place: Path) -> int:
    """Return the size of the installed packages in bytes."""
    (packages,) = place.glob("lib/python*/site-packages")
    added = (each for each in packages.iterdir() if not each.name.startswith(_NOT_COUNTED))
    files = (file for each in added for file in (each, *each.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


# --- Packages of this environment


def megabytes_with(name: str) -> float:
    """Return the size of a distribution of this environment with all its dependencies."""
    return sum(_bytes(each) for each in _closure(name, {}).values()) / _MEGABYTE


def _closure(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    if name.lower() in found:
        return found
    try:
        found[name.lower()] = one = distribution(name)
    except PackageNotFoundError:  # for another platform
        return found
    for line in one.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            _closure(needed.name, found)
    return found


def _bytes(one: Distribution) -> int:
    paths = (Path(str(each.locate())) for each in one.files or () if each.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())
