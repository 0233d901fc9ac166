"""Report spans and counts to observers, for timing and metrics.

Only names and numbers are reported, so that no content of a memory can leak. Without an observer, a
span costs about one microsecond.
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
    """Receives the spans and counts of this process. Must be thread-safe and must not raise."""

    def span(self, name: str) -> AbstractContextManager[None]:
        """Observe a span while the context is open; exceptions inside it propagate."""
        ...

    def count(self, name: str, number: int) -> None:
        """Record that an event occurred `number` times."""
        ...


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Register an observer for the whole process while the block runs."""
    global _observers  # noqa: PLW0603 - process-wide, like loggers
    with _lock:
        _observers = (*_observers, observer)
    try:
        yield
    finally:
        with _lock:
            _observers = tuple(each for each in _observers if each is not observer)


def span(name: str) -> AbstractContextManager[object]:
    """Return a context manager to enter for the duration of a span."""
    watchers = _observers
    if not watchers:
        return _NO_SPAN
    if len(watchers) == 1:
        return watchers[0].span(name)
    return _enter_spans(name, watchers)


def count(name: str, number: int) -> None:
    """Report that an event occurred `number` times."""
    for each in _observers:
        each.count(name, number)


def trace_calls(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap a function so that each call is a span."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with span(name):
                return function(*args, **kwargs)

        return call

    return decorate


@contextmanager
def _enter_spans(name: str, observers: tuple[Observer, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in observers:
            stack.enter_context(each.span(name))
        yield
