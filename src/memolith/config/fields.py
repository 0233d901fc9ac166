"""What is known of a setting besides its value: description, range, where it applies."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str

NOT_YET = "not in effect yet"


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """What the documentation and the checks know of one setting.

    Attributes:
        description: One phrase, without a full stop.
        low: The least value allowed.
        high: The greatest value allowed.
        choices: The only values allowed; empty for any.
        later: Values that have a name but not yet a meaning.
        profile: The only profile it has an effect in; None for all.
        note: What keeps it from having an effect, "" where it has one.
        default: How the documentation words the default, where the value does not say it.
    """

    description: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    profile: str | None = None
    note: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it stands in the table.

    Attributes:
        name: Below `[memory]`, with dots: "embedding.model".
        type: Of its value.
        default: Its value where nothing sets it.
        about: All else that is known of it.
    """

    name: str
    type: type[Scalar]
    default: Scalar
    info: SettingInfo

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "MEMOLITH_" + self.name.replace(".", "__").upper()

    @property
    def allowed_values(self) -> str:
        """What values it takes, in words."""
        if self.info.choices:
            return "one of " + ", ".join(self.info.choices)
        if self.type in (int, float):
            kind = "a whole number" if self.type is int else "a number"
            return f"{kind} from {self.info.low:.7g} to {self.info.high:.7g}"
        return "true or false" if self.type is bool else "a text"


def setting_field(
    value: Scalar, description: str, /, *, in_repr: bool = True, **details: Any
) -> Any:
    """Declare a setting with its default and what is known of it (see `About`).

    Args:
        value: The default.
        about: One phrase.
        shown: Whether the value stands in the `repr` of its section; a password may be in it.
        more: As `About` has it.
    """
    return dataclasses.field(
        default=value, repr=in_repr, metadata={"about": SettingInfo(description, **details)}
    )


def iter_settings(container: type[Any], prefix: str = "") -> Iterator[Setting]:
    """Yield every setting of a settings class, sections after what stands before them."""
    for field in dataclasses.fields(container):
        if isinstance(field.default, Scalar):
            about = field.metadata["about"]
            yield Setting(prefix + field.name, type(field.default), field.default, about)
        elif field.default_factory is not dataclasses.MISSING:
            yield from iter_settings(type(field.default_factory()), f"{field.name}.")


def check_value(setting: Setting, value: object) -> Scalar:
    """Return a value of the setting's own type.

    Raises:
        ValueError: It is of another type or out of range; the message says what is allowed,
            and repeats the value only where it is a number or one of named choices.
    """
    if setting.type is float and type(value) is int:
        value = float(value)
    if type(value) is not setting.type:
        raise ValueError(f"must be {setting.allowed_values}, not {_type_name(value)}")
    if isinstance(value, str):
        return _check_choice(setting, value)
    if not isinstance(value, bool) and isinstance(value, int | float):
        _check_range(setting, value)
    return value


def parse_value(setting: Setting, text: str) -> Scalar:
    """Return the value that a text stands for, as an environment variable gives it.

    Raises:
        ValueError: As `checked`.
    """
    return check_value(setting, _PARSERS[setting.type](text.strip()))


def _check_choice(setting: Setting, value: str) -> str:
    about = setting.info
    if value in about.planned:
        raise ValueError(f"{value!r} is not in this version yet; {setting.allowed_values}")
    if about.choices and value not in about.choices:
        raise ValueError(f"must be {setting.allowed_values}, not {value!r}")
    return value


def _check_range(setting: Setting, value: float) -> None:
    if not (math.isfinite(value) and setting.info.low <= value <= setting.info.high):
        raise ValueError(f"must be {setting.allowed_values}, not {value}")


_TYPE_NAMES: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a section",
}


def _type_name(value: object) -> str:
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
