"""Load settings from `memolith.toml`, environment variables and arguments.

Later sources override earlier ones. Each value keeps its origin, for error messages and `memolith
config show`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memolith.config.fields import Scalar, Setting, check_value, iter_settings, parse_value
from memolith.config.settings import PROFILE_BUILDERS, Settings
from memolith.errors import InvalidConfiguration

MASK = "***"

_MASKED_NAMES = r"\w*(?:password|passphrase|secret|client_key|server_key)"
"""libpq's names of secret parameters, and similar names."""

_IS_SECRET = re.compile(_MASKED_NAMES, re.IGNORECASE)
_URL = re.compile(r"\s*[A-Za-z][\w+.-]*://")
# Up to the last "@": mask a password even if it contains an unencoded "@" or "/".
_USER = re.compile(r"(?<=://).*:.*(?=@)", re.DOTALL)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]*)=([^&]*)")
_PAIR = re.compile(
    rf"\b({_MASKED_NAMES})(\s*=\s*)(?:'(?:\\.|[^'\\])*'?|(?:\\.|\S)*)", re.IGNORECASE | re.DOTALL
)
_CONNINFO = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*=")


def mask_password(text: str) -> str:
    """Return a database URL or a libpq connection string with its secrets masked.

    Malformed input is masked generously: rather too much than too little.
    """
    if not _URL.match(text):
        return _PAIR.sub(rf"\1\2{MASK}", text)
    return _PARAMETER.sub(_mask_parameter, _USER.sub(MASK, text, count=1))


def _mask_parameter(parameter: re.Match[str]) -> str:
    is_secret = _IS_SECRET.fullmatch(unquote(parameter[1]))
    return f"{parameter[1]}={MASK}" if is_secret else parameter[0]


def is_conninfo(text: str) -> bool:
    """Return whether a text is a libpq connection string: `host=… dbname=…`."""
    return "=" in text and _CONNINFO.match(text) is not None


# --- Paths


def parse_file_path(value: object, name: str, source: str | None = None) -> Path:
    """Return a path with the home folder expanded.

    Args:
        value: A string or a path.
        name: The setting, for the error.
        source: Where the value was set, for the error.

    Raises:
        InvalidConfiguration: SQLite cannot open the path: it is empty, bytes, not UTF-8, contains
            NUL, or names an unknown home folder.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(text, str):
        problem = f"must be a file's path, not {type(text).__name__}"
        raise InvalidConfiguration(name, problem, source)
    if not text.strip():
        raise InvalidConfiguration(name, "is empty: give a file's path", source)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidConfiguration(name, "a path must be UTF-8 text without NUL", source)
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidConfiguration(
            name, "names the home folder of an unknown user", source
        ) from error


# --- TOML with line numbers


@dataclass(frozen=True, slots=True)
class TomlEntry:
    """A value or a section of a TOML file.

    Attributes:
        path: The name in parts: ("memory", "embedding", "model").
        value: The value; a mapping for a section.
        line: Line number, from 1.
    """

    path: tuple[str, ...]
    value: object
    line: int

    @property
    def name(self) -> str:
        """The dotted name."""
        return ".".join(self.path)

    @property
    def is_section(self) -> bool:
        """Whether the entry contains other entries."""
        return isinstance(self.value, dict)


def read_toml(file: Path) -> list[TomlEntry]:
    """Read all entries of a TOML file; a section precedes its entries.

    Raises:
        InvalidConfiguration: The file is unreadable or not TOML; the source names the line.
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
        # Python refuses to parse integers of thousands of digits.
        problem = "contains a number with too many digits"
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
    """Build the error for invalid TOML; the parser reports the line only in its message."""
    position = _ERROR_POSITION.search(message)
    line = position["line"] if position else None
    problem = _ERROR_POSITION.sub("", message)
    at = line or str(text.count("\n") + 1)
    return InvalidConfiguration(file.name, f"is not TOML: {problem}", f"{file}:{at}")


_TOML_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]")
_TOML_KEY_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_TOML_KEY = re.compile(
    rf"\s*((?:{_TOML_KEY_PART.pattern})(?:\s*\.\s*(?:{_TOML_KEY_PART.pattern}))*)\s*="
)


def _find_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each section and key; `tomllib` does not report them."""
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
    """Return the line of an entry: its own, or that of an entry below or above it."""
    if path in lines:
        return lines[path]
    below = [line for name, line in lines.items() if name[: len(path)] == path]
    if below:
        return min(below)
    return _find_line(lines, path[:-1]) if path else 1


# --- Settings from a file, the environment and arguments


FILE_NAME = "memolith.toml"

BUILT_IN_PROFILES = tuple(PROFILE_BUILDERS)
"""The profiles that come with Memolith."""

ALL_SETTINGS: Mapping[str, Setting] = {
    setting.name: setting for setting in iter_settings(Settings, BUILT_IN_PROFILES)
}
"""All settings by name, in the order of the documentation."""

_PREFIX = "MEMOLITH_"
_PROFILES = "profiles"
_PROFILE_KEY_DEPTH = 4  # memory, profiles, the name, the key
_PROFILE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_KEY_PATH = "encryption_key_path"
_RELATIVE_PATH_SETTINGS = ("embedding.api_key_file", "chat.api_key_file", "vectors.chroma_path")
_VARIABLES = {setting.variable: setting for setting in ALL_SETTINGS.values()}
_VARIABLE_ALIASES = {"MEMOLITH_MODEL": ALL_SETTINGS["embedding.model"]}

# Variables that are not settings: keys, the command line, tests, builds.
_OTHER_VARIABLES = (
    "MEMOLITH_KEY",
    "MEMOLITH_API_KEY",
    "MEMOLITH_DEBUG",
    "MEMOLITH_TEST_",
    "MEMOLITH_MINILM_",
)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings with the origin of each value.

    Attributes:
        settings: The effective values.
        origins: For each setting name: "default", "argument", "environment NAME" or "FILE:LINE".
        file: The configuration file, if any.
        custom_profiles: The profiles defined in the file, by name.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None = None
    custom_profiles: Mapping[str, CustomProfile] = field(default_factory=dict)

    def get_value(self, name: str) -> Scalar:
        """Return the value of a setting by its dotted name."""
        setting = ALL_SETTINGS[name]
        section = getattr(self.settings, setting.section) if setting.section else self.settings
        value: Scalar = getattr(section, setting.field)
        return value

    def replace_values(self, values: Mapping[str, Scalar], origin: str) -> LoadedSettings:
        """Return a copy with other values, by dotted name."""
        return dataclasses.replace(
            self,
            settings=_replace_values(self.settings, values),
            origins={**self.origins, **dict.fromkeys(values, origin)},
        )


@dataclass(frozen=True, slots=True)
class CustomProfile:
    """A profile defined in the configuration: a built-in profile with other settings.

    Attributes:
        base: The name of the built-in profile.
        loaded_settings: All settings, as this profile uses them.
    """

    base: str
    loaded_settings: LoadedSettings


@dataclass(frozen=True, slots=True)
class _FoundValue:
    value: Scalar
    origin: str


def load(
    path: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Load the settings.

    Args:
        path: The file. None: `memolith.toml` in the working directory or, failing that, in the
            user's configuration folder; both may be missing.
        env: The environment; None for an empty one. Empty variables count as unset.
        overrides: Arguments by dotted name ("embedding.model"); None values count as unset.

    Raises:
        InvalidConfiguration: A name is unknown, a value has the wrong type or is out of range, or
            the file is unreadable.
    """
    file = Path(path) if path is not None else find_file()
    found_values: dict[str, _FoundValue] = {}
    profile_values: dict[str, dict[str, _FoundValue]] = {}
    if file is not None:
        found_values, profile_values = _read_file(file)
    found_values |= _read_environment(env or {})
    found_values |= _read_arguments(overrides or {})
    found_values["store"] = _resolve_store(found_values.get("store"))
    found_values[_KEY_PATH] = _resolve_key_path(found_values.get(_KEY_PATH), file)
    for name in _RELATIVE_PATH_SETTINGS:
        if name in found_values:
            found_values[name] = _resolve_relative_path(found_values[name], name, file)
    added = {
        name: CustomProfile(
            str(values.pop("base").value), _build_loaded({**found_values, **values}, file)
        )
        for name, values in profile_values.items()
    }
    return dataclasses.replace(_build_loaded(found_values, file), custom_profiles=added)


def _build_loaded(found_values: Mapping[str, _FoundValue], file: Path | None) -> LoadedSettings:
    origins = {
        name: found_values[name].origin if name in found_values else "default"
        for name in ALL_SETTINGS
    }
    values = {name: item.value for name, item in found_values.items()}
    return LoadedSettings(_replace_values(Settings(), values), origins, file)


def find_file() -> Path | None:
    """Return the configuration file that applies, or None."""
    path = Path(FILE_NAME)
    if path.is_file():
        return path
    users = user_folder() / FILE_NAME
    return users if users.is_file() else None


def user_folder() -> Path:
    """Return the user's folder for configuration and keys."""
    if _uses_default_folder("XDG_CONFIG_HOME"):
        return Path(os.environ["HOME"], ".config", "memolith")
    from platformdirs import user_config_path

    return user_config_path("memolith", appauthor=False)


def default_store() -> Path:
    """Return the default path of the store."""
    if _uses_default_folder("XDG_DATA_HOME"):
        return Path(os.environ["HOME"], ".local", "share", "memolith", "memory.db")
    from platformdirs import user_data_path

    return user_data_path("memolith", appauthor=False) / "memory.db"


def _uses_default_folder(variable: str) -> bool:
    """Return whether the standard Linux folder applies, with no variable that overrides it.

    In that case platformdirs need not be imported: see docs/decisions/0052.
    """
    is_moved = os.environ.get(variable) or os.environ.get("ANDROID_DATA")
    has_home = os.environ.get("HOME", "").startswith("/")
    return sys.platform == "linux" and has_home and not is_moved


def _read_file(file: Path) -> tuple[dict[str, _FoundValue], dict[str, dict[str, _FoundValue]]]:
    """Return the settings of a file, and those of each profile that it defines."""
    found_values: dict[str, _FoundValue] = {}
    added: list[TomlEntry] = []
    for entry in read_toml(file):
        source = f"{file}:{entry.line}"
        if entry.path[0] != "memory":
            raise InvalidConfiguration(entry.name, "all settings belong under [memory]", source)
        if entry.path[1:2] == (_PROFILES,):
            added.append(entry)
            continue
        name = ".".join(entry.path[1:])
        if entry.is_section and name in ("", *_section_names()):
            continue
        setting = _find_file_setting(entry, name, source)
        value = _check_setting(name, setting, entry.value, source)
        if name == "store":
            value = _resolve_store_path(file, str(value), source)
        found_values[name] = _FoundValue(value, source)
    return found_values, _parse_custom_profiles(added, file)


def _parse_custom_profiles(
    entries: Iterable[TomlEntry], file: Path
) -> dict[str, dict[str, _FoundValue]]:
    """Return the base and the settings of each `[memory.profiles.NAME]`."""
    added: dict[str, dict[str, _FoundValue]] = {}
    names: dict[str, str] = {}
    for entry in entries:
        source = f"{file}:{entry.line}"
        _, _, name, *rest = (*entry.path, "")
        if not entry.is_section and len(entry.path) != _PROFILE_KEY_DEPTH:
            raise InvalidConfiguration(entry.name, "belongs in [memory.profiles.NAME]", source)
        if entry.is_section:
            if len(entry.path) == _PROFILE_KEY_DEPTH - 1:
                _check_profile_name(name, source)
                added[name], names[name] = _parse_base(entry, source), source
            continue
        if rest[0] != "base":
            base = str(added[name]["base"].value)
            setting = _find_profile_setting(base, rest[0], source)
            added[name][setting.name] = _FoundValue(
                _check_setting(setting.name, setting, entry.value, source), source
            )
    return added


def _parse_base(entry: TomlEntry, source: str) -> dict[str, _FoundValue]:
    values: Any = entry.value
    base = values.get("base", "standard")
    if base not in BUILT_IN_PROFILES:
        raise InvalidConfiguration(
            f"{entry.name}.base",
            f"must be one of {', '.join(BUILT_IN_PROFILES)}, not {base!r}",
            source,
        )
    return {"base": _FoundValue(base, source)}


def _check_profile_name(name: str, source: str) -> None:
    if _PROFILE_NAME.fullmatch(name) is None or name in BUILT_IN_PROFILES:
        problem = "must be lowercase letters, digits, - and _, and not a built-in profile"
        raise InvalidConfiguration(f"profiles.{name}", problem, source)


def _find_profile_setting(base: str, key: str, source: str) -> Setting:
    """Return the setting of a profile by its key in `[memory.profiles.NAME]`."""
    settings_by_field = {each.field: each for each in ALL_SETTINGS.values() if each.profile == base}
    if key not in settings_by_field:
        suggestion = suggest_name(key, ("base", *settings_by_field))
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        problem = f"is not a setting of {base}, its base profile{hint}"
        raise InvalidConfiguration(f"profiles.{key}", problem, source)
    return settings_by_field[key]


def _find_file_setting(entry: TomlEntry, name: str, source: str) -> Setting:
    if entry.is_section and name not in ALL_SETTINGS:
        raise _unknown_setting_error(
            f"[{entry.name}]", [f"[memory.{known}]" for known in _section_names()], source
        )
    if name in ("", *_section_names()):
        raise InvalidConfiguration(entry.name, "is a section, not a value", source)
    if name not in ALL_SETTINGS:
        raise _unknown_setting_error(name, ALL_SETTINGS, source)
    return ALL_SETTINGS[name]


def _section_names() -> set[str]:
    return {name.rpartition(".")[0] for name in ALL_SETTINGS} - {""}


def _read_environment(env: Mapping[str, str]) -> dict[str, _FoundValue]:
    found_values: dict[str, _FoundValue] = {}
    variables = {
        name: text for name, text in env.items() if name.startswith(_PREFIX) and text.strip()
    }
    # Aliases first, so that the exact names override them.
    for name in sorted(variables, key=lambda name: name in _VARIABLES):
        if name.startswith(_OTHER_VARIABLES):
            continue
        setting = _VARIABLES.get(name) or _VARIABLE_ALIASES.get(name)
        if setting is None:
            raise _unknown_setting_error(name, (*_VARIABLES, *_VARIABLE_ALIASES), "environment")
        try:
            value = parse_value(setting, variables[name])
        except ValueError as error:
            raise InvalidConfiguration(name, str(error), "environment") from None
        found_values[setting.name] = _FoundValue(value, f"environment {name}")
    return found_values


def _read_arguments(overrides: Mapping[str, object]) -> dict[str, _FoundValue]:
    found_values: dict[str, _FoundValue] = {}
    for name, value in overrides.items():
        if value is None:
            continue
        if name not in ALL_SETTINGS:
            raise _unknown_setting_error(name, ALL_SETTINGS, "argument")
        found_values[name] = _FoundValue(
            _check_setting(name, ALL_SETTINGS[name], value, "argument"), "argument"
        )
    return found_values


def _check_setting(name: str, setting: Setting, value: object, source: str) -> Scalar:
    try:
        return check_value(setting, value)
    except ValueError as error:
        raise InvalidConfiguration(name, str(error), source) from None


def _resolve_store(setting_value: _FoundValue | None) -> _FoundValue:
    """Return the location of the store: as set, with the home folder expanded, or the default."""
    if setting_value is None or not setting_value.value:
        return _FoundValue(str(default_store()), "default")
    store = str(setting_value.value)
    if _is_url(store):
        return setting_value
    return _FoundValue(
        str(parse_file_path(store, "store", setting_value.origin)), setting_value.origin
    )


def _resolve_key_path(setting_value: _FoundValue | None, file: Path | None) -> _FoundValue:
    """Return the path of the master key, which is independent of the store's."""
    if setting_value is None or not setting_value.value:
        return _FoundValue(str(user_folder() / str(ALL_SETTINGS[_KEY_PATH].default)), "default")
    return _resolve_relative_path(setting_value, _KEY_PATH, file)


def _resolve_relative_path(setting_value: _FoundValue, name: str, file: Path | None) -> _FoundValue:
    """Resolve a relative path against the folder of the configuration; keep an empty one."""
    if not setting_value.value:
        return setting_value
    folder = file.parent.absolute() if file is not None else user_folder()
    return _FoundValue(
        str(folder / parse_file_path(setting_value.value, name, setting_value.origin)),
        setting_value.origin,
    )


def _resolve_store_path(file: Path, store: str, source: str) -> str:
    """Resolve a store's relative path against the folder of the file that sets it."""
    if not store or _is_url(store):
        return store
    return str(file.parent / parse_file_path(store, "store", source))


def _is_url(store: str) -> bool:
    return "://" in store or store.startswith(":") or is_conninfo(store)  # ":memory:"


def _unknown_setting_error(name: str, known: Iterable[str], source: str) -> InvalidConfiguration:
    suggestion = suggest_name(name, known)
    hint = (
        f"; did you mean {suggestion}?"
        if suggestion
        else "; `memolith config show` lists all settings"
    )
    if name.rpartition(".")[2] in ("api_key", "password", "token"):
        hint = "; keys come from the environment: set chat.api_key_env to the variable's name"
    return InvalidConfiguration(name, "unknown setting" + hint, source)


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to an unknown one, or None."""
    from difflib import get_close_matches

    names = list(known)
    last = {other.rpartition(".")[2]: other for other in reversed(names)}
    # A correct name in the wrong section beats a similar one in the right section.
    if name.rpartition(".")[2] in last:
        return last[name.rpartition(".")[2]]
    return next(iter(get_close_matches(name, names, n=1)), None)


def _replace_values(settings: Settings, values: Mapping[str, Scalar]) -> Settings:
    """Return settings with other values, by dotted name; the types are already checked."""
    fields: dict[str, dict[str, Any]] = {"": {}}
    for name, value in values.items():
        setting = ALL_SETTINGS[name]
        fields.setdefault(setting.section, {})[setting.field] = value
    top = fields.pop("")
    sections = {
        section: dataclasses.replace(getattr(settings, section), **changes)
        for section, changes in fields.items()
    }
    return dataclasses.replace(settings, **top, **sections)
