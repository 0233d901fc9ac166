"""Settings as users see them: names, ranges and descriptions, read from the annotated fields."""

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
        name: Below `[memory]`, with dots: "embedding.model".
        section: The field of `Settings` that holds it; "" for `Settings` itself.
        field: The field of that section.
        annotation: Its type, range and description, as msgspec reads them.
        type: Of its value.
        default: Its value where nothing sets it.
        description: One phrase, without a full stop.
        low: The smallest value allowed.
        high: The largest value allowed.
        choices: The only values allowed; empty for any.
        profile: The only profile it has an effect in; None for all.
        note: A restriction of its effect that its name does not show, or "".
        threshold: The field of `SimilarityThresholds` that replaces the default, or "".
        default_text: The default in the documentation, if the value alone does not explain it.
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
        """The environment variable that sets it."""
        return "MEMOLITH_" + self.name.replace(".", "__").upper()

    @property
    def allowed_values(self) -> str:
        """What values it takes, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.type in (int, float):
            kind = "a whole number" if self.type is int else "a number"
            return f"{kind} from {self.low:.7g} to {self.high:.7g}"
        return "true or false" if self.type is bool else "a text"


def iter_settings(
    container: type[Any], profiles: Container[str], section: str = ""
) -> Iterator[Setting]:
    """Yield every setting of a settings class, in the order of its fields.

    Args:
        container: A dataclass; a field that is itself a dataclass is a section.
        profiles: The sections that configure a profile.
        section: The section that `container` is; "" for the outermost class.
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
    """Return a value of the setting's own type.

    Raises:
        ValueError: It is of another type or out of range; the message says what is allowed,
            and repeats the value only where it is a number or one of named choices.
    """
    try:
        checked: Scalar = msgspec.convert(value, setting.annotation)
    except msgspec.ValidationError:
        problem = f"must be {setting.allowed_values}, not {_describe_value(setting, value)}"
        raise ValueError(problem) from None
    return checked


def parse_value(setting: Setting, text: str) -> Scalar:
    """Return the value that a text stands for, as an environment variable gives it.

    Raises:
        ValueError: As `check_value`.
    """
    return check_value(setting, _PARSERS[setting.type](text.strip()))


_TYPE_NAMES: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
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
