"""The API classes and their clients have the same methods with the same signatures."""

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


def get_signature(method: Callable[..., object]) -> tuple[object, ...]:
    """Return a comparable signature: without `self`, and with equal functions as defaults."""
    signature = inspect.signature(method)
    parameters = [
        each.replace(default="function") if inspect.isfunction(each.default) else each
        for each in list(signature.parameters.values())[1:]
    ]
    return (*parameters, signature.return_annotation)


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
def test_asynchronous_classes_have_the_same_methods(synchronous: type, asynchronous: type) -> None:
    plain, awaitable = get_methods(synchronous), get_methods(asynchronous)
    assert set(plain) == set(awaitable)
    for name, method in plain.items():
        # The last two return iterators.
        if name not in {"owner", "close", "export", "ingest_stream"}:
            assert get_signature(method) == get_signature(awaitable[name]), name
            assert inspect.iscoroutinefunction(awaitable[name]), name


_REMOTE = [
    (OwnerMemory, RemoteOwnerMemory),
    (Memolith, RemoteMemolith),
    (AsyncOwnerMemory, AsyncRemoteOwnerMemory),
    (AsyncMemolith, AsyncRemoteMemolith),
]


@check_each(("local", "remote"), _REMOTE)
def test_clients_have_the_same_methods(local: type, remote: type) -> None:
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


def test_generated_module_is_up_to_date() -> None:
    root = Path(__file__).parents[2]
    spec = spec_from_file_location("generate_api", root / "tools" / "generate_api.py")
    assert spec is not None
    assert spec.loader is not None
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (root / "src/memolith/api/_generated.py").read_text() == tool.render()
