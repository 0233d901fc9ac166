"""Readiness checks of the server. A check that hangs does not block the probe."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from memolith.errors import MemolithError, StoreReadOnly, StoreUnavailable
from memolith.server.scheduler import JobScheduler

if TYPE_CHECKING:
    from memolith.api.engine import Memolith

OK: Final = "ok"
FAILED: Final = "failed"
SLOW: Final = "slow"
READ_ONLY: Final = "read-only"

CHECK_TIMEOUT_S: Final = 2.0
"""Timeout of a check. A guess: probes give up after some seconds."""

_STORE_CACHE_S: Final = 1.0
"""How long a successful store check is reused."""

_EMBEDDER_CACHE_S: Final = 30.0
"""How long a successful embedder check is reused; an embedding service may cost money."""

_MIN_FREE_BYTES: Final = 64_000_000
"""Minimum free disk space, enough for some minutes of writing. A guess."""

_log = logging.getLogger("memolith.http.readiness")


@dataclass(frozen=True, slots=True)
class Check:
    """A readiness check.

    Attributes:
        name: Name in the response.
        probe: Checks the component; raises an error if it is not ready.
        cache_s: How long a successful result is reused, in seconds.
        may_be_read_only: Whether `StoreReadOnly` counts as ready.
    """

    name: str
    probe: Callable[[], None]
    cache_s: float = _STORE_CACHE_S
    may_be_read_only: bool = False

    def run(self) -> str:
        """Run the check; return the state and log a failure."""
        try:
            self.probe()
        except StoreReadOnly:
            return READ_ONLY
        except MemolithError as error:
            _log.warning("not ready: %s: %s", self.name, error)
        except Exception as error:  # noqa: BLE001 - a custom embedder may raise anything
            _log.error("not ready: %s: %s", self.name, type(error).__name__)
        else:
            return OK
        return FAILED

    def is_healthy(self, state: str) -> bool:
        """Return whether a state counts as ready."""
        return state == OK or (self.may_be_read_only and state == READ_ONLY)


@dataclass(slots=True)
class _CachedCheck:
    """A check with a cached result and its own thread."""

    check: Check
    pool: ThreadPoolExecutor
    pending: Future[str] | None = None
    checked_at_s: float = field(default=float("-inf"))
    last_state: str = SLOW

    def get_state(self, now_s: float) -> Future[str]:
        """Return the future of the current state; start a new check if the result is too old."""
        looking = self.pending
        if looking is not None and not looking.done():
            return looking
        if looking is not None:
            self.last_state = looking.result()
        kept_s = self.check.cache_s if self.check.is_healthy(self.last_state) else _STORE_CACHE_S
        if looking is None or now_s - self.checked_at_s >= kept_s:
            self.checked_at_s = now_s
            looking = self.pending = self.pool.submit(self.check.run)
        return looking


class Readiness:
    """Runs the readiness checks. Use it from one event loop."""

    def __init__(
        self,
        checks: tuple[Check, ...],
        *,
        timeout_s: float = CHECK_TIMEOUT_S,
        now_s: Callable[[], float] = monotonic,
    ) -> None:
        """Prepare the checks without running them."""
        self._timeout_s = timeout_s
        self._now_s = now_s
        self._checks = [
            _CachedCheck(
                each, ThreadPoolExecutor(1, thread_name_prefix=f"memolith-ready-{each.name}")
            )
            for each in checks
        ]

    async def get_states(self) -> Mapping[str, str]:
        """Return all states by check name: `OK`, `FAILED`, `SLOW` or `READ_ONLY`."""
        now_s = self._now_s()
        looking = [asyncio.wrap_future(each.get_state(now_s)) for each in self._checks]
        done, _ = await asyncio.wait(looking, timeout=self._timeout_s)
        return {
            each.check.name: found.result() if found in done else SLOW
            for each, found in zip(self._checks, looking, strict=True)
        }

    def find_unhealthy(self, states: Mapping[str, str]) -> list[str]:
        """Return the names of the checks that failed."""
        return [
            each.check.name
            for each in self._checks
            if not each.check.is_healthy(states[each.check.name])
        ]

    def close(self) -> None:
        """Stop checking, without waiting for checks that hang."""
        for each in self._checks:
            each.pool.shutdown(wait=False, cancel_futures=True)


def build_checks(
    engine: Memolith,
    jobs: JobScheduler,
    *,
    folder: Path | None = None,
    may_be_read_only: bool = False,
) -> tuple[Check, ...]:
    """Return the readiness checks of a server.

    Args:
        engine: The engine.
        jobs: The job scheduler.
        folder: Directory of the store; None if the store is not a file.
        may_be_read_only: Whether the server is ready although the store is read-only.
    """
    probing = engine.health_checks
    found = [
        Check("read", probing.check_read),
        Check("write", probing.check_write, may_be_read_only=may_be_read_only),
        Check("embedder", probing.check_embedder, _EMBEDDER_CACHE_S),
        Check("worker", lambda: _check_worker(engine, jobs)),
    ]
    if folder is not None and not may_be_read_only:
        found.append(Check("disk", lambda: _check_disk(folder)))
    return tuple(found)


def _check_worker(engine: Memolith, jobs: JobScheduler) -> None:
    if engine.has_worker_died or jobs.has_died:
        raise StoreUnavailable("the learning worker or the job scheduler has stopped")


def _check_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _MIN_FREE_BYTES:
        raise StoreUnavailable(f"free disk space is {free:,} bytes, less than {_MIN_FREE_BYTES:,}")
