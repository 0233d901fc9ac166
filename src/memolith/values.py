"""Dataclasses with slots that are quick to make: what a program waits for when it starts.

The standard library writes six methods of each class as text and compiles them, used or not: most
of a millisecond a class, a third of what a process took until its first recall. Here the methods
are shared, but for `__init__`, which is written when some objects of its class have been made: most
classes that a short program comes by make one or two.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> object:
        """Do what `dataclasses.dataclass` does; sooner where it has slots."""
        if _is_plain(options):
            named = options.get("kw_only", False)
            return partial(_value, frozen=options.get("frozen", False), kw_only=named)
        return dataclasses.dataclass(cls, **options)


__all__ = ["dataclass"]

_ABSENT: Any = type("_Absent", (), {"__repr__": lambda _: "<factory>", "__slots__": ()})()
"""The argument that was not given, where a default is to be made."""

_SPECIAL = re.compile("ClassVar|InitVar|KW_ONLY")
_UNWRITTEN = 10
"""For how many objects of a class no `__init__` is written: about as many as take that long."""


def _is_plain(options: dict[str, bool]) -> bool:
    return options.get("slots", False) and options.keys() <= {"frozen", "slots", "kw_only"}


def _value(cls: Any, *, frozen: bool, kw_only: bool) -> Any:
    if any(map(dataclasses.is_dataclass, cls.__mro__[1:])):
        return dataclasses.dataclass(frozen=frozen, slots=True, kw_only=kw_only)(cls)
    # Without one, the standard library writes one from the signature, for the same price again.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made = _fielded(cls, kw_only=kw_only)
    for each in ("init", "repr", "eq"):  # who derives a dataclass from it looks there
        setattr(made.__dataclass_params__, each, True)
    made.__dataclass_params__.frozen = frozen
    for name, method in _methods(made, frozen=frozen).items():
        if cls.__dict__.get(name) is None:
            setattr(made, name, method)
    return made


def _fielded(cls: Any, *, kw_only: bool) -> Any:
    """Have the standard library find the fields and make the slots.

    It looks into each type that is a text, three times, for one of `_SPECIAL`: a third of its time.
    Where there is none it is shown none.
    """
    library = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    types = cls.__annotations__
    if any(not isinstance(each, str) or _SPECIAL.search(each) for each in types.values()):
        return library(cls)
    cls.__annotations__ = dict.fromkeys(types, object)
    made = library(cls)
    made.__annotations__ = types
    for each in fields(made):
        each.type = types[each.name]
    return made


def _methods(cls: type, *, frozen: bool) -> dict[str, object]:
    """Return what a dataclass has, as the standard library would write it."""
    eq, hash_ = _comparing(each.name for each in fields(cls) if each.compare)
    methods = {"__init__": _Init(cls), "__repr__": _repr, "__eq__": eq}
    if not frozen:
        return {**methods, "__hash__": None}
    return {
        **methods,
        "__hash__": hash_,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparing(
    compared: Iterable[str],
) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    # `attrgetter` is the quickest, but returns a tuple only where there are several names.
    names = tuple(compared)
    values: Callable[[Any], tuple[object, ...]] = (
        attrgetter(*names)
        if len(names) > 1
        else (lambda self: tuple(getattr(self, name) for name in names))
    )

    def eq(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def hash_(self: Any) -> int:
        return hash(values(self))

    return eq, hash_


def _refuse_to_set(_: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: Iterable[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


class _Init:
    """Stands in the place of `__init__` for some objects, and then puts a written one there."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls
        self._put = object.__setattr__ if cls.__dataclass_params__.frozen else setattr
        self._left = _UNWRITTEN

    def __get__(self, instance: object, _: type | None = None) -> Callable[..., None]:
        self._left -= 1
        if instance is not None and self._left >= 0:
            return partial(self._set, instance)
        init = self._cls.__init__ = _written(self._cls)
        return init if instance is None else MethodType(init, instance)

    def _set(self, instance: Any, /, *args: object, **named: object) -> None:
        """Do what the written one does, which also says what is wrong with arguments."""
        own = fields(self._cls)
        positional = (each.name for each in own if each.init and not _is_named(each))
        values = {**dict(zip(positional, args, strict=False)), **named}
        used = 0
        for each in own:
            if each.init and each.name in values:
                self._put(instance, each.name, values[each.name])
                used += 1
            elif not _is_required(each):
                self._put(instance, each.name, _default(each))
            elif each.init:
                return _written(self._cls)(instance, *args, **named)
        if used < len(args) + len(named):
            return _written(self._cls)(instance, *args, **named)
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()
        return None


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _written(cls: Any) -> Callable[..., None]:
    """Write what sets the fields of an object of this class."""
    given = sorted((each for each in fields(cls) if each.init), key=_is_named)
    first_named = next((each.name for each in given if _is_named(each)), None)
    parameters = ["self"]
    for each in given:
        parameters += ["*"] * (each.name == first_named)
        parameters.append(each.name if _is_required(each) else f"{each.name}=_d_{each.name}")
    frozen = cls.__dataclass_params__.frozen
    given_or_made = (each for each in fields(cls) if each.init or not _is_required(each))
    lines = [_setting(each, frozen=frozen) for each in given_or_made]
    lines += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    scope: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT}
    for each in fields(cls):
        made = each.default_factory
        scope[f"_f_{each.name}"] = made
        scope[f"_d_{each.name}"] = each.default if made is MISSING else _ABSENT
    exec(f"def __init__({', '.join(parameters)}):\n {'; '.join(lines) or 'pass'}", scope)  # noqa: S102 - the text is made of our own names
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {**{each.name: each.type for each in given}, "return": None}
    return init


def _is_named(field: Field[Any]) -> bool:
    return field.kw_only is True


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _setting(field: Field[Any], *, frozen: bool) -> str:
    name = field.name
    value = name if field.init else f"_d_{name}"
    if field.default_factory is not MISSING:
        value = f"_f_{name}() if {value} is _absent else {value}"
    return f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}"
