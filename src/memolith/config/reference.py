"""The documentation table of settings, and the effective settings for display."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memolith.config.fields import Scalar, Setting
from memolith.config.loading import ALL_SETTINGS, MASK, LoadedSettings, mask_password

_TABLE_HEADER = (
    "| setting | type | default | range | profile | description |\n"
    "|---|---|---|---|---|---|\n"
)  # fmt: skip
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """The effective value of one setting.

    Attributes:
        name: Dotted name below `[memory]`.
        value: The value, with secrets masked.
        origin: Where the value was set.
        note: A restriction that the name does not show, or "".
    """

    name: str
    value: Scalar
    origin: str
    note: str


def iter_effective_settings(loaded: LoadedSettings) -> Iterator[EffectiveSetting]:
    """Yield all settings with value and origin, then those of custom profiles."""
    for name, setting in ALL_SETTINGS.items():
        value = mask_credentials(loaded.get_value(name), name)
        yield EffectiveSetting(name, value, loaded.origins[name], setting.note)
    for profile, custom in loaded.custom_profiles.items():
        yield EffectiveSetting(f"profiles.{profile}.base", custom.base, str(loaded.file), "")
        for name, origin in custom.loaded_settings.origins.items():
            if origin != loaded.origins[name] and not origin.startswith("fitted"):
                key = name.rpartition(".")[2]
                value = mask_credentials(custom.loaded_settings.get_value(name))
                yield EffectiveSetting(f"profiles.{profile}.{key}", value, origin, "")


def mask_credentials(value: Scalar, name: str = "") -> Scalar:
    """Mask credentials in a URL, and a key given in place of the name of its variable."""
    if name.endswith("api_key_env") and value and not _VARIABLE_NAME.fullmatch(str(value)):
        return MASK
    return mask_password(value) if isinstance(value, str) else value


def render_markdown() -> str:
    """Return the Markdown table of all settings."""
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
