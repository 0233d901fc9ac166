"""Steps of what is done, and counts, for whoever takes their time: never what they are about.

Names and numbers are all that is told, so that nothing of a memory can be. While nobody watches, a
step costs about a microsecond.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

_NOTHING: Final = nullcontext()

_watchers: tuple[Watcher, ...] = ()
_changing = threading.Lock()


class Watcher(Protocol):
    """Told of what is done in this process. Thread-safe; raises nothing of its own."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Watch a step while it lasts; what is raised in it goes on."""
        ...

    def count(self, name: str, number: int) -> None:
        """Take note that something happened so many times."""
        ...


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let somebody watch while the block runs: everything in this process."""
    global _watchers  # noqa: PLW0603 - a process has one list of watchers, as it has one of loggers
    with _changing:
        _watchers = (*_watchers, watcher)
    try:
        yield
    finally:
        with _changing:
            _watchers = tuple(each for each in _watchers if each is not watcher)


def step(name: str) -> AbstractContextManager[object]:
    """Return what is to be entered while a step lasts."""
    watchers = _watchers
    if not watchers:
        return _NOTHING
    if len(watchers) == 1:
        return watchers[0].step(name)
    return _several(name, watchers)


def count(name: str, number: int) -> None:
    """Say that something happened so many times."""
    for each in _watchers:
        each.count(name, number)


def stepped(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make each call of a function a step."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with step(name):
                return function(*args, **kwargs)

        return call

    return decorate


@contextmanager
def _several(name: str, watchers: tuple[Watcher, ...]) -> Iterator[None]:
    with ExitStack() as entered:
        for each in watchers:
            entered.enter_context(each.step(name))
        yield
