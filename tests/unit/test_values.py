"""Values are what the standard library's dataclasses with slots are."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from dataclasses import FrozenInstanceError, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import memolith
from memolith.values import dataclass
from support.rows import check_each

SOURCES = Path(memolith.__file__).parent


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class One:
    only: float


@dataclass(frozen=True, slots=True)
class Quick:
    """A value."""

    first: int
    second: str = "two"
    many: list[object] = field(default_factory=list)
    counted: int = field(default=0, compare=False, repr=False)
    derived: str = field(init=False, default="")
    made: list[int] = field(init=False, default_factory=list)
    named: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", f"{self.first} {self.second}")


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:  # written out again: what makes a class takes its fields' values away
    """A value."""

    first: int
    second: str = "two"
    many: list[object] = field(default_factory=list)
    counted: int = field(default=0, compare=False, repr=False)
    derived: str = field(init=False, default="")
    made: list[int] = field(init=False, default_factory=list)
    named: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", f"{self.first} {self.second}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    required: int
    other: int = 2


@dataclass(frozen=True, slots=True)
class Peculiar:
    number: int

    def __repr__(self) -> str:
        return "peculiar"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Peculiar) and self.number % 2 == other.number % 2

    def __hash__(self) -> int:
        return self.number % 2


GIVEN: list[dict[str, Any]] = [
    {"first": 1},
    {"first": 1, "second": "three", "many": ["x"]},
    {"first": 2, "counted": 5, "named": False},
]


@check_each("given", GIVEN)
def test_a_value_is_what_the_standard_library_makes(given: dict[str, Any]) -> None:
    ours, theirs = Quick(**given), Standard(**given)
    assert repr(ours).replace("Quick", "Standard") == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert Quick.__match_args__ == Standard.__match_args__
    assert Quick.__slots__ == Standard.__slots__
    assert str(inspect.signature(Quick)) == str(inspect.signature(Standard))
    assert vars(Quick)["__init__"].__annotations__ == vars(Standard)["__init__"].__annotations__


def test_values_are_equal_where_their_fields_are() -> None:
    assert Quick(1) == Quick(1, counted=9)
    assert Quick(1) != Quick(2)
    assert Quick(1).__eq__(Standard(1)) is NotImplemented
    assert Empty() == Empty()
    assert One(1.0) == One(1.0) != One(2.0)
    same = float("nan")
    assert One(same) == One(same)  # as in a tuple, which looks for the same object first


def test_equal_values_have_one_hash() -> None:
    assert hash(Named(required=1)) == hash(Named(required=1)) == hash((1, 2))
    assert hash(One(3.0)) == hash((3.0,))
    assert hash(Empty()) == hash(())
    with pytest.raises(TypeError, match="unhashable"):
        hash(Quick(1))


def test_a_value_is_not_changed() -> None:
    value: Any = One(1.0)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'only'"):
        value.only = 2.0
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'only'"):
        del value.only


@pytest.mark.parametrize("made_by", [dataclass, dataclasses.dataclass])
def test_what_is_not_frozen_is_changed_and_has_no_hash(made_by: Any) -> None:
    class Tally:
        name: str
        count: int = 0
        seen: list[str] = field(default_factory=list)

    made: Any = made_by(slots=True)(Tally)
    tally = made("a")
    tally.count += 2
    tally.seen.append("x")
    assert repr(tally).endswith("Tally(name='a', count=2, seen=['x'])")
    assert tally == made("a", 2, ["x"]) != made("a", 2)
    assert copy.copy(tally) == tally == replace(tally)
    assert not made.__dataclass_params__.frozen
    assert [each.name for each in dataclasses.fields(made)] == ["name", "count", "seen"]
    del tally.name
    with pytest.raises(AttributeError):
        tally.other = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)
    with pytest.raises(TypeError, match=r"Tally\.__init__"):
        made()
    for name in map(str, range(30)):  # by an `__init__` that is written meanwhile
        assert (made(name, seen=[name]).seen, made(name).count) == ([name], 0)


@pytest.mark.parametrize("made_by", [dataclass, dataclasses.dataclass])
def test_what_a_class_does_when_it_is_set_is_done(made_by: Any) -> None:
    class Doubling:
        number: int

        def __setattr__(self, name: str, value: int) -> None:
            object.__setattr__(self, name, 2 * value)

    made: Any = made_by(slots=True)(Doubling)
    assert {made(1).number for _ in range(30)} == {2}


def test_each_value_has_a_default_of_its_own() -> None:
    assert Quick(1).many is not Quick(1).many


def test_an_argument_too_many_or_too_few_is_refused() -> None:
    made: Any = Named
    for given in ((), (1,)):
        with pytest.raises(TypeError, match=r"Named\.__init__"):
            made(*given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'third'"):
        made(required=1, third=3)


def test_a_value_is_copied_and_pickled() -> None:
    value = Quick(1, "x", [3], counted=4)
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301 - our own bytes
        assert other == value
        assert other.counted == value.counted
    assert replace(value, first=2) == Quick(2, "x", [3])


def test_a_class_keeps_the_methods_that_it_has() -> None:
    assert repr(Peculiar(1)) == "peculiar"
    assert Peculiar(1) == Peculiar(3)
    assert hash(Peculiar(1)) == hash(Peculiar(3))


def test_the_standard_library_derives_from_a_value() -> None:
    @dataclasses.dataclass(frozen=True)
    class Derived(One):
        more: int = 1

    assert repr(Derived(1.0)).endswith("Derived(only=1.0, more=1)")


def test_a_value_derives_from_a_value() -> None:
    @dataclass(frozen=True, slots=True)
    class Derived(One):
        more: int = 1

    assert Derived(1.0, 2) == Derived(1.0, 2) != Derived(1.0)


def test_no_module_pays_for_a_standard_dataclass() -> None:
    pattern = re.compile(
        r"^from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass", re.MULTILINE
    )
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert not found


@pytest.mark.parametrize("earlier", [0, 100])
def test_the_first_values_of_a_class_are_made_as_those_that_follow(earlier: int) -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        first: int
        many: list[object] = field(default_factory=list)
        derived: str = field(init=False, default="")
        named: bool = field(default=True, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", f"of {self.first}")

    made: Any = Fresh
    for each in range(earlier):
        made(each)
    assert repr(made(1, named=False)).endswith(
        "Fresh(first=1, many=[], derived='of 1', named=False)"
    )
    assert made(1, many=[2]) == made(first=1, many=[2]) == made(1, [2])
    assert made(1).many is not made(1).many
    for given, named in (
        ((), {}),
        ((1, [], "x"), {}),
        ((1,), {"first": 2}),
        ((1,), {"derived": "x"}),
    ):
        with pytest.raises(TypeError, match=r"Fresh\.__init__"):
            made(*given, **named)


def test_what_is_of_the_class_is_no_field() -> None:
    @dataclass(frozen=True, slots=True)
    class Counted:
        number: int
        unit: ClassVar[str] = "m"

    assert [each.name for each in dataclasses.fields(Counted)] == ["number"]
    assert (Counted(1).number, Counted.unit) == (1, "m")


def test_types_of_fields_are_as_written() -> None:
    written = [each.type for each in dataclasses.fields(Standard)]
    assert [each.type for each in dataclasses.fields(Quick)] == written
    assert Quick.__annotations__ == Standard.__annotations__
