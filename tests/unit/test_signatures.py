"""The APIs of the library and of its client have the same methods and signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from memolith import AsyncMemolith, AsyncOwnerMemory, Memolith, OwnerMemory
from memolith.api._generated import OwnerMethods
from memolith.client.remote import (
    AsyncRemoteMemolith,
    AsyncRemoteOwnerMemory,
    RemoteMemolith,
    RemoteOwnerMemory,
)
from support.rows import check_each

_BY_OWNER = {name for name in vars(OwnerMethods) if not name.startswith("_")}
"""Engine methods that call the owner's method. A client inherits them unchanged."""


def get_methods(of: type) -> dict[str, Callable[..., object]]:
    return {
        name: member
        for name, member in inspect.getmembers(of, inspect.isfunction)
        if not name.startswith("_")
    }


@check_each("name", sorted(get_methods(OwnerMemory)))
def test_engine_method_has_owners_parameters_and_owner(name: str) -> None:
    own = inspect.signature(getattr(OwnerMemory, name))
    engine = inspect.signature(getattr(Memolith, name))
    assert engine.parameters["owner"].kind is inspect.Parameter.KEYWORD_ONLY
    rest = [each for key, each in engine.parameters.items() if key not in ("self", "owner")]
    assert rest == list(own.parameters.values())[1:]
    assert engine.return_annotation == own.return_annotation


@pytest.mark.parametrize(
    ("synchronous", "asynchronous"), [(OwnerMemory, AsyncOwnerMemory), (Memolith, AsyncMemolith)]
)
def test_asynchronous_apis_have_same_methods(synchronous: type, asynchronous: type) -> None:
    plain, awaitable = get_methods(synchronous), get_methods(asynchronous)
    assert set(plain) == set(awaitable)
    for name, method in plain.items():
        # The last two return iterators.
        if name not in {"owner", "close", "export", "ingest_stream"}:
            assert inspect.signature(method) == inspect.signature(awaitable[name]), name
            assert inspect.iscoroutinefunction(awaitable[name]), name


_REMOTE = [
    (OwnerMemory, RemoteOwnerMemory),
    (Memolith, RemoteMemolith),
    (AsyncOwnerMemory, AsyncRemoteOwnerMemory),
    (AsyncMemolith, AsyncRemoteMemolith),
]


@check_each(("local", "remote"), _REMOTE)
def test_client_apis_have_same_methods(local: type, remote: type) -> None:
    plain, asking = get_methods(local), get_methods(remote)
    assert set(plain) == set(asking)
    for name, method in plain.items():
        if name != "owner":  # the client returns its own type
            assert inspect.signature(method) == inspect.signature(asking[name]), name


@check_each(("local", "remote"), _REMOTE)
def test_client_overrides_every_local_method(local: type, remote: type) -> None:
    inherited = {
        name
        for name, method in get_methods(local).items()
        if getattr(remote, name) is method and not (local is Memolith and name in _BY_OWNER)
    }
    assert inherited <= {"export", "ingest_stream"}


def test_generated_engine_methods_are_up_to_date() -> None:
    root = Path(__file__).parents[2]
    spec = spec_from_file_location("doors", root / "tools" / "doors.py")
    assert spec is not None
    assert spec.loader is not None
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (root / "src/memolith/api/_generated.py").read_text() == tool.written()
