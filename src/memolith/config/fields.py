"""Setting metadata, read from annotated dataclass fields, and validation of values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: Dotted name below `[memory]`: "embedding.model".
        section: The field of `Settings` that contains it; "" for `Settings` itself.
        field: The field of that section.
        annotation: Type, range and description, for msgspec.
        type: Type of the value.
        default: The default value.
        description: One phrase without a full stop.
        low: Smallest allowed value.
        high: Largest allowed value.
        choices: The allowed values; empty for any.
        profile: The only profile that uses the setting; None for all.
        note: A restriction that the name does not show, or "".
        threshold: The field of `SimilarityThresholds` that replaces the default, or "".
        default_text: The default as documented, if the value alone does not explain it.
    """

    name: str
    section: str
    field: str
    annotation: object
    type: type[Scalar]
    default: Scalar
    description: str
    low: float
    high: float
    choices: tuple[str, ...]
    profile: str | None
    note: str
    threshold: str
    default_text: str

    @property
    def variable(self) -> str:
        """The environment variable of the setting."""
        return "MEMOLITH_" + self.name.replace(".", "__").upper()

    @property
    def allowed_values(self) -> str:
        """The allowed values, for error messages."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.type in (int, float):
            kind = "a whole number" if self.type is int else "a number"
            return f"{kind} from {self.low:.7g} to {self.high:.7g}"
        return "true or false" if self.type is bool else "text"


def iter_settings(
    container: type[Any], profiles: Container[str], section: str = ""
) -> Iterator[Setting]:
    """Yield all settings of a settings class, in the order of its fields.

    Args:
        container: A dataclass; a field that is itself a dataclass is a section.
        profiles: The names of the sections that configure a profile.
        section: The name of the section `container`; "" for the outermost class.
    """
    hints = get_type_hints(container, include_extras=True)
    for field in dataclasses.fields(container):
        annotation: Any = hints[field.name]
        if isinstance(annotation, type):
            yield from iter_settings(annotation, profiles, field.name)
        else:
            profile = section if section in profiles else None
            yield _read_field(field, annotation, section, profile)


def _read_field(
    field: dataclasses.Field[Any], annotation: Any, section: str, profile: str | None
) -> Setting:
    kind, *limits, info = get_args(annotation)
    default: Any = field.default
    is_top_level = not section or info.extra["is_top_level"]
    return Setting(
        name=field.name if is_top_level else f"{section}.{field.name}",
        section=section,
        field=field.name,
        annotation=annotation,
        type=type(default),
        default=default,
        description=info.description,
        low=next((each.ge for each in (*limits, info) if each.ge is not None), -math.inf),
        high=next((each.le for each in (*limits, info) if each.le is not None), math.inf),
        choices=get_args(kind) if get_origin(kind) is Literal else (),
        profile=profile,
        note=f"{profile} only" if profile and is_top_level else "",
        threshold=info.extra["threshold"],
        default_text=info.extra["default_text"],
    )


def check_value(setting: Setting, value: object) -> Scalar:
    """Return the value, converted to the type of the setting.

    Raises:
        ValueError: The value has the wrong type or is out of range. The message states the allowed
            values. It repeats the value only if it is a number or one of fixed choices, since other
            text may be a secret.
    """
    try:
        checked: Scalar = msgspec.convert(value, setting.annotation)
    except msgspec.ValidationError:
        problem = f"must be {setting.allowed_values}, not {_describe_value(setting, value)}"
        raise ValueError(problem) from None
    return checked


def parse_value(setting: Setting, text: str) -> Scalar:
    """Parse a value from text, such as an environment variable.

    Raises:
        ValueError: See `check_value`.
    """
    return check_value(setting, _PARSERS[setting.type](text.strip()))


_TYPE_NAMES: Mapping[type, str] = {
    bool: "a boolean",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a section",
}


def _describe_value(setting: Setting, value: object) -> str:
    if setting.choices and isinstance(value, str):
        return repr(value)
    if type(value) is setting.type or (setting.type is float and type(value) is int):
        return str(value)
    return _TYPE_NAMES.get(type(value), "a date or time")


_BOOLEANS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(
    ("false", "0", "no", "off"), False
)


def _as_bool(text: str) -> object:
    return _BOOLEANS.get(text.casefold(), text)


def _as_int(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        return text


def _as_float(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


_PARSERS: Mapping[type, Any] = {bool: _as_bool, int: _as_int, float: _as_float, str: str}
