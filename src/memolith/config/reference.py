"""The table of settings in the documentation, and the values in force for people to read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memolith.config.fields import Scalar, Setting
from memolith.config.loading import ALL_SETTINGS, MASK, LoadedSettings, mask_password

_TABLE_HEADER = (
    "| setting | type | default | range | profile | what it is |\n"
    "|---|---|---|---|---|---|\n"
)  # fmt: skip
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
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


def iter_effective_settings(loaded: LoadedSettings) -> Iterator[EffectiveSetting]:
    """Yield every setting with its value and where it came from, then those of own profiles."""
    for name, setting in ALL_SETTINGS.items():
        value = mask_credentials(loaded.get_value(name), name)
        yield EffectiveSetting(name, value, loaded.origins[name], setting.note)
    for profile, own in loaded.custom_profiles.items():
        yield EffectiveSetting(f"profiles.{profile}.base", own.base, str(loaded.file), "")
        for name, origin in own.loaded_settings.origins.items():
            if origin != loaded.origins[name] and not origin.startswith("fitted"):
                key = name.rpartition(".")[2]
                value = mask_credentials(own.loaded_settings.get_value(name))
                yield EffectiveSetting(f"profiles.{profile}.{key}", value, origin, "")


def mask_credentials(value: Scalar, name: str = "") -> Scalar:
    """Hide the credentials of a URL, and a key that stands where its variable's name should."""
    if name.endswith("api_key_env") and value and not _VARIABLE_NAME.fullmatch(str(value)):
        return MASK
    return mask_password(value) if isinstance(value, str) else value


def render_markdown() -> str:
    """Return the table of all settings."""
    return _TABLE_HEADER + "".join(_render_row(setting) for setting in ALL_SETTINGS.values())


def _render_row(setting: Setting) -> str:
    description = setting.description + (f" ({setting.note})" if setting.note else "")
    cells = (
        f"`{setting.name}`",
        setting.type.__name__,
        setting.default_text or f"`{json.dumps(setting.default)}`",
        _render_range(setting),
        setting.profile or "all",
        description,
    )
    return f"| {' | '.join(cells)} |\n"


def _render_range(setting: Setting) -> str:
    if setting.choices:
        return ", ".join(setting.choices)
    if setting.high == math.inf:
        return ""
    return f"{_format_number(setting.low)} to {_format_number(setting.high)}"


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


if __name__ == "__main__":
    import sys

    sys.stdout.write(render_markdown())
