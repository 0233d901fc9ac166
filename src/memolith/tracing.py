"""Steps of what is done, and counts, for whoever takes their time: never what they are about.

Names and numbers are all that is told, so that nothing of a memory can be. While nobody watches, a
step costs about a microsecond.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import wraps
from typing import Final, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_NO_SPAN: Final = nullcontext()

_observers: tuple[Observer, ...] = ()
_lock = threading.Lock()


class Observer(Protocol):
    """Told of what is done in this process. Thread-safe; raises nothing of its own."""

    def span(self, name: str) -> AbstractContextManager[None]:
        """Watch a step while it lasts; what is raised in it goes on."""
        ...

    def count(self, name: str, number: int) -> None:
        """Take note that something happened so many times."""
        ...


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Let somebody watch while the block runs: everything in this process."""
    global _observers  # noqa: PLW0603 - a process has one list of watchers, as it has one of loggers
    with _lock:
        _observers = (*_observers, observer)
    try:
        yield
    finally:
        with _lock:
            _observers = tuple(each for each in _observers if each is not observer)


def span(name: str) -> AbstractContextManager[object]:
    """Return what is to be entered while a step lasts."""
    watchers = _observers
    if not watchers:
        return _NO_SPAN
    if len(watchers) == 1:
        return watchers[0].span(name)
    return _enter_spans(name, watchers)


def count(name: str, number: int) -> None:
    """Say that something happened so many times."""
    for each in _observers:
        each.count(name, number)


def traced(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make each call of a function a step."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with span(name):
                return function(*args, **kwargs)

        return call

    return decorate


@contextmanager
def _enter_spans(name: str, observers: tuple[Observer, ...]) -> Iterator[None]:
    with ExitStack() as entered:
        for each in observers:
            entered.enter_context(each.span(name))
        yield
