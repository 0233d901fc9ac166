"""The table of settings in the documentation, and the values in force for people to read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.config.loading import ALL
from memolith.config.urls import HIDDEN, without_password

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.config.fields import Scalar, Setting
    from memolith.config.loading import Loaded

_HEAD = (
    "| setting | type | default | range | profile | what it is |\n"
    "|---|---|---|---|---|---|\n"
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class InForce:
    """One setting as it is in force.

    Attributes:
        name: Below `[memory]`, with dots.
        value: Its value, secrets masked.
        origin: Where it came from.
        note: Why it has no effect, "" where it has.
    """

    name: str
    value: Scalar
    origin: str
    note: str


def in_force(loaded: Loaded) -> Iterator[InForce]:
    """Yield every setting with its value and where it came from, then those of own profiles."""
    for name, setting in ALL.items():
        value = masked(loaded.value(name), name)
        yield InForce(name, value, loaded.origins[name], setting.about.note)
    for profile, own in loaded.own_profiles.items():
        yield InForce(f"profiles.{profile}.base", own.base, str(loaded.file), "")
        for name, origin in own.loaded.origins.items():
            if origin != loaded.origins[name] and not origin.startswith("fitted"):
                key = name.rpartition(".")[2]
                value = masked(own.loaded.value(name))
                yield InForce(f"profiles.{profile}.{key}", value, origin, "")


def masked(value: Scalar, name: str = "") -> Scalar:
    """Hide the credentials of a URL, and a key that stands where its variable's name should."""
    if name.endswith("api_key_env") and value and not _VARIABLE.fullmatch(str(value)):
        return HIDDEN
    return without_password(value) if isinstance(value, str) else value


def markdown() -> str:
    """Return the table of all settings."""
    return _HEAD + "".join(_row(setting) for setting in ALL.values())


def _row(setting: Setting) -> str:
    about = setting.about
    what = about.description + (f" ({about.note})" if about.note else "")
    cells = (
        f"`{setting.name}`",
        setting.type.__name__,
        about.default or f"`{json.dumps(setting.default)}`",
        _range(setting),
        about.profile or "all",
        what,
    )
    return f"| {' | '.join(cells)} |\n"


def _range(setting: Setting) -> str:
    about = setting.about
    if about.choices:
        later = f" (later: {', '.join(about.later)})" if about.later else ""
        return ", ".join(about.choices) + later
    if about.high == math.inf:
        return ""
    return f"{_number(about.low)} to {_number(about.high)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown())
