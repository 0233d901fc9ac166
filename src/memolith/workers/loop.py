"""The background loop: does what is due, again and again, until it is told to stop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memolith.errors import MemolithError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable

    from memolith.services.scheduling import JobResult
    from memolith.services.working import WorkResult

LOOP_POLL_S = 20.0
"""How often it is looked whether something is due: thrice within the shortest interval."""

_log = logging.getLogger(__name__)


def run_loop(
    run_due: Callable[[Callable[[], bool]], Iterable[JobResult | WorkResult]],
    stop: threading.Event,
    *,
    poll_s: float = LOOP_POLL_S,
    on_result: Callable[[JobResult | WorkResult], None] = lambda _done: None,
) -> None:
    """Do what is due until `stop` is set; what was begun is left whole.

    What fails is logged and tried again at the next look.

    Args:
        run_due: Does what is due, asking in between whether to stop.
        stop: Set from elsewhere, a signal handler for instance.
        poll_s: How long to wait between looks, in seconds.
        report: Called with each thing that was done.
    """
    while not stop.is_set():
        try:
            for done in run_due(stop.is_set):
                on_result(done)
        except MemolithError as error:
            _log.warning("what was due failed, and stays due: %s", error)
        stop.wait(poll_s)
