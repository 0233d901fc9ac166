"""Connections are reused when possible, up to a maximum number."""

from __future__ import annotations

from functools import partial

import psycopg
import pytest

from memolith.adapters.postgres.connections import Pool, PoolExhausted, PsycopgConnection


@pytest.fixture
def pool(postgres_url: str) -> Pool:
    return Pool(partial(PsycopgConnection.connect, postgres_url, autocommit=True), 2)


def test_released_connection_is_reused(pool: Pool) -> None:
    first = pool.acquire(1)
    pool.release(first)
    assert pool.acquire(1) is first
    second = pool.acquire(1)
    assert second is not first
    for raw in (first, second):
        pool.release(raw)
    assert pool.acquire(1) is second
    pool.release(second)
    pool.close()


def test_timed_out_waiter_occupies_no_slot(pool: Pool) -> None:
    lent = [pool.acquire(1), pool.acquire(1)]
    for _ in range(3):
        with pytest.raises(PoolExhausted):
            pool.acquire(0.01)
    for raw in lent:
        pool.release(raw)
    assert {id(pool.acquire(1)), id(pool.acquire(1))} == {*map(id, lent)}
    for raw in lent:
        pool.release(raw)
    pool.close()


def test_failed_connection_attempt_occupies_no_slot() -> None:
    tried = 0

    def refuse() -> PsycopgConnection:
        nonlocal tried
        tried += 1
        raise psycopg.OperationalError

    pool = Pool(refuse, 1)
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            pool.acquire(0.1)
    assert tried > 3


def test_connection_in_transaction_or_closed_is_not_reused(pool: Pool) -> None:
    begun, lost = pool.acquire(1), pool.acquire(1)
    begun.execute("BEGIN")
    lost.close()
    for raw in (begun, lost):
        pool.release(raw)
    assert begun.closed
    fresh = pool.acquire(1)
    assert fresh not in (begun, lost)
    pool.release(fresh)
    pool.close()


def test_connection_released_after_pool_close_is_closed(pool: Pool) -> None:
    idle, lent = pool.acquire(1), pool.acquire(1)
    pool.release(idle)
    pool.close()
    assert idle.closed
    lent.execute("SELECT 1")
    pool.release(lent)
    assert lent.closed


def test_unresponsive_server_times_out(pool: Pool) -> None:
    raw = pool.acquire(1)
    raw.response_timeout_s = 0.2
    with pytest.raises(psycopg.OperationalError, match=r"no answer for 0\.2 s"):
        raw.execute("SELECT pg_sleep(5)")
    assert raw.closed
    pool.release(raw)
    pool.close()


def test_answer_in_several_packets_does_not_time_out(pool: Pool) -> None:
    raw = pool.acquire(1)
    raw.response_timeout_s = 1.0
    assert len(raw.execute("SELECT repeat('x', 10000) FROM generate_series(1, 2000)").fetchall())
    pool.release(raw)
    pool.close()


def test_overflow_connection_exceeds_pool_size(pool: Pool) -> None:
    lent = [pool.acquire(1), pool.acquire(1), pool.acquire(0, allow_overflow=True)]
    assert [raw.is_overflow for raw in lent] == [False, False, True]
    with pytest.raises(PoolExhausted):
        pool.acquire(0.01)
    for raw in reversed(lent):
        pool.release(raw)
    assert [raw.closed for raw in lent] == [True, False, False]
    again = [pool.acquire(1, allow_overflow=True), pool.acquire(1)]
    assert [raw.is_overflow for raw in again] == [False, False]
    with pytest.raises(PoolExhausted):
        pool.acquire(0.01)
    for raw in again:
        pool.release(raw)
    pool.close()
