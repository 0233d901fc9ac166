"""The four doors of the library have the same methods with the same signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from mnemon import AsyncMnemon, AsyncOwnerMemory, Mnemon, OwnerMemory


def methods(of: type) -> dict[str, Callable[..., object]]:
    return {
        name: member
        for name, member in inspect.getmembers(of, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("name", sorted(methods(OwnerMemory)))
def test_the_engine_takes_what_an_owner_takes_and_the_owner(name: str) -> None:
    own = inspect.signature(getattr(OwnerMemory, name))
    engine = inspect.signature(getattr(Mnemon, name))
    assert engine.parameters["owner"].kind is inspect.Parameter.KEYWORD_ONLY
    rest = [parameter for key, parameter in engine.parameters.items() if key != "owner"]
    assert rest == list(own.parameters.values())
    assert engine.return_annotation == own.return_annotation


@pytest.mark.parametrize(
    ("synchronous", "asynchronous"), [(OwnerMemory, AsyncOwnerMemory), (Mnemon, AsyncMnemon)]
)
def test_asynchronous_doors_have_the_same_methods(synchronous: type, asynchronous: type) -> None:
    plain, awaitable = methods(synchronous), methods(asynchronous)
    assert set(plain) == set(awaitable)
    for name, method in plain.items():
        if name not in {"owner", "close", "export"}:  # an asynchronous iterator instead
            assert inspect.signature(method) == inspect.signature(awaitable[name]), name
            assert inspect.iscoroutinefunction(awaitable[name]), name
